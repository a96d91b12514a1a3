/* What scripts may rely on: the JSON of every report on real snapshots, its sums, the input formats
 * and options that all reports accept, and the exit statuses. */
#include <math.h>
#include <zstd.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/in_process.h"

/* ---- types of members -------------------------------------------------------------------- */

static bool is_integer(const cJSON *v)
{
    return cJSON_IsNumber(v) && v->valuedouble == floor(v->valuedouble);
}

static bool are_frames(const cJSON *v)
{
    const cJSON *frame;

    if (cJSON_IsNull(v))
        return true;
    cJSON_ArrayForEach(frame, v) {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(frame, "function");
        const cJSON *file = cJSON_GetObjectItemCaseSensitive(frame, "file");
        const cJSON *line = cJSON_GetObjectItemCaseSensitive(frame, "line");
        if (!(cJSON_IsString(function) || cJSON_IsNull(function)) ||
            !(cJSON_IsString(file) || cJSON_IsNull(file)) || !is_integer(line))
            return false;
    }
    return cJSON_IsArray(v);
}

static bool has_type(const cJSON *v, const char *type)
{
    if (!v)
        return false;
    if (type[1] == '?' && cJSON_IsNull(v))
        return true;
    switch (type[0]) {
    case 'i':
        return is_integer(v);
    case 's':
        return cJSON_IsString(v);
    case 'b':
        return cJSON_IsBool(v);
    case 'r':
        return cJSON_IsNumber(v);
    case 'p':
        return cJSON_GetArraySize(v) == 2 && is_integer(cJSON_GetArrayItem(v, 0)) &&
               is_integer(cJSON_GetArrayItem(v, 1));
    case 'f':
        return are_frames(v);
    case 'a':
        return cJSON_IsArray(v);
    default:
        return cJSON_IsObject(v);
    }
}

static void check_path(const cJSON *at, const char *path, const char *type, const char *whole,
                       const char *command)
{
    size_t length = strcspn(path, ".");
    const char *rest = path + length + (path[length] == '.'), *key;
    const cJSON *each;

    if (!*path) {
        cr_assert(has_type(at, type), "%s: %s is not %s", command, whole, type);
    } else if (strncmp(path, "[]", length) == 0) {
        cr_assert(cJSON_IsArray(at), "%s: %s is not an array", command, whole);
        cJSON_ArrayForEach(each, at)
            check_path(each, rest, type, whole, command);
    } else {
        key = mv_arena_text(mvt_memory(), path, length);
        check_path(cJSON_GetObjectItemCaseSensitive(at, key), rest, type, whole, command);
    }
}

/* Members as "PATH:TYPE ..."; "[]" is each element. Types: i integer, s text, b bool, r real, p pair
 * of integers, f frames (innermost first; null: not recorded), a array, o object; ? allows null. */
static void check_members(const cJSON *report, const char *members, const char *command)
{
    char *words = strdup(members), *rest;

    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *type = strchr(word, ':');
        *type++ = 0;
        check_path(report, word, type, word, command);
    }
    free(words);
}

#define AT "at.event:i? at.time_us:i? at.allocated:i at.requested:i at.reserved:i "

static const char info_members[] =
    "format:s devices.[].device:i devices.[].events:i devices.[].segments:i "
    "devices.[].first_us:i? devices.[].last_us:i? devices.[].stacks:i "
    "devices.[].events_with_stack:i history:s annotations:i settings:o notes.[].code:s "
    "notes.[].count:i notes.[].text:s";

static const char leaks_members[] =
    "verdict:s steps.source:s steps.count:i leaks.[].bytes:i leaks.[].blocks:i "
    "leaks.[].bytes_per_step:i leaks.[].first_event:i leaks.[].last_event:i "
    "leaks.[].confidence:r leaks.[].kind:s leaks.[].frames:f leaks.[].advice:s "
    "retained.[].bytes:i retained.[].blocks:i retained.[].frames:f";

static const char triage_members[] =
    "findings.[].report:s findings.[].verdict:s findings.[].device:i findings.[].bytes:i "
    "findings.[].text:s findings.[].command:s findings.[].file:s devices.[].peak_allocated:i "
    "devices.[].peak_reserved:i devices.[].capacity:i?";

