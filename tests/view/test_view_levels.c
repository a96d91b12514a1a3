/* The level of memory that is shown. Switching to a level must be the same as opening the file on
 * that level, at the same time. The level is part of sessions, bookmarks and command lines. The
 * tests use captures of real programs. */
#include "base/texts.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/document/level_calls.h"
#include "view/frame/file_badge.h"

#include <math.h>

static const char *picture(mv_view *view)
{
    mv_view_say(view, false, "%s", "");
    return mvt_scene_printed(mvt_view_frame(view));
}

static const char *level_of(const mv_view *view)
{
    const char *level = mv_view_document(view)->trace.origin.level;

    return level ? level : "pytorch";
}

/* Whatever was shown before, the view must be in the same place, with nothing under the pointer. */
static void show_peak(mv_view *view)
{
    mv_view_do(view, MV_DO_fit_all, 0);
    mv_view_do(view, MV_DO_peak, 0);
}

Test(view_levels, a_file_has_the_levels_of_its_memory)
{
    mv_view *train = mvt_view_at_level("train", NULL), *cupy = mvt_view_at_level("cupy_leak", NULL);

    cr_assert_eq(mv_view_levels(train)->count, 3);
    cr_assert_str_eq(level_of(train), "pytorch");
    cr_assert(mv_view_command_is_enabled(train, MV_DO_next_level));
    cr_assert_eq(mv_view_levels(cupy)->count, 1);
    cr_assert_str_eq(level_of(cupy), "cuda");
    cr_assert_not(mv_view_command_is_enabled(cupy, MV_DO_next_level));
    cr_assert_null(mvt_view_zone(cupy, MV_DO_level_menu, UINT64_MAX));
    cr_assert_not_null(mvt_view_zone(train, MV_DO_level_menu, UINT64_MAX));
}

LongTest(view_levels, a_hundred_switches_show_the_view_of_opening_and_keep_nothing, .timeout = 250)
{
    mv_view *view = mvt_view_at_level("sleep", NULL);
    const mv_level_list *list = mv_view_levels(view);
    uint32_t count = list->count;
    uint64_t used = 0;

    cr_assert_geq(count, 3);
    for (uint32_t i = 1; i <= 100; i++) {
        mvt_view_do(view, MV_DO_next_level, 0);
        if (i == 40) /* pictures of all levels are kept by now */
            used = view->budget->used;
    }
    cr_assert_leq(view->budget->used, used, "%llu bytes more",
                  (unsigned long long)(view->budget->used - used));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = mv_view_levels(view)->name[i];
        mv_view *opened = mvt_view_at_level("sleep", name);
        mv_view_do(view, MV_DO_level, i);
        cr_assert_str_eq(level_of(view), name);
        show_peak(view);
        show_peak(opened);
        cr_assert_str_eq(picture(view), picture(opened), "%s", name);
        mvt_end_now(opened);
    }
}

static double seconds_at(const mv_view *view, double event)
{
    const mv_events *e = &mv_view_device(view)->lives.events;

    return (double)e->time_us[(uint32_t)fmin(event, e->count - 1)] / 1e6;
}

ViewTest(view_levels, the_window_and_the_cursor_stay_at_their_time,
         mvt_view_at_level("sleep", NULL))
{
    uint32_t events = mv_view_device(view)->lives.events.count;
    double from, to;

    mv_change_begin(view);
    mv_view_show(view, events / 4, events * 3 / 4);
    mv_view_move_cursor(view, events / 2);
    mv_view_write(view)->has_interval = true;
    mv_view_write(view)->a = events / 3;
    mv_view_write(view)->b = events / 2;
    mv_change_end(view);
    from = seconds_at(view, view->now->from);
    to = seconds_at(view, ceil(view->now->to) - 1);
    double at = seconds_at(view, view->now->cursor);
    for (uint32_t i = 0; i + 1 < mv_view_levels(view)->count; i++) {
        mvt_view_do(view, MV_DO_level, mv_view_levels(view)->count - 1);
        cr_assert_str_eq(level_of(view), "all");
        cr_assert_float_eq(seconds_at(view, view->now->from), from, 1e-6);
        cr_assert_float_eq(seconds_at(view, ceil(view->now->to) - 1), to, 1e-6);
        cr_assert_float_eq(seconds_at(view, view->now->cursor), at, 1e-6);
        cr_assert(view->now->has_interval);
        mvt_view_do(view, MV_DO_level, 0);
        cr_assert_str_eq(level_of(view), "pytorch");
        cr_assert_float_eq(seconds_at(view, view->now->cursor), at, 1e-6);
    }
}

