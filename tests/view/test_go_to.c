/* Going to a typed position, bookmarks, and menus. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/chrome/menu.h"
#include "view/timeline/pane_timeline.h"

/* Types a position after Ctrl+G. Returns false if the field is still open. */
static bool go(mv_view *view, const char *where)
{
    mvt_view_key(view, 'G', MV_MOD_CTRL);
    cr_assert_eq(view->desk->focus, MV_FOCUS_GO);
    mvt_view_key(view, MV_KEY_DELETE, 0);
    mvt_view_type(view, where);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    return view->desk->focus == MV_FOCUS_PANES;
}

ViewTest(go_to, events_times_and_names, mvt_view("gpt_train"))
{
    const mv_document_device *d = mv_view_device(view);
    const int64_t *us = d->lives.events.time_us;

    cr_assert(go(view, "1200"));
    cr_assert_eq(view->now->cursor, 1200);

    cr_assert(go(view, " 4,321 ")); /* as it is shown */
    cr_assert_eq(view->now->cursor, 4321);

    cr_assert(go(view, "1.5s"));
    cr_assert_leq(us[view->now->cursor] - us[0], 1500000);
    cr_assert_gt(us[view->now->cursor + 1] - us[0], 1500000);
    cr_assert(go(view, "peak"));
    cr_assert_eq(view->now->cursor, d->peak_event);
    cr_assert(go(view, "end"));
    cr_assert_eq(view->now->cursor, d->lives.events.count - 1);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->now->cursor, d->peak_event);
}

ViewTest(go_to, annotations, mvt_view("annotated"))
{
    const mv_trace *trace = &mv_view_document(view)->trace;

    cr_assert_gt(trace->annotations.count, 0);
    const char *name = mvt_format("@%s", mv_string_text(trace, trace->annotations.name[0]));
    cr_assert(go(view, name), "%s: %s", name, view->message);
}

/* For an invalid position, the viewer gives the reason, and the field stays open with its text. */
Test(go_to, explains_the_error)
{
    static const char *const wrong[][2] = {
        {"9999999", "9999999"},           {"99s", "99s"},           {"soon", "is not a position"},
        {"", "is not a position"},        {"@nothing", "nothing"},  {"0xzz", "is not an address"},
        {"0x", "is not an address"},      {"oom", "out-of-memory"}, {"0x1", "ever covered"},
        {"0x11112222333344445", "is not"}};
    mv_view *view = mvt_view("gpt_train");
    uint32_t cursor = view->now->cursor;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_not(go(view, wrong[i][0]), "%s", wrong[i][0]);
        cr_assert(view->is_alarm && strstr(view->message, wrong[i][1]), "%s: %s", wrong[i][0],
                  view->message);
        cr_assert_eq(view->now->cursor, cursor);
        cr_assert_str_eq(view->chrome->go.text, wrong[i][0]);
        mvt_view_key(view, MV_KEY_ESCAPE, 0);
    }
}

/* Many blocks had this address. The view goes to the one that is alive at the cursor, or to the
 * last one before it. */
Test(go_to, an_address_at_the_cursor)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 512);
    mvt_free(t, .addr = 0x1000);
    mvt_alloc(t, .addr = 0x1000, .bytes = 1024);
    mvt_free(t, .addr = 0x1000);
    mvt_alloc(t, .addr = 0x8000, .bytes = 512);
    mv_view *view = mvt_view_of(t);
    cr_assert(go(view, "0"));
    cr_assert(go(view, "0x11ff"), "%s", view->message);
    cr_assert_eq(mv_view_device(view)->lives.allocs.addr[view->now->pinned], 0x1000);
    cr_assert_eq(mv_view_device(view)->lives.allocs.birth[view->now->pinned], 0);
    mv_view_move_cursor(view, 3);
    cr_assert(go(view, "0x13ff"));
    cr_assert_eq(mv_view_device(view)->lives.allocs.birth[view->now->pinned], 3);
    mv_view_move_cursor(view, 6);
    cr_assert(go(view, "0x1000")); /* freed before: the last one */
    cr_assert_eq(mv_view_device(view)->lives.allocs.birth[view->now->pinned], 3);
    cr_assert_not(go(view, "0x1400"));
}

