/* The ideal placement of the blocks in use at the cursor, shown above the allocator's state as a
 * strip. The width of the strip is the largest number of bytes that was ever reserved.
 *
 *     ideal: 1.14 GiB would have been enough for 1.19 GiB ...
 *     |##########-------####| free |
 *                           upper  reserved */
#include <math.h>

#include "analyze/floor/floor_costs.h"
#include "view/panes/panels.h"

enum {
    BAR = 14, /* height of the strip, in pixels at scale 1 */
    LINE = 16,
    LINES = 2 /* maximum number of lines of text */
};

/* Finding a placement takes seconds, so it is done once for each device. */
typedef struct {
    mv_shared shared;
    mv_minimum floor;
    const char *text;
} panel_ideal;

MV_PLAIN_BEGIN
typedef struct {
    const mv_document *document;
    const mv_document_device *device;
    uint32_t event;
    uint32_t columns;
} ideal_query;
MV_PLAIN_END

typedef struct {
    ideal_query ask;
    const panel_ideal *of;
    uint32_t *row; /* [columns] allocation in each column of the strip; MV_NO_ROW: free */
} ideal_answer;

static const char *describe(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            const mv_minimum *floor)
{
    const char *verdict = mv_minimum_verdict(arena, floor), *lines;
    mv_minimum_costs costs;
    mv_err err;

    if (!verdict || mv_minimum_costs_find(arena, lives, floor, &costs, &err) != MV_OK)
        return NULL;
    lines = mv_minimum_costs_sentence(arena, trace, &costs);
    return lines ? mv_arena_printf(arena, "ideal: %s%s%s", verdict, *lines ? "; " : "", lines)
                 : NULL;
}

static bool find_placement(mv_arena *arena, const void *ask, void *out)
{
    const ideal_query *q = ask;
    panel_ideal *ideal = out;
    mv_err err;

    if (mv_minimum_find(arena, &q->document->trace, &q->device->lives, false, &ideal->floor,
                        &err) != MV_OK)
        return false;
    ideal->text = describe(arena, &q->document->trace, &q->device->lives, &ideal->floor);
    return ideal->text != NULL;
}

static uint64_t width_of(const mv_minimum *floor)
{
    return floor->upper > floor->reserved ? floor->upper : floor->reserved;
}

void *mv_state_ideal_find(mv_arena *arena, void *context, const void *ask)
{
    const ideal_query *q = ask;
    mv_panels *panels = context;
    const panel_ideal *of = mv_shared_get(panels, &panels->ideals, q->device, NULL,
                                          sizeof(panel_ideal), find_placement, q);
    ideal_answer *a = mv_push_struct(arena, ideal_answer);
    uint32_t time = q->event + 1; /* MV_BEFORE: 0 */
    double scale;

    if (!a || !of)
        return NULL;
    *a = (ideal_answer){*q, of, mv_push_array(arena, uint32_t, q->columns)};
    if (!a->row)
        return NULL;
    for (uint32_t i = 0; i < q->columns; i++)
        a->row[i] = MV_NO_ROW;
    scale = of->floor.is_known ? q->columns / (double)width_of(&of->floor) : 0;
    for (uint32_t i = 0; of->floor.is_known && i < of->floor.block_count; i++) {
        const mv_placed_block *b = &of->floor.blocks[i];
        uint32_t from = (uint32_t)((double)of->floor.offset[i] * scale);
        uint32_t to = (uint32_t)ceil((double)(of->floor.offset[i] + b->size) * scale);
        if (b->birth > time || b->death <= time)
            continue;
        for (; from < to && from < q->columns; from++)
            a->row[from] =
                of->floor.rows[i] == MV_NO_ROW ? q->device->lives.allocs.count : of->floor.rows[i];
    }
    return a;
}

uint32_t mv_state_ideal_query_bytes(void)
{
    return sizeof(ideal_query);
}

float mv_state_ideal_height(const mv_view *view)
{
    return view->now->shows_ideal && !view->sheet ? mv_ui_px(&view->ui, LINES * LINE + BAR + 6) : 0;
}

static void paint_bar(mv_view *view, mv_box bar, const ideal_answer *a)
{
    const mv_minimum *floor = &a->of->floor;
    const mv_theme *theme = view->ui.theme;
    float each = bar.w / (float)a->ask.columns;
    float end = bar.x + bar.w * (float)((double)floor->upper / (double)width_of(floor));

    for (uint32_t from = 0, to; from < a->ask.columns; from = to) {
        uint32_t row = a->row[from], rows = a->ask.device->lives.allocs.count;
        for (to = from + 1; to < a->ask.columns && a->row[to] == row;)
            to++;
        if (row != MV_NO_ROW)
            mv_ui_fill(
                &view->ui,
                (mv_box){bar.x + each * (float)from, bar.y, each * (float)(to - from), bar.h},
                row < rows ? mv_view_colour(view, row) : theme->rest);
    }
    mv_ui_frame(&view->ui, (mv_box){bar.x, bar.y, end - bar.x, bar.h}, theme->text);
    mv_ui_frame(&view->ui, bar, theme->grid);
    mv_ui_zone(
        &view->ui, bar, MV_DO_NOTHING, 0,
        "The blocks in use at this moment in the best placement found for the whole run. Dark "
        "frame: the memory that it needs. Grey frame: the memory reserved at the peak.");
}

void mv_state_ideal_paint(mv_view *view, mv_box box)
{
    ideal_query ask = {0};
    const ideal_answer *a;
    mv_panel_lines lines;
    bool is_current;

    box.x += mv_ui_px(&view->ui, MV_UI_PAD);
    box.w -= 2 * mv_ui_px(&view->ui, MV_UI_PAD);
    if (box.h <= 0 || box.w < 1)
        return;
    ask.document = mv_view_document(view);
    ask.device = mv_view_device(view);
    ask.event = view->now->cursor;
    ask.columns = (uint32_t)box.w;
    a = mv_slot_query(view->panels->ideal, &ask, &is_current);
    lines = (mv_panel_lines){.view = view, .size = MV_UI_SMALL, .box = box, .y = box.y};
    if (!a || a->ask.device != ask.device) {
        mv_panel_wrap(&lines, 0, box.w, view->ui.theme->faint_text, LINES,
                      a || !is_current ? "ideal: looking for the best placement ..."
                                       : "ideal: out of memory");
        return;
    }
    mv_panel_wrap(&lines, 0, box.w, view->ui.theme->text, LINES, a->of->text);
    mv_box_cut_top(&box, mv_ui_px(&view->ui, LINES * LINE + 2));
    box.h = mv_ui_px(&view->ui, BAR);
    if (a->of->floor.is_known)
        paint_bar(view, box, a);
}