/* Another level has only a few events. There the cursor is behind the last of them, but the chosen
 * moment is not forgotten. */
static void check_round(mv_view *view, const char *name, uint32_t event)
{
    uint32_t levels = mv_view_levels(view)->count;
    double from, to;

    mv_view_move_cursor(view, event);
    mvt_view_frame(view);
    event = view->now->cursor; /* at the end of a call */
    double at = seconds_at(view, event);
    from = view->now->from;
    to = view->now->to;
    for (uint32_t i = 0; i < levels; i++) {
        const mv_events *e;
        uint32_t cursor = view->now->cursor;
        if (i) {
            e = &mv_view_device(view)->lives.events;
            cr_expect(cursor == MV_BEFORE || seconds_at(view, cursor) <= at + 1e-9, "%s", name);
            cr_expect(cursor + 1 >= e->count || seconds_at(view, cursor + 1) >= at - 1e-9,
                      "%s: level %s: the cursor is not at the last event before the moment", name,
                      level_of(view));
        }
        mv_view_do(view, MV_DO_next_level, 0); /* disabled if there is only one */
        mvt_view_frame(view);
    }
    cr_expect_eq(view->now->cursor, event, "%s: after %u levels the cursor is at %u, not %u", name,
                 levels, view->now->cursor, event);
    cr_expect(view->now->from == from && view->now->to == to, "%s: another window", name);
}

Test(view_levels, a_round_of_the_levels_returns_to_the_moment)
{
    static const char *const names[] = {"train",     "sleep",       "pinned_leak", "loader",
                                        "heap_pool", "two_devices", "nccl_leak.0"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_at_level(names[i], NULL);
        uint32_t events = mv_view_device(view)->lives.events.count;
        for (uint32_t k = 1; k < 6; k++)
            check_round(view, names[i], (uint32_t)((uint64_t)events * k / 6));
        mvt_end_now(view);
    }
}

ViewTest(view_levels, back_returns_to_the_level_and_its_place, mvt_view_at_level("train", NULL))
{
    show_peak(view);
    mvt_view_frame(view);
    mv_view_state before = *view->now;
    mvt_view_do(view, MV_DO_next_level, 0);
    cr_assert_str_eq(level_of(view), "cuda");
    mvt_view_do(view, MV_DO_back, 0);
    cr_assert_str_eq(level_of(view), "pytorch");
    cr_assert(mv_view_state_is_equal(view->now, &before));
    mvt_view_do(view, MV_DO_forward, 0);
    cr_assert_str_eq(level_of(view), "cuda");
}

ViewTest(view_levels, a_bookmark_leads_to_its_level, mvt_view_at_level("train", "all"))
{
    uint32_t cursor;

    mv_view_do(view, MV_DO_peak, 0);
    cursor = view->now->cursor;
    cr_assert(mv_bookmark_set(view, "whole"));
    mvt_view_do(view, MV_DO_level, 0);
    cr_assert_null(mvt_view_zone(view, MV_DO_bookmark_go, 0));
    mvt_view_do(view, MV_DO_bookmark_go, 0);
    cr_assert_str_eq(level_of(view), "all");
    cr_assert_eq(view->now->cursor, cursor);
}

