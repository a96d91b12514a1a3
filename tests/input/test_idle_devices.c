/* Devices that a process can see but does not use: they are one line in text, omitted from
 * pictures, and complete in JSON. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

/* Makes a trace with eight devices, of which the last `used` are used. */
static const char *write_trace(uint32_t used)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < used; i++) {
        uint32_t device = 7 - i;
        uint64_t base = (uint64_t)(device + 1) << 32;
        mvt_segment_alloc(t, .device = device, .addr = base, .bytes = 20 << 20);
        for (uint64_t j = 0; j < 8; j++)
            mvt_alloc(t, .device = device, .addr = base + (j << 21), .bytes = 2 << 20,
                      .stack = "keep:train.py:7");
    }
    return mvt_temp_file(mvt_snapshot_bytes(t));
}

LongTest(idle, reports_have_one_line_for_all_idle_devices)
{
    static const char *const commands[] = {"stats",         "leaks", "peak",   "lines",
                                           "fragmentation", "oom",   "whatif", "trace"};
    const char *path = write_trace(1);

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_here_or_sh("$MEMVIZ %s %s", commands[i], path);
        cr_expect_eq(mvt_count(r.out, "7 other devices are idle\n"), 1, "%s: %s", commands[i],
                     r.out);
        cr_expect_eq(mvt_count(r.out, "no events, no memory"), 0, "%s: %s", commands[i], r.out);
        cr_expect(strstr(r.out, "device 7"), "%s: %s", commands[i], r.out);
        cr_expect_not(strstr(r.out, "device 0"), "%s: %s", commands[i], r.out);
        cr_expect_neq(r.out[0], '\n');
        r = mvt_here_or_sh("$MEMVIZ %s --device 7 %s", commands[i], path);
        cr_expect_not(strstr(r.out, "idle"), "%s: %s", commands[i], r.out);
    }
}

/* These commands print a table of devices, or of one file. */
Test(idle, info_and_triage_have_one_line_for_all_idle_devices)
{
    const char *path = write_trace(1);
    mvt_run r = mvt_here_or_sh("$MEMVIZ info %s", path);

    cr_expect(strstr(r.out, "\n       7 "), "%s", r.out);
    cr_expect_null(strstr(r.out, "\n       0 "), "%s", r.out);
    cr_expect_eq(mvt_count(r.out, "7 other devices are idle\n"), 1, "%s", r.out);
    r = mvt_here_or_sh("$MEMVIZ %s", path);
    cr_expect_eq(mvt_count(r.out, "7 other devices are idle\n"), 1, "%s", r.out);
    cr_expect_null(strstr(r.out, "device 0"), "%s", r.out);
    cr_expect(strstr(r.out, "\ndevice 7: "), "%s", r.out);
}

Test(idle, a_requested_device_is_reported)
{
    const char *path = write_trace(1);
    mvt_run r = mvt_here_or_sh("$MEMVIZ peak --device 3 %s", path);

    cr_expect_str_eq(r.out, "device 3: no events, no memory\n");
}

Test(idle, json_has_every_device)
{
    static const char *const commands[] = {"stats", "leaks", "peak", "fragmentation"};
    const char *path = write_trace(1);

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        cJSON *report = mvt_json(0, "$MEMVIZ %s --json %s", commands[i], path);
        cr_expect_eq(cJSON_GetArraySize(mvt_member(report, "devices")), 8, "%s", commands[i]);
    }
}

/* Every device has the fields that the top level has for the fullest device. */
Test(idle, json_has_the_sites_of_every_device)
{
    cJSON *report = mvt_json(0, "$MEMVIZ peak --json $SNAPS/two_devices.pickle"),
          *devices = cJSON_GetObjectItem(report, "devices"), *d, *site;
    uint32_t count = 0, same = 0;

    cJSON_ArrayForEach(d, devices) {
        double sum = mvt_json_number(d, "unattributed");
        cJSON_ArrayForEach(site, cJSON_GetObjectItem(d, "sites"))
            sum += mvt_json_number(site, "bytes");
        cr_expect_eq(sum, mvt_json_number(d, "at.allocated"));
        cr_expect_gt(sum, 0);
        same += cJSON_Compare(cJSON_GetObjectItem(d, "sites"), cJSON_GetObjectItem(report, "sites"),
                              true);
        count++;
    }
    cr_expect_eq(count, 2);
    cr_expect_eq(same, 1);
    report = mvt_json(0, "$MEMVIZ fragmentation --json $SNAPS/two_devices.pickle");
    cJSON_ArrayForEach(d, cJSON_GetObjectItem(report, "devices"))
        mvt_json_has(d, "device verdict why segments pinned_by growth");
}

/* The picture is as high as that of a single device. */
Test(idle, pictures_omit_idle_devices)
{
    static const char *const commands[] = {"trace_plot", "segment_plot",
                                           "segment_plot --view state"};
    const char *path = write_trace(1);

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run all = mvt_sh("$MEMVIZ %s -q -o all.svg %s >&2 && cat all.svg", commands[i], path);
        mvt_run one =
            mvt_sh("$MEMVIZ %s -q --device 7 -o one.svg %s >&2 && cat one.svg", commands[i], path);
        cr_assert_eq(all.status, 0, "%s", all.err);
        cr_expect_eq(strncmp(all.out, one.out, 79), 0, "%s: %.79s", commands[i], all.out);
    }
}

static mvt_run leaks_on(uint32_t devices)
{
    mvt_trace *t = mvt_new();

    /* Ten steps, each of which keeps a tensor on every device. */
    for (uint32_t d = 0; d < devices; d += 2)
        mvt_segment_alloc(t, .device = d, .addr = (uint64_t)(d + 1) << 32, .bytes = 200 << 20);
    for (uint64_t i = 0; i < 12; i++)
        for (uint32_t d = 0; d < devices; d += 2) {
            uint64_t base = (uint64_t)(d + 1) << 32;
            mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
            mvt_alloc(t, .device = d, .addr = base, .bytes = 2 << 20, .stack = "train:train.py:20");
            mvt_alloc(t, .device = d, .addr = base + ((i + 2) << 21), .bytes = 2 << 20,
                      .stack = "keep:train.py:7;main:train.py:21");
            mvt_free(t, .device = d, .addr = base);
            mvt_annotate(t, "Optimizer.step#SGD.step", false, 0);
        }
    mvt_final_heap(t);
    return mvt_here_or_sh("$MEMVIZ leaks %s", mvt_temp_file(mvt_snapshot_bytes(t)));
}

/* If more than one device is used, each leak names its device. */
Test(idle, leaks_name_their_device_if_several_are_used)
{
    mvt_run r = leaks_on(1);

    cr_expect(strstr(r.out, "LEAK  train.py:7 keep"), "%s", r.out);
    r = leaks_on(3);
    cr_expect(strstr(r.out, "LEAK  device 0: train.py:7 keep"), "%s", r.out);
    cr_expect(strstr(r.out, "LEAK  device 2: train.py:7 keep"), "%s", r.out);
    cr_expect(strstr(r.out, "1 other device is idle\n"), "%s", r.out);
}