static const char peak_members[] =
    AT "sites.[].bytes:i sites.[].blocks:i sites.[].share:r sites.[].category:s "
       "sites.[].annotation:s? sites.[].marginal_bytes:i sites.[].frames:f sites.[].loop:o? "
       "sites.[].layers.[].index:i sites.[].layers.[].bytes:i sites.[].layers.[].blocks:i "
       "sites.[].layers.[].name:s? categories:o unattributed:i";

static const char fragmentation_members[] =
    AT "verdict:s reserved:i allocated:i free.total:i free.largest:i free.rounding:i "
       "free.pending:i stranded.[].segment:i stranded.[].pool_id:p stranded.[].stream:i "
       "stranded.[].total:i stranded.[].free:i stranded.[].pinned_by.[].bytes:i "
       "stranded.[].pinned_by.[].age_events:i stranded.[].pinned_by.[].frames:f "
       "growth.[].event:i growth.[].segment_bytes:i growth.[].free_elsewhere:i "
       "growth.[].reason:s growth.[].frames:f advice.[].text:s";

static const char oom_members[] =
    "ooms.[].event:i ooms.[].requested:i ooms.[].device_free:i? ooms.[].reserved:i "
    "ooms.[].allocated:i ooms.[].free_in_cache:i ooms.[].largest_hole:i ooms.[].verdict:s "
    "ooms.[].pinned_by:a ooms.[].advice:s";

static const char lines_members[] =
    "lines.[].file:s? lines.[].line:i? lines.[].function:s? lines.[].peak_bytes:i "
    "lines.[].total_bytes:i lines.[].live_bytes:i lines.[].allocations:i";

static const char ranks_members[] =
    "ranks.[].file:s ranks.[].device:i ranks.[].peak_allocated:i ranks.[].peak_reserved:i "
    "ranks.[].leak_verdict:s outliers.[].file:s outliers.[].reason:s outliers.[].bytes:i "
    "outliers.[].frames:f";

static const char diff_members[] =
    "before.event:i? before.allocated:i before.reserved:i after.event:i? after.allocated:i "
    "after.reserved:i delta:i sites.[].status:s sites.[].before:i sites.[].after:i "
    "sites.[].delta:i sites.[].frames:f";

static const char trace_members[] =
    "events.[].event:i events.[].action:s events.[].addr:i? events.[].size:i "
    "events.[].stream:i? events.[].time_us:i? events.[].stack:i? stacks.[]:f";

static const char stats_members[] =
    "devices.[].device:i devices.[].current.allocated:i? devices.[].current.active:i? "
    "devices.[].current.requested:i? devices.[].current.reserved:i? devices.[].current.segments:i? "
    "devices.[].current.allocations:i? devices.[].peak.allocated:i? devices.[].peak.active:i? "
    "devices.[].peak.requested:i? devices.[].peak.reserved:i? devices.[].peak.allocated_event:i? "
    "devices.[].peak.active_event:i? devices.[].peak.requested_event:i? "
    "devices.[].peak.reserved_event:i? devices.[].total.allocated:i? devices.[].total.freed:i? "
    "devices.[].audit.exact:b devices.[].audit.residual:i? devices.[].audit.notes:a "
    "devices.[].pools.[].pool:s devices.[].pools.[].pool_id:p devices.[].pools.[].current:o "
    "devices.[].pools.[].peak:o";

static const char whatif_members[] =
    "fidelity.recorded_segment_events:i fidelity.matched:i fidelity.exact:b recorded.conf:s "
    "recorded.peak_reserved:i recorded.peak_allocated:i runs.[].conf:s "
    "runs.[].peak_reserved:i runs.[].peak_allocated:i runs.[].segment_allocs:i "
    "runs.[].segment_frees:i runs.[].oom_events:i";

/* ---- sums ----------------------------------------------------------------------------------- */

static void expect_one_of(const cJSON *report, const char *key, const char *words)
{
    const char *value = mvt_json_text(report, key), *found = strstr(words, value);

    cr_expect(found && (found == words || found[-1] == ' ') &&
                  (found[strlen(value)] == ' ' || found[strlen(value)] == 0),
              "%s is %s", key, value);
}

