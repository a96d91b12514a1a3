/* Moving in the viewer, and going back and forward; what it copies, and the files it writes. */
#include <unistd.h>

#include "base/utf8.h"
#include "tests/fixture/fixture_program.h"
#include "tests/fixture/fixture_view.h"
#include "tests/names/fixture_poison.h"
#include "view/panes/panels.h"
#include "view/timeline/pane_timeline.h"

/* Goes somewhere, as a command does. */
#define CHANGE(view, call) (mv_change_begin(view), call, mv_change_end(view))

/* ---- going and going back ---------------------------------------------------------------- */

ViewTest(view_going, back_and_forward, mvt_view("gpt_train"))
{
    mv_view_state first = *view->now, second;

    cr_assert_eq(view->history->past_count, 0);
    CHANGE(view, mv_view_show(view, 100, 900));
    CHANGE(view, mv_view_pin(view, 77));
    second = *view->now;
    cr_assert_eq(second.pinned, 77);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->now->pinned, MV_NO_ROW);
    cr_assert_eq(view->now->from, 100);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(memcmp(view->now, &first, sizeof first), 0);
    cr_assert_not(mv_view_command_is_enabled(view, MV_DO_back));
    mv_view_do(view, MV_DO_forward, 0);
    mv_view_do(view, MV_DO_forward, 0);
    cr_assert_eq(memcmp(view->now, &second, sizeof second), 0);
    cr_assert_not(mv_view_command_is_enabled(view, MV_DO_forward));
}

/* Steps of the cursor count as one place, so that holding '.' does not flood the history. */
ViewTest(view_going, steps_are_one_place, mvt_view("gpt_train"))
{
    CHANGE(view, mv_view_show(view, 100, 900));
    mv_view_state before = *view->now;
    for (uint32_t i = 200; i < 500; i++)
        mv_view_do(view, MV_DO_event_on, 0);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert(mv_view_state_is_equal(view->now, &before));
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(view->now->from, 0);
}

ViewTest(view_going, the_history_is_bounded, mvt_view("gpt_train"))
{
    uint32_t steps = 0;

    for (uint32_t i = 0; i < 500; i++)
        CHANGE(view, mv_view_show(view, i, 1000 + i));
    for (; mv_view_do(view, MV_DO_back, 0); steps++)
        continue;
    cr_assert_eq(steps, 64);
}

/* A change that consists of several is one place, even when the history is full. Then only the
 * oldest place is dropped. */
Test(view_going, a_row_of_a_table_is_one_place)
{
    mv_listing_place place = {.has_event = true,
                              .event = 4000,
                              .has_window = true,
                              .from = 3900,
                              .to = 4100,
                              .alloc = 77,
                              .search = "train.py:62"};

    for (uint32_t full = 0; full < 2; full++) {
        mv_view *view = mvt_view("gpt_train");
        uint32_t steps = 0;

        for (uint32_t i = 0; i < (full ? 100 : 3); i++)
            CHANGE(view, mv_view_show(view, i, 1000 + i));
        mv_view_state before = *view->now;
        CHANGE(view, mv_view_go(view, &place, ""));
        cr_assert_eq(view->now->cursor, 4000);
        cr_assert_eq(view->now->pinned, 77);
        cr_assert_str_eq(view->now->search, "train.py:62");
        cr_assert_eq(view->now->show, MV_SHOW_HIGHLIGHT);
        mv_view_do(view, MV_DO_back, 0);
        cr_assert_eq(memcmp(view->now, &before, sizeof before), 0);
        mv_view_do(view, MV_DO_forward, 0);
        cr_assert_eq(view->now->pinned, 77);
        for (; mv_view_do(view, MV_DO_back, 0); steps++)
            cr_assert_eq(view->now->from, full ? 99 - steps : steps < 3 ? 2 - steps : 0);
        cr_assert_eq(steps, full ? 64 : 4);
    }
}

ViewTest(view_going, typed_letters_are_one_place, mvt_view("gpt_train"))
{
    CHANGE(view, mv_view_show(view, 100, 900));
    mv_view_state before = *view->now;
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "forward");
    cr_assert_eq(view->now->show, MV_SHOW_HIGHLIGHT);
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(memcmp(view->now, &before, sizeof before), 0);
    mv_view_do(view, MV_DO_forward, 0);
    cr_assert_str_eq(view->now->search, "forward");
    mv_view_do(view, MV_DO_isolate, 0);
    CHANGE(view, mv_search_set(view, "loss"));
    cr_assert_eq(view->now->show, MV_SHOW_ISOLATE, "isolated items stay isolated");
    CHANGE(view, mv_search_set(view, ""));
    cr_assert_eq(view->now->show, MV_SHOW_ALL);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_str_eq(view->now->search, "loss");
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_str_eq(view->now->search, "forward");
}

