/* The panes next to the timeline, on every real snapshot: what they contain, whether they are
 * legible, and where clicks lead. */

#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"
#include "view/timeline/pane_timeline.h"

/* ---- legibility --------------------------------------------------------------------------- */

static bool is_inside(mv_box outer, const mv_scene *scene, const mv_shape *s)
{
    mv_point at = scene->points[s->first];

    return mv_box_has(outer, at.x, at.y);
}

static mv_box text_box(const mv_scene *scene, const mv_shape *s)
{
    mv_point at = scene->points[s->first];
    float w = mv_text_width(s->text, s->width);
    float x = s->anchor == MV_ANCHOR_START ? at.x
              : s->anchor == MV_ANCHOR_END ? at.x - w
                                           : at.x - w / 2;

    return (mv_box){x, at.y - s->width * 0.72f, w, s->width * 0.9f};
}

static bool meet(mv_box a, mv_box b)
{
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/* A pane's texts must not overlap, and must end within the pane. */
static void check_pane_texts(const mv_scene *scene, mv_box pane, const char *name)
{
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind != MV_SHAPE_TEXT || !is_inside(pane, scene, s))
            continue;
        mv_box a = text_box(scene, s);
        cr_expect(a.x >= pane.x - 1 && a.x + a.w <= pane.x + pane.w + 1, "%s: \"%s\" leaves", name,
                  s->text);
        for (uint32_t j = i + 1; j < scene->shape_count; j++) {
            const mv_shape *other = &scene->shapes[j];
            if (other->kind == MV_SHAPE_TEXT && is_inside(pane, scene, other))
                cr_expect_not(meet(a, text_box(scene, other)), "%s: \"%s\" meets \"%s\"", name,
                              s->text, other->text);
        }
    }
}

static void check_frame(mv_view *view, const char *name, const char *what)
{
    const mv_scene *scene = mvt_view_frame(view);

    const char *text = mvt_format("%s, %s", name, what);
    cr_assert_not(scene->failed, "%s", text);
    check_pane_texts(scene, view->lower_box, text);
    if (view->now->main == MV_MAIN_STATE)
        check_pane_texts(scene, view->main_box, text);
    mvt_scene_check_contrasts(scene, text);
}

static void check_view(mv_view *view, const char *name)
{
    uint32_t events = mv_view_device(view)->lives.events.count;

    for (int i = 0; i < 2; i++) {
        mv_view_write(view)->main = MV_MAIN_STATE;
        mv_view_write_desk(view)->is_dark = i;
        if (i)
            mv_view_do(view, MV_DO_state_layout, 0);
        mv_view_do(view, MV_DO_state_ideal, 0); /* shown in the light theme only */
        if (i && events)
            mv_view_move_cursor(view, events / 2);
        if (mv_view_device(view)->lives.allocs.count)
            mv_view_pin(view, mv_view_device(view)->lives.allocs.count / 2);
        for (uint64_t source = 0; source < MV_FLAMES_COUNT; source++) {
            mv_view_write(view)->tab = MV_TAB_FLAME;
            mv_view_do(view, MV_DO_flame_source, source);
            if (source % 2)
                mv_view_do(view, MV_DO_flame_weight, 0);
            if (source == 2)
                mv_view_do(view, MV_DO_flame_invert, 0);
            check_frame(view, name, mvt_format("flame %u", (unsigned)source));
        }
        for (uint64_t kind = 0; kind < MV_LISTING_COUNT; kind++) {
            mv_view_do(view, MV_DO_table_kind, kind);
            check_frame(view, name, mvt_format("table %u", (unsigned)kind));
        }
        mv_view_write(view)->tab = MV_TAB_REPORTS;
        check_frame(view, name, "reports");
        mv_view_write(view)->tab = MV_TAB_DETAILS;
        check_frame(view, name, "details");
    }
}

EachView(panes, panes_of_every_snapshot_are_legible, check_view);

