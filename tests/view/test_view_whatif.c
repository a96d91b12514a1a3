/* The What-if tab: what is ticked, the replayed run, and its curves over the timeline. */
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

static mv_view *view_of(const char *name)
{
    mv_view *view = mvt_view(name);

    mvt_view_do(view, MV_DO_show_whatif, 0);
    return view;
}

static void tick(mv_view *view, const char *item)
{
    for (uint32_t i = 0; i < view->panels->whatif_count; i++)
        if (strcmp(view->panels->whatif_items[i], item) == 0) {
            mvt_view_do(view, MV_DO_whatif_toggle, i);
            return;
        }
    cr_assert_fail("%s is not offered", item);
}

/* ---- items --------------------------------------------------------------------------------- */

Test(view_whatif, values_of_a_setting_exclude_each_other)
{
    char items[MV_SEARCH_TEXT] = "";

    cr_expect(mv_whatif_toggle(items, "max_split_size_mb:64"));
    cr_expect(mv_whatif_toggle(items, "drop site:train.py:62"));
    cr_expect(mv_whatif_toggle(items, "max_split_size_mb:128"));
    cr_expect_str_eq(items, "drop site:train.py:62\nmax_split_size_mb:128");
    cr_expect(mv_whatif_has(items, "max_split_size_mb:128"));
    cr_expect_not(mv_whatif_has(items, "max_split_size_mb:12"));
    cr_expect(mv_whatif_toggle(items, "drop site:train.py:62"));
    cr_expect(mv_whatif_toggle(items, "max_split_size_mb:128"));
    cr_expect_str_eq(items, "");
    for (size_t i = 0; i < sizeof items; i++)
        cr_assert_eq(items[i], 0); /* states are compared byte by byte */
}

Test(view_whatif, changes_beyond_the_limit_are_not_ticked)
{
    char items[MV_SEARCH_TEXT] = "one-stream", most[MV_SEARCH_TEXT];

    memset(most, 'x', sizeof most);
    memcpy(most, "drop ", 5);
    most[sizeof most - 11] = '\0'; /* one byte too long, with the line before it */
    cr_expect_not(mv_whatif_toggle(items, most));
    cr_expect_str_eq(items, "one-stream");
    most[sizeof most - 12] = '\0';
    cr_expect(mv_whatif_toggle(items, most));
}

/* Returns where an item's box is. */
static mv_box box_of(mv_view *view, const char *item)
{
    for (uint32_t i = 0; i < view->ui.zone_count; i++)
        if (view->ui.zones[i].command == MV_DO_whatif_toggle &&
            strcmp(mv_whatif_item(view, view->ui.zones[i].arg), item) == 0)
            return view->ui.zones[i].box;
    cr_assert_fail("%s is not shown", item);
    return (mv_box){0};
}

/* Ticks all boxes, one after the other. The results then take many more lines than there are above
 * the boxes. */
ViewTest(view_whatif, boxes_stay_where_they_are, view_of("gpt_train"))
{
    float y = box_of(view, "max_split_size_mb:64").y;
    uint32_t count = view->panels->whatif_count;
    bool was_long = false;

    for (uint32_t i = 0; i < count; i++) {
        const char *item = mvt_format("%s", mv_whatif_item(view, i));
        tick(view, item);
        was_long |= mvt_scene_says(mvt_view_frame(view), "more about this below the boxes");
        cr_expect(box_of(view, "max_split_size_mb:64").y == y, "%s", item);
    }
    cr_expect(was_long);
}

/* In a pane that is too low for the verdict, the boxes stay too, and the verdict is below them and in
 * a tip. */
Test(view_whatif, boxes_stay_where_they_are_in_a_low_pane)
{
    static const float sizes[][2] = {{390, 844}, {1280, 360}, {390, 560}, {640, 300}};

    for (int s = 0; s < 4; s++) {
        mv_view *view = view_of("gpt_train");
        float w = sizes[s][0], h = sizes[s][1];
        mv_view_frame(view, w, h, 0);
        float y = box_of(view, "expandable_segments:True").y;
        for (uint32_t i = 0; i < 8; i++) {
            mv_view_do(view, MV_DO_whatif_toggle, i);
            mvt_view_sized(view, w, h);
            cr_expect(box_of(view, "expandable_segments:True").y == y, "%gx%g, item %u", (double)w,
                      (double)h, i);
        }
        mvt_end_now(view);
    }
}

/* ---- the replay ---------------------------------------------------------------------------- */

/* Without any change, the replayed curve must equal the recorded one after each event that
 * allocates or frees. */
