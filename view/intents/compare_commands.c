/* Commands for several devices, files or ranks in the same picture. */
#include "view/intents/intents.h"
#include "view/intents/writable.h"
#include "view/timeline/pane_ranks.h"

/* Whether another device can be overlaid on the shown one in this alignment. If a device is being
 * compared, only that device is considered, otherwise any other device. */
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

void mv_do_next_lane_order(mv_view *view, uint64_t arg)
{
    (void)arg;
    mv_view_write(view)->lane_order = (uint8_t)((view->now->lane_order + 1) % MV_LANES_COUNT);
}

/* ---- ranks ------------------------------------------------------------------------------- */

static void show_row(mv_view *view, const mv_device_row *row)
{
    if (row->device == MV_NO_ROW) {
        mv_view_say(view, false, "%s", "this file is not ready, or has no GPU memory");
        return;
    }
    if (row->level)
        mv_level_go(view, row->level);
    mv_view_write(view)->main = MV_MAIN_TIMELINE; /* the view changes to State if nothing was
                                                   * recorded */
    mv_view_choose(view, row->file, row->device);
}

void mv_do_show_rank(mv_view *view, uint64_t arg)
{
    const mv_device_row *row = mv_rank_row(view, arg);

    if (row)
        show_row(view, row);
}

/* Shows the timeline of the lane that was clicked, with the cursor at that position. */
static void click(mv_view *view, mv_box box, const mv_input *input)
{
    mv_alignment to;
    mv_device_row row;
    uint32_t moment;
    double place;

    if (!mv_rank_at(view, box, input->x, input->y, &row, &place))
        return;
    to = mv_rank_alignment(view, &row);
    if (row.level) { /* show_row does not change the cursor's time */
        mv_view_move_cursor(view, (uint32_t)place);
        show_row(view, &row);
        return;
    }
    show_row(view, &row);
    if (mv_alignment_moment(&to, place, &moment))
        mv_view_move_cursor(view, moment);
}

static bool scroll(mv_view *view, const mv_input *input)
{
    uint32_t *first = &mv_view_write_desk(view)->ranks_scroll;
    float lines = -3 * input->dy;

    /* Painting keeps *first in range. */
    *first = lines < 0 && (float)*first < -lines ? 0 : (uint32_t)((float)*first + lines);
    return true;
}

/* Handles the pointer as in the timeline, except that a click goes to the lane, and the wheel
 * scrolls if the pointer is over the names. */
bool mv_ranks_pointer(mv_view *view, mv_box box, const mv_input *input)
{
    mv_drag *drag = &view->timeline->drag;
    bool is_click = input->kind == MV_INPUT_RELEASE && drag->kind == MV_DRAG_PRESSED;
    mv_input once = *input;

    if (input->kind == MV_INPUT_WHEEL &&
        (input->mods & MV_MOD_SHIFT || input->x < view->timeline->plot.x))
        return scroll(view, input);
    once.clicks = once.clicks > 1 ? 1 : once.clicks;
    if (is_click) {
        drag->kind = MV_DRAG_NONE;
        click(view, box, input);
        return true;
    }
    return mv_timeline_pointer(view, box, &once);
}
