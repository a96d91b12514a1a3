#include "view/frame/device_rows.h"

#include "analyze/ranks/rank_names.h"
#include "base/sort.h"

static uint32_t devices_of(const mv_document *d)
{
    return atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_OPENED
               ? d->device_count
               : 0;
}

static const mv_document_device *shown_of(const mv_document *d, uint32_t device)
{
    int stage;

    if (device == MV_NO_ROW)
        return NULL;
    stage = atomic_load_explicit(&d->devices[device].stage, memory_order_acquire);
    return stage == MV_DEVICE_SHOWN || stage == MV_DEVICE_REPORTED ? &d->devices[device] : NULL;
}

mv_device_row mv_device_row_of(const mv_document *d, uint32_t file, uint32_t device)
{
    mv_device_row r = {
        .file = file, .device = device, .document = d, .shown = shown_of(d, device), .name = ""};

    if (r.shown)
        r.peak = r.shown->peak;
    return r;
}

static bool find_names(mv_device_names *names, const mv_device_row *rows, uint32_t count)
{
    mv_budget *budget = names->arena.budget;
    mv_rank_place *places;

    mv_arena_release(&names->arena);
    mv_arena_init(&names->arena, budget);
    names->count = 0;
    places = mv_push_array(&names->arena, mv_rank_place, count);
    for (uint32_t i = 0; places && i < count; i++)
        places[i] = (mv_rank_place){rows[i].document->path,
                                    rows[i].device == MV_NO_ROW
                                        ? MV_NO_ROW
                                        : rows[i].document->devices[rows[i].device].device};
    names->name = places ? mv_rank_names(&names->arena, places, count) : NULL;
    names->count = names->name ? count : 0;
    return names->name != NULL;
}

/* Lists the rows. A loader may open a file meanwhile; rows beyond `room` are listed in the next
 * frame. */
static uint32_t list(const mv_view *view, mv_device_row *rows, uint32_t room)
{
    uint32_t count = 0;

    for (uint32_t f = 0; f < view->document_count; f++) {
        const mv_document *d = view->documents[f];
        uint32_t devices = devices_of(d);
        for (uint32_t i = 0; i < devices && count < room; i++, count++)
            if (rows)
                rows[count] = mv_device_row_of(d, f, i);
        if (devices == 0 && count < room) {
            if (rows)
                rows[count] = mv_device_row_of(d, f, MV_NO_ROW);
            count++;
        }
    }
    return count;
}

mv_device_row *mv_device_rows(mv_view *view, uint32_t *count)
{
    uint32_t room = list(view, NULL, MV_MOST_DEVICE_ROWS);
    mv_device_row *rows = mv_push_array(view->ui.frame, mv_device_row, room);
    mv_device_names *names = &view->names;

    *count = rows ? list(view, rows, room) : 0;
    /* Rows are never removed, and all devices of a file are added at once, so if the number of rows
     * has changed, rows were added. */
    if (!rows || (*count != names->count && !find_names(names, rows, *count)))
        return NULL;
    for (uint32_t i = 0; i < *count; i++)
        rows[i].name = names->name[i];
    return rows;
}

mv_device_row *mv_device_rows_by_peak(mv_view *view, uint32_t *count)
{
    mv_device_row *rows = mv_device_rows(view, count);
    uint32_t kept = 0;

    for (uint32_t i = 0; rows && i < *count; i++)
        if (!view->desk->is_choosing_other || rows[i].file != view->now->file ||
            rows[i].device != view->now->device)
            rows[kept++] = rows[i];
    *count = kept;
    if (rows)
        mv_sort_rows(NULL, rows, *count, MV_FALLING(mv_device_row, peak));
    return rows;
}

const char *mv_device_name(mv_view *view, uint32_t file, uint32_t device)
{
    uint32_t count;
    const mv_device_row *rows = mv_device_rows(view, &count);

    for (uint32_t i = 0; rows && i < count; i++)
        if (rows[i].file == file && rows[i].device == device)
            return rows[i].name;
    return "";
}
