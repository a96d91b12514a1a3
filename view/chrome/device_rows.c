#include "view/chrome/device_rows.h"

#include "base/sort.h"

enum { MOST_ROWS = 4096 };

static mv_device_row row_of(const mv_document *d, uint32_t file, uint32_t device)
{
    mv_device_row r = {.file = file, .device = device, .document = d};

    if (device == MV_NO_ROW)
        return r;
    int stage = atomic_load_explicit(&d->devices[device].stage, memory_order_acquire);
    if (stage == MV_DEVICE_SHOWN || stage == MV_DEVICE_JUDGED) {
        r.shown = &d->devices[device];
        r.peak = r.shown->peak;
    }
    return r;
}

mv_device_row *mv_device_rows(mv_view *view, uint32_t *count)
{
    mv_device_row *rows = mv_push_array(view->ui.frame, mv_device_row, MOST_ROWS);

    *count = 0;
    for (uint32_t f = 0; rows && f < view->document_count; f++) {
        const mv_document *d = view->documents[f];
        bool is_open = atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DOCUMENT_OPENED;
        uint32_t devices = is_open ? d->device_count : 0;
        for (uint32_t i = 0; i < devices && *count < MOST_ROWS; i++)
            rows[(*count)++] = row_of(d, f, i);
        if (devices == 0 && *count < MOST_ROWS)
            rows[(*count)++] = row_of(d, f, MV_NO_ROW);
    }
    return rows;
}

mv_device_row *mv_device_rows_by_peak(mv_view *view, uint32_t *count)
{
    mv_device_row *rows = mv_device_rows(view, count);

    if (rows)
        mv_sort_rows(NULL, rows, *count, MV_FALLING(mv_device_row, peak));
    return rows;
}
