
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

typedef struct {
    mv_sites sites;
    mv_lives lives;
    mv_leaks leaks;
    mv_ooms ooms;
    mv_fragmentation fragmentation;
    mv_reports reports;
} bench;

static void evaluate(bench *b, const mv_trace *trace, uint32_t device)
{
    mv_arena *arena = mvt_memory();

    b->lives = mvt_lives(arena, trace, device);
    mvt_ok(mv_sites_find(arena, trace, &b->sites, mvt_err()));
    mvt_ok(mv_leaks_find(arena, trace, &b->lives, &b->leaks, mvt_err()));
    mvt_ok(mv_ooms_find(arena, trace, &b->lives, &b->sites, MV_ALL_EVENTS, &b->ooms, mvt_err()));
    mvt_ok(
        mv_fragmentation_find(arena, trace, &b->lives, &b->sites,
                              (mv_fragmentation_opts){.window = MV_ALL_EVENTS, .no_advice = true},
                              &b->fragmentation, mvt_err()));
    b->reports = (mv_reports){.trace = trace,
                              .sites = &b->sites,
                              .lives = &b->lives,
                              .leaks = &b->leaks,
                              .ooms = &b->ooms,
                              .fragmentation = &b->fragmentation};
}

static mv_headline headline_of(const bench *b)
{
    mv_headline found;

    mvt_ok(mv_headline_find(mvt_memory(), &b->reports, &found, mvt_err()));
    return found;
}

static void expect_line(const char *name, const char *line)
{
    mv_trace trace = mvt_load(mvt_memory(), name);
    bench b;

    evaluate(&b, &trace, 0);
    cr_expect_str_eq(headline_of(&b).line, line, "%s: %s", name, headline_of(&b).line);
}

/* Titles used to come from the leak report only: these files were titled "leak" or "leaks
 * unknown". */
Test(headline, the_most_serious_finding_is_first)
{
    expect_line("oom", "out of memory: capacity");
    expect_line("oom_fragmented",
                "out of memory: fragmentation \xc2\xb7 fragmented: 400 MiB beyond the need");
    expect_line("frag_pinned_by_small",
                "fragmented: 516 MiB beyond the need \xc2\xb7 leak 43.8 MiB at train.py:159");
    expect_line("leak_in_training", "leak 24.0 MiB at train.py:62");
    expect_line("gpt_train", "no leak \xc2\xb7 fragmentation ok \xc2\xb7 no request failed");
    expect_line(
        "no_history",
        "leaks unknown: no history \xc2\xb7 fragmentation ok \xc2\xb7 no failed request recorded");
    expect_line("late_start",
                "no leak \xc2\xb7 fragmentation ok \xc2\xb7 no failed request recorded");
    expect_line("oom_outside", "out of memory: outside PyTorch");
    expect_line("streams", "waiting for streams: 94.0 MiB");
}

static const mv_headline_row *row_of(const mv_headline *found, mv_finding_kind kind)
{
    for (uint32_t i = 0; i < found->count; i++)
        if (found->rows[i].kind == kind)
            return &found->rows[i];
    cr_assert_fail("no row of this kind");
    return NULL;
}

static mv_headline_level level_of(bool is_alarm, bool is_known)
{
    return is_alarm ? MV_HEADLINE_ALARM : is_known ? MV_HEADLINE_FINE : MV_HEADLINE_UNKNOWN;
}

static void compare(const mv_trace *trace, uint32_t d, const char *name)
{
    bench b;
    evaluate(&b, trace, d);
    mv_headline found = headline_of(&b);
    /* A row is an alarm if its report finds a problem, and fine only if the report is sure that
     * there is none. */
    cr_assert_eq(found.count, 3, "%s", name);
    cr_expect_eq(row_of(&found, MV_FINDING_OOM)->level, level_of(b.ooms.count > 0, b.ooms.is_known),
                 "%s: oom", name);
    cr_expect_eq(row_of(&found, MV_FINDING_LEAK)->level,
                 level_of(b.leaks.verdict == MV_VERDICT_LEAK, b.leaks.verdict == MV_VERDICT_CLEAN),
                 "%s: leaks", name);
    if (b.fragmentation.waits)
        cr_expect_eq(row_of(&found, MV_FINDING_WAITING)->level, MV_HEADLINE_ALARM, "%s", name);
    else
        cr_expect_eq(row_of(&found, MV_FINDING_FRAGMENTED)->level,
                     level_of(b.fragmentation.fragmented, b.fragmentation.is_known),
                     "%s: fragmentation", name);
    for (uint32_t i = 0; i < found.count; i++) {
        bool is_in_line = strstr(found.line, found.rows[i].text) != NULL;
        cr_expect_eq(found.rows[i].level == MV_HEADLINE_ALARM, i < found.alarms, "%s", name);
        cr_expect_eq(is_in_line, i < found.alarms || found.alarms == 0, "%s: %s", name, found.line);
        cr_expect_neq(found.rows[i].why, NULL);
        cr_expect(!mv_text_has_ending(found.rows[i].text, ": "), "%s: %s", name, found.line);
    }
    cr_expect_lt(strlen(found.line), 200, "%s: %s", name, found.line);
}

