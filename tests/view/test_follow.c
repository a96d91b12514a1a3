/* Following a recording that is being written: newer data appears, and what the user looks at stays
 * in place. */
#include <unistd.h>

#include "tests/fixture/fixture_live.h"
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/follow.h"

enum { BLOCK = 4096, NEXT_MS = 1000, STEPS = 3 /* of a reading: the file, and two frames */ };

typedef struct {
    mv_budget budget;
    mvt_live *live;
    uint32_t blocks;
    const char *path;
    mv_live_readers *readers;
    mv_view *view;
    mv_follow follow;
    double ms;
} session;

static session s;

static void close_session(void *what)
{
    (void)what;
    mv_follow_end(&s.follow);
    mv_view_close(s.view);
    mv_live_readers_close(s.readers);
    cr_assert_eq(s.budget.used, 0, "%llu bytes are left", (unsigned long long)s.budget.used);
}

static void add_blocks(session *to, uint32_t count)
{
    for (uint32_t end = to->blocks + count; to->blocks < end; to->blocks++)
        mvt_live_block(to->live, .addr = 0x10000 + (uint64_t)to->blocks * BLOCK, .size = BLOCK,
                       .stack = mvt_live_stack(to->live, "f:a.py:7;main:a.py:1"));
}

static void put(void)
{
    mvt_file_put(s.path, mvt_live_bytes(s.live));
}

/* A window that shows a recording with this many blocks, one event each. */
static void open_session(uint32_t blocks)
{
    s = (session){.budget.limit = (uint64_t)1 << 30, .live = mvt_live_new(), .ms = 5000};
    add_blocks(&s, blocks);
    s.path = mvt_temp_file(mvt_live_bytes(s.live));
    s.readers = mv_live_readers_open(&s.budget);
    s.view = mv_view_open(&s.budget, &(mv_view_opts){.is_dark = true, .readers = s.readers});
    cr_assert(s.readers && s.view);
    mvt_at_end(close_session, &s);
    mvt_view_open(s.view, s.path);
    mv_follow_begin(&s.follow, s.view);
    mv_view_frame(s.view, 1280, 720, s.ms);
}

/* This is longer than the window needs to show what is in the file now. */
static void look(void)
{
    s.ms += NEXT_MS;
    for (int i = 0; i < STEPS; i++) {
        s.view = mv_follow_update(&s.follow, s.view, ++s.ms);
        mv_view_frame(s.view, 1280, 720, s.ms);
    }
    s.ms += NEXT_MS;
    s.view = mv_follow_update(&s.follow, s.view, s.ms);
    mv_view_frame(s.view, 1280, 720, s.ms);
}

static void grow(uint32_t blocks)
{
    add_blocks(&s, blocks);
    put();
    look();
}

static uint32_t events(void)
{
    cr_assert_not_null(mv_view_device(s.view));
    return mv_view_device(s.view)->events;
}

static uint64_t pinned_address(void)
{
    cr_assert_neq(s.view->now->pinned, MV_NO_ROW);
    return mv_view_device(s.view)->lives.allocs.addr[s.view->now->pinned];
}

/* Whether this process has the recording open. */
static bool is_open(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, sizeof path);
        if (length == (ssize_t)strlen(s.path) && memcmp(path, s.path, (size_t)length) == 0)
            return true;
    }
    return false;
}

Test(follow, newer_events_come_and_everything_chosen_stays)
{
    open_session(60);
    mv_view_do(s.view, MV_DO_show_tables, 0);
    mv_view_pin(s.view, 7);
    mv_view_show(s.view, 10, 30);
    mv_view_move_cursor(s.view, 20);
    mv_search_set(s.view, "size>1K");
    mv_view_do(s.view, MV_DO_show_state, 0);
    grow(40);
    cr_expect_eq(events(), 100);
    cr_expect_eq(pinned_address(), 0x10000 + 7 * BLOCK);
    cr_expect_eq(s.view->now->from, 10);
    cr_expect_eq(s.view->now->to, 30);
    cr_expect_eq(s.view->now->cursor, 20);
    cr_expect_eq(s.view->now->tab, MV_TAB_TABLES);
    cr_expect_str_eq(s.view->now->search, "size>1K");
    cr_expect_str_eq(s.view->chrome->search.text, "size>1K");
    mv_view_do(s.view, MV_DO_back, 0);
    cr_expect_eq(s.view->now->main, MV_MAIN_TIMELINE, "the steps of Back are kept");
    cr_expect_eq(events(), 100);
}