LongTest(panes, state_follows_the_cursor)
{
    mv_view *view = mvt_view("gpt_train");
    const mv_document_device *d = mv_view_device(view);

    mv_view_write(view)->main = MV_MAIN_STATE;
    for (uint32_t event = 0; event < d->lives.events.count; event += 97) {
        mv_levels levels = mv_moment_levels(&d->lives, event);
        bool is_current;
        mv_view_move_cursor(view, event);
        mv_view_frame(view, 1280, 720, view->ms + 16);
        mv_heap_query ask = mv_state_question(view, view->main_box);
        const mv_heap_answer *answer = mv_slot_query(view->panels->heap, &ask, &is_current);
        cr_assert(answer && is_current);
        cr_assert_eq(answer->heap.sums.reserved, levels.reserved);
        cr_assert_eq(answer->heap.sums.allocated, levels.allocated);
        cr_assert_eq(answer->heap.sums.pending, levels.active - levels.allocated);
    }
}

ViewTest(panes, a_failed_request_is_compared_with_free_memory, mvt_view("oom_fragmented"))
{
    const mv_oom *oom = mv_view_device(view)->ooms.ooms;

    mv_view_write(view)->main = MV_MAIN_STATE;
    mv_view_move_cursor(view, oom->event);
    cr_expect(mvt_scene_says(mvt_view_frame(view), "OUT OF MEMORY: requested 400 MiB"));
    cr_expect(mvt_scene_says(&view->ui.scene, "largest hole"));
    cr_expect(mvt_scene_says(&view->ui.scene, "pins"));
}

/* ---- clicks ------------------------------------------------------------------------------ */

static void click_zone(mv_view *view, mv_command_id command, uint64_t arg)
{
    mvt_view_frame(view);
    mvt_view_click_zone(view, command, arg);
}

ViewTest(panes, the_ideal_placement_is_shown_with_the_lines_that_cost_the_difference,
         mvt_view("frag_pinned_by_small"))
{
    mv_view_write(view)->main = MV_MAIN_STATE;
    cr_expect_not(mvt_scene_says(mvt_view_frame(view), "ideal: "));
    uint32_t boxes = view->ui.scene.shape_count;
    click_zone(view, MV_DO_state_ideal, 0);
    cr_expect(
        mvt_scene_says(&view->ui.scene, "ideal: 642 MiB reserved at the peak = 120 MiB that any"));
    cr_expect(mvt_scene_says(&view->ui.scene, "522 MiB for train.py:158 frag_pinned_by_small"));
    cr_expect_gt(view->ui.scene.shape_count, boxes + 3, "and the blocks of the strip");
    click_zone(view, MV_DO_state_ideal, 0);
    cr_expect_not(mvt_scene_says(&view->ui.scene, "ideal: "));
}

ViewTest(panes, a_click_on_a_finding_goes_there_and_back_undoes_it, mvt_view("leak_in_training"))
{
    mvt_view_frame(view);
    mv_view_state before = *view->now;
    click_zone(view, MV_DO_report_row, 0);
    cr_expect_neq(view->now->pinned, MV_NO_ROW);
    cr_expect(mv_view_device(view)->leaks.is_leaked[view->now->pinned]);
    cr_expect_eq(view->now->cursor, mv_view_device(view)->lives.events.count - 1);
    cr_expect_str_eq(view->now->search, "leak:1");
    cr_expect(mvt_scene_says(&view->ui.scene, "12 hits"));
    cr_expect(mv_view_do(view, MV_DO_back, 0));
    cr_expect_eq(view->now->pinned, before.pinned);
    cr_expect_eq(view->now->cursor, before.cursor);
    cr_expect_eq(view->now->from, before.from);
    cr_expect_str_eq(view->now->search, "");
}

LongTest(panes, a_click_on_a_block_pins_it)
{
    mv_view *view = mvt_view("gpt_train");
    const mv_document_device *d = mv_view_device(view);
    uint32_t pinned = 0;

    mv_view_write(view)->main = MV_MAIN_STATE;
    mvt_view_frame(view);
    for (float y = view->main_box.y + 40; y < view->main_box.y + view->main_box.h; y += 12)
        for (float x = 20; x < 1260; x += 130) {
            mv_view_write(view)->pinned = MV_NO_ROW;
            mvt_view_click(view, x, y);
            if (view->now->pinned == MV_NO_ROW) /* a click in the list of events */
                continue;
            cr_assert(mv_alloc_is_active(&d->lives, view->now->pinned, view->now->cursor));
            pinned++;
            cr_assert_eq(view->hover, view->now->pinned, "what is below the pointer");
        }
    cr_expect_gt(pinned, 20);
}

