/* Causes of out-of-memory failures, compared with new runs of the programs (testdata/oom). Programs
 * whose recordings have `passes_expandable` were run again under the same limit with expandable
 * segments. */
#include "analyze/lives/lives_window.h"
#include "base/size.h"
#include "tests/fixture/fixture_json.h"
#include "tests/oom/fixture_oom.h"

typedef struct {
    mv_trace trace;
    mv_lives lives;
    mv_ooms found;
} loaded;

static void evaluate(loaded *l)
{
    l->lives = mvt_lives(mvt_memory(), &l->trace, 0);
    l->found = mvt_ooms_within(mvt_memory(), &l->trace, &l->lives);
}

static void load(loaded *l, const char *name)
{
    l->trace = mvt_load(mvt_memory(), mvt_format("../oom/%s", name));
    evaluate(l);
    cr_assert_gt(l->found.count, 0, "%s", name);
}

/* The number of parts into which a recording is cut, and their results. */
#define CUTS 8
static uint32_t known, cuts;
static uint32_t shares; /* number of failures whose sentence contains a percentage */

/* Calls `check` with every recording and its truth. */
static void each(void (*check)(loaded *l, const char *name, const cJSON *truth))
{
    cJSON *truths = mvt_json_file("oom/oom.json");
    const cJSON *truth;

    cr_assert_gt(cJSON_GetArraySize(truths), 20);
    cJSON_ArrayForEach(truth, truths) {
        loaded l;
        load(&l, truth->string);
        check(&l, truth->string, truth);
        mv_arena_release(mvt_memory());
    }
}

static void check_verdict(loaded *l, const char *name, const cJSON *truth)
{
    for (uint32_t i = 0; i < l->found.count; i++) {
        cr_expect_str_eq(mv_oom_verdict_name(l->found.ooms[i].verdict),
                         mvt_json_text(truth, "verdict"), "%s: %s", name, l->found.ooms[i].why);
        /* A printed percentage must be the allocated part of the reserved memory. */
        const mv_oom *o = &l->found.ooms[i];
        char share[MV_SIZE_TEXT];
        mv_percent_text(share, o->bytes.allocated, o->bytes.reserved);
        const char *said = mvt_format("%s of the reserved memory is allocated", share);
        cr_expect(!strstr(o->why, "of what is reserved") || strstr(o->why, said), "%s: %s", name,
                  o->why);
        shares += strstr(o->why, said) != NULL;
    }
}

LongTest(oom_truth, verdicts_equal_those_of_another_run)
{
    each(check_verdict);
    cr_expect_gt(shares, 4);
}

/* Statements about the limit must be true for the true limit. */
static void check_side(const mv_oom *o, int64_t limit, const char *name)
{
    const mv_oom_outlook *f = &o->outlook;
    int64_t margin = limit - (int64_t)(o->bytes.reserved - o->joinable + o->requested);
    int64_t peak = (int64_t)f->forecast.peak;

    cr_expect_leq(f->margin_least, margin, "%s", name);
    cr_expect_geq(f->margin_most, margin, "%s", name);
    if (strstr(o->why, "would be free after"))
        cr_expect_geq(margin, 0, "%s: %s", name, o->why);
    if (strstr(o->why, "be missing"))
        cr_expect_lt(margin, 0, "%s: %s", name, o->why);
    if (strstr(o->why, "above the limit"))
        cr_expect_gt(peak, limit, "%s: %s", name, o->why);
    if (strstr(o->why, "below the limit"))
        cr_expect_leq(peak, limit, "%s: %s", name, o->why);
}

/* The bounds must contain the limit. The margin must follow from the bytes, and from the true limit
 * to the extent that the bounds allow. */
static void check_figures(loaded *l, const char *name, const cJSON *truth)
{
    const cJSON *limit = cJSON_GetObjectItem(truth, "limit");

    for (uint32_t i = 0; i < l->found.count; i++) {
        const mv_oom *o = &l->found.ooms[i];
        const mv_oom_outlook *f = &o->outlook;
        cr_expect_leq(f->limit_least, f->limit, "%s", name);
        cr_expect_leq(f->limit, f->limit_most, "%s", name);
        cr_expect_eq(f->margin,
                     (int64_t)(f->limit - o->bytes.reserved + o->joinable - o->requested), "%s",
                     name);
        if (limit) {
            check_side(o, (int64_t)limit->valuedouble, name);
            cr_expect_leq((double)f->limit_least, limit->valuedouble, "%s", name);
            cr_expect_geq((double)f->limit_most, limit->valuedouble, "%s", name);
        }
    }
}

LongTest(oom_truth, limits_are_within_their_bounds)
{
    each(check_figures);
}

/* A setting is named only if its replay served the request, and is not recommended if its run
 * failed. */
