/* Ticks where the hits of a search are allocated, so that hits thinner than a pixel are visible. */
#include <math.h>

#include "view/timeline/hit_ticks.h"

bool mv_hits_are_marked(const mv_view *view)
{
    return view->matches && view->now->show != MV_SHOW_ALL && view->matches->matches > 0 &&
           !view->sheet;
}

bool mv_hit_is_born(const mv_view *view, uint32_t after, uint32_t event)
{
    const mv_index *index = &mv_view_device(view)->index;
    const mv_filter_bits *bits = view->matches;
    uint32_t row = after == MV_BEFORE ? 0 : mv_index_born(index, after);
    uint32_t end = mv_index_born(index, event);

    while (row < end && row < bits->rows) {
        uint64_t word = bits->words[row >> 6] >> (row & 63);
        if (word)
            return row + (uint32_t)__builtin_ctzll(word) < end;
        row += 64 - (row & 63);
    }
    return false;
}

/* Ticks of one width and colour. */
static void paint(mv_view *view, const mv_viewport *at, mv_box strip, float width, uint32_t colour)
{
    uint32_t columns = (uint32_t)fmaxf(0, floorf(strip.w)), end = MV_NO_ROW;

    for (uint32_t c = 0; c < columns; c++) {
        mv_window column = mv_viewport_column(at, c);
        bool is_start = column.first == 0 || column.first == MV_BEFORE;
        if (column.end == end) /* the same moment lasts */
            continue;
        end = column.end;
        if (mv_hit_is_born(view, is_start ? MV_BEFORE : column.first - 1, end - 1))
            mv_ui_fill(
                &view->ui,
                (mv_box){roundf(strip.x + (float)c) - floorf(width / 2), strip.y, width, strip.h},
                colour);
    }
}

void mv_hit_ticks(mv_view *view, const mv_viewport *at, mv_box strip)
{
    if (!mv_hits_are_marked(view))
        return;
    paint(view, at, strip, 3, view->ui.theme->background);
    paint(view, at, strip, 1, view->ui.theme->outline);
}