/* The first reading, which the open window shows, counts too. */
Test(follow, an_update_decodes_only_what_is_new)
{
    open_session(3000);
    mv_live_readers_state before = mv_live_readers_status(s.readers), after;

    cr_assert_eq(before.records, 3000);
    grow(7);
    after = mv_live_readers_status(s.readers);
    cr_expect_eq(events(), 3007);
    cr_expect_eq(after.records, 3007);
    cr_expect_lt(after.bytes - before.bytes, before.bytes / 2);
    grow(8);
    cr_expect_eq(events(), 3015);
    cr_expect_eq(mv_live_readers_status(s.readers).records, 3015);
}

Test(follow, another_recording_in_the_file_is_shown_and_a_line_says_so)
{
    session other = {.live = mvt_live_new()};

    open_session(60);
    mvt_live_fact(s.live, "start_us", "5");
    grow(10);
    cr_expect_null(strstr(s.view->message, "the file was replaced"));
    mvt_live_fact(other.live, "start_us", "7");
    add_blocks(&other, 300);
    mvt_file_put(s.path, mvt_live_bytes(other.live));
    look();
    cr_expect_eq(events(), 300);
    cr_expect_not_null(strstr(s.view->message, "the file was replaced"));
}

Test(follow, a_window_at_the_end_follows_the_end)
{
    open_session(60);
    grow(10);
    cr_expect_eq(s.view->now->from, 0);
    cr_expect_eq(s.view->now->to, 70, "everything is shown");
    mv_view_show(s.view, 50, 70);
    mv_view_move_cursor(s.view, 69);
    grow(10);
    cr_expect_eq(s.view->now->from, 60);
    cr_expect_eq(s.view->now->to, 80);
    cr_expect_eq(s.view->now->cursor, 79);
    mv_view_do(s.view, MV_DO_clock, MV_CLOCK_TIME);
    grow(10); /* 10 us apart */
    cr_expect_eq(s.view->now->to, 90);
    cr_expect_leq(s.view->now->from, 71);
    cr_expect_geq(s.view->now->from, 70, "the same time");
}

static void add_last(session *to)
{
    mvt_live_block(to->live, .sequence = 31, .time_us = 2000000, .addr = 0x900000, .size = BLOCK);
    mvt_live_block(to->live, .sequence = 32, .time_us = 2000010, .addr = 0x910000, .size = BLOCK);
}

/* A call that took a long time is added to earlier events when it ends. */
Test(follow, numbers_that_change_name_the_same_events_and_blocks)
{
    session with_late = {.live = mvt_live_new()};

    open_session(20);
    add_last(&s);
    put();
    look();
    uint32_t last = events() - 1;
    mv_view_pin(s.view, last);
    mv_view_do(s.view, MV_DO_interval_of_pin, 0);
    mv_view_show(s.view, last - 1, last);
    mv_view_move_cursor(s.view, last - 1);
    cr_assert_eq(pinned_address(), 0x910000);
    add_blocks(&with_late, 20);
    mvt_live_block(with_late.live, .thread = 2, .sequence = 30, .time_us = 1900000,
                   .addr = 0x800000, .size = BLOCK);
    add_last(&with_late);
    mvt_file_put(s.path, mvt_live_bytes(with_late.live));
    look();
    cr_assert_eq(events(), last + 2);
    cr_expect_eq(pinned_address(), 0x910000);
    cr_expect_eq(s.view->now->cursor, last);
    cr_expect_eq(s.view->now->a, last + 1, "the interval moved");
    cr_expect_eq(s.view->now->from, last);
    cr_expect_eq(s.view->now->to, last + 1);
}

Test(follow, a_file_cut_at_any_byte_is_followed)
{
    open_session(20);
    mvt_live_next_chunk(s.live, 0, true);
    add_blocks(&s, 2);
    mv_span whole = mvt_live_bytes(s.live);
    uint64_t step = whole.length / 12;
    for (uint64_t cut = whole.length / 2; cut < whole.length; cut += step) {
        cr_assert_eq(truncate(s.path, 0), 0);
        mvt_file_put(s.path, (mv_span){whole.data, cut});
        s.view->live.is_paused = false;
        s.follow.due_ms = 0;
        look();
        cr_expect_not(s.view->live.has_ended, "cut at %llu", (unsigned long long)cut);
    }
    mvt_file_put(s.path, whole);
    s.follow.due_ms = 0;
    look();
    cr_expect_eq(events(), 22);
}

