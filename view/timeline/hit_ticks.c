/* Ticks where the hits of a search are allocated, so that hits thinner than a pixel can be seen. */
#include "view/timeline/hit_ticks.h"

#include <math.h>

#include "view/timeline/plot.h"

typedef struct {
    const mv_index *index;
    const mv_filter_bits *bits;
    const mv_envelope *columns;
    uint32_t *marked; /* [count] whether each column has a hit */
    uint32_t count;
    uint32_t end; /* the moments of the last column end here */
} tick_search;

bool mv_hits_are_marked(const mv_view *view)
{
    return view->matches && view->now->show != MV_SHOW_ALL && view->matches->matches > 0 &&
           !view->sheet;
}

bool mv_hit_is_born(const mv_index *index, const mv_filter_bits *bits, uint32_t after,
                    uint32_t event)
{
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

/* Finds the columns with a hit. Columns without hits are skipped many at a time. */
static void find_ticks(tick_search *s, uint32_t from, uint32_t to)
{
    uint32_t middle = from + (to - from) / 2;
    mv_window moments;
    bool is_start;

    if (from >= to || !mv_envelope_moments(s->columns, from, to, &moments))
        return;
    is_start = moments.first == 0 || moments.first == MV_BEFORE;
    if (moments.end == s->end || /* the column shows the same moment as the previous one */
        !mv_hit_is_born(s->index, s->bits, is_start ? MV_BEFORE : moments.first - 1,
                        moments.end - 1))
        return;
    if (middle > from) {
        find_ticks(s, from, middle);
        find_ticks(s, middle, to);
        return;
    }
    s->marked[s->count++] = from;
    s->end = moments.end;
}

static void paint(mv_ui *ui, const tick_search *s, mv_box strip, float width, uint32_t colour)
{
    for (uint32_t i = 0; i < s->count; i++)
        mv_ui_fill(ui,
                   (mv_box){roundf(strip.x + (float)s->marked[i]) - floorf(width / 2), strip.y,
                            width, strip.h},
                   colour);
}

void mv_hit_ticks_of(mv_view *view, const mv_index *index, const mv_filter_bits *bits,
                     const mv_envelope *columns, mv_box strip)
{
    mv_ui *ui = &view->ui;
    tick_search s = {.index = index, .bits = bits, .columns = columns, .end = MV_NO_ROW};

    s.marked = mv_push_array(ui->frame, uint32_t, columns->end);
    if (!s.marked)
        return;
    find_ticks(&s, columns->from, columns->end);
    paint(ui, &s, strip, 3, ui->theme->background);
    paint(ui, &s, strip, 1, ui->theme->outline);
}

void mv_hit_ticks(mv_view *view, const mv_viewport *at, mv_box strip)
{
    const mv_envelope columns = {.at = *at, .end = (uint32_t)fmaxf(0, floorf(strip.w))};

    if (mv_hits_are_marked(view))
        mv_hit_ticks_of(view, &mv_view_device(view)->index, view->matches, &columns, strip);
}
