/* Chooses which device is shown, and which device it is compared with. */
#include "view/frame/device_rows.h"
#include "view/intents/intents.h"
#include "view/intents/writable.h"

static void choose(mv_view *view, uint32_t file, uint32_t device)
{
    bool is_other = view->desk->is_choosing_other;

    mv_chrome_focus(view, MV_FOCUS_PANES);
    mv_view_write_desk(view)->is_choosing_other = false;
    if (!is_other) {
        mv_view_choose(view, file, device);
        return;
    }
    mv_view_write(view)->other_file = file;
    mv_view_write(view)->other_device = device;
}

void mv_do_choose_device(mv_view *view, uint64_t arg)
{
    if (view->desk->focus == MV_FOCUS_DEVICES) {
        choose(view, (uint32_t)(arg >> MV_FILE_SHIFT), (uint32_t)(arg & 0xffff));
        return;
    }
    mv_view_write_desk(view)->is_choosing_other = false;
    mv_chrome_focus(view, MV_FOCUS_DEVICES);
}

void mv_do_compare(mv_view *view, uint64_t arg)
{
    uint32_t count, others = 0, last = 0;
    mv_device_row *rows = mv_device_rows(view, &count);

    (void)arg;
    if (view->now->other_file != MV_NO_ROW) {
        mv_view_write(view)->other_file = mv_view_write(view)->other_device = MV_NO_ROW;
        return;
    }
    for (uint32_t i = 0; rows && i < count; i++)
        if (rows[i].device != MV_NO_ROW &&
            (rows[i].file != view->now->file || rows[i].device != view->now->device)) {
            others++;
            last = i;
        }
    mv_view_write_desk(view)->is_choosing_other = true;
    if (others == 1)
        choose(view, rows[last].file, rows[last].device);
    else
        mv_chrome_focus(view, MV_FOCUS_DEVICES);
}

void mv_do_step_device(mv_view *view, uint64_t by)
{
    uint32_t count, at = 0;
    mv_device_row *rows = mv_device_rows(view, &count);

    if (!rows)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].file == view->now->file && rows[i].device == view->now->device)
            at = i;
    for (uint32_t i = 0; i < count; i++) {
        at = (uint32_t)((at + count + by) % count);
        if (rows[at].device != MV_NO_ROW)
            break;
    }
    mv_view_choose(view, rows[at].file, rows[at].device);
}

bool mv_device_list_input(mv_view *view, const mv_input *input)
{
    uint32_t count;
    mv_device_row *rows = mv_device_rows_by_peak(view, &count);

    if (!rows)
        return false;
    if (mv_chrome_list_input(view, input, count, 8))
        return true;
    if (input->kind != MV_INPUT_KEY || input->key != MV_KEY_ENTER)
        return false;
    if (view->chrome->row < count && rows[view->chrome->row].device != MV_NO_ROW)
        choose(view, rows[view->chrome->row].file, rows[view->chrome->row].device);
    return true;
}