/* This holds however often the pointer moves and a frame is painted while a button is down. */
ViewTest(view_going, a_drag_is_one_place, mvt_view("gpt_train"))
{
    mv_box plot;

    CHANGE(view, mv_view_show(view, 100, 900));
    mv_view_frame(view, 1280, 720, 0);
    mv_view_state before = *view->now;
    plot = view->timeline->plot;
    for (int i = 0; i < 40; i++) {
        mvt_view_point(view,
                       i == 0    ? MV_INPUT_PRESS
                       : i == 39 ? MV_INPUT_RELEASE
                                 : MV_INPUT_MOVE,
                       plot.x + 100 + (float)i * 5, plot.y + 50, 1);
        mv_view_frame(view, 1280, 720, 0.01 * i);
    }
    cr_assert(view->now->has_interval);
    mv_view_do(view, MV_DO_back, 0);
    cr_assert_eq(memcmp(view->now, &before, sizeof before), 0);
}

ViewTest(view_going, back_and_forward_between_devices, mvt_view("two_devices"))
{
    mv_view_state states[3];

    states[0] = *view->now;
    CHANGE(view, mv_view_choose(view, 0, 1 - view->now->device));
    mv_view_frame(view, 1280, 720, 0);
    states[1] = *view->now;
    CHANGE(view, mv_view_show(view, 3, 9));
    states[2] = *view->now;
    for (uint32_t i = 2; i-- > 0;) {
        mv_view_do(view, MV_DO_back, 0);
        mv_view_frame(view, 1280, 720, 0);
        cr_assert_eq(memcmp(view->now, &states[i], sizeof states[i]), 0, "%u", i);
    }
    cr_assert_not(mv_view_command_is_enabled(view, MV_DO_back));
    for (uint32_t i = 1; i < 3; i++) {
        mv_view_do(view, MV_DO_forward, 0);
        mv_view_frame(view, 1280, 720, 0);
        cr_assert_eq(memcmp(view->now, &states[i], sizeof states[i]), 0, "%u", i);
    }
}

ViewTest(view_going, windows_stay_inside, mvt_view("gpt_train"))
{
    double events = mv_view_device(view)->lives.events.count;

    CHANGE(view, mv_view_show(view, -500, 1e12));
    cr_assert(view->now->from == 0 && view->now->to == events);
    CHANGE(view, mv_view_show(view, 40, 30));
    cr_assert(view->now->from == 30 && view->now->to == 40);
    CHANGE(view, mv_view_show(view, 50, 50));
    cr_assert(view->now->from < view->now->to);
    CHANGE(view, mv_view_show(view, 1e9, 1e9));
    cr_assert(view->now->from < view->now->to && view->now->to <= events);
    mv_view_move_cursor(view, 4000000);
    cr_assert_eq(view->now->cursor, (uint32_t)events - 1);
    cr_assert_geq(view->now->to, events - 1);
    mv_view_move_cursor(view, MV_BEFORE);
    cr_assert_eq(view->now->from, 0);
    CHANGE(view, mv_view_pin(view, UINT32_MAX));
    cr_assert_eq(view->now->pinned, MV_NO_ROW);
}

/* The pinned block is visible. */
ViewTest(view_going, a_pin_is_made_visible, mvt_view("gpt_train"))
{
    const mv_alloc_lives *a = &mv_view_device(view)->lives.allocs;

    for (uint32_t i = 0; i < a->count; i += 37) {
        CHANGE(view, mv_view_show(view, 3000, 3100));
        CHANGE(view, mv_view_pin(view, i));
        cr_assert(a->birth[i] == MV_BEFORE || a->birth[i] < view->now->to, "%u", i);
        cr_assert(a->freed[i] == MV_NEVER || a->freed[i] > view->now->from, "%u", i);
    }
}

/* Choosing the shown device again shows all of it. */
ViewTest(view_going, the_same_device_again_has_a_window, mvt_view("two_devices"))
{
    double to = view->now->to;

    CHANGE(view, mv_view_show(view, 3, 9));
    CHANGE(view, mv_view_choose(view, view->now->file, view->now->device));
    cr_assert_eq(view->now->from, 0);
    cr_assert_eq(view->now->to, to);
    cr_assert_eq(view->now->cursor, mv_view_device(view)->peak_event);
}

