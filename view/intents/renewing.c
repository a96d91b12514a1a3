/* Copies the state of a view to a view that shows newer data of the same files. Every event, block
 * and segment is given its number in the newer data. The numbers stay the same while a recording
 * only grows. They change if a call that took a long time is inserted among earlier events, if old
 * events are folded (docs/recorder.md), or if the file is replaced. */
#include <math.h>

#include "view/document/moment_text.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

/* A device in the older data, and in the newer data. */
typedef struct {
    const mv_lives *was, *is;
    uint32_t row; /* row of the device in the newer document */
} pair;

static const mv_document_device *shown_device(const mv_document *d, uint32_t row)
{
    int stage = row < d->device_count
                    ? atomic_load_explicit(&d->devices[row].stage, memory_order_acquire)
                    : MV_DEVICE_WAITING;

    return stage == MV_DEVICE_SHOWN || stage == MV_DEVICE_REPORTED ? &d->devices[row] : NULL;
}

static const mv_document *opened(const mv_view *view, uint32_t file)
{
    const mv_document *d = file < view->document_count ? view->documents[file] : NULL;

    return d && atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_OPENED ? d
                                                                                            : NULL;
}

static bool find_pair(const mv_view *to, const mv_view *from, uint32_t file, uint32_t row,
                      pair *out)
{
    const mv_document *was = opened(from, file), *is = opened(to, file);
    const mv_document_device *a = was ? shown_device(was, row) : NULL, *b;

    for (uint32_t i = 0; a && is && i < is->device_count; i++)
        if ((b = shown_device(is, i)) && b->device == a->device) {
            *out = (pair){&a->lives, &b->lives, i};
            return true;
        }
    return false;
}

/* ---- numbers ----------------------------------------------------------------------------- */

static bool is_same_event(const mv_events *a, uint32_t i, const mv_events *b, uint32_t j)
{
    return a->time_us[i] == b->time_us[j] && a->addr[i] == b->addr[j] &&
           a->action[i] == b->action[j] && a->size[i] == b->size[j];
}

/* Returns the same event in the newer data. If it is missing, returns the last event at or before
 * its time. */
static uint32_t event_in(const pair *p, uint32_t event)
{
    const mv_events *was = &p->was->events, *is = &p->is->events;
    uint32_t end;

    if (event >= was->count || is->count == 0)
        return MV_BEFORE;
    if (event < is->count && is_same_event(was, event, is, event))
        return event;
    if (was->time_us[event] == MV_NO_TIME || is->time_us[0] == MV_NO_TIME)
        return event < is->count ? event : is->count - 1;
    end = mv_events_until(is, was->time_us[event]);
    for (uint32_t i = end; i > 0 && is->time_us[i - 1] == was->time_us[event]; i--)
        if (is_same_event(was, event, is, i - 1))
            return i - 1;
    return end ? end - 1 : MV_BEFORE;
}

/* Returns the position of a window's edge in the newer data. The edge is between two events or
 * within one. */
static double edge_in(const pair *p, double edge)
{
    uint32_t last = p->was->events.count ? p->was->events.count - 1 : 0;
    uint32_t event = edge < last ? (uint32_t)fmax(edge, 0) : last, is = event_in(p, event);

    return edge <= 0 || is == MV_BEFORE ? 0 : is + (edge - event);
}

static uint32_t alloc_in(const pair *p, uint32_t alloc)
{
    const mv_alloc_lives *was = &p->was->allocs, *is = &p->is->allocs;
    uint32_t event, found;

    if (alloc >= was->count)
        return MV_NO_ROW;
    event = event_in(p, was->birth[alloc]);
    found = event == MV_BEFORE ? MV_NO_ROW : p->is->alloc_of[event];
    if (found < is->count && is->birth[found] == event && is->addr[found] == was->addr[alloc])
        return found;
    for (uint32_t i = 0; i < is->preexisting; i++)
        if (is->addr[i] == was->addr[alloc])
            return i;
    return MV_NO_ROW;
}

static uint32_t segment_in(const pair *p, uint32_t segment)
{
    const mv_segment_lives *was = &p->was->segments, *is = &p->is->segments;

    for (uint32_t i = 0; segment < was->count && i < is->count; i++)
        if (is->addr[i] == was->addr[segment] && is->size[i] == was->size[segment] &&
            is->birth[i] == event_in(p, was->birth[segment]))
            return i;
    return MV_NO_ROW;
}

/* ---- positions --------------------------------------------------------------------------- */

static void move_window(const pair *p, double *from, double *to, uint32_t *a, uint32_t *b)
{
    *from = edge_in(p, *from);
    *to = edge_in(p, *to);
    *a = (uint32_t)edge_in(p, *a);
    *b = (uint32_t)edge_in(p, *b);
}

/* Resets the position, as mv_view_choose does for a device that has not been seen yet. */
static void forget_place(mv_view_state *s)
{
    s->device = s->pinned = s->pinned_segment = s->unfolded_of = MV_NO_ROW;
    s->cursor = s->heap_seen = MV_BEFORE;
    s->from = s->to = 0;
    s->has_interval = false;
}

