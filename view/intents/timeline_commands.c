/* Commands that move the picture. They change the range to show (mv_view_state), and the pane eases
 * towards it. */
#include <math.h>

#include "view/document/level_calls.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/plot.h"

static const double zoom_step = 1.6;

/* ---- the window --------------------------------------------------------------------------- */

static mv_stretch shown_now(const mv_view *view)
{
    return (mv_stretch){view->now->from, view->now->to};
}

static void show(mv_view *view, mv_stretch shown)
{
    mv_view_write(view)->from = shown.from;
    mv_view_write(view)->to = shown.to;
    view->timeline->is_fitted = false;
}

/* Returns the position of the pointer as a fraction of the plot's width, or the middle if the
 * pointer is outside the plot. */
static double pointer_share(const mv_view *view)
{
    const mv_box *plot = &view->timeline->plot;

    if (!mv_box_has(*plot, view->ui.pointer_x, plot->y + 1) || plot->w <= 0)
        return 0.5;
    return (double)((view->ui.pointer_x - plot->x) / plot->w);
}

void mv_timeline_zoom(mv_view *view, double share, double factor)
{
    const mv_timeline_rows *rows = mv_timeline_rows_of(view, view->now->main == MV_MAIN_SEGMENTS);

    if (rows)
        show(view, mv_stretch_zoom(&rows->scale, shown_now(view), share, factor));
}

void mv_timeline_pan(mv_view *view, double by)
{
    const mv_timeline_rows *rows = mv_timeline_rows_of(view, view->now->main == MV_MAIN_SEGMENTS);

    if (rows)
        show(view, mv_stretch_pan(&rows->scale, shown_now(view), by));
}

void mv_timeline_show_bytes(mv_view *view, double from, double to)
{
    mv_view_state *now = mv_view_write(view);
    double height = fmin(fmax(to - from, 1), 0x1p62);

    from = fmin(fmax(from, 0), 0x1p62);
    now->fits_height = false;
    now->y_from = (uint64_t)from;
    now->y_to = (uint64_t)(from + height);
    if (now->y_to <= now->y_from) /* the height is too small for the precision of a double */
        now->y_to = now->y_from + 1024;
}

/* Zooms the range of bytes around a fraction of the height, counted from the bottom. */
void mv_timeline_zoom_y(mv_view *view, double share, double factor)
{
    mv_timeline_pane *pane = view->timeline;
    double from = pane->goal_y_from, height = (pane->goal_y_to - from) * factor;
    double fixed = from + share * (pane->goal_y_to - from);

    if (!pane->has_viewport)
        return;
    height = fmin(fmax(height, 64), 0x1p62);
    from = fmax(0, fixed - share * height);
    mv_timeline_show_bytes(view, from, from + height);
}

/* Moves up by a fraction of the height. */
static void pan_bytes(mv_view *view, double up)
{
    mv_timeline_pane *pane = view->timeline;
    double height = pane->goal_y_to - pane->goal_y_from;
    double from = fmax(0, pane->goal_y_from + up * height);

    if (pane->has_viewport)
        mv_timeline_show_bytes(view, from, from + height);
}

static double pointer_height(const mv_view *view)
{
    const mv_box *plot = &view->timeline->plot;

    if (!mv_ui_is_hot(&view->ui, *plot) || plot->h <= 0)
        return 0;
    return (double)((plot->y + plot->h - view->ui.pointer_y) / plot->h);
}

void mv_do_zoom(mv_view *view, uint64_t arg)
{
    double factor = (int64_t)arg > 0 ? zoom_step : 1 / zoom_step;

    if (!mv_heap_zoom(view, factor))
        mv_timeline_zoom(view, pointer_share(view), 1 / factor);
}

void mv_do_zoom_y(mv_view *view, uint64_t arg)
{
    mv_timeline_zoom_y(view, pointer_height(view), (int64_t)arg > 0 ? 1 / zoom_step : zoom_step);
}

void mv_do_pan(mv_view *view, uint64_t arg)
{
    double by = 0.25 * (double)(int64_t)arg;

    if (!mv_heap_pan(view, by, 0))
        mv_timeline_pan(view, by);
}

void mv_do_pan_y(mv_view *view, uint64_t arg)
{
    double by = 0.25 * (double)(int64_t)arg;

    if (!mv_heap_pan(view, 0, -by))
        pan_bytes(view, by);
}