/* A segment has a start and an end too. */
ViewTest(view_going, goes_to_the_ends_of_a_segment, mvt_view("gpt_train"))
{
    const mv_segment_lives *s = &mv_view_device(view)->lives.segments;

    mv_view_write(view)->pinned_segment = 3;
    mv_view_do(view, MV_DO_to_free, 0);
    if (s->death[3] != MV_NEVER)
        cr_assert_eq(view->now->cursor, s->death[3]);
    mv_view_do(view, MV_DO_to_alloc, 0);
    cr_assert_eq(view->now->cursor, s->birth[3]);
}

/* ---- where the command line begins ------------------------------------------------------- */

static mv_view *begin(const mv_view_start *start, const char *name)
{
    mv_view *view = mvt_view_new(&(mv_view_opts){0});

    mv_view_begin_at(view, start);
    mvt_view_open(view, mvt_snapshot(name));
    return view;
}

Test(view_going, begins_at_the_moment_of_the_command_line)
{
    mv_view_start start = {.from = "1000",
                           .to = "1999",
                           .at = "1500",
                           .filter = "train.py:62",
                           .device = MV_NO_ROW,
                           .main = MV_MAIN_SEGMENTS};
    mv_view *view = begin(&start, "gpt_train");

    cr_assert_eq(view->now->from, 1000);
    cr_assert_eq(view->now->to, 2000);
    cr_assert_eq(view->now->cursor, 1500);
    cr_assert_eq(view->now->main, MV_MAIN_SEGMENTS);
    cr_assert_str_eq(view->now->search, "train.py:62");
    cr_assert(view->matches && view->matches->matches > 0);
}

Test(view_going, an_invalid_position_is_reported)
{
    mv_view_start start = {.from = "@nothing", .at = "peak", .device = MV_NO_ROW};
    mv_view *view = begin(&start, "gpt_train");

    cr_assert(view->is_alarm && strstr(view->message, "nothing"), "%s", view->message);
    cr_assert_eq(view->now->from, 0);
    cr_assert_eq(view->now->cursor, mv_view_device(view)->peak_event);
}

Test(view_going, a_device_is_chosen)
{
    for (uint32_t device = 0; device < 2; device++) {
        mv_view_start start = {.device = device};
        mv_view *view = begin(&start, "two_devices");
        cr_assert_eq(mv_view_device(view)->device, device);
    }
}

/* ---- what is copied ---------------------------------------------------------------------- */

/* A shell reads the text of the search as one word. (tests/state/test_session.c shows that the
 * words, when given back to the viewer, show the same.) */
ViewTest(view_going, the_command_line_is_copied_for_a_shell,
         mvt_view_with_clipboard(mvt_snapshot("two_devices")))
{
    CHANGE(view, mv_view_choose(view, 0, 1));
    mv_view_frame(view, 1280, 720, 0);
    CHANGE(view, mv_view_show(view, 3, 9));
    mv_view_move_cursor(view, 5);
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "size>1 -\"it's\"");
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    cr_assert(mv_view_do(view, MV_DO_copy_command, 0));
    cr_assert_str_eq(mvt_copied, mv_command_line(view, mvt_memory()));
    mvt_run run = mvt_sh("printf '%%s\\n' %s", mvt_copied);
    cr_assert_eq(strncmp(run.out, "memviz\nview\n", 12), 0, "%s", run.out);
    cr_assert_not_null(strstr(run.out, "\n--filter\nsize>1 -\"it's\"\n"), "%s", run.out);
    cr_assert_not_null(strstr(run.out, "\n--device\n1\n"), "%s", run.out);
}

ViewTest(view_going, a_stack_is_copied, mvt_view_with_clipboard(mvt_snapshot("leak_in_training")))
{
    cr_assert_not(mv_view_do(view, MV_DO_copy_stack, 0));
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "leak");
    mvt_view_key(view, MV_KEY_ENTER, 0);
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mvt_view_key(view, 'C', MV_MOD_CTRL);
    cr_assert(strstr(mvt_copied, "train.py:62 forward\n"), "%s", mvt_copied);
    cr_assert_gt(strlen(mvt_copied), 100);
}

/* When pasted into a terminal, it must contain nothing that the terminal obeys, not even the
 * sequence that ends a paste. */