/* Converts a state. Numbers on levels other than the shown one cannot be converted here. */
static void move_state(const mv_view *to, const mv_view *from, mv_view_state *s)
{
    pair p;

    if (strcmp(s->level, from->now->level) != 0)
        return;
    if (find_pair(to, from, s->other_file, s->other_device, &p))
        s->other_device = p.row;
    else
        s->other_file = s->other_device = MV_NO_ROW;
    if (!find_pair(to, from, s->file, s->device, &p)) {
        forget_place(s);
        return;
    }
    s->device = p.row;
    s->cursor = event_in(&p, s->cursor);
    s->heap_seen = event_in(&p, s->heap_seen);
    move_window(&p, &s->from, &s->to, &s->a, &s->b);
    s->pinned = alloc_in(&p, s->pinned);
    s->unfolded_of = alloc_in(&p, s->unfolded_of);
    s->pinned_segment = segment_in(&p, s->pinned_segment);
}

static void move_bookmarks(const mv_view *to, const mv_view *from, mv_bookmarks *bookmarks)
{
    pair p;

    for (uint32_t i = 0; i < bookmarks->count; i++) {
        mv_bookmark *b = &bookmarks->rows[i];
        if (strcmp(b->level, from->now->level) != 0 || !find_pair(to, from, b->file, b->device, &p))
            continue;
        b->device = p.row;
        b->cursor = event_in(&p, b->cursor);
        move_window(&p, &b->from, &b->to, &b->a, &b->b);
    }
}

/* Makes a window that reached the last event, or a cursor at the last event, follow the new end.
 * The window keeps its width on its clock, but a window that showed everything shows everything
 * again. */
static void follow_end(const mv_view *from, const pair *p, mv_view_state *s)
{
    const mv_events *was = &p->was->events, *is = &p->is->events;
    const mv_view_state *before = from->now;
    double width = before->to - before->from;

    if (was->count && before->cursor == was->count - 1)
        s->cursor = is->count - 1;
    if (before->to < was->count)
        return;
    s->to = is->count;
    if (before->from <= 0)
        s->from = 0;
    else if (s->clock == MV_CLOCK_EVENTS || was->time_us[0] == MV_NO_TIME)
        s->from = fmax(0, is->count - width);
    else
        s->from = mv_events_until(
            is, is->time_us[is->count - 1] -
                    (was->time_us[was->count - 1] - was->time_us[(uint32_t)before->from]));
    s->from = fmin(s->from, s->to - 1);
}

bool mv_view_catch_up(mv_view *to, const mv_view *from)
{
    bool has =
        strcmp(to->now->level, from->now->level) == 0 && to->document_count == from->document_count;

    if (strcmp(to->now->level, from->now->level) != 0)
        mv_level_write(to, from->now->level);
    while (to->document_count < from->document_count &&
           mv_view_add_file(to, from->documents[to->document_count]->path))
        continue;
    return has;
}

bool mv_view_take_over(mv_view *to, const mv_view *from)
{
    mv_intents *intents = to->intents;
    mv_view_history *history = &intents->history;
    pair p;

    if (!mv_view_catch_up(to, from))
        return false;
    *intents = *from->intents;
    intents->change = (mv_change){0};
    move_state(to, from, &intents->now);
    if (find_pair(to, from, from->now->file, from->now->device, &p) && p.is->events.count)
        follow_end(from, &p, &intents->now);
    for (uint32_t i = 0; i < history->past_count; i++)
        move_state(to, from, &history->past[i]);
    for (uint32_t i = 0; i < history->future_count; i++)
        move_state(to, from, &history->future[i]);
    move_bookmarks(to, from, &intents->bookmarks);
    to->chrome->start = from->chrome->start;
    to->chrome->has_start = from->chrome->has_start;
    to->chrome->banners_closed = from->chrome->banners_closed;
    to->chrome->moved_ms = from->chrome->moved_ms;
    to->spot = from->spot;
    to->live = from->live;
    to->is_alarm = from->is_alarm;
    memcpy(to->message, from->message, sizeof to->message);
    mv_field_set(&to->chrome->search, from->now->search);
    mv_field_set(to->row_field, from->now->row_filter);
    mv_navigation_update(to);
    mv_view_fit(to);
    return true;
}

bool mv_view_is_at_rest(const mv_view *view)
{
    const mv_chrome *c = view->chrome;

    return view->desk->focus == MV_FOCUS_PANES && !c->captured && !c->is_splitting &&
           !c->is_selecting && view->intents->change.depth == 0;
}

void mv_do_follow(mv_view *view, uint64_t arg)
{
    (void)arg;
    view->live.is_paused = !view->live.is_paused;
    mv_view_say(view, false, "%s",
                view->live.is_paused ? "newer data is not shown" : "newer data is shown");
}
