/* The view's state, for the code that paints it. */
#include "view/frame/view.h"

#include "base/utf8.h"
#include "view/document/ledger_moment.h"

const mv_document *mv_view_document(const mv_view *view)
{
    return view->now->file < view->document_count ? view->documents[view->now->file] : NULL;
}

const mv_level_list *mv_view_levels(const mv_view *view)
{
    static const mv_level_list none;
    const mv_document *d = mv_view_document(view);
    bool is_open = d && atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_OPENED;

    return is_open ? &d->levels : &none;
}

uint32_t mv_view_level(const mv_view *view)
{
    const mv_level_list *list = mv_view_levels(view);
    const mv_document *d = mv_view_document(view);
    uint32_t i = 0;

    while (i < list->count &&
           strcmp(list->name[i], d->is_missing_level     ? d->level
                                 : d->trace.origin.level ? d->trace.origin.level
                                                         : mv_level_name(MV_LEVEL_PYTORCH)) != 0)
        i++;
    return i;
}

static const mv_document_device *device_of(const mv_view *view, uint32_t file, uint32_t row)
{
    const mv_document *d = file < view->document_count ? view->documents[file] : NULL;
    int stage;

    if (!d || atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_OPENED ||
        row >= d->device_count)
        return NULL;
    stage = atomic_load_explicit(&d->devices[row].stage, memory_order_acquire);
    return stage == MV_DEVICE_SHOWN || stage == MV_DEVICE_REPORTED ? &d->devices[row] : NULL;
}

const mv_document_device *mv_view_arrived(const mv_view *view)
{
    return device_of(view, view->now->file, view->now->device);
}

/* A device that becomes ready in the middle of a frame, or before its levels can be read, is not
 * shown until the next frame. */
const mv_document_device *mv_view_device(const mv_view *view)
{
    const mv_document_device *device = mv_view_arrived(view);

    return device == view->levels_of ? device : NULL;
}

const mv_document_device *mv_view_other(const mv_view *view)
{
    return device_of(view, view->now->other_file, view->now->other_device);
}

bool mv_view_is_evaluated(const mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);

    return device &&
           atomic_load_explicit(&device->stage, memory_order_acquire) == MV_DEVICE_REPORTED;
}

void mv_view_title(const mv_view *view, char out[MV_VIEW_TITLE])
{
    const mv_document *d = mv_view_document(view);
    char device[32] = "";

    if (!d) {
        snprintf(out, MV_VIEW_TITLE, "memviz");
        return;
    }
    if (mv_view_device(view) && d->device_count > 1)
        snprintf(device, sizeof device, ", device %u", mv_view_device(view)->device);
    snprintf(out, MV_VIEW_TITLE, "%.*s%s \xe2\x80\x94 memviz", (int)mv_utf8_cut(d->name, 200),
             d->name, device);
    mv_utf8_sanitize(out);
}

uint32_t mv_view_device_count(const mv_view *view)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < view->document_count; i++)
        if (atomic_load_explicit(&view->documents[i]->stage, memory_order_acquire) ==
            MV_DOCUMENT_OPENED)
            count += view->documents[i]->device_count;
    return count;
}

void mv_view_say(mv_view *view, bool is_alarm, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(view->message, sizeof view->message, format, args);
    va_end(args);
    view->is_alarm = is_alarm;
}

void mv_view_copy(mv_view *view, const char *text)
{
    if (view->opts.copy)
        view->opts.copy(view->opts.user, text);
}

bool mv_focus_reached(const mv_view *view, mv_command_id command, uint32_t *row)
{
    *row = (uint32_t)view->spot.arg;
    return view->spot.is_shown && view->spot.has_moved && view->spot.command == command;
}

/* Returns the command needs that the view currently satisfies. */
static uint32_t has(const mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);
    uint32_t has = mv_view_levels(view)->count > 1 ? MV_NEEDS_LEVELS : 0;

    if (!device)
        return has | (mv_view_device_count(view) > 1 ? MV_NEEDS_DEVICES : 0);
    has |= MV_NEEDS_DEVICE;
    has |= mv_document_has_ledger(mv_view_document(view)) ? MV_NEEDS_LEDGER : 0;
    has |=
        view->now->pinned != MV_NO_ROW || view->now->pinned_segment != MV_NO_ROW ? MV_NEEDS_PIN : 0;
    has |= view->now->has_interval ? MV_NEEDS_INTERVAL : 0;
    has |= view->matches && view->matches->matches ? MV_NEEDS_FILTER : 0;
    has |= device->trace_marks.oom_count ? MV_NEEDS_OOM : 0;
    if (device->trace_marks.mark_count || (mv_view_is_evaluated(view) && device->leaks.steps.count))
        has |= MV_NEEDS_MARKS;
    has |= mv_view_device_count(view) > 1 ? MV_NEEDS_DEVICES : 0;
    has |= view->history->past_count ? MV_NEEDS_PAST : 0;
    has |= view->history->future_count ? MV_NEEDS_FUTURE : 0;
    has |= view->live.is_followed && !view->live.has_ended ? MV_NEEDS_LIVE : 0;
    if (view->now->main != MV_MAIN_SEGMENTS && view->now->main != MV_MAIN_RANKS)
        has |= MV_NEEDS_COLOURS;
    return has;
}

/* Returns the reason why there are no hits to step through. */
static const char *lack_of_hits(const mv_view *view)
{
    if (!*view->now->search)
        return "search for something first";
    if (*view->search_why)
        return view->search_why;
    return view->matches ? "nothing matches the search" : "still searching";
}

static const char *lack(const mv_view *view, uint32_t needs)
{
    static const struct {
        uint32_t need;
        const char *text;
    } lacks[] = {
        {MV_NEEDS_DEVICE, "nothing is shown yet"},
        {MV_NEEDS_PIN, "click an allocation first"},
        {MV_NEEDS_INTERVAL, "drag over the timeline first, to select an interval"},
        {MV_NEEDS_OOM, "no request ran out of memory in this trace"},
        {MV_NEEDS_MARKS, "this trace has no markers"},
        {MV_NEEDS_DEVICES, "only one device is open"},
        {MV_NEEDS_PAST, "there is no earlier view"},
        {MV_NEEDS_FUTURE, "there is no later view"},
        {MV_NEEDS_LEVELS, "this file has one level of memory"},
        {MV_NEEDS_LEDGER, "needs a capture (memviz run), and is not available for host memory"},
        {MV_NEEDS_LIVE, "no recording is followed (memviz view --follow)"},
        {MV_NEEDS_COLOURS, "segments are coloured by how full they are, and ranks have no colours"},
    };

    if (needs & MV_NEEDS_FILTER)
        return lack_of_hits(view);
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (needs & lacks[i].need)
            return lacks[i].text;
    return "not now";
}

const char *mv_view_command_unavailable_reason(const mv_view *view, mv_command_id id)
{
    uint32_t lacking = mv_view_commands[id].needs & ~has(view);

    if (!lacking && id == MV_DO_edit_source && !view->opts.sources)
        return "only a window can start an editor";
    return lacking ? lack(view, lacking) : NULL;
}

bool mv_view_command_is_enabled(const mv_view *view, mv_command_id id)
{
    return id > MV_DO_NOTHING && id < MV_DO_COUNT && !mv_view_command_unavailable_reason(view, id);
}
