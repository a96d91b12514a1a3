/* Pinned memory in stats: its peaks are those of the level of the host, and as uncertain. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

/* 8 and 2 MiB were pinned and used, then the 2 MiB were freed. All that without the first `dropped`
 * events of the host. */
static const char *file_without(uint32_t dropped)
{
    mv_trace trace = mvt_load(mvt_memory(), "../releases/torch_2_14_full"), host = trace;
    mv_device device = {.events = trace.host_events};

    cr_assert_geq(trace.host_events.count, dropped);
    host.device_count = 1;
    host.devices = &device;
    mvt_drop_first(mvt_memory(), &host, dropped);
    trace.host_events = host.devices[0].events;
    return mvt_temp_file(mvt_pickle_of(mvt_memory(), &trace, false));
}

static double at(const cJSON *object, const char *key, const char *measure)
{
    return mvt_json_number(cJSON_GetObjectItemCaseSensitive(object, key), measure);
}

Test(host_totals, peaks_are_those_of_the_level)
{
    for (uint32_t dropped = 0; dropped <= 6; dropped++) {
        const char *file = file_without(dropped);
        const cJSON *json = mvt_json(0, "$MEMVIZ stats --json %s", file);
        const cJSON *level = mvt_json(0, "$MEMVIZ stats --json --level host %s", file);
        const cJSON *host = cJSON_GetObjectItemCaseSensitive(json, "host");
        const cJSON *device =
            cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(level, "devices"), 0);
        const cJSON *exact = cJSON_GetObjectItemCaseSensitive(host, "peak_exact");
        mvt_run run = mvt_sh("COLUMNS=200 $MEMVIZ stats %s", file);
        bool is_all = dropped == 0;

        cr_expect_eq(at(host, "peak", "allocated"), at(device, "peak", "allocated"));
        cr_expect_eq(at(host, "peak", "reserved"), at(device, "peak", "reserved"));
        cr_expect_eq(at(host, "current", "allocated"), at(device, "current", "allocated"));
        cr_expect_str_eq(mvt_json_text(host, "history"), mvt_json_text(device, "history"));
        cr_expect_eq(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(exact, "allocated")), is_all);
        cr_expect_eq(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(exact, "reserved")), is_all);
        cr_expect_eq(strstr(run.out, "; peaks 10.0 MiB pinned, 10.0 MiB") != NULL, is_all, "%s",
                     run.out);
        cr_expect_eq(strstr(run.out, "; peaks >= 10.0 MiB pinned, >= ") != NULL, !is_all, "%s",
                     run.out);
        cr_expect(is_all || strstr(run.out, "\n  history "), "%s", run.out);
    }
}
