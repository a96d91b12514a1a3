#include "viz/pictures/state_place.h"

#include <math.h>

enum {
    GROUP = 25,    /* height of a heading in pixels at scale 1, with room for a marker below its
                      text */
    LEAST_ROW = 5, /* minimum height of a row in pixels, at any scale */
    ZOOMED_ROW = 64,
    LOW_ROW = 8,       /* up to this height, rows have a gap of one pixel */
    LEAST_BLOCK = 512, /* the allocator's rounding unit in bytes */
    MOST_COLUMNS = 1 << 24
};

/* ---- units and pixels -------------------------------------------------------------------- */

static uint32_t group_of_row(const mv_state *s, uint32_t row)
{
    uint32_t g = 0;

    while (g + 1 < s->group_count && s->groups[g + 1].first_row <= row)
        g++;
    return g;
}

/* Returns the number of pixels between the top of the whole state and a unit. */
static double pixels_of(const mv_state_place *p, double unit)
{
    const mv_state *s = p->state;
    double y = 0;

    for (uint32_t g = 0; g < s->group_count; g++) {
        double head = fmin(fmax(unit, 0), 1), rows;
        unit -= head;
        rows = fmin(fmax(unit, 0), s->groups[g].rows);
        unit -= rows;
        y += head * (double)p->head + rows * (double)p->row;
    }
    return y;
}

static double unit_of(const mv_state_place *p, double pixels)
{
    const mv_state *s = p->state;
    double unit = 0;

    for (uint32_t g = 0; g < s->group_count && pixels > 0; g++) {
        double head = fmin(pixels, (double)p->head), rows;
        pixels -= head;
        rows = fmin(fmax(pixels, 0), (double)p->row * s->groups[g].rows);
        pixels -= rows;
        unit += head / (double)p->head + rows / (double)p->row;
    }
    return unit;
}

static double all_pixels(const mv_state_place *p)
{
    return (double)p->head * p->state->group_count + (double)p->row * p->state->rows;
}

/* ---- the shown part ---------------------------------------------------------------------- */

/* Returns the largest useful zoom, at which the allocator's smallest block is a few pixels wide. */
static double most_zoom(const mv_state *state)
{
    return fmax(1, (double)state->row_bytes / LEAST_BLOCK / 64);
}

uint32_t mv_state_columns(float width, double zoom)
{
    double step = exp2(ceil(log2(fmax(zoom, 1)))), columns = fmax((double)width / 2, 2) * step;

    return (uint32_t)fmin(columns, MOST_COLUMNS);
}

/* Moves the view back into range. */
static void settle(mv_state_place *p)
{
    mv_state_shown *v = &p->shown;

    v->left = fmin(fmax(v->left, 0), 1 - 1 / v->zoom);
    v->top = fmin(fmax(v->top, 0), unit_of(p, fmax(0, all_pixels(p) - (double)p->box.h)));
}

static void set_zoom(mv_state_place *p, double zoom)
{
    float rows = (float)(p->state->rows ? p->state->rows : 1);
    float fit = (p->box.h - p->head * (float)p->state->group_count - 4) / rows;
    float high = roundf(ZOOMED_ROW * p->scale);

    fit = fmaxf(fit, LEAST_ROW);
    zoom = fmin(fmax(zoom, 1), most_zoom(p->state));
    p->shown.zoom = zoom;
    p->row = (float)fmin((double)fit * zoom, fmax((double)fit, (double)high));
    p->gap = p->row > LOW_ROW ? 3 : 1;
}

mv_state_place mv_state_place_make(const mv_state *state, mv_box box, float scale,
                                   mv_state_shown shown)
{
    mv_state_place p = {
        .state = state, .box = box, .scale = scale, .head = roundf(GROUP * scale), .shown = shown};

    set_zoom(&p, shown.zoom);
    settle(&p);
    return p;
}

bool mv_state_is_cut(const mv_state_place *p)
{
    return p->shown.zoom > 1 || all_pixels(p) > (double)p->box.h;
}

mv_box mv_state_share(const mv_state_place *p)
{
    double all = fmax(all_pixels(p), (double)p->box.h), top = pixels_of(p, p->shown.top);

    return (mv_box){(float)p->shown.left, (float)(top / all), (float)(1 / p->shown.zoom),
                    (float)((double)p->box.h / all)};
}

/* ---- positions of boxes ------------------------------------------------------------------ */

float mv_state_x(const mv_state_place *p, uint64_t bytes)
{
    double share = (double)bytes / (double)p->state->row_bytes;

    return p->box.x + (float)((share - p->shown.left) * p->shown.zoom * (double)p->box.w);
}

static float y_of(const mv_state_place *p, double unit)
{
    return p->box.y + (float)(pixels_of(p, unit) - pixels_of(p, p->shown.top));
}

float mv_state_row_y(const mv_state_place *p, uint32_t row)
{
    return y_of(p, (double)row + group_of_row(p->state, row) + 1);
}

float mv_state_head_y(const mv_state_place *p, uint32_t group)
{
    return y_of(p, (double)p->state->groups[group].first_row + group);
}

static mv_box place(const mv_state_place *p, uint32_t row, uint64_t offset, uint64_t bytes)
{
    float x = mv_state_x(p, offset);

    return (mv_box){x, mv_state_row_y(p, row), mv_state_x(p, offset + bytes) - x, p->row - p->gap};
}