static void info_holds(const cJSON *r)
{
    expect_one_of(r, "history", "complete truncated late none");
}

static void leaks_hold(const cJSON *r)
{
    expect_one_of(r, "verdict", "leak clean unknown");
    expect_one_of(r, "steps.source", "annotation mark inferred none");
    cr_expect_eq(mvt_json_sum(mvt_member(r, "leaks"), "bytes") +
                     mvt_json_sum(mvt_member(r, "retained"), "bytes"),
                 mvt_json_sum(mvt_member(r, "devices"), "live_bytes"));
}

static void peak_holds(const cJSON *r)
{
    double allocated = mvt_json_number(r, "at.allocated"), categories = 0;
    const cJSON *category;

    cr_expect_eq(mvt_json_sum(mvt_member(r, "sites"), "bytes") + mvt_json_number(r, "unattributed"),
                 allocated);
    cJSON_ArrayForEach(category, mvt_member(r, "categories"))
        categories += category->valuedouble;
    cr_expect_eq(categories, allocated);
}

static void fragmentation_holds(const cJSON *r)
{
    const cJSON *segment, *pin, *at = mvt_member(r, "at.event");
    double events = cJSON_IsNull(at) ? 0 : at->valuedouble + 1;

    expect_one_of(r, "verdict", "fragmented waiting ok");
    cr_expect_eq(mvt_json_number(r, "reserved"), mvt_json_number(r, "at.reserved"));
    cr_expect_eq(mvt_json_number(r, "reserved"), mvt_json_number(r, "allocated") +
                                                     mvt_json_number(r, "free.pending") +
                                                     mvt_json_number(r, "free.total"));
    cJSON_ArrayForEach(segment, mvt_member(r, "stranded"))
        cJSON_ArrayForEach(pin, mvt_member(segment, "pinned_by"))
            cr_expect_leq(mvt_json_number(pin, "age_events"), events);
}

static void ooms_hold(const cJSON *r)
{
    const cJSON *oom;

    cJSON_ArrayForEach(oom, mvt_member(r, "ooms"))
        expect_one_of(oom, "verdict",
                      "capacity fragmentation stream_or_pool pending_free outside_pytorch");
}

static void ranks_hold(const cJSON *r)
{
    const cJSON *rank;

    cJSON_ArrayForEach(rank, mvt_member(r, "ranks"))
        expect_one_of(rank, "leak_verdict", "leak clean unknown");
}

static void diff_holds(const cJSON *r)
{
    const cJSON *row;

    cr_expect_eq(mvt_json_sum(mvt_member(r, "sites"), "delta"), mvt_json_number(r, "delta"));
    cr_expect_eq(mvt_json_number(r, "after.allocated") - mvt_json_number(r, "before.allocated"),
                 mvt_json_number(r, "delta"));
    cJSON_ArrayForEach(row, mvt_member(r, "sites")) {
        expect_one_of(row, "status", "grown shrunk new gone");
        cr_expect_eq(mvt_json_number(row, "after") - mvt_json_number(row, "before"),
                     mvt_json_number(row, "delta"));
    }
}

/* ---- all on real snapshots --------------------------------------------------------------- */

static const struct {
    const char *command; /* the file follows */
    const char *members;
    void (*holds)(const cJSON *report); /* NULL: nothing more is promised */
} reports[] = {
    {"info", info_members, info_holds},
    {"triage", triage_members, NULL},
    {"leaks", leaks_members, leaks_hold},
    {"peak", peak_members, peak_holds},
    {"peak --at end", peak_members, peak_holds},
    {"peak --at reserved-peak", peak_members, peak_holds},
    {"fragmentation", fragmentation_members, fragmentation_holds},
    {"fragmentation --at end", fragmentation_members, fragmentation_holds},
    {"oom", oom_members, ooms_hold},
    {"lines", lines_members, NULL},
    {"ranks", ranks_members, ranks_hold},
    {"diff $SNAPS/leak_in_training.pickle", diff_members, diff_holds},
    {"compare --at end $SNAPS/leak_in_training.pickle", diff_members, diff_holds},
};

