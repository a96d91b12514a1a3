#include "view/intents/view_history.h"

#include <string.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* A run of steps of the cursor is one place. */
static bool is_same_place(const mv_view_state *a, const mv_view_state *b)
{
    return a->file == b->file && a->device == b->device && a->main == b->main && a->tab == b->tab &&
           a->show == b->show && a->from == b->from && a->to == b->to &&
           a->fits_height == b->fits_height && a->has_interval == b->has_interval && a->a == b->a &&
           a->b == b->b && a->pinned == b->pinned && a->pinned_segment == b->pinned_segment &&
           a->other_file == b->other_file && a->other_device == b->other_device &&
           a->align == b->align && strcmp(a->search, b->search) == 0;
}

static void push(mv_view_state *states, uint32_t *count, const mv_view_state *state)
{
    if (*count == MV_MOST_PAST) {
        memmove(states, states + 1, (MV_MOST_PAST - 1) * sizeof *states);
        --*count;
    }
    states[(*count)++] = *state;
}

void mv_view_remember(mv_view *view)
{
    mv_view_history *h = &view->intents->history;

    if (h->paused)
        return;
    if (h->past_count && is_same_place(&h->past[h->past_count - 1], view->now))
        h->past_count--;
    push(h->past, &h->past_count, view->now);
    h->future_count = 0;
}

void mv_view_history_begin(mv_view *view)
{
    mv_view_remember(view);
    mv_view_history_pause(view);
}

void mv_view_history_pause(mv_view *view)
{
    view->intents->history.paused++;
}

void mv_view_history_end(mv_view *view)
{
    view->intents->history.paused--;
}

uint32_t mv_view_past(const mv_view *view)
{
    const mv_view_history *h = &view->intents->history;

    return (h->past_count ? MV_NEEDS_PAST : 0u) | (h->future_count ? MV_NEEDS_FUTURE : 0u);
}

/* Shows the last of `from`, and puts what is shown now to the end of `to`. */
static void go(mv_view *view, mv_view_state *from, uint32_t *from_count, mv_view_state *to,
               uint32_t *to_count)
{
    mv_view_state state = from[--*from_count];

    push(to, to_count, view->now);
    mv_view_history_pause(view);
    if (state.file != view->now->file || state.device != view->now->device)
        mv_view_choose(view, state.file, state.device);
    mv_view_history_end(view);
    *mv_view_write(view) = state;
    mv_field_set(&view->chrome->search, state.search);
}

void mv_do_back(mv_view *view, uint64_t arg)
{
    mv_view_history *h = &view->intents->history;

    (void)arg;
    go(view, h->past, &h->past_count, h->future, &h->future_count);
}

void mv_do_forward(mv_view *view, uint64_t arg)
{
    mv_view_history *h = &view->intents->history;

    (void)arg;
    go(view, h->future, &h->future_count, h->past, &h->past_count);
}

bool mv_intents_open(mv_view *view)
{
    view->intents = mv_push_struct(&view->arena, mv_intents);
    if (!view->intents)
        return false;
    view->now = mv_view_write(view);
    view->desk = mv_view_write_desk(view);
    view->bookmarks = &view->intents->bookmarks;
    *mv_view_write(view) = mv_view_state_first;
    *mv_view_write_desk(view) = mv_view_desk_first;
    mv_view_write_desk(view)->is_dark = view->opts.is_dark;
    if (view->opts.scale > 0)
        mv_view_write_desk(view)->scale = view->opts.scale;
    return true;
}