static void expect_recorded_curve(const char *name)
{
    mv_view *view = view_of(name);
    const mv_document_device *d = mv_view_device(view);
    const mv_events *ev = &d->lives.events;
    mv_pyramid_reader reader;
    mv_levels most;

    snprintf(mv_view_write(view)->whatif, MV_SEARCH_TEXT, "roundup_power2_divisions:");
    mvt_view_frame(view);
    const mv_whatif_answer *a = view->whatif;
    cr_assert(a && a->has_run, "%s", name);
    cr_assert_eq(a->curve.step, 1);
    cr_assert_eq(a->curve.count, ev->count);
    mv_pyramid_reader_init(&reader, &d->pyramid);
    for (uint32_t e = 0; e < ev->count; e++) {
        mv_levels levels = mv_pyramid_at(&reader, e);
        cr_assert(mv_whatif_most(a, e, e + 1, &most));
        cr_assert_eq(most.allocated, levels.allocated, "%s: event %u", name, e);
        if (ev->action[e] == MV_ACTION_ALLOC) /* its segments are there, too */
            cr_assert_eq(most.reserved, levels.reserved, "%s: event %u", name, e);
    }
    cr_expect_not(mv_whatif_most(a, ev->count, ev->count + 9, &most));
    mvt_end_now(view);
}

Test(view_whatif, an_unchanged_run_has_the_recorded_curve)
{
    static const char *const names[] = {"gpt_train", "frag_pinned_by_small", "streams",
                                        "mlp_train"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_recorded_curve(names[i]);
}

/* The view's figures must be those of the command's run with the changes and the setting. */
static const mv_whatif_answer *expect_run(const mv_view *view, const char *changes,
                                          const char *conf)
{
    const cJSON *run = mvt_json_here(
        0, "$MEMVIZ whatif --json %s --conf '%s' $SNAPS/gpt_train.pickle", changes, conf);
    const mv_whatif_answer *a = view->whatif;

    cJSON_ArrayForEach(run, mvt_member(run, "runs"))
        if (cJSON_GetArraySize(mvt_member(run, "changes")) &&
            strcmp(mvt_json_text(run, "conf"), conf) == 0)
            break;
    cr_assert(run && a && a->has_run);
    cr_expect_eq((double)a->trial.result.peak.reserved, mvt_json_number(run, "peak_reserved"));
    cr_expect_eq((double)a->trial.result.peak.allocated, mvt_json_number(run, "peak_allocated"));
    return a;
}

/* The curve must reach the figures. */
ViewTest(view_whatif, figures_are_those_of_whatif, view_of("gpt_train"))
{
    mv_levels most;

    tick(view, "max_split_size_mb:128");
    tick(view, "half site:train.py:75");
    const mv_whatif_answer *a =
        expect_run(view, "--half site:train.py:75", "max_split_size_mb:128");
    cr_assert(mv_whatif_most(a, MV_BEFORE, a->curve.count, &most));
    cr_expect_eq(most.reserved, a->trial.result.peak.reserved);
    cr_expect_eq(most.allocated, a->trial.result.peak.allocated);
    cr_expect(mvt_scene_says(mvt_view_frame(view), "less than recorded"));
    cr_expect(mvt_scene_says(mvt_view_frame(view), "what if: reserved"));
}

/* In columns of several events the highest levels remain. */
ViewTest(view_whatif, columns_of_several_events_keep_the_peak, view_of("gpt_train"))
{
    const mv_document_device *d = mv_view_device(view);
    uint64_t reserved[8][700] = {0}, allocated[8][700] = {0};
    mv_replay_result result;

    for (uint32_t step = 1; step < 8; step++) {
        mv_replay_curve c = {.step = 1000 * step, .count = 700};
        mv_replay_opts opts = {.conf = mv_alloc_conf_of(&mv_view_document(view)->trace),
                               .curve = &c};
        uint64_t most = 0;
        c.reserved = reserved[step];
        c.allocated = allocated[step];
        c.count = (d->lives.events.count + c.step - 1) / c.step;
        mvt_ok(mv_replay_run(mvt_memory(), &mv_view_document(view)->trace, &d->lives, opts, &result,
                             mvt_err()));
        for (uint32_t i = 0; i < c.count; i++)
            most = c.allocated[i] > most ? c.allocated[i] : most;
        cr_expect_eq(most, d->peak, "%u", c.step);
    }
}

/* ZeRO has two kinds of ticks, and then the figures of the command. */
ViewTest(view_whatif, zero_is_that_of_whatif, view_of("gpt_train"))
{
    tick(view, "zero:1");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "ZeRO needs two ticks"));
    tick(view, "ranks:8");
    tick(view, "zero:2");
    cr_expect_str_eq(view->now->whatif, "ranks:8\nzero:2");
    expect_run(view, "--zero 2 --ranks 8", "");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "divided by 8"));
    snprintf(mv_view_write(view)->whatif, MV_SEARCH_TEXT, "zero:4\nranks:8");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "ZeRO 4 among 8 ranks cannot be replayed"));
    snprintf(mv_view_write(view)->whatif, MV_SEARCH_TEXT, "zero:1\nranks:0");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "a number of ranks"));
}