static void check_advice(loaded *l, const char *name, const cJSON *truth)
{
    for (uint32_t i = 0; i < l->found.count; i++) {
        const mv_oom *o = &l->found.ooms[i];
        bool advised = strstr(o->advice, "set PYTORCH_ALLOC_CONF=") != NULL;
        const cJSON *passes = cJSON_GetObjectItem(truth, "passes_expandable");
        if (advised) {
            cr_expect(o->outlook.tried && o->outlook.serves, "%s", name);
            cr_expect_not_null(strstr(o->advice, "replayed within"), "%s", name);
        }
        if (passes)
            cr_expect_eq(advised, cJSON_IsTrue(passes), "%s: %s", name, o->advice);
    }
}

LongTest(oom_truth, settings_are_advised_only_after_a_replay)
{
    each(check_advice);
}

static void check_leak(loaded *l, const char *name, const cJSON *truth)
{
    const cJSON *site = cJSON_GetObjectItem(truth, "leak");

    for (uint32_t i = 0; i < l->found.count; i++) {
        const mv_oom *o = &l->found.ooms[i];
        uint32_t count;
        bool named = false;
        cr_expect_eq(o->outlook.has_leak, site != NULL, "%s", name);
        if (!site || !o->outlook.has_leak)
            continue;
        const mv_frame_id *frames = mv_stack_frames(&l->trace, o->outlook.leak.stack, &count);
        for (uint32_t k = 0; k < count; k++)
            named =
                named || strcmp(mv_string_text(&l->trace, l->trace.frames.function[frames[k].row]),
                                site->valuestring) == 0;
        cr_expect(named, "%s", name);
        cr_expect_eq(strncmp(o->why, "a leak filled the memory", 24), 0, "%s: %s", name, o->why);
    }
}

LongTest(oom_truth, a_leak_that_filled_the_memory_is_named_first)
{
    each(check_leak);
}

/* Events after a failure must not change its report, so the file is cut right after the failure. */
static void check_cut(loaded *l, const char *name, const cJSON *truth)
{
    (void)truth;
    for (uint32_t i = 0; i < l->found.count; i++) {
        const mv_oom *o = &l->found.ooms[i], *same;
        mv_lives until;
        mvt_ok(mv_lives_within(mvt_memory(), &l->lives, (mv_window){0, o->event + 1}, &until,
                               mvt_err()));
        mv_ooms found = mvt_ooms_within(mvt_memory(), &l->trace, &until);
        cr_assert_eq(found.count, i + 1, "%s", name);
        same = &found.ooms[i];
        cr_expect_eq(same->verdict, o->verdict, "%s: %s", name, same->why);
        cr_expect_eq(same->outlook.margin, o->outlook.margin, "%s", name);
        cr_expect_eq(same->outlook.forecast.peak, o->outlook.forecast.peak, "%s", name);
    }
}

LongTest(oom_truth, later_events_change_nothing)
{
    each(check_cut);
}

/* Without the earlier events, a verdict may become unknown, but must not change to a different
 * verdict. */
static void check_late(loaded *l, const char *name, const cJSON *truth)
{
    const char *verdict = mvt_json_text(truth, "verdict");
    uint32_t end = l->found.ooms[0].event;

    for (uint32_t i = 1; i < CUTS; i++) {
        loaded late = {.trace = l->trace};
        mvt_drop_first(mvt_memory(), &late.trace, (uint32_t)((uint64_t)end * i / CUTS));
        evaluate(&late);
        const mv_oom *o = &late.found.ooms[0];
        if (o->verdict != MV_OOM_UNKNOWN)
            cr_expect_str_eq(mv_oom_verdict_name(o->verdict), verdict, "%s, cut %u: %s", name, i,
                             o->why);
        else
            cr_expect_not_null(strstr(o->why, "unknown"), "%s, cut %u: %s", name, i, o->why);
        known += o->verdict != MV_OOM_UNKNOWN;
        cuts++;
    }
}

LongTest(oom_truth, without_the_beginning_no_verdict_is_wrong)
{
    each(check_late);
    cr_expect_gt(known, cuts * 6 / 10, "%u of %u", known, cuts);
}