#define REPORTS (sizeof reports / sizeof *reports)

static void check_all(const char *file)
{
    for (unsigned i = 0; i < REPORTS; i++) {
        cJSON *report = mvt_json_here(0, "$MEMVIZ %s --json $SNAPS/%s", reports[i].command, file);
        check_members(report, reports[i].members, reports[i].command);
        if (reports[i].holds)
            reports[i].holds(report);
    }
}

Test(contract, holds_for_training_that_leaks)
{
    check_all("leak_in_training.pickle");
}

Test(contract, holds_for_fragmented_heaps)
{
    check_all("frag_pinned_by_small.pickle");
    check_all("oom_fragmented.pickle");
}

Test(contract, holds_for_heaps_without_history)
{
    check_all("no_history.pickle");
    check_all("state_only.pickle");
    check_all("ring.pickle");
}

Test(contract, holds_for_several_devices_streams_and_pools)
{
    check_all("two_devices.pickle");
    check_all("streams.pickle");
    check_all("graphs.pickle");
}

LongTest(contract, holds_for_native_stacks)
{
    check_all("resnet_all.pickle");
    check_all("retry_release.pickle");
}

/* Reports with long or slow JSON. */
Test(contract, holds_for_events_figures_and_replays)
{
    static const char *const files[] = {"oom", "annotated", "two_devices"};

    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        const char *name = files[i];
        check_members(mvt_json_here(0, "$MEMVIZ trace --json $SNAPS/%s.pickle", name),
                      trace_members, "trace");
        check_members(mvt_json_here(0, "$MEMVIZ stats --json $SNAPS/%s.pickle", name),
                      stats_members, "stats");
        check_members(mvt_json_here(0, "$MEMVIZ whatif --json $SNAPS/%s.pickle", name),
                      whatif_members, "whatif");
    }
}

/* ---- inputs and options ------------------------------------------------------------------ */

/* These reports contain the format, and do not accept --from. */
static bool names_format(const char *command)
{
    return strcmp(command, "info") == 0 || strcmp(command, "triage") == 0;
}

/* "f" in the folder, in the form that a name has. */
static mv_span converted(const char *name)
{
    mvt_run r = mvt_here("$MEMVIZ convert -q f %s", name);
    size_t length;
    const char *bytes = mvt_take(name, &length);

    cr_assert(r.status == 0 && bytes, "%s", r.err);
    return (mv_span){(const uint8_t *)bytes, length};
}

static mv_span gzipped(mv_span bytes)
{
    mvt_run r = mvt_sh("gzip -c %s", mvt_temp_file(bytes));

    return (mv_span){(const uint8_t *)r.out, r.out_length};
}

LongTest(contract, every_form_of_input_gives_the_same_report)
{
    const mv_span pickle = mvt_file(mvt_memory(), mvt_snapshot("leak_cycle"));
    mv_span forms[5] = {pickle};

    mvt_folder_put("f", pickle);
    forms[1] = converted("x.bin");
    forms[2] = converted("x.msgpack");
    forms[3] = gzipped(forms[1]);
    mv_span bytes = forms[1];
    uint64_t most = ZSTD_compressBound(bytes.length), length;
    uint8_t *out = mv_arena_push(mvt_memory(), most, 1);
    length = ZSTD_compress(out, most, bytes.data, bytes.length, 3);
    cr_assert_not(ZSTD_isError(length));
    forms[4] = (mv_span){out, length};
    for (unsigned i = 0; i < REPORTS; i++) {
        const char *command = reports[i].command;
        mvt_run r[5], piped;
        if (names_format(command))
            continue;
        for (unsigned k = 0; k < 5; k++) {
            mvt_folder_put("f", forms[k]);
            r[k] = mvt_here("$MEMVIZ %s --json f", command);
            cr_assert_eq(r[k].status, 0, "%s: %s", command, r[k].err);
            mvt_same_text(r[0].out, r[k].out, "%s of form %u", command, k);
        }
        cr_expect_eq(mvt_here("$MEMVIZ %s --json -o out f", command).status, 0, "%s", command);
        mvt_same_text(r[0].out, mvt_take("out", NULL), "%s -o", command);
        piped = mvt_sh("$MEMVIZ %s --json - <$SNAPS/leak_cycle.pickle | sed 's/\"-\"/\"f\"/g'",
                       command);
        mvt_same_text(r[0].out, piped.out, "%s of standard input", command);
    }
}

