#include <math.h>

#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/panes/panels.h"

/* ---- within a device --------------------------------------------------------------------- */

static double event_count(const mv_document_device *device)
{
    return device->lives.events.count ? device->lives.events.count : 1;
}

static void set_window(mv_view *view, double from, double to)
{
    double events = event_count(mv_view_device(view));

    mv_view_write(view)->from = fmax(0, fmin(from, to));
    mv_view_write(view)->to = fmin(events, fmax(from, to));
    if (view->now->to <= view->now->from) {
        mv_view_write(view)->from = fmin(view->now->from, events - 1);
        mv_view_write(view)->to = view->now->from + 1;
    }
}

void mv_view_show(mv_view *view, double from, double to)
{
    if (!mv_view_device(view))
        return;
    set_window(view, from, to);
}

/* Moves the window, and if necessary widens it, until [a, b] is inside. */
static void reveal(mv_view *view, double a, double b)
{
    double width = view->now->to - view->now->from, margin = fmax(width, b - a) * 0.1;

    if (a >= view->now->from && b <= view->now->to)
        return;
    if (b - a + 2 * margin > width)
        set_window(view, a - margin, b + margin);
    else if (a < view->now->from)
        set_window(view, fmax(0, a - margin), fmax(0, a - margin) + width);
    else {
        double events = event_count(mv_view_device(view)), to = fmin(events, b + margin);
        set_window(view, to - width, to);
    }
}

void mv_view_move_cursor(mv_view *view, uint32_t event)
{
    const mv_document_device *device = mv_view_device(view);

    if (!device)
        return;
    if (event != MV_BEFORE && event >= device->lives.events.count)
        event = device->lives.events.count ? device->lives.events.count - 1 : MV_BEFORE;
    mv_view_write(view)->cursor = event;
    reveal(view, event == MV_BEFORE ? 0 : event, event == MV_BEFORE ? 0 : event + 1.0);
}

void mv_view_pin(mv_view *view, uint32_t alloc)
{
    const mv_document_device *device = mv_view_device(view);
    const mv_alloc_lives *a;
    double birth, end;

    if (!device || alloc >= device->lives.allocs.count)
        return;
    a = &device->lives.allocs;
    mv_view_write(view)->pinned = alloc;
    mv_view_write(view)->pinned_segment = MV_NO_ROW;
    mv_view_write(view)->hole = 0;
    if (!mv_index_is_alive(&device->index, alloc, view->now->cursor))
        mv_view_write(view)->cursor = a->birth[alloc];
    birth = a->birth[alloc] == MV_BEFORE ? 0 : a->birth[alloc];
    end = a->freed[alloc] == MV_NEVER ? event_count(device) : a->freed[alloc];
    /* A long life need not fit into the window. If it is already visible, nothing moves. */
    if (end <= view->now->from || birth >= view->now->to)
        reveal(view, birth, fmin(end, birth + fmax(1, view->now->to - view->now->from) / 2));
}

void mv_view_point(mv_view *view, uint32_t alloc)
{
    mv_view_pin(view, alloc);
    mv_view_write(view)->tab = MV_TAB_DETAILS;
}

void mv_view_go(mv_view *view, const mv_listing_place *place, const char *only)
{
    char words[MV_SEARCH_TEXT];

    if (place->level && (!mv_view_document(view)->trace.origin.level ||
                         strcmp(mv_view_document(view)->trace.origin.level, place->level) != 0))
        mv_level_go(view, place->level);
    if (place->has_event)
        mv_view_move_cursor(view, place->event);
    if (place->has_window)
        mv_view_show(view, place->from, place->to);
    if (place->alloc != MV_NO_ROW)
        mv_view_pin(view, place->alloc);
    if (place->hole) {
        /* The allocator's state zooms to the hole when the state is painted. */
        mv_view_state *now = mv_view_write(view);
        now->main = MV_MAIN_STATE;
        now->hole = place->hole;
        now->pinned = MV_NO_ROW;
        now->pinned_segment = place->segment;
        view->panels->fits_hole = true;
    }
    if (place->has_event) /* pinning may have moved the cursor */
        mv_view_write(view)->cursor = place->event;
    if (*mv_listing_words(&mv_view_document(view)->trace, place, only, words))
        mv_search_set(view, words);
}

/* ---- devices ----------------------------------------------------------------------------- */

/* Whether the device can be chosen. MV_NO_ROW can be chosen for every file of the view, even before
 * the file is open. */
static bool is_there(const mv_view *view, uint32_t file, uint32_t device)
{
    const mv_document *d = file < view->document_count ? view->documents[file] : NULL;

    if (!d || atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_OPENED)
        return d && device == MV_NO_ROW;
    return device == MV_NO_ROW || device < d->device_count;
}