static void check_copied(const char *allowed)
{
    mv_span all = {(const uint8_t *)mvt_copied, strlen(mvt_copied)};

    cr_assert(all.length > 0);
    for (uint64_t at = 0; at < all.length;) {
        uint32_t code = mv_utf8_next(all, &at);
        cr_assert_neq(code, MV_UTF8_BAD, "%s", mvt_copied);
        cr_assert(!mv_utf8_is_hidden(code) || (code < 128 && strchr(allowed, (int)code)),
                  "U+%04x in %s", code, mvt_copied);
    }
    cr_expect_null(strstr(mvt_copied, "\nrm "), "%s", mvt_copied);
}

Test(view_going, copied_text_cannot_run_commands)
{
    static const char harm[] = "\x1b[201~\nrm -r x\n\t\xc2\x9b\xe2\x80\xae\xff";
    mv_span one = {(const uint8_t *)harm, sizeof harm - 1};
    mv_trace trace = mvt_load(mvt_memory(), "two_devices");

    mvt_poison(mvt_memory(), &trace, &one, 1, true);
    const char *path =
        mvt_format("%s%s", mvt_temp_file(mvt_snapshot_of(mvt_memory(), &trace)), harm);
    cr_assert_eq(rename(mvt_temp_file(mvt_snapshot_of(mvt_memory(), &trace)), path), 0);
    mv_view *view = mvt_view_with_clipboard(path);
    cr_assert(mv_view_do(view, MV_DO_copy_command, 0));
    check_copied("");
    cr_expect(strstr(mvt_copied, "\\x1b[201~\\x0arm -r x"), "%s", mvt_copied);
    mvt_view_key(view, '/', 0);
    mvt_view_type(view, "size>1");
    mvt_view_key(view, MV_KEY_ENTER, 0);
    mvt_view_key(view, MV_KEY_ESCAPE, 0);
    mvt_view_key(view, 'C', MV_MOD_CTRL);
    check_copied("\n");
    unlink(path);
}

ViewTest(view_going, text_is_pasted_into_fields, mvt_view_with_clipboard(mvt_snapshot("gpt_train")))
{
    snprintf(mvt_copied, sizeof mvt_copied, "size>1M\nand more");
    mvt_view_key(view, 'F', MV_MOD_CTRL);
    mvt_view_key(view, 'V', MV_MOD_CTRL);
    cr_assert_str_eq(view->now->search, "size>1Mand more");
    mvt_view_key(view, 'U', MV_MOD_CTRL);
    cr_assert_str_eq(view->now->search, "");
}

/* ---- what is written --------------------------------------------------------------------- */

static void export_as(mv_view *view, const char *folder, const char *name, const char *magic)
{
    const char *path = mvt_format("%s/%s", folder, name);

    mvt_view_key(view, 'E', MV_MOD_CTRL);
    cr_assert_eq(view->desk->focus, MV_FOCUS_EXPORT);
    mvt_view_key(view, 'U', MV_MOD_CTRL);
    mvt_view_type(view, path);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->desk->focus, MV_FOCUS_PANES, "%s", view->message);
    cr_assert(strncmp(mvt_text(path), magic, strlen(magic)) == 0, "%s", name);
}

ViewTest(view_going, views_are_exported, mvt_view("gpt_train"))
{
    const char *folder = mvt_temp_folder();

    setenv("MEMVIZ_PAGE", MV_SOURCE_DIR "/tests/fixture/page.html", 1);
    mv_view_do(view, MV_DO_show_tables, 0);
    mv_view_frame(view, 1280, 720, 0);
    export_as(view, folder, "a.png", "\x89PNG");
    export_as(view, folder, "a.svg", "<svg");
    export_as(view, folder, "a.html", "<!DOCTYPE html");
    export_as(view, folder, "a.tsv", "bytes\t");
    mvt_view_key(view, 'E', MV_MOD_CTRL);
    mvt_view_type(view, ".unheard");
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_assert_eq(view->desk->focus, MV_FOCUS_EXPORT);
    cr_assert(view->is_alarm && *view->message);
}

/* ---- comparing --------------------------------------------------------------------------- */

ViewTest(view_going, two_devices_are_compared, mvt_view("two_devices"))
{
    cr_assert_null(mv_view_other(view));
    mvt_view_key(view, 'C', MV_MOD_SHIFT);
    cr_assert_not_null(mv_view_other(view));
    cr_assert_neq(mv_view_other(view), mv_view_device(view));
    mvt_view_key(view, 'C', MV_MOD_SHIFT);
    cr_assert_null(mv_view_other(view));
}
