/* Back and Forward after random commands and drags: they visit states that the user was in, in
 * order, each place that was left, and nothing else. */
#include "tests/fixture/fixture_view.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ACTIONS = 120, W = 1280, H = 720 };

typedef struct {
    mv_view_state at[ACTIONS + 1]; /* after each action */
    bool is_left[ACTIONS + 1];     /* and then left for another place */
    uint32_t count;
} walk;

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed >> 11;
}

/* A press, some moves and a release anywhere; with a key in the middle at times. */
static void drag(mv_view *view, uint64_t *seed)
{
    mv_input input = {.kind = MV_INPUT_PRESS,
                      .button = next(seed) % 4 ? MV_BUTTON_LEFT : MV_BUTTON_MIDDLE,
                      .clicks = next(seed) % 5 ? 1 : 2,
                      .x = (float)(next(seed) % W),
                      .y = (float)(next(seed) % H)};

    mv_view_input(view, &input);
    input.kind = MV_INPUT_MOVE;
    for (uint64_t i = next(seed) % 4; i > 0; i--) {
        input.x += (float)(next(seed) % 90);
        mv_view_input(view, &input);
    }
    input.kind = MV_INPUT_RELEASE;
    mv_view_input(view, &input);
}

static void act(mv_view *view, uint64_t *seed, walk *w)
{
    mv_view_state before = *view->now;
    mv_command_id id = (mv_command_id)(1 + next(seed) % (MV_DO_COUNT - 1));
    uint64_t arg = next(seed) % 3 ? next(seed) % 8 : next(seed) % 5000;
    bool is_place = false;

    if (next(seed) % 4 == 0) {
        drag(view, seed);
    } else if (next(seed) % 6 == 0) {
        mv_view_input(view, &(mv_input){.kind = MV_INPUT_WHEEL,
                                        .x = (float)(next(seed) % W),
                                        .y = (float)(next(seed) % H),
                                        .dy = next(seed) % 2 ? 1 : -1});
    } else if (id != MV_DO_back && id != MV_DO_forward && id != MV_DO_quit) {
        mv_view_do(view, id, arg);
        is_place = mv_view_commands[id].past == MV_GOES;
    }
    mv_view_frame(view, W, H, 0);
    w->is_left[w->count] = is_place && !mv_view_state_is_equal(&before, view->now);
    w->at[++w->count] = *view->now;
}

/* The last of the first `end` states that is this one; they are visited in order. */
static uint32_t find(const walk *w, uint32_t end, const mv_view_state *state)
{
    while (end > 0 && !mv_view_state_is_equal(&w->at[end - 1], state))
        end--;
    return end > 0 ? end - 1 : UINT32_MAX;
}

static void check_walk(mv_view *view, const char *name, uint64_t seed)
{
    static walk w;
    mv_view_state seen[MV_MOST_PAST + 1];
    uint32_t steps = 0, at;

    w.count = 0;
    w.at[0] = *view->now;
    while (w.count < ACTIONS && view->intents->history.past_count < MV_MOST_PAST - 1)
        act(view, &seed, &w);
    mv_chrome_focus(view, MV_FOCUS_PANES);
    seen[0] = *view->now;
    at = w.count;
    while (mv_view_do(view, MV_DO_back, 0)) {
        uint32_t found = find(&w, at + 1, view->now);
        cr_assert_neq(found, UINT32_MAX, "%s: Back %u shows what never was", name, steps);
        for (uint32_t i = found + 1; i < at; i++)
            cr_assert(!w.is_left[i] || mv_view_state_is_equal(&w.at[i], &seen[steps]) ||
                          mv_view_state_is_equal(&w.at[i], view->now),
                      "%s: Back %u passes by a place", name, steps);
        at = found;
        mv_view_frame(view, W, H, 0);
        cr_assert(mv_view_state_is_equal(&w.at[at], view->now), "%s: a frame changed it", name);
        seen[++steps] = *view->now;
    }
    cr_assert(mv_view_state_is_equal(&seen[steps], &w.at[0]), "%s: not at the start", name);
    for (uint32_t i = steps; i-- > 0;) {
        cr_assert(mv_view_do(view, MV_DO_forward, 0));
        mv_view_frame(view, W, H, 0);
        cr_assert(mv_view_state_is_equal(view->now, &seen[i]), "%s: Forward to %u", name, i);
    }
    cr_assert_not(mv_view_do(view, MV_DO_forward, 0));
    cr_assert_gt(steps, 8, "%s: %u", name, steps);
}

Test(history, back_and_forward_visit_what_was_shown, .timeout = 120)
{
    static const char *const names[] = {"gpt_train", "two_devices", "oom", "leak_in_training"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            mv_view *view = mvt_view(names[i]);
            mv_view_frame(view, W, H, 0);
            check_walk(view, names[i], seed * 0x9e3779b97f4a7c15);
        }
}