void mv_view_choose(mv_view *view, uint32_t file, uint32_t device)
{
    if (!is_there(view, file, device))
        return;
    mv_view_write(view)->file = file;
    mv_view_write(view)->device = device;
    mv_view_write(view)->from = mv_view_write(view)->to = 0;
    mv_view_write(view)->fits_height = true;
    mv_view_write(view)->pinned = mv_view_write(view)->pinned_segment = MV_NO_ROW;
    mv_view_write(view)->has_interval = false;
    mv_view_write(view)->heap_zoom = 1;
    mv_view_write(view)->hole = 0;
    mv_view_write(view)->heap_left = mv_view_write(view)->heap_top = 0;
    mv_view_write(view)->cursor = MV_BEFORE;
    mv_view_write(view)->report_row = 0;
    view->hover = view->hover_segment = MV_NO_ROW;
    mv_loader_prefer(view->loader, view->documents[file], device);
    mv_navigation_update(view);
}

/* Chooses the device with the most events if no device was named. */
static void settle_device(mv_view *view)
{
    const mv_document *d = mv_view_document(view);
    const mv_view_start *start = &view->chrome->start;
    uint32_t most = 0;

    if (!d || view->now->device != MV_NO_ROW ||
        atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_OPENED ||
        d->device_count == 0)
        return;
    for (uint32_t i = 1; i < d->device_count; i++)
        if (d->devices[i].events > d->devices[most].events)
            most = i;
    for (uint32_t i = 0; view->chrome->kept.is_kept && i < d->device_count; i++)
        if (d->devices[i].device == view->chrome->kept.device)
            most = i;
    for (uint32_t i = 0; view->chrome->has_start && i < d->device_count; i++)
        if (d->devices[i].device == start->device)
            most = i;
    if (view->chrome->has_start && start->session && start->session->now.device < d->device_count)
        most = start->session->now.device;
    mv_view_write(view)->device = most;
    mv_loader_prefer(view->loader, view->documents[view->now->file], most);
}

/* ---- the start position -------------------------------------------------------------------- */

void mv_view_begin_at(mv_view *view, const mv_view_start *start)
{
    view->chrome->start = *start;
    view->chrome->has_start = true;
    if (start->session)
        mv_session_set_desk(view, start->session);
    if (start->level || start->session)
        mv_level_write(view, start->level ? start->level : start->session->now.level);
}

/* Handles a start position on the command line that cannot be shown. In a window, a message is
 * shown. Without a window, the viewer ends. */
static void say_start(mv_view *view, const char *why)
{
    mv_view_say(view, true, "%s", why);
    view->chrome->has_bad_start = true;
}

static mv_window start_window(mv_view *view, const mv_document_device *device)
{
    const mv_view_start *s = &view->chrome->start;
    const mv_trace *trace = &mv_view_document(view)->trace;
    uint32_t ordinal = device->device;
    mv_window window;
    mv_position end;
    char why[MV_WHY];

    if (!mv_window_read(trace, ordinal, s->from, s->to, &window, why, sizeof why) ||
        mv_window_is_empty(trace, ordinal, ordinal + 1, s->from, s->to, why, sizeof why)) {
        say_start(view, why);
        return (mv_window){0, device->lives.events.count};
    }
    /* The event given by --to is at the right edge. */
    if (s->to && mv_position_find(trace, ordinal, s->to, &end, why, sizeof why))
        window.end = end.after;
    return window;
}

static void begin(mv_view *view, const mv_document_device *device)
{
    mv_chrome *c = view->chrome;
    const mv_view_start *s = &c->start;
    mv_window window = start_window(view, device);
    char why[MV_WHY], contained[MV_DEVICES_TEXT];

    set_window(view, window.first, window.end);
    if (s->at) {
        uint32_t event;
        if (mv_moment_of(view, s->at, window, &event, why, sizeof why))
            mv_view_write(view)->cursor = event;
        else
            say_start(view, why);
    }
    if (s->filter)
        mv_search_set(view, s->filter);
    mv_view_write(view)->main = s->main;
    if (s->device != MV_NO_ROW && s->device != device->device) {
        snprintf(why, sizeof why, "no device %u; the file contains %s", s->device,
                 mv_devices_text(contained, mv_view_document(view)->device_count));
        say_start(view, why);
    }
}

void mv_navigation_update(mv_view *view)
{
    mv_chrome *c = view->chrome;
    const mv_document_device *device;
    bool is_new = view->now->to <= view->now->from;

    settle_device(view);
    device = mv_view_arrived(view);
    if (!device || (device == view->levels_of && !is_new))
        return;
    mv_pyramid_reader_init(&view->levels, &device->pyramid);
    view->levels_of = device;
    if (is_new) {
        set_window(view, 0, event_count(device));
        mv_view_write(view)->cursor = device->peak_event;
        mv_level_keep_time(view, device);
    }
    if (c->has_start)
        begin(view, device);
    /* If the recording consists of a state without events, the timeline would be a flat line, so
     * the allocator's state is shown instead. */
    if (is_new && view->now->main == MV_MAIN_TIMELINE &&
        mv_recording_is_state_only(&device->lives)) {
        mv_view_write(view)->main = MV_MAIN_STATE;
        if (!*view->message)
            mv_view_say(view, false, "%s",
                        mv_recording_advice(&mv_view_document(view)->trace, &device->lives));
    }
    if (c->has_start && c->start.session)
        mv_session_set_place(view, c->start.session);
    c->has_start = false;
}
