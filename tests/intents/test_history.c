/* Back and Forward after random commands and drags. They must visit, in order, each state that the
 * user has left, and nothing else. */
#include "tests/fixture/fixture_view.h"

enum { ACTIONS = 120 };

typedef struct {
    mv_view_state at[ACTIONS + 1];      /* state after each action */
    mv_command_id left_by[ACTIONS + 1]; /* the command that left the state, or MV_DO_NOTHING */
    uint32_t count;
} walk;

static bool is_among(const mv_view_state *states, uint32_t count, const mv_view_state *state)
{
    for (uint32_t i = 0; i < count; i++)
        if (mv_view_state_is_equal(&states[i], state))
            return true;
    return false;
}

static void check_walk(mv_view *view, const char *name, uint64_t seed)
{
    static walk w;
    mv_view_state seen[MV_MOST_PAST + 1];
    uint32_t steps = 0, at;

    w.count = 0;
    w.at[0] = *view->now;
    while (w.count < ACTIONS && view->intents->history.past_count < MV_MOST_PAST - 1) {
        mv_view_state before = *view->now;
        mv_command_id id = mvt_view_random(view, &seed);
        bool is_place = id != MV_DO_NOTHING && mv_view_commands[id].past == MV_GOES;
        w.left_by[w.count] =
            is_place && !mv_view_state_is_equal(&before, view->now) ? id : MV_DO_NOTHING;
        w.at[++w.count] = *view->now;
    }
    mv_chrome_focus(view, MV_FOCUS_PANES);
    seen[0] = *view->now;
    at = w.count;
    while (mv_view_do(view, MV_DO_back, 0)) {
        /* Find the last of the first `end` states that equals the shown one. States must be visited
         * in order. */
        uint32_t end = at + 1;
        while (end > 0 && !mv_view_state_is_equal(&w.at[end - 1], view->now))
            end--;
        uint32_t found = end > 0 ? end - 1 : UINT32_MAX;
        cr_assert_neq(found, UINT32_MAX, "%s: Back %u shows what never was", name, steps);
        at = found;
        mvt_view_frame(view);
        cr_assert(mv_view_state_is_equal(&w.at[at], view->now), "%s: a frame changed it", name);
        seen[++steps] = *view->now;
    }
    cr_assert(mv_view_state_is_equal(&seen[steps], &w.at[0]), "%s: not at the start", name);
    for (uint32_t i = 0; i < w.count; i++)
        cr_assert(w.left_by[i] == MV_DO_NOTHING || is_among(seen, steps + 1, &w.at[i]),
                  "%s: Back passes by the place that %s left", name,
                  mv_view_commands[w.left_by[i]].name);
    for (uint32_t i = steps; i-- > 0;) {
        cr_assert(mv_view_do(view, MV_DO_forward, 0));
        mvt_view_frame(view);
        cr_assert(mv_view_state_is_equal(view->now, &seen[i]), "%s: Forward to %u", name, i);
    }
    cr_assert_not(mv_view_do(view, MV_DO_forward, 0));
    cr_assert_gt(steps, 8, "%s: %u", name, steps);
}

LongTest(history, back_and_forward_visit_earlier_views, .timeout = 250)
{
    static const char *const names[] = {"gpt_train", "two_devices", "oom", "leak_in_training"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            mv_view *view = mvt_view(names[i]);
            mvt_view_frame(view);
            check_walk(view, names[i], seed * 0x9e3779b97f4a7c15);
        }
}