/* ---- from the reports ------------------------------------------------------------------------ */

/* A click on the row WHAT IF must tick the row's change, and the replay must save what the row
 * says. */
Test(view_whatif, a_row_of_the_reports_ticks_its_change)
{
    static const mv_view_opts opts = {.is_dark = true, .tries_settings = true};
    static const char *const names[] = {"frag_pinned_by_small", "eval_without_no_grad",
                                        "expandable_empty", "gc_limit"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_new(&opts);
        const mv_panels *p = view->panels;
        uint32_t row = 0;
        mvt_view_open(view, mvt_snapshot(names[i]));
        mvt_view_frame(view);
        mvt_view_frame(view);
        while (row < p->report_count && p->reports[row].kind != MV_FINDING_WHATIF)
            row++;
        cr_assert_lt(row, p->report_count, "%s", names[i]);
        uint64_t saves = p->reports[row].bytes;
        snprintf(mv_view_write(view)->whatif, MV_SEARCH_TEXT, "max_split_size_mb:64");
        mvt_view_do(view, MV_DO_report_row, row);
        cr_expect_eq(view->now->tab, MV_TAB_WHATIF);
        cr_assert(view->whatif && view->whatif->has_run, "%s", names[i]);
        cr_expect_eq(mv_trials_gain(&view->whatif->facts->trials, &view->whatif->trial),
                     (int64_t)saves, "%s: %s", names[i], view->now->whatif);
        mv_view_do(view, MV_DO_back, 0);
        cr_expect_str_eq(view->now->whatif, "max_split_size_mb:64");
        mvt_end_now(view);
    }
}

/* If a line should have a separate pool, that change must be ticked, with the figures from the
 * advice. */
ViewTest(view_whatif, a_pool_of_their_own_is_that_of_the_advice, view_of("frag_pinned_by_small"))
{
    const mv_document *d = mv_view_document(view);
    const mv_finding f = {.kind = MV_FINDING_WHATIF, .stack = MV_NO_STACK};
    const mv_findings findings = {1, (mv_finding[]){f}};
    mv_whatif found;

    mvt_ok(mv_whatif_find(mvt_memory(), &d->trace, &d->devices->lives, &d->sites,
                          (mv_whatif_opts){0}, &found, mvt_err()));
    cr_assert_eq(found.advice_count, 2);
    found.advice[0] = found.advice[1];
    const mv_finding_place *place =
        mv_finding_places_find(mvt_memory(), d, d->devices, &findings, &found);
    cr_assert_not_null(place);
    tick(view, place->ticks);
    cr_assert(view->whatif && view->whatif->has_run, "%s", place->ticks);
    cr_expect_eq(view->whatif->trial.result.peak.reserved, found.line.apart.result.peak.reserved);
    cr_expect_lt(view->whatif->trial.result.peak.reserved, found.trials.recorded_reserved);
    cr_expect(mvt_scene_says(mvt_view_frame(view), "own pool for site:train.py:159"));
}

/* ---- what cannot be replayed ----------------------------------------------------------------- */

ViewTest(view_whatif, a_wrong_item_is_named, view_of("mlp_train"))
{
    snprintf(mv_view_write(view)->whatif, MV_SEARCH_TEXT, "max_split_size_mb:1\nfly away");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "'max_split_size_mb:1' cannot be replayed"));
    snprintf(mv_view_write(view)->whatif, MV_SEARCH_TEXT, "fly away");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "not a setting or a code change"));
    mv_view_frame(view, 1280, 1000, 0); /* it is the last row */
    cr_expect(mvt_scene_says(mv_view_frame(view, 1280, 1000, 0), "also ticked"));
    tick(view, "fly away");
    cr_expect_str_eq(view->now->whatif, "");
}

ViewTest(view_whatif, other_memory_is_not_replayed, view_of("no_history"))
{
    cr_expect(mvt_scene_says(mvt_view_frame(view), "no events to replay"));
}

/* If memory is out, there is a sentence instead, and the window comes to rest. Once memory is
 * available, the tab works again. */
ViewTest(view_whatif, stops_drawing_without_memory, view_of("frag_pinned_by_small"))
{
    unsigned without = 0;

    for (uint64_t room = 1 << 10; room < (1 << 20); room *= 4) {
        view->budget->limit = view->budget->used + room;
        tick(view, "max_split_size_mb:64");
        mvt_view_frame(view);
        without += view->is_whatif_without_memory;
        cr_expect(mv_view_is_idle(view), "%u bytes", (unsigned)room);
        if (view->is_whatif_without_memory)
            cr_expect_null(view->whatif);
        view->budget->limit = (uint64_t)4 << 30;
        mvt_view_do(view, MV_DO_whatif_clear, 0);
    }
    cr_expect_gt(without, 0);
    tick(view, "max_split_size_mb:64");
    cr_expect(view->whatif && view->whatif->has_run);
}