Test(follow, ends_with_the_recording)
{
    open_session(20);
    mvt_live_fact(s.live, "end_us", "1000000");
    grow(5);
    cr_expect_eq(events(), 25, "the end is shown, too");
    cr_expect(s.view->live.has_ended);
    cr_expect(mvt_scene_says(&s.view->ui.scene, "ended"));
    cr_expect_eq(mv_follow_wait(&s.follow, s.view), UINT32_MAX);
    cr_expect_not(mv_view_command_is_enabled(s.view, MV_DO_follow));
    cr_expect_not(is_open());
}

Test(follow, ends_when_the_file_is_gone_and_keeps_what_is_shown)
{
    open_session(20);
    cr_assert_eq(unlink(s.path), 0);
    look();
    cr_expect(s.view->live.has_ended);
    cr_expect_eq(events(), 20);
    cr_expect(mvt_scene_says(&s.view->ui.scene, "gone"), "%s", s.view->message);
}

Test(follow, another_recording_in_its_place_is_shown_from_its_beginning)
{
    open_session(20);
    mvt_live *other = mvt_live_new();

    for (int i = 0; i < 7; i++)
        mvt_live_block(other, .device = 1, .addr = 0x10000 + (uint64_t)i * BLOCK, .size = BLOCK);
    cr_assert_eq(unlink(s.path), 0);
    mvt_file_put(s.path, mvt_live_bytes(other));
    look();
    cr_expect_eq(events(), 7);
    cr_expect_eq(mv_view_device(s.view)->device, 1);
    cr_expect_eq(s.view->now->to, 7);
}

Test(follow, shift_f_keeps_what_is_shown_and_goes_on)
{
    open_session(20);
    cr_expect(is_open());
    mvt_view_key(s.view, 'F', MV_MOD_SHIFT);
    grow(5);
    cr_expect_eq(events(), 20);
    cr_expect_not(is_open(), "a file that is removed in a pause takes no space");
    cr_expect(mvt_scene_says(&s.view->ui.scene, "paused \xc2\xb7"));
    mvt_view_key(s.view, 'F', MV_MOD_SHIFT);
    look();
    cr_expect_eq(events(), 25);
    cr_expect(mvt_scene_says(&s.view->ui.scene, "live"));
}

Test(follow, nothing_changes_under_the_hand)
{
    open_session(20);
    mv_view_do(s.view, MV_DO_palette, 0);
    grow(5);
    cr_expect_eq(events(), 20, "a list is open");
    mv_view_do(s.view, MV_DO_cancel, 0);
    look();
    cr_expect_eq(events(), 25);
}

/* A reading that takes 400 ms is followed by a pause of 4 s. */
Test(follow, most_of_the_time_nothing_is_read)
{
    open_session(20);
    double begin = s.ms;

    add_blocks(&s, 1);
    put();
    for (int i = 1; i <= STEPS; i++) {
        cr_expect_eq(events(), 20);
        s.view = mv_follow_update(&s.follow, s.view, begin + 400 * (i == STEPS));
    }
    cr_expect_eq(events(), 21);
    add_blocks(&s, 1);
    put();
    for (double ms = begin + 500; ms < begin + 4400; ms += 100)
        s.view = mv_follow_update(&s.follow, s.view, ms);
    cr_expect_eq(s.follow.renewal.stage, MV_RENEWAL_NONE);
    mv_view_frame(s.view, 1280, 720, begin + 4300);
    cr_expect(mvt_scene_says(&s.view->ui.scene, "live \xc2\xb7 4 s ago"));
    s.ms = begin + 4400;
    look();
    cr_expect_eq(events(), 22);
}

Test(follow, without_memory_what_is_shown_stays)
{
    open_session(20);
    s.budget.limit = s.budget.used;
    grow(5);
    cr_expect_eq(events(), 20);
    cr_expect(s.view->live.is_paused);
    cr_expect(mvt_scene_says(&s.view->ui.scene, "not enough memory"), "%s", s.view->message);
    s.budget.limit = (uint64_t)1 << 30;
}