EachDevice(headline, agrees_with_each_report_on_every_snapshot, compare);

Test(headline, omits_reports_that_were_not_run)
{
    mv_trace trace = mvt_load(mvt_memory(), "oom");
    bench b;

    evaluate(&b, &trace, 0);
    b.reports.ooms = NULL;
    b.reports.fragmentation = NULL;
    mv_headline found = headline_of(&b);
    cr_expect_eq(found.count, 1);
    cr_expect_eq(found.rows[0].kind, MV_FINDING_LEAK);
    b.reports.leaks = NULL;
    cr_expect_str_empty(headline_of(&b).line);
}

Test(headline, failures_of_different_kinds_are_counted_and_named_once)
{
    mv_oom failures[] = {{.verdict = MV_OOM_STREAM_OR_POOL, .why = "first"},
                         {.verdict = MV_OOM_CAPACITY, .why = "second"},
                         {.verdict = MV_OOM_STREAM_OR_POOL, .why = "third"}};
    mv_ooms ooms = {.count = 3, .ooms = failures, .is_known = true};
    bench b = {.reports = {.ooms = &ooms}};

    cr_expect_str_eq(headline_of(&b).line, "out of memory 3 times: stream or pool, capacity");
    cr_expect_str_eq(headline_of(&b).rows[0].why, "first");
}

Test(headline, memory_runs_out_at_every_place)
{
    mv_trace trace = mvt_load(mvt_memory(), "oom");
    bench b;
    mv_headline found;

    evaluate(&b, &trace, 0);
    for (mvt_limit l = {.step = 4096}; mvt_more_memory(&l);)
        l.code = mv_headline_find(&l.arena, &b.reports, &found, mvt_err());
}

static const struct {
    const char *name, *badge;
} badges[] = {{"gpt_train", "fine"},
              {"leak_in_training", "1: leak"},
              {"frag_pinned_by_small", "2: fragmented"},
              {"oom", "1: out of memory"},
              {"no_history", "leaks unknown: no history"},
              {"ring", "leaks unknown: too few steps"},
              {"late_start", "fine (file damaged)"}};

/* The number counts the findings that report a problem. It is shown on every tab, and a click on it
 * opens the reports. */
LongTest(headline, the_viewers_badge_counts_the_problems)
{
    for (size_t i = 0; i < sizeof badges / sizeof *badges; i++) {
        mv_view *view = mvt_view(badges[i].name);
        uint32_t alarms = 0;
        mvt_view_frame(view);
        const mv_findings *f = &view->panels->findings_shown->findings;
        for (uint32_t row = 0; row < f->count; row++)
            alarms += f->rows[row].kind <= MV_FINDING_WAITING;
        cr_assert_eq(strtoul(mv_view_device(view)->badge, NULL, 10), alarms, "%s", badges[i].name);
        cr_assert_str_eq(mv_view_device(view)->badge, badges[i].badge, "%s", badges[i].name);
        mv_view_do(view, MV_DO_show_tables, 0);
        mvt_view_frame(view);
        const mv_zone *zone = NULL;
        for (uint32_t z = 0; z < view->ui.zone_count; z++)
            if (view->ui.zones[z].tip == mv_view_device(view)->headline.line)
                zone = &view->ui.zones[z];
        cr_assert_not_null(zone);
        mvt_view_click(view, zone->box.x + 3, zone->box.y + 3);
        cr_assert_eq(view->now->tab, MV_TAB_REPORTS);
        mvt_end_now(view);
    }
}

/* The picture of one level must not claim that nothing leaks if another level does. */
Test(headline, no_leak_names_its_level_where_there_are_others)
{
    mv_trace capture = mvt_load(mvt_memory(), "nccl_leak.0"),
             one = mvt_load(mvt_memory(), "gpt_train");
    bench b;

    evaluate(&b, &capture, 0);
    cr_expect_str_eq(
        headline_of(&b).line,
        "PyTorch's allocator: no leak \xc2\xb7 fragmentation ok \xc2\xb7 no request failed");
    evaluate(&b, &one, 0);
    cr_expect(strncmp(headline_of(&b).line, "no leak", 7) == 0);
}
