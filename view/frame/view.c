/* What is shown, for those who paint it. */
#include "view/frame/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const mv_document *mv_view_document(const mv_view *view)
{
    return view->now->file < view->document_count ? view->documents[view->now->file] : NULL;
}

static const mv_document_device *device_of(const mv_view *view, uint32_t file, uint32_t row)
{
    const mv_document *d = file < view->document_count ? view->documents[file] : NULL;
    int stage;

    if (!d || atomic_load_explicit(&d->stage, memory_order_acquire) != MV_DOCUMENT_OPENED ||
        row >= d->device_count)
        return NULL;
    stage = atomic_load_explicit(&d->devices[row].stage, memory_order_acquire);
    return stage == MV_DEVICE_SHOWN || stage == MV_DEVICE_JUDGED ? &d->devices[row] : NULL;
}

const mv_document_device *mv_view_arrived(const mv_view *view)
{
    return device_of(view, view->now->file, view->now->device);
}

/* A device that is ready in the middle of a frame, or before its levels can be read, is shown from
 * the next frame on. */
const mv_document_device *mv_view_device(const mv_view *view)
{
    const mv_document_device *device = mv_view_arrived(view);

    return device == view->levels_of ? device : NULL;
}

const mv_document_device *mv_view_other(const mv_view *view)
{
    return device_of(view, view->now->other_file, view->now->other_device);
}

bool mv_view_is_judged(const mv_view *view)
{
    const mv_document_device *device = mv_view_device(view);

    return device && atomic_load_explicit(&device->stage, memory_order_acquire) == MV_DEVICE_JUDGED;
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
    mv_utf8_tame(out);
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