ViewTest(panes, a_click_on_a_frame_shows_it_alone_and_searches_it, mvt_view("leak_in_training"))
{
    uint32_t node = 0;

    mv_view_write(view)->tab = MV_TAB_FLAME;
    mvt_view_frame(view);
    const mv_flames_answer *a = view->panels->flames_shown;
    cr_assert_not_null(a);
    for (uint32_t i = 1; i < a->flames.tree.count && !node; i++)
        if (strcmp(a->flames.tree.nodes[i].label, "train.py:74 train_step") == 0)
            node = i;
    cr_assert_neq(node, 0);
    mvt_view_do(view, MV_DO_flame_focus, node);
    cr_expect_str_eq(view->now->search, "train.py:74:train_step");
    a = view->panels->flames_shown;
    cr_expect_str_eq(a->flames.tree.nodes[a->boxes.boxes[0].node].label, "train.py:74 train_step");
    mvt_view_do(view, MV_DO_cancel, 0);
    cr_expect_eq(view->panels->flames_shown->focus, 0, "Escape shows all");
    cr_expect_str_eq(view->now->search, "train.py:74:train_step", "and nothing else");
}

ViewTest(panes, rows_of_tables_go_to_their_place, mvt_view("annotated"))
{
    mv_view_do(view, MV_DO_table_kind, MV_LISTING_EVENTS);
    mv_view_move_cursor(view, 40);
    click_zone(view, MV_DO_table_row, 43);
    cr_expect_eq(view->now->cursor, 43);
    mv_view_do(view, MV_DO_table_kind, MV_LISTING_STACKS);
    click_zone(view, MV_DO_table_row, 0);
    cr_expect_neq(view->now->pinned, MV_NO_ROW);
    cr_expect_eq(view->now->cursor, 43, "a stack is a place at the cursor");
    click_zone(view, MV_DO_table_sort, 2);
    cr_expect_eq(view->now->table_sort[MV_LISTING_STACKS], 2);
    cr_expect_not(view->now->is_sort_turned[MV_LISTING_STACKS]);
    click_zone(view, MV_DO_table_sort, 2);
    cr_expect(view->now->is_sort_turned[MV_LISTING_STACKS]);
}

ViewTest(panes, folded_frames_unfold_and_history_can_be_clicked, mvt_view("leak_in_training"))
{
    const mv_document_device *d = mv_view_device(view);
    uint32_t alloc = 0, lines;

    while (!d->leaks.is_leaked[alloc])
        alloc++;
    mv_view_write(view)->tab = MV_TAB_DETAILS;
    mv_view_pin(view, alloc);
    mvt_view_frame(view);
    lines = view->ui.scene.shape_count;
    click_zone(view, MV_DO_details_fold, UINT64_MAX);
    cr_expect_gt(view->ui.scene.shape_count, lines);
    click_zone(view, MV_DO_history_row, 0);
    cr_expect_eq(view->now->pinned, view->panels->details_shown->history.alloc);
}

/* ---- one allocation ---------------------------------------------------------------------- */

/* The lower pane used to stay on Reports, so that the stack was two clicks away. */
ViewTest(panes, a_click_shows_the_events_and_stack_of_the_block_at_once,
         mvt_view("leak_in_training"))
{
    char label[256];

    mvt_view_frame(view);
    cr_assert_eq(view->now->tab, MV_TAB_REPORTS);
    mvt_view_click(view, view->timeline->plot.x + view->timeline->plot.w / 2,
                   view->timeline->plot.y + view->timeline->plot.h - 8);
    cr_assert_neq(view->now->pinned, MV_NO_ROW);
    cr_expect_eq(view->now->tab, MV_TAB_DETAILS);
    mv_culprit_label(&mv_view_document(view)->trace, mv_view_document(view)->sites.kinds,
                     mv_view_device(view)->lives.allocs.stack[view->now->pinned], label,
                     sizeof label);
    cr_expect(mvt_scene_says(&view->ui.scene, mv_details_explanation(view)->what), "%s",
              mv_details_explanation(view)->what);
    cr_expect(mvt_scene_says(&view->ui.scene, label), "%s", label);
    mv_view_do(view, MV_DO_back, 0); /* Back undoes the pin and the tab together */
    cr_expect_eq(view->now->tab, MV_TAB_REPORTS);
    cr_expect_eq(view->now->pinned, MV_NO_ROW);
}

