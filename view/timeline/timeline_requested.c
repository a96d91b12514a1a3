/* The bytes that the program requested, over the bytes of blocks. The difference is lost to
 * rounding, and to frees that wait for a stream. While the curve is shown, a pass over the events
 * is needed to find it. */
#include <math.h>

#include "view/timeline/plot.h"

/* Makes the query, which merges all pools. */
static mv_pools_query ask_of(const mv_plot *p, uint32_t first, uint32_t end)
{
    mv_pools_query q;

    memset(&q, 0, sizeof q);
    q.document = p->document;
    q.device = p->device;
    q.clock = MV_CLOCK_TICKS;
    q.columns = 1;
    q.first = first;
    q.end = end;
    return q;
}

static const mv_pools_answer *columns_of(mv_plot *p, bool *is_current)
{
    mv_pools_query q = ask_of(p, p->shown.first, p->shown.end);
    const mv_pools_answer *a;

    q.x = p->at.x;
    q.dx = p->at.dx;
    q.columns = (uint32_t)p->plot.w;
    q.clock = p->rows->scale.clock;
    a = mv_slot_query(p->pane->requested_slot, &q, is_current);
    *is_current = *is_current && q.clock != MV_CLOCK_TICKS;
    return a && a->ask.device == p->device ? a : NULL;
}

/* Finds the bytes at the cursor, for the status bar. */
static void find_at_cursor(mv_plot *p)
{
    uint32_t cursor = p->view->now->cursor;
    mv_pools_query q = ask_of(p, cursor, cursor + 1);
    const mv_pools_answer *a;
    bool is_current;

    if (cursor >= p->lives->events.count)
        return;
    a = mv_slot_query(p->pane->requested_at_slot, &q, &is_current);
    if (a && is_current)
        p->view->requested = mv_pool_level_of(&a->levels, 0, 0)->requested;
}

static float x_of(const mv_plot *p, const mv_pools_answer *a, bool is_current, uint32_t column)
{
    uint32_t first;

    if (is_current)
        return p->plot.x + (float)column;
    if (column >= a->levels.columns)
        return mv_viewport_x(&p->at, a->columns[column - 1].end);
    first = a->columns[column].first;
    return mv_viewport_x(&p->at, first == MV_BEFORE ? 0 : first);
}

static void line(mv_plot *p, const mv_pools_answer *a, bool is_current, mv_shape shape)
{
    mv_scene *scene = &p->ui->scene;
    float last = -1;

    for (uint32_t c = 0; c < a->levels.columns && !scene->failed; c++) {
        float y = mv_viewport_y(&p->at, (double)mv_pool_level_of(&a->levels, 0, c)->requested);
        float x = x_of(p, a, is_current, c), end = x_of(p, a, is_current, c + 1);
        y = (float)(int)(y * 2 + 0.5f) / 2;
        if (c > 0 && y == last) {
            scene->points[scene->point_count - 1].x = end;
            continue;
        }
        mv_scene_point(scene, x, y);
        mv_scene_point(scene, end, y);
        last = y;
    }
    shape.kind = MV_SHAPE_LINE;
    mv_scene_add(scene, shape);
}

bool mv_plot_shows_requested(const mv_plot *p)
{
    return p->view->now->shows_requested && !p->of_segments && !p->of_pools && !p->of_ranks;
}

void mv_plot_requested(mv_plot *p)
{
    const mv_pools_answer *a;
    float unit = p->ui->scale;
    bool is_current;

    if (!mv_plot_shows_requested(p))
        return;
    find_at_cursor(p);
    a = columns_of(p, &is_current);
    if (!a)
        return;
    /* The border makes the curve visible on the colours of the stack. */
    line(p, a, is_current, (mv_shape){.stroke = p->ui->theme->plot, .width = 3.5f * unit});
    line(p, a, is_current, (mv_shape){.stroke = MV_REQUESTED_COLOUR, .width = 1.6f * unit});
}

uint64_t mv_plot_requested_at(mv_plot *p, float x)
{
    const mv_pools_answer *a;
    bool is_current;
    uint32_t column = (uint32_t)fmaxf(0, x - p->plot.x);

    if (!mv_plot_shows_requested(p))
        return MV_NO_BYTES;
    a = columns_of(p, &is_current);
    return a && is_current && column < a->levels.columns
               ? mv_pool_level_of(&a->levels, 0, column)->requested
               : MV_NO_BYTES;
}