mv_box mv_state_box_of(const mv_state_place *p, const mv_state_box *box)
{
    return place(p, box->row, box->offset, box->bytes);
}

/* Returns the row at a height; if there is none, the next row below. */
static uint32_t row_at(const mv_state_place *p, double y)
{
    double unit = unit_of(p, pixels_of(p, p->shown.top) + y - (double)p->box.y);
    uint32_t g = 0;

    while (g + 1 < p->state->group_count &&
           (double)p->state->groups[g + 1].first_row + g + 1 <= unit)
        g++;
    unit -= g + 1;
    return unit <= 0 ? 0 : (uint32_t)unit;
}

void mv_state_rows_seen(const mv_state_place *p, uint32_t *first, uint32_t *end)
{
    uint32_t rows = p->state->rows;

    *first = row_at(p, (double)p->box.y);
    *first = *first < rows ? *first : rows;
    *first -= *first > 0;
    *end = row_at(p, (double)(p->box.y + p->box.h)) + 1;
    *end = *end < rows ? *end : rows;
}

const mv_state_box *mv_state_box_at(const mv_state_place *p, float x, float y)
{
    const mv_state *s = p->state;
    uint32_t first, end;

    if (s->rows == 0 || x < p->box.x || x >= p->box.x + p->box.w || y < p->box.y ||
        y >= p->box.y + p->box.h)
        return NULL;
    mv_state_rows_seen(p, &first, &end);
    for (uint32_t i = s->row_box[first]; i < s->row_box[end]; i++) {
        mv_box at = mv_state_box_of(p, &s->boxes[i]);
        if (x >= at.x && x < at.x + at.w && y >= at.y && y < at.y + at.h)
            return &s->boxes[i];
    }
    return NULL;
}

bool mv_state_range_next(const mv_state_place *p, uint32_t segment, uint64_t offset, uint64_t bytes,
                         uint64_t *done, mv_box *out)
{
    const mv_state *s = p->state;
    uint64_t from = s->offset[segment] + offset + *done, at = from % s->row_bytes;
    uint64_t part = s->row_bytes - at < bytes - *done ? s->row_bytes - at : bytes - *done;

    if (*done >= bytes)
        return false;
    *out = place(p, s->groups[s->group_of[segment]].first_row + (uint32_t)(from / s->row_bytes), at,
                 part);
    *done += part;
    return true;
}

/* ---- moving ------------------------------------------------------------------------------ */

mv_state_shown mv_state_zoom(const mv_state_place *p, float x, float y, double factor)
{
    mv_state_place to = *p;
    double share = (double)((x - p->box.x) / p->box.w), down = (double)(y - p->box.y);
    double at = p->shown.left + share / p->shown.zoom;
    double unit = unit_of(p, pixels_of(p, p->shown.top) + down);

    set_zoom(&to, p->shown.zoom * factor);
    to.shown.left = at - share / to.shown.zoom;
    to.shown.top = unit_of(&to, pixels_of(&to, unit) - down);
    settle(&to);
    return to.shown;
}

mv_state_shown mv_state_pan(const mv_state_place *p, float dx, float dy)
{
    mv_state_place to = *p;

    to.shown.left -= (double)(dx / p->box.w) / p->shown.zoom;
    to.shown.top = unit_of(p, pixels_of(p, p->shown.top) - (double)dy);
    settle(&to);
    return to.shown;
}

mv_state_shown mv_state_reveal(const mv_state_place *p, uint32_t segment, uint64_t offset,
                               uint64_t bytes)
{
    uint64_t done = 0;
    float dx = 0, dy = 0;
    mv_box at;

    if (!mv_state_range_next(p, segment, offset, bytes, &done, &at))
        return p->shown;
    if (at.x < p->box.x || at.w > p->box.w)
        dx = p->box.x - at.x;
    else if (at.x + at.w > p->box.x + p->box.w)
        dx = p->box.x + p->box.w - at.x - at.w;
    if (at.w > p->box.w && at.x <= p->box.x && at.x + at.w >= p->box.x + p->box.w)
        dx = 0; /* the range already fills the box */
    /* Leaves room for a mark above the range. */
    if (at.y - p->head < p->box.y)
        dy = p->box.y + p->head - at.y;
    else if (at.y + at.h > p->box.y + p->box.h)
        dy = p->box.y + p->box.h - at.y - at.h - p->gap;
    return dx == 0 && dy == 0 ? p->shown : mv_state_pan(p, dx, dy);
}

mv_state_shown mv_state_fit(const mv_state_place *p, uint32_t segment, uint64_t offset,
                            uint64_t bytes)
{
    mv_state_place to = *p;
    uint64_t done = 0;
    mv_box at;

    set_zoom(&to, (double)p->state->row_bytes / (double)(bytes ? bytes : 1) / 3);
    settle(&to);
    if (!mv_state_range_next(&to, segment, offset, bytes, &done, &at))
        return p->shown;
    return mv_state_pan(&to, to.box.x + to.box.w / 2 - at.x - at.w / 2,
                        to.box.y + to.box.h / 2 - at.y - at.h / 2);
}