/* Goes from the lowest block at the cursor to the highest, visiting each once. */
ViewTest(go_to, blocks_above_and_below, mvt_view("gpt_train"))
{
    const mv_index *x = &mv_view_device(view)->index;
    uint32_t alive = 0, met = 0;

    go(view, "2150");
    for (uint32_t i = 0; i < mv_view_device(view)->lives.allocs.count; i++)
        alive += mv_index_is_alive(x, i, 2150);
    for (uint32_t last = MV_NO_ROW;; last = view->now->pinned, met++) {
        mv_view_do(view, MV_DO_block_above, 0);
        if (view->now->pinned == last)
            break;
        cr_assert(mv_index_is_alive(x, view->now->pinned, 2150));
    }
    cr_assert_gt(alive, 100);
    cr_assert_eq(met, alive);
    cr_assert(strstr(view->message, "higher"));
    mv_view_do(view, MV_DO_block_below, 0);
    cr_assert_eq(view->now->cursor, 2150);
}

/* ---- bookmarks --------------------------------------------------------------------------- */

static void set(mv_view *view, const char *name)
{
    mvt_view_key(view, 'B', MV_MOD_CTRL);
    cr_assert_eq(view->desk->focus, MV_FOCUS_BOOKMARK);
    mvt_view_type(view, name);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->desk->focus, MV_FOCUS_PANES);
}

ViewTest(bookmarks, keep_cursor_window_and_interval, mvt_view("gpt_train"))
{
    mv_view_show(view, 1000, 2000);
    mv_view_do(view, MV_DO_select_range, 1100 | (uint64_t)1200 << 32);
    mv_view_move_cursor(view, 1500);
    mv_view_state there = *view->now;
    set(view, "");
    cr_assert_str_eq(view->bookmarks->rows[0].name, "event 1,500");
    mv_view_do(view, MV_DO_fit_all, 0);
    mv_view_do(view, MV_DO_cancel, 0);
    mv_view_move_cursor(view, 5000);
    set(view, "sp\xc3\xa4ter");
    cr_assert_eq(view->bookmarks->count, 2);
    mvt_view_key(view, 'B', MV_MOD_CTRL | MV_MOD_SHIFT);
    cr_assert_eq(view->desk->focus, MV_FOCUS_MENU);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->now->cursor, 1500);
    cr_assert_eq(view->now->from, there.from);
    cr_assert_eq(view->now->to, there.to);
    cr_assert_eq(view->now->a, 1100);
    cr_assert_eq(view->now->b, 1200);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->now->cursor, 5000); /* and the bookmarks stay */
    cr_assert_eq(view->bookmarks->count, 2);
    mvt_view_key(view, 'B', MV_MOD_CTRL | MV_MOD_SHIFT);
    mvt_view_key(view, MV_KEY_DELETE, 0);
    cr_assert_eq(view->bookmarks->count, 1);
    cr_assert_str_eq(view->bookmarks->rows[0].name, "sp\xc3\xa4ter");
}

/* A flag must be at its event on the axis and on the minimap, and must be a button. */
ViewTest(bookmarks, flags, mvt_view("gpt_train"))
{
    uint32_t flags = 0;

    mv_view_move_cursor(view, 3000);
    set(view, "x");
    mv_view_move_cursor(view, 10);
    mvt_view_frame(view);
    for (uint32_t i = 0; i < view->ui.zone_count; i++) {
        const mv_viewport *map = &view->timeline->map_at;
        const mv_box *box = &view->ui.zones[i].box;
        float x;
        if (view->ui.zones[i].command != MV_DO_bookmark_go)
            continue;
        flags++;
        x = map->box.x + map->box.w * 3000 / 6562;
        cr_assert(box->x <= x && x < box->x + 4, "%g at %g", (double)x, (double)box->x);
    }
    cr_assert_eq(flags, 2);
    mvt_view_click_zone(view, MV_DO_bookmark_go, 0);
    cr_assert_eq(view->now->cursor, 3000);
    mv_view_show(view, 0, 100);
    mvt_view_frame(view);
    flags = 0;
    for (uint32_t i = 0; i < view->ui.zone_count; i++)
        flags += view->ui.zones[i].command == MV_DO_bookmark_go;
    cr_assert_eq(flags, 1); /* only on the minimap */
}