/* Finds the largest block with users of its address before and after it. */
static uint32_t block_between(const mv_lives *lives, const mv_address_users *users)
{
    uint32_t best = MV_NO_ROW;

    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (users->previous[i] != MV_NO_ROW && users->next[i] != MV_NO_ROW &&
            lives->allocs.birth[i] != MV_BEFORE && lives->allocs.freed[i] != MV_NEVER &&
            (best == MV_NO_ROW || lives->allocs.block[i] > lives->allocs.block[best]))
            best = i;
    cr_assert_neq(best, MV_NO_ROW);
    return best;
}

ViewTest(panes, links_of_a_block_lead_along_its_address, mvt_view("gpt_train"))
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    mv_address_users users;

    mvt_ok(mv_address_users_find(mvt_memory(), lives, &users, mvt_err()));
    uint32_t alloc = block_between(lives, &users);
    mv_view_do(view, MV_DO_pin, alloc);
    cr_expect_eq(view->now->tab, MV_TAB_DETAILS);
    click_zone(view, MV_DO_go_to_event, lives->allocs.freed[alloc]);
    cr_expect_eq(view->now->cursor, lives->allocs.freed[alloc]);
    click_zone(view, MV_DO_go_to_event, lives->allocs.birth[alloc]);
    cr_expect_eq(view->now->cursor, lives->allocs.birth[alloc]);
    click_zone(view, MV_DO_pin, users.next[alloc]);
    cr_expect_eq(view->now->pinned, users.next[alloc]);
    mv_view_do(view, MV_DO_previous_user, 0);
    cr_expect_eq(view->now->pinned, users.previous[users.next[alloc]]);
    mv_view_do(view, MV_DO_next_user, 0);
    cr_expect_eq(view->now->pinned, users.next[alloc]);
}

/* Finding the users of all addresses takes a while in a long trace, but the stack does not wait for
 * them. */
ViewTest(panes, details_show_the_known_facts_at_once, mvt_view("gpt_train"))
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    mv_address_users users;

    mvt_ok(mv_address_users_find(mvt_memory(), lives, &users, mvt_err()));
    mvt_view_do(view, MV_DO_pin, block_between(lives, &users));
    mv_explanation_question q = mv_details_question(view);
    const mv_event_explanation *now = mv_panels_explain(view, &q);
    cr_assert_not_null(now);
    cr_expect_str_eq(now->what, mv_details_explanation(view)->what);
    cr_expect_eq(now->next, MV_NO_ROW);
    cr_expect_neq(mv_details_explanation(view)->next, MV_NO_ROW);
}

ViewTest(panes, without_a_pin_details_show_the_event_of_the_cursor, mvt_view("gpt_train"))
{
    mv_view_write(view)->tab = MV_TAB_DETAILS;
    for (uint32_t event = 0; event < 12; event++) {
        mv_view_move_cursor(view, event);
        mvt_view_frame(view);
        cr_assert_not_null(mv_details_explanation(view));
        cr_expect_eq(mv_details_explanation(view)->event, event);
        cr_expect(mvt_scene_says(&view->ui.scene, mv_details_explanation(view)->what), "%s",
                  mv_details_explanation(view)->what);
        cr_expect_str_eq(mv_panels_cursor_explanation(view)->text,
                         mv_details_explanation(view)->text);
    }
}

/* Panes that lack the memory for their answer must say so and stay usable. */
ViewTest(panes, panes_work_without_memory_for_their_answer, mvt_view("gpt_train"))
{
    mvt_view_frame(view);
    view->budget->limit = view->budget->used + (1 << 20);
    for (int tab = 0; tab < 4; tab++) {
        mv_view_write(view)->tab = (uint8_t)tab;
        mv_view_write(view)->main = MV_MAIN_STATE;
        mv_view_do(view, MV_DO_table_kind, MV_LISTING_FRAGMENTS);
        mv_view_write(view)->tab = (uint8_t)tab;
        mvt_view_frame(view);
        mvt_view_click(view, 300, 600);
        mvt_view_click(view, 300, 200);
    }
    view->budget->limit = (uint64_t)4 << 30;
}