Test(oom_truth, growth_decides_only_without_an_earlier_step)
{
    static const struct {
        const char *before;
        int64_t stepped_us;
        mv_oom_verdict verdict;
    } cases[] = {
        {"_init_group:/site-packages/torch/optim/adam.py:170;step:a.py:9", 0, MV_OOM_UNKNOWN},
        {"weights:a.py:3", 2, MV_OOM_UNKNOWN},
        {"weights:a.py:3", 6000000, MV_OOM_CAPACITY}, /* that is the step that failed */
        {"weights:a.py:3", 0, MV_OOM_CAPACITY},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* The holes are sufficient, in a recording that begins late and whose run is still growing.
         * The optimizer's state in the initial heap may show that a step came before: by its range,
         * or not. */
        mvt_trace *t = mvt_new();
        loaded *l = mv_push_struct(mvt_memory(), loaded);
        mvt_segment_alloc(t, .addr = 0x40000000, .bytes = 20 * MIB);
        mvt_alloc(t, .addr = 0x40000000, .bytes = 20 * MIB, .stack = cases[i].before);
        for (uint64_t j = 1; j < 9; j++) {
            mvt_segment_alloc(t, .addr = 0x40000000 + j * 0x10000000ull, .bytes = 64 * MIB);
            mvt_alloc(t, .addr = 0x40000000 + j * 0x10000000ull, .bytes = 34 * MIB,
                      .stack = "keep:a.py:1");
        }
        mvt_oom(t, .addr = 4 * GIB, .bytes = 80 * MIB, .time_us = 5000000);
        if (cases[i].stepped_us) {
            mvt_annotate(t, "Optimizer.step#AdamW.step", true, 1);
            mvt_annotate(t, "Optimizer.step#AdamW.step", false, cases[i].stepped_us);
        }
        mvt_final_heap(t);
        l->trace = *mvt_done(t);
        mvt_drop_first(mvt_memory(), &l->trace, 2);
        evaluate(l);
        const mv_oom *o = &l->found.ooms[0];
        cr_expect_eq(o->suspect, MV_OOM_FRAGMENTATION);
        cr_expect_eq(o->verdict, cases[i].verdict, "%u: %s", i, o->why);
        cr_expect(o->verdict == MV_OOM_CAPACITY || strstr(o->why, "unknown"), "%s", o->why);
    }
}

/* Ten segments of `segment` bytes, in each of which a tenth stays in use after the rest was freed.
 * Stream 0 requests `requested` bytes. 100 small requests come before the need rises, or after. */
static mv_oom pinned_segments(uint64_t segment, uint64_t stream, uint64_t requested, bool rises)
{
    loaded *l = mv_push_struct(mvt_memory(), loaded);
    mvt_trace *t = mvt_new();
    uint64_t kept = segment / 10, part = (segment - kept) / 2, first = 0x40000000;

    for (uint64_t at = first; at < first + 10 * segment; at += segment) {
        mvt_segment_alloc(t, .addr = at, .bytes = segment, .stream = stream);
        mvt_alloc(t, .addr = at, .bytes = segment, .stream = stream);
        mvt_free(t, .addr = at, .stream = stream);
        for (uint32_t i = 0; rises && at == first && i < 100; i++) {
            mvt_alloc(t, .addr = at, .bytes = 2 * MIB, .stream = stream);
            mvt_free(t, .addr = at, .stream = stream);
        }
        mvt_alloc(t, .addr = at, .bytes = part, .stack = "read:a.py:1", .stream = stream);
        mvt_alloc(t, .addr = at + part, .bytes = part, .stack = "read:a.py:1", .stream = stream);
        mvt_alloc(t, .addr = at + 2 * part, .bytes = kept, .stack = "keep:a.py:2",
                  .stream = stream);
    }
    for (uint64_t at = first; at < first + 10 * segment; at += segment) {
        mvt_free(t, .addr = at, .stream = stream);
        mvt_free(t, .addr = at + part, .stream = stream);
    }
    for (uint32_t i = 0; !rises && i < 100; i++) {
        mvt_alloc(t, .addr = first, .bytes = 2 * MIB, .stream = stream);
        mvt_free(t, .addr = first, .stream = stream);
    }
    mvt_oom(t, .addr = 4 * GIB, .bytes = requested);
    mvt_final_heap(t);
    l->trace = *mvt_done(t);
    evaluate(l);
    cr_assert_eq(l->found.count, 1);
    return l->found.ooms[0];
}

/* A replay that fails is no proof that a run needs too much memory if the run has needed no more for
 * half of its events. Pages of expandable segments are 20 MiB, so they cannot join holes of
 * 18 MiB. */
Test(oom_truth, expandable_segments_that_fail_as_well_decide_only_if_the_need_still_rises)
{
    mv_oom o = pinned_segments(20 * MIB, 0, 60 * MIB, false);

    cr_expect(o.outlook.tried && !o.outlook.serves && o.outlook.rise == 0);
    cr_expect_eq(o.verdict, MV_OOM_FRAGMENTATION, "%s", o.why);
    cr_expect_not_null(strstr(o.advice, "does not help: replayed"), "%s", o.advice);
    o = pinned_segments(20 * MIB, 0, 60 * MIB, true);
    cr_expect(o.outlook.tried && !o.outlook.serves);
    cr_expect_gt(o.outlook.rise, o.outlook.limit - o.outlook.most);
    cr_expect_eq(o.verdict, MV_OOM_CAPACITY, "%s", o.why);
}