LongTest(view_levels, sessions_and_command_lines_have_the_level)
{
    mv_view *view = mvt_view_at_level("train", NULL), *again = mvt_view_new(NULL);
    mv_session session, read;

    mv_view_do(view, MV_DO_next_level, 0);
    mv_bookmark_set(view, "here");
    mvt_view_frame(view);
    cr_assert_not_null(strstr(mv_command_line(view, mvt_memory()), " --level cuda "));
    cr_assert(mv_view_session(view, mvt_memory(), &session));
    const char *text = mv_session_text(mvt_memory(), &session);
    cr_assert_not_null(strstr(text, "\nlevel cuda\n"));
    cr_assert_not_null(strstr(text, "\nbookmark_level cuda\n"));
    mvt_ok(mv_session_read(mvt_memory(), mv_text_span(text), &read, mvt_err()));
    mv_view_begin_at(again, &(mv_view_start){.device = MV_NO_ROW, .session = &read});
    mvt_view_open(again, read.files[0]);
    cr_assert(mv_view_state_is_equal(view->now, again->now));
    cr_assert_str_eq(picture(again), picture(view));
}

ViewTest(view_levels, a_level_missing_from_a_file_is_reported_and_left_again,
         mvt_view_at_level("train", "host"))
{
    const mv_document *d = mv_view_document(view);

    mvt_view_frame(view);
    cr_assert(d->is_missing_level);
    cr_assert_null(mv_view_device(view));
    cr_assert_not_null(strstr(picture(view), "no pinned host memory"));
    cr_assert_eq(mv_view_level(view), mv_view_levels(view)->count);
    mvt_view_do(view, MV_DO_next_level, 0);
    cr_assert_str_eq(level_of(view), "pytorch");
    cr_assert_not_null(mv_view_device(view));
}

/* ---- calls ------------------------------------------------------------------------------- */

/* No moment may be in the middle of a call: at any event that a user can reach, there must be no
 * segment without its block and no block without a segment. */
static void check_moments(mv_view *view, const char *name)
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    uint32_t before = 0;

    for (uint32_t e = 0; e < lives->events.count; e += 1 + lives->events.count / 30) {
        mv_view_move_cursor(view, e);
        mvt_view_frame(view);
        mv_levels at = mv_pyramid_at(&view->levels, view->now->cursor);
        cr_expect_eq(at.allocated, at.reserved, "%s, level %s: after event %u a segment is empty",
                     name, level_of(view), view->now->cursor);
    }
    mv_view_move_cursor(view, MV_BEFORE);
    for (uint32_t calls = 1; calls <= mv_view_device(view)->calls && calls < 12; calls++) {
        before = view->now->cursor;
        mvt_view_do(view, MV_DO_event_on, 0);
        cr_expect_neq(view->now->cursor, before);
        mvt_view_do(view, MV_DO_event_back, 0);
        cr_expect_eq(view->now->cursor, before, "%s: back from a call", name);
        mvt_view_do(view, MV_DO_event_on, 0);
    }
}

/* Rows of a list of events: zones of go_to_event beside the state, rows of the table. */
static void check_rows(mv_view *view, const char *name)
{
    static const char *const parts[] = {"segment_alloc", "free_requested", "segment_free"};
    const mv_events *e = &mv_view_device(view)->lives.events;
    uint32_t last = MV_BEFORE;

    for (uint32_t i = 0; i < view->ui.zone_count; i++) {
        const mv_zone *zone = &view->ui.zones[i];
        uint32_t event = (uint32_t)zone->arg;
        if (zone->command != MV_DO_go_to_event || zone->box.h > 30)
            continue;
        cr_expect_eq(mv_call_last(&mv_view_document(view)->trace, e, event), event, "%s", name);
        cr_expect(last == MV_BEFORE || event > last);
        last = event;
    }
    cr_expect_neq(last, MV_BEFORE, "%s, level %s", name, level_of(view));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect_not(mvt_scene_says(&view->ui.scene, parts[i]), "%s, level %s: %s", name,
                      level_of(view), parts[i]);
}

