/* The badge and the reports cover the whole file, on all levels and devices. They must name the
 * same problems as `memviz FILE`, whichever level is shown. */
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/frame/file_badge.h"
#include "view/panes/panels.h"

static bool is_problem(const char *verdict)
{
    static const char *const problems[] = {"leak",         "fragmented",     "waiting",
                                           "capacity",     "fragmentation",  "stream_or_pool",
                                           "pending_free", "outside_pytorch"};

    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (strcmp(verdict, problems[i]) == 0)
            return true;
    return false;
}

/* Returns whether the triage reports a problem. */
static bool triage_says(const cJSON *triage, const char *report)
{
    const cJSON *finding;

    cJSON_ArrayForEach(finding, cJSON_GetObjectItem(triage, "findings"))
        if (strcmp(mvt_json_text(finding, "report"), report) == 0 &&
            is_problem(mvt_json_text(finding, "verdict")))
            return true;
    return false;
}

static bool pane_says(const mv_view *view, mv_finding_kind kind)
{
    for (uint32_t i = 0; i < view->panels->report_count; i++)
        if (view->panels->reports[i].kind == kind)
            return true;
    return false;
}

static void check_file(const char *name, const char *path)
{
    mv_view *view = mvt_view(name);
    cJSON *triage = mvt_json_here(0, "$MEMVIZ --json %s", path);

    for (uint32_t i = 0; i < mv_view_levels(view)->count; i++) {
        mv_view_do(view, MV_DO_level, i);
        mvt_view_frame(view);
        const char *level = mv_view_level_name(view);
        bool is_bad = triage_says(triage, "leaks") || triage_says(triage, "oom") ||
                      triage_says(triage, "fragmentation");
        mvt_view_do(view, MV_DO_show_reports, 0);
        mv_file_badge badge = mv_file_badge_of(view);
        cr_assert_not_null(badge.text, "%s, level %s", name, level);
        cr_expect_eq(badge.is_alarm, is_bad, "%s, level %s: %s", name, level, badge.text);
        cr_expect_eq(pane_says(view, MV_FINDING_LEAK), triage_says(triage, "leaks"),
                     "%s, level %s: leaks", name, level);
        cr_expect_eq(pane_says(view, MV_FINDING_OOM), triage_says(triage, "oom"),
                     "%s, level %s: failed requests", name, level);
    }
    mvt_end_now(view);
}

LongTest(reports_of_levels, reports_name_the_findings_of_the_triage)
{
    static const char *const captures[] = {"pinned_leak", "nccl_leak.0", "train",     "cupy_leak",
                                           "fsdp.0",      "heap_pool",   "heap_cupy", "loader",
                                           "two_devices", "plain_oom"};
    static const char *const snapshots[] = {"leak_in_training", "oom_fragmented", "gpt_train"};

    for (size_t i = 0; i < sizeof captures / sizeof *captures; i++)
        check_file(captures[i], mvt_snapshot(captures[i]));
    for (size_t i = 0; i < sizeof snapshots / sizeof *snapshots; i++)
        check_file(snapshots[i], mvt_snapshot(snapshots[i]));
}

ViewTest(reports_of_levels, a_click_shows_the_level, mvt_view("pinned_leak"))
{
    const mv_panels *panels = view->panels;
    uint32_t row = 0;

    mvt_view_frame(view);
    while (row < panels->report_count && panels->reports[row].finding != MV_NO_ROW)
        row++;
    cr_assert_lt(row, panels->report_count);
    cr_assert_str_neq(mv_view_level_name(view), "host");
    cr_expect_str_eq(panels->reports[row].where, "level host");
    cr_expect(
        mvt_scene_says(mv_view_frame(view, 1280, 2000, view->ms + 1000), "PyTorch's allocator: "));
    mvt_view_do(view, MV_DO_report_row, row);
    cr_expect_str_eq(mv_view_level_name(view), "host");
    cr_expect_eq(view->now->tab, MV_TAB_REPORTS);
    cr_expect_eq(panels->reports[0].kind, MV_FINDING_LEAK);
}

/* The whole device, and what other settings save, are rows as in `memviz FILE`. */
ViewTest(reports_of_levels, the_device_and_other_settings_have_rows, mvt_view("train"))
{
    mv_view_opts opts = {.is_dark = true, .tries_settings = true};

    mvt_view_frame(view);
    cr_expect(pane_says(view, MV_FINDING_DEVICE));
    view = mvt_view_new(&opts);
    mvt_view_open(view, mvt_snapshot("frag_pinned_by_small"));
    mvt_view_frame(view);
    mvt_view_frame(view);
    cr_expect(pane_says(view, MV_FINDING_WHATIF));
}

/* A window that lacks the memory to replay other settings shows the other findings, and comes to
 * rest. */
Test(reports_of_levels, reports_stop_drawing_without_memory_for_replays)
{
    static const mv_view_opts opts = {.is_dark = true, .tries_settings = true};
    unsigned without = 0;

    for (uint64_t room = 64 << 10; room < (1 << 20); room *= 2) {
        mv_view *view = mvt_view_new(&opts);
        mvt_view_open(view, mvt_snapshot("frag_pinned_by_small"));
        view->budget->limit = view->budget->used + room;
        for (int i = 0; i < 3; i++)
            mvt_view_frame(view);
        cr_expect(mv_view_is_idle(view), "%u bytes", (unsigned)room);
        without += view->panels->report_count > 0 && !pane_says(view, MV_FINDING_WHATIF);
        mvt_end_now(view);
    }
    cr_expect_gt(without, 0);
}
