#include "view/state/view_history.h"

static void push(mv_view_state *states, uint32_t *count, const mv_view_state *state)
{
    if (*count == MV_MOST_PAST) {
        memmove(states, states + 1, (MV_MOST_PAST - 1) * sizeof *states);
        --*count;
    }
    states[(*count)++] = *state;
}

static bool is_step(mv_change_kind kind)
{
    return kind >= MV_STEPS_EVENTS && kind <= MV_STEPS_WORDS;
}

void mv_history_note(mv_view_history *h, mv_change_kind kind, const mv_view_state *before,
                     const mv_view_state *now)
{
    if (kind == MV_TRAVELS || kind == MV_SETTLES || mv_view_state_is_equal(before, now))
        return;
    h->future_count = 0;
    if (is_step(kind) && kind == h->run)
        return;
    push(h->past, &h->past_count, before);
    h->run = is_step(kind) ? (uint8_t)kind : MV_SETTLES;
}

void mv_history_rest(mv_view_history *h)
{
    h->run = MV_SETTLES;
}

bool mv_history_go(mv_view_history *h, mv_view_state *now, bool is_forward)
{
    mv_view_state *from = is_forward ? h->future : h->past, *to = is_forward ? h->past : h->future;
    uint32_t *from_count = is_forward ? &h->future_count : &h->past_count;

    if (*from_count == 0)
        return false;
    push(to, is_forward ? &h->past_count : &h->future_count, now);
    *now = from[--*from_count];
    mv_history_rest(h);
    return true;
}