/* Calls `check` with each level that contains calls. */
static void each_level_of_calls(void (*check)(mv_view *view, const char *name))
{
    static const char *const names[] = {"train", "pinned_leak", "cupy_leak", "heap_pool", "loader"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_at_level(names[i], NULL);
        for (uint32_t k = 0; k < mv_view_levels(view)->count; k++) {
            mv_view_do(view, MV_DO_level, k);
            mvt_view_frame(view);
            if (mv_view_device(view) && mv_view_device(view)->calls > 0)
                check(view, names[i]);
        }
        mvt_end_now(view);
    }
}

static void check_all_rows(mv_view *view, const char *name)
{
    mv_view_write(view)->main = MV_MAIN_STATE;
    mv_view_do(view, MV_DO_show_tables, 0);
    mvt_view_do(view, MV_DO_table_kind, MV_LISTING_EVENTS);
    check_rows(view, name);
    for (uint32_t room = 0; room < 3; room++) {
        mvt_view_do(view, room ? MV_DO_event_on : MV_DO_peak, 0);
        check_rows(view, name);
    }
}

LongTest(view_levels, a_call_is_one_row)
{
    each_level_of_calls(check_all_rows);
}

static void check_moments_and_state(mv_view *view, const char *name)
{
    check_moments(view, name);
    mv_view_write(view)->main = MV_MAIN_STATE;
    mvt_view_do(view, MV_DO_peak, 0);
    cr_expect_not(mvt_scene_says(&view->ui.scene, "large pool"), "%s", name);
    cr_expect_not(mvt_scene_says(&view->ui.scene, "default stream"), "%s", name);
    mv_view_write(view)->main = MV_MAIN_TIMELINE;
}

LongTest(view_levels, calls_are_moments)
{
    each_level_of_calls(check_moments_and_state);
}

/* A moment must have the same time, whichever level is shown. */
LongTest(view_levels, levels_have_one_clock)
{
    static const char *const names[] = {"train",     "pinned_leak",  "loader", "jax",
                                        "heap_cupy", "plain_pinned", "fsdp.0", "two_devices"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_view *view = mvt_view_at_level(names[i], NULL);
        int64_t start = mv_position_start_us(&mv_view_document(view)->trace);
        for (uint32_t k = 0; k < mv_view_levels(view)->count; k++) {
            mv_view_do(view, MV_DO_level, k);
            mvt_view_frame(view);
            cr_expect_eq(mv_position_start_us(&mv_view_document(view)->trace), start,
                         "%s, level %s", names[i], level_of(view));
        }
        mvt_end_now(view);
    }
}

/* ---- words of a level of calls -------------------------------------------------------------- */

/* A program without PyTorch has no segments of PyTorch, and its memory is not available to PyTorch. */
ViewTest(view_levels, a_program_without_pytorch_has_no_words_of_pytorch, mvt_view("cupy_oom"))
{
    cr_expect(mvt_scene_says(mvt_view_frame(view), "available to the program: "));
    cr_expect_not(mvt_scene_says(mvt_view_frame(view), "PyTorch"));
    cr_expect_not(mvt_scene_says(mvt_view_do(view, MV_DO_show_state, 0), "in any segment"));
}

/* Events at one moment cover no time. */
ViewTest(view_levels, a_moment_is_not_a_span, mvt_view("heap_pool"))
{
    const mv_scene *scene = mvt_view_frame(view);

    cr_expect(mvt_scene_says(scene, "1 call"));
    cr_expect_not(mvt_scene_says(scene, " in 0"));
    cr_expect_not(mvt_scene_says(mvt_view_do(view, MV_DO_show_details, 0), "more than 0 events"));
}

/* The badge counts what the reports list, also in a file with a single level. */
ViewTest(view_levels, the_badge_counts_objects_of_the_driver, mvt_view("plain_graph"))
{
    for (int i = 0; i < 4; i++)
        mvt_view_frame(view);
    cr_expect_str_eq(mv_file_badge_of(view).text, "1: leak");
    cr_expect_str_eq(view->documents[0]->devices[0].headline.line,
                     "leak 110 MiB of driver memory at gpu_leaks.cu:85");
}