LongTest(contract, every_report_accepts_the_common_options)
{
    static const char *const options[] = {
        "--device 0",   "--from 10 --to 200", "--from 0s --to 10s",   "--limit 1",
        "--frames all", "-q --color never",   "--from 1us --limit 0", "--device 0 --from 5 --to 6"};

    for (unsigned i = 0; i < REPORTS; i++)
        for (unsigned k = 0; k < sizeof options / sizeof *options; k++) {
            bool skips = names_format(reports[i].command) ||
                         (strcmp(reports[i].command, "lines") == 0 && strstr(options[k], "frames"));
            if (skips)
                continue;
            cJSON *report = mvt_json_here(0, "$MEMVIZ %s --json %s $SNAPS/leak_in_training.pickle",
                                          reports[i].command, options[k]);
            check_members(report, reports[i].members, reports[i].command);
        }
}

Test(contract, exit_statuses_are_kept)
{
    static const struct {
        int status;
        const char *command;
    } all[] = {
        {0, "leaks $SNAPS/mlp_train.pickle"},
        {3, "leaks --fail-on leak $SNAPS/leak_cycle.pickle"},
        {0, "leaks --fail-on leak $SNAPS/mlp_train.pickle"},
        {3, "ranks --fail-on leak $SNAPS/leak_loss_list.pickle $SNAPS/gpt_train.pickle"},
        {0, "ranks --fail-on leak $SNAPS/gpt_train.pickle"},
        {3, "fragmentation --fail-on fragmented $SNAPS/frag_pinned_by_small.pickle"},
        {0, "fragmentation --fail-on fragmented $SNAPS/frag_pinned_by_small_expandable.pickle"},
        {3, "peak --fail-on 'peak>100MiB' $SNAPS/mlp_train.pickle"},
        {0, "peak --fail-on 'peak>200MiB' $SNAPS/mlp_train.pickle"},
        {3, "diff --fail-on 'delta>1MiB' $SNAPS/mlp_train.pickle $SNAPS/gpt_train.pickle"},
        {0, "diff --fail-on 'delta>1MiB' $SNAPS/gpt_train.pickle $SNAPS/mlp_train.pickle"},
        {4, "leaks --fail-on leak $SNAPS/ring.pickle"},
        {4, "oom --fail-on any $SNAPS/ring.pickle"},
        {3, "--fail-on leak $SNAPS/ring.pickle $SNAPS/leak_cycle.pickle"},
        {0, "leaks --fail-on leak,known $SNAPS/ring.pickle"},
        {3, "oom --fail-on oom $SNAPS/oom.pickle"},
        {3, "stats --fail-on 'reserved>1MiB' $SNAPS/mlp_train.pickle"},
        {1, "peak /nowhere/x.pickle"},
        {1, "peak --device 7 $SNAPS/mlp_train.pickle"},
        {1, "peak --at @nothing $SNAPS/mlp_train.pickle"},
        {1, "leaks --from @nothing $SNAPS/mlp_train.pickle"},
        {1, "ranks $SNAPS/mlp_train.pickle /nowhere/x.pickle"},
        {2, "peak"},
        {2, "peak --nothing $SNAPS/mlp_train.pickle"},
        {2, "diff $SNAPS/mlp_train.pickle"},
        {2, "$SNAPS/mlp_train.pickle leaks"},
        {0, "--no-pager leaks $SNAPS/mlp_train.pickle"},
        {2, "leaks --fail-on fragmented $SNAPS/mlp_train.pickle"},
        {2, "oom $SNAPS/mlp_train.pickle $SNAPS/mlp_train.pickle"},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r = mvt_here_or_sh("$MEMVIZ %s", all[i].command);
        cr_expect_eq(r.status, all[i].status, "%s: %d: %s", all[i].command, r.status, r.err);
        cr_expect_eq(*r.err != 0, all[i].status != 0, "%s: %s", all[i].command, r.err);
    }
}