void mv_do_fit_all(mv_view *view, uint64_t arg)
{
    uint32_t events = mv_view_device(view)->lives.events.count;

    (void)arg;
    if (mv_heap_fit_all(view))
        return;
    show(view, (mv_stretch){0, events ? events : 1});
    mv_view_write(view)->fits_height = true;
}

void mv_do_fit_height(mv_view *view, uint64_t arg)
{
    mv_timeline_pane *pane = view->timeline;

    (void)arg;
    if (!pane->has_viewport)
        return;
    if (view->now->fits_height)
        mv_timeline_show_bytes(view, pane->goal_y_from, pane->goal_y_to);
    else
        mv_view_write(view)->fits_height = true;
}

/* ---- the selection ------------------------------------------------------------------------ */

/* Finds the first and last event of the pinned allocation or segment. Returns false if nothing is
 * pinned. */
static bool pinned_events(const mv_view *view, uint32_t *birth, uint32_t *end)
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    uint32_t alloc = view->now->pinned, segment = view->now->pinned_segment;

    if (alloc < lives->allocs.count) {
        *birth = lives->allocs.birth[alloc];
        *end = lives->allocs.freed[alloc];
    } else if (segment < lives->segments.count) {
        *birth = lives->segments.birth[segment];
        *end = lives->segments.death[segment];
    } else {
        return false;
    }
    return true;
}

/* Finds the life of the pinned allocation or segment. Returns false if nothing is pinned. */
static bool pinned_life(const mv_view *view, mv_stretch *out)
{
    uint32_t birth, end;

    if (!pinned_events(view, &birth, &end))
        return false;
    out->from = birth == MV_BEFORE ? 0 : birth;
    out->to = end == MV_NEVER ? mv_view_device(view)->lives.events.count : end;
    return true;
}

/* Fits the height of the pinned allocation at some point of its life. */
static void fit_pinned_height(mv_view *view)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_timeline_rows *rows = mv_timeline_rows_of(view, false);
    uint32_t rank = view->now->pinned, event;
    double offset, bytes;

    if (rank >= d->lives.allocs.count || view->now->main != MV_MAIN_TIMELINE || !rows ||
        !rows->has_drawn)
        return;
    event = d->lives.allocs.birth[rank];
    if (event == MV_BEFORE && d->lives.events.count)
        event = 0;
    offset = (double)mv_drawn_offset(&rows->drawn, rank, event);
    bytes = (double)d->index.bytes[rank];
    mv_timeline_show_bytes(view, fmax(0, offset - 2 * bytes), offset + 3 * bytes);
}

void mv_do_fit_selection(mv_view *view, uint64_t arg)
{
    const mv_timeline_rows *rows = mv_timeline_rows_of(view, view->now->main == MV_MAIN_SEGMENTS);
    mv_stretch life;

    (void)arg;
    if (mv_heap_fit_selection(view) || !rows)
        return;
    if (view->timeline->is_fitted) {
        fit_pinned_height(view);
        return;
    }
    if (!pinned_life(view, &life)) {
        if (!view->now->has_interval) {
            mv_view_say(view, false, "%s", "nothing is selected: click an allocation first");
            return;
        }
        life = (mv_stretch){view->now->a, view->now->b};
    }
    show(view, mv_stretch_around(&rows->scale, life, 0.1));
    view->timeline->is_fitted = true;
}

void mv_do_zoom_interval(mv_view *view, uint64_t arg)
{
    if (view->now->has_interval)
        mv_view_show(view, view->now->a, view->now->b);
    else
        mv_do_fit_selection(view, arg);
}

static void select_events(mv_view *view, uint32_t a, uint32_t b)
{
    uint32_t events = mv_view_device(view)->lives.events.count;

    a = a < events ? a : events;
    b = b < events ? b : events;
    if (a >= b) {
        mv_view_say(view, false, "%s", "the interval contains no event");
        return;
    }
    mv_view_show_interval(view);
    mv_view_write(view)->has_interval = true;
    mv_view_write(view)->a = a;
    mv_view_write(view)->b = b;
}

void mv_do_interval_of_pin(mv_view *view, uint64_t arg)
{
    mv_stretch life;

    (void)arg;
    if (pinned_life(view, &life))
        select_events(view, (uint32_t)life.from, (uint32_t)life.to);
}

/* If `arg` is 0, the interval begins with the cursor's event; if it is 1, the interval ends with
 * that event. */
void mv_do_interval_edge(mv_view *view, uint64_t arg)
{
    const mv_view_state *now = view->now;
    uint32_t events = mv_view_device(view)->lives.events.count;
    uint32_t event = now->cursor == MV_BEFORE ? 0 : now->cursor;

    if (arg == 0)
        select_events(view, event, now->has_interval && now->b > event ? now->b : events);
    else
        select_events(view, now->has_interval && now->a <= event ? now->a : 0, event + 1);
}