/* One pool for all streams would have the same holes, but expandable segments return them. */
Test(oom_truth, a_single_pool_that_fails_as_well_decides_only_if_the_need_still_rises)
{
    mv_oom o = pinned_segments(400 * MIB, 9, 1 * GIB, false);

    cr_expect(o.outlook.joined && !o.outlook.joined_serves && o.outlook.serves);
    cr_expect_eq(o.verdict, MV_OOM_STREAM_OR_POOL, "%s", o.why);
    cr_expect_not_null(strstr(o.advice, "expandable_segments:True: replayed within"), "%s",
                       o.advice);
    o = pinned_segments(400 * MIB, 9, 1 * GIB, true);
    cr_expect_gt(o.outlook.rise, o.outlook.limit - o.outlook.most);
    cr_expect_eq(o.verdict, MV_OOM_CAPACITY, "%s", o.why);
    cr_expect_not_null(strstr(o.advice, "later requests is unknown"), "%s", o.advice);
}

/* Plain .msgpack repeats each stack in full, so only equal stacks show which events share a call.
 * The report must be the same. */
static void check_plain(loaded *l, const char *name, const cJSON *truth)
{
    const char *file = mvt_snapshot(mvt_format("../oom/%s", name));
    mvt_run run = mvt_sh("cd %s && $MEMVIZ convert -q %s -o plain.msgpack && "
                         "$MEMVIZ oom --json - <plain.msgpack >plain && "
                         "$MEMVIZ oom --json - <%s | cmp - plain",
                         mvt_temp_folder(), file, file);

    (void)l;
    (void)truth;
    cr_expect_eq(run.status, 0, "%s: %s%s", name, run.out, run.err);
}

LongTest(oom_truth, plain_msgpack_has_the_same_failures, .timeout = 250)
{
    each(check_plain);
}

/* A step that began small. Its forecast, 3.85 times the only earlier step, is below the limit. A
 * replay that follows the forecast to its end needs no estimate of the memory that expandable
 * segments leave unused. (Under this limit, the program succeeds with expandable segments.) */
LongTest(oom_truth, a_forecast_below_the_limit_is_replayed_to_its_end)
{
    loaded l;

    load(&l, "moe1_frag");
    const mv_oom *o = &l.found.ooms[0];
    cr_expect_eq(o->verdict, MV_OOM_FRAGMENTATION, "%s", o->why);
    cr_expect_eq(o->outlook.course, MV_COURSE_ENDS);
    cr_expect_leq(o->outlook.forecast.least, o->outlook.forecast.peak);
    cr_expect_not_null(strstr(o->why, "the whole step is served"), "%s", o->why);
    cr_expect_not_null(strstr(o->advice, "set PYTORCH_ALLOC_CONF"), "%s", o->advice);
    load(&l, "nca-leakoom");
    cr_expect_eq(l.found.ooms[0].outlook.course, MV_COURSE_FAILS);
}

Test(oom, json_has_the_members_of_the_contract)
{
    cJSON *report = mvt_json(0, "$MEMVIZ oom --json $SNAPS/oom_fragmented.pickle");
    const cJSON *oom = mvt_member(report, "ooms.0");

    mvt_json_has(
        oom, "event requested device_free reserved allocated free_in_cache largest_hole "
             "verdict pinned_by advice frames smallest_change margin forecast limit limit_least "
             "limit_most rise tried");
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(oom, "forecast")));
    cr_expect_str_eq(mvt_json_text(oom, "verdict"), "fragmentation");
    cr_expect_eq(mvt_json_number(oom, "requested"), 419430400);
    cr_expect_eq(mvt_json_number(oom, "device_free"), 147116785664);
    report = mvt_json(0, "$MEMVIZ oom --json $SNAPS/gpt_train.pickle");
    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(report, "ooms")), 0);
}

Test(oom, no_failure_is_reported_only_for_a_complete_history)
{
    static const char *const files[] = {"gpt_train",  "streams",    "ring",
                                        "no_history", "late_start", "--to 100 gpt_train"};

    for (uint32_t i = 0; i < sizeof files / sizeof *files; i++) {
        mvt_run run = mvt_sh("cd $SNAPS; $MEMVIZ oom %s.pickle", files[i]);
        bool is_whole = strstr(run.out, "no request failed") != NULL;

        cr_expect_eq(is_whole, i < 2, "%s", run.out);
        cr_expect_eq(strstr(run.out, "none recorded") != NULL, !is_whole, "%s", run.out);
    }
}

Test(oom, the_window_omits_outside_events)
{
    cJSON *report = mvt_json(0, "$MEMVIZ oom --json --to 150 $SNAPS/oom_fragmented.pickle");

    cr_expect_eq(cJSON_GetArraySize(cJSON_GetObjectItem(report, "ooms")), 0);
}