/* If there is a note, its text is edited. The list can edit any note. */
ViewTest(bookmarks, are_edited, mvt_view("gpt_train"))
{
    char text[MV_BOOKMARK_NAME + 8];

    mv_view_move_cursor(view, 3000);
    set(view, "x");
    mv_view_move_cursor(view, 4000);
    set(view, "y");
    mv_view_move_cursor(view, 3000);
    set(view, "the optimizer's state is made");
    cr_assert_eq(view->bookmarks->count, 2);
    cr_assert_str_eq(view->bookmarks->rows[0].name, "the optimizer's state is made");
    cr_assert_eq(view->bookmarks->rows[0].cursor, 3000);
    set(view, ""); /* the suggestion is the text */
    cr_assert_str_eq(view->bookmarks->rows[0].name, "the optimizer's state is made");
    cr_expect(mvt_scene_says(mvt_view_frame(view), "the optimizer"));
    mvt_view_key(view, 'B', MV_MOD_CTRL | MV_MOD_SHIFT);
    mvt_view_key(view, MV_KEY_DOWN, 0);
    mvt_view_key(view, 'E', 0);
    cr_assert_eq(view->desk->focus, MV_FOCUS_BOOKMARK);
    memset(text, 'z', sizeof text);
    text[sizeof text - 1] = '\0';
    mv_field_set(&view->chrome->bookmark, text);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(strlen(view->bookmarks->rows[1].name), MV_BOOKMARK_NAME - 1u);
    mv_view_do(view, MV_DO_bookmark_edit, 1);
    mv_field_set(&view->chrome->bookmark, "");
    mvt_view_key(view, MV_KEY_ENTER, 0); /* a note has a text */
    cr_assert_eq(view->desk->focus, MV_FOCUS_BOOKMARK);
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    cr_assert_eq(view->bookmarks->count, 2);
}

ViewTest(bookmarks, are_bounded, mvt_view("gpt_train"))
{
    for (uint32_t i = 0; i < MV_MOST_BOOKMARKS; i++) {
        mv_view_move_cursor(view, i);
        set(view, "name");
    }
    mv_view_move_cursor(view, 100);
    mvt_view_key(view, 'B', MV_MOD_CTRL);
    cr_assert_eq(view->desk->focus, MV_FOCUS_PANES);
    cr_assert(view->is_alarm && strstr(view->message, "delete one"));
    cr_assert_eq(view->bookmarks->count, MV_MOST_BOOKMARKS);
}

/* ---- menus ------------------------------------------------------------------------------- */

static void check_menu(mv_view *view, mv_command_id opens, uint32_t count, const uint8_t *value)
{
    for (uint32_t i = 0; i < count; i++) {
        mvt_view_do(view, opens, 0);
        for (uint32_t up = 0; up < count; up++)
            mvt_view_key(view, MV_KEY_UP, 0);
        for (uint32_t down = 0; down < i; down++)
            mvt_view_key(view, MV_KEY_DOWN, 0);
        mvt_view_key(view, MV_KEY_ENTER, 0);
        cr_assert_eq(view->desk->focus, MV_FOCUS_PANES);
        cr_assert_eq(*value, i);
    }
    const mv_zone *zone = mvt_view_zone(view, opens, 0);
    if (zone) { /* its button opens and closes it, and a row is clicked */
        mv_menu_row rows[MV_MENU_MOST];
        mvt_view_click(view, zone->box.x + 2, zone->box.y + 2);
        cr_assert_eq(view->desk->focus, MV_FOCUS_MENU);
        cr_assert_eq(mv_menu_rows(view, rows), count);
        mvt_view_click_zone(view, rows[0].command, rows[0].arg);
        cr_assert_eq(view->desk->focus, MV_FOCUS_PANES);
        cr_assert_eq(*value, 0);
    }
}

LongTest(menus, choose_colour_clock_and_view)
{
    mv_view *view = mvt_view("gpt_train");

    check_menu(view, MV_DO_colour_menu, MV_COLOUR_COUNT, &view->now->colour);
    check_menu(view, MV_DO_clock_menu, MV_CLOCKS, &view->now->clock);
    check_menu(view, MV_DO_view_menu, 3, &view->now->main);
    mvt_view_key(view, 'C', 0); /* cycles */
    cr_assert_eq(view->now->colour, 1);
    mvt_view_key(view, 'X', 0);
    cr_assert_eq(view->now->clock, 1);
}

/* Every entry must explain itself, and its text must be complete in the narrowest window. */
ViewTest(menus, entries_explain_themselves, mvt_view("gpt_train"))
{
    mv_menu_row rows[MV_MENU_MOST];

    for (uint32_t menu = 0; menu < 3; menu++) {
        static const mv_command_id opens[] = {MV_DO_view_menu, MV_DO_colour_menu, MV_DO_clock_menu};
        mv_view_do(view, opens[menu], 0);
        mv_view_frame(view, 640, 400, 0);
        uint32_t count = mv_menu_rows(view, rows);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(*rows[i].title && *rows[i].help);
            cr_assert(mvt_scene_text(&view->ui.scene, rows[i].help), "%s", rows[i].help);
        }
        mv_view_do(view, MV_DO_cancel, 0);
    }
}
