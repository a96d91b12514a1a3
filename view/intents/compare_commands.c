/* The commands for several devices, files or ranks in one picture. */
#include "view/frame/device_rows.h"
#include "view/intents/writable.h"
#include "view/timeline/alignment.h"

/* Whether it would lay any other device over the shown one, or the compared one if there is one. */
static bool is_possible(mv_view *view, mv_align by)
{
    const mv_document_device *here = mv_view_device(view), *compared = mv_view_other(view);
    uint32_t count;
    const mv_device_row *rows = mv_device_rows(view, &count);

    if (by == MV_ALIGN_AUTO || by == MV_ALIGN_SHARE)
        return true;
    for (uint32_t i = 0; rows && i < count; i++)
        if (rows[i].shown && rows[i].shown != here && (!compared || rows[i].shown == compared) &&
            mv_alignment_make(here, rows[i].shown, by).by == by)
            return true;
    return false;
}

void mv_do_next_align(mv_view *view, uint64_t arg)
{
    uint8_t *align = &mv_view_write(view)->align;

    (void)arg;
    do
        *align = (uint8_t)((*align + 1) % MV_ALIGN_COUNT);
    while (!is_possible(view, (mv_align)*align));
    mv_view_say(view, false, "aligned: %s", mv_align_name((mv_align)*align));
}