void mv_do_select_range(mv_view *view, uint64_t arg)
{
    uint32_t from = (uint32_t)arg, to = (uint32_t)(arg >> 32);

    if (from == to)
        mv_view_move_cursor(view, from);
    else
        select_events(view, from, to);
}

/* ---- the cursor --------------------------------------------------------------------------- */

/* Moves from call to call if events are parts of calls. */
static int64_t call_at(const mv_view *view, int64_t at, int64_t by)
{
    const mv_trace *trace = &mv_view_document(view)->trace;
    const mv_events *e = &mv_view_device(view)->lives.events;

    for (; by > 0 && at + 1 < (int64_t)e->count; by--)
        at = mv_call_last(trace, e, (uint32_t)(at + 1));
    for (; by < 0 && at >= 0; by++)
        at = (int64_t)mv_call_first(trace, e, (uint32_t)at) - 1;
    return at;
}

void mv_do_step(mv_view *view, uint64_t arg)
{
    int64_t events = mv_view_device(view)->lives.events.count;
    int64_t at = view->now->cursor == MV_BEFORE ? -1 : (int64_t)view->now->cursor;

    if (mv_view_document(view)->trace.origin.level) {
        at = call_at(view, at, (int64_t)arg);
        mv_view_move_cursor(view, at < 0 ? MV_BEFORE : (uint32_t)at);
        return;
    }
    at = at + (int64_t)arg < -1 ? -1 : at + (int64_t)arg;
    at = at < events ? at : events - 1;
    mv_view_move_cursor(view, at < 0 ? MV_BEFORE : (uint32_t)at);
}

void mv_do_go_to_event(mv_view *view, uint64_t arg)
{
    mv_view_move_cursor(view, arg < MV_BEFORE ? (uint32_t)arg : MV_BEFORE);
}

void mv_do_peak(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_move_cursor(view, mv_view_device(view)->peak_event);
}

void mv_do_peak_in_view(mv_view *view, uint64_t arg)
{
    uint32_t events = mv_view_device(view)->lives.events.count;
    uint32_t from = (uint32_t)fmax(0, ceil(view->now->from));
    uint32_t to = (uint32_t)fmin(events, ceil(view->now->to));
    mv_extent found;

    (void)arg;
    if (from >= to)
        from = to > 0 ? to - 1 : 0;
    found = mv_pyramid_range(&view->levels, from == 0 ? MV_BEFORE : from, to);
    mv_view_move_cursor(view, found.allocated_event);
}

/* ---- trace_marks ---------------------------------------------------------------------------- */

/* Moves the cursor to the nearest of these events after it or before it. */
static void step_to(mv_view *view, const uint32_t *events, uint32_t count, bool is_on,
                    const char *what)
{
    uint32_t event = is_on ? mv_listed_event_after(events, count, view->now->cursor)
                           : mv_event_before(events, count, view->now->cursor);

    if (event == MV_NO_ROW)
        mv_view_say(view, false, "no %s %s the cursor", what, is_on ? "after" : "before");
    else
        mv_view_move_cursor(view, event);
}

void mv_do_step_mark(mv_view *view, uint64_t is_on)
{
    const mv_mark_lanes *m = mv_timeline_marks(view);

    step_to(view, m ? m->begins : NULL, m ? m->begin_count : 0, is_on, "marker");
}

void mv_do_step_oom(mv_view *view, uint64_t is_on)
{
    const mv_trace_marks *l = &mv_view_device(view)->trace_marks;

    step_to(view, l->ooms, l->oom_count, is_on, "out-of-memory event");
}

void mv_do_to_alloc(mv_view *view, uint64_t arg)
{
    uint32_t birth, end;

    (void)arg;
    if (pinned_events(view, &birth, &end))
        mv_view_move_cursor(view, birth);
}

void mv_do_to_free(mv_view *view, uint64_t arg)
{
    uint32_t birth, end;

    (void)arg;
    if (!pinned_events(view, &birth, &end))
        return;
    if (end == MV_NO_ROW)
        mv_view_say(view, false, "%s", "the allocation is never freed");
    else
        mv_view_move_cursor(view, end);
}

void mv_do_pin(mv_view *view, uint64_t arg)
{
    if (arg < mv_view_device(view)->lives.allocs.count)
        mv_view_point(view, (uint32_t)arg);
}
