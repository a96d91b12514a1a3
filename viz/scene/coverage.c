#include "viz/scene/coverage.h"

#include <string.h>

#include "base/grow.h"

enum { UNIT_BITS = 8, WHOLE = 2 * MV_PIXEL_UNITS * MV_PIXEL_UNITS };

bool mv_coverage_init(mv_coverage *c, mv_budget *budget, uint32_t columns, uint32_t rows)
{
    *c = (mv_coverage){.columns = columns, .rows = rows};
    mv_arena_init(&c->arena, budget);
    c->row = mv_push_array(&c->arena, uint32_t, rows);
    c->sums = mv_push_array(&c->arena, int64_t, (uint64_t)columns + 1);
    c->touched = mv_push_array(&c->arena, uint64_t, (uint64_t)columns / 64 + 1);
    c->mask = mv_push_array(&c->arena, uint8_t, columns);
    c->failed = !c->row || !c->sums || !c->touched || !c->mask;
    mv_coverage_clip(c, 0, 0, (int32_t)columns, (int32_t)rows);
    c->first_row = (int32_t)rows;
    c->last_row = -1;
    return !c->failed;
}

void mv_coverage_release(mv_coverage *c)
{
    mv_arena_release(&c->arena);
}

static int32_t within(int32_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}

void mv_coverage_clip(mv_coverage *c, int32_t left, int32_t top, int32_t right, int32_t bottom)
{
    c->left = within(left, 0, (int32_t)c->columns);
    c->top = within(top, 0, (int32_t)c->rows);
    c->right = within(right, c->left, (int32_t)c->columns);
    c->bottom = within(bottom, c->top, (int32_t)c->rows);
}

/* ---- edges ------------------------------------------------------------------------------- */

static void add_cell(mv_coverage *c, int32_t x, int32_t y, int32_t cover, int32_t area)
{
    uint32_t *first = &c->row[y];

    if (x >= c->right || cover == 0)
        return;
    if (*first &&
        c->cells[*first - 1].x == x) { /* edges of curves and slopes often stay in the same pixel */
        c->cells[*first - 1].cover += cover;
        c->cells[*first - 1].area += area;
        return;
    }
    if (!mv_append(&c->arena, c->cells, c->count, c->capacity,
                   (mv_coverage_cell){x, cover, area, *first})) {
        c->failed = true;
        return;
    }
    *first = c->count;
    c->first_row = y < c->first_row ? y : c->first_row;
    c->last_row = y > c->last_row ? y : c->last_row;
}

/* Returns the line's value at `at`, which is between a0 and a1. */
static int32_t between(int32_t a0, int32_t b0, int32_t a1, int32_t b1, int32_t at)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): lines that cross nothing do not get here */
    return (int32_t)(b0 + (int64_t)(b1 - b0) * (at - a0) / (a1 - a0));
}

/* Adds the part of an edge that is in one row. To the left of the clip, the edge counts as if it
 * ran along the border. To the right, it does not count. Where it crosses pixel borders does not
 * depend on the clip, so a picture drawn in parts is the same as one drawn at once. */
static void add_in_row(mv_coverage *c, int32_t row, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    int32_t step = x1 < x0 ? -1 : 1;
    /* On a border, the edge belongs to the pixel that it enters. */
    int32_t cell = step > 0 ? x0 >> UNIT_BITS : (x0 - 1) >> UNIT_BITS;
    int32_t last = step > 0 ? (x1 - (x1 > x0)) >> UNIT_BITS : x1 >> UNIT_BITS;
    int32_t x = x0, y = y0;

    if (step > 0 && cell < c->left && last >= c->left) {
        x = c->left * MV_PIXEL_UNITS;
        y = between(x0, y0, x1, y1, x);
        cell = c->left;
        add_cell(c, cell, row, y - y0, 0);
    } else if (step < 0 && cell >= c->right && last < c->right) {
        x = c->right * MV_PIXEL_UNITS;
        y = between(x0, y0, x1, y1, x);
        cell = c->right - 1;
    }
    for (; cell >= c->left && cell < c->right; cell += step) {
        int32_t left = cell * MV_PIXEL_UNITS;
        int32_t x_end = cell == last ? x1 : left + (step > 0 ? MV_PIXEL_UNITS : 0);
        int32_t y_end = cell == last ? y1 : between(x0, y0, x1, y1, x_end);
        add_cell(c, cell, row, y_end - y, (y_end - y) * (x - left + x_end - left));
        if (cell == last)
            return;
        x = x_end;
        y = y_end;
    }
    if (cell < c->left)
        add_cell(c, c->left, row, y1 - y, 0);
}

void mv_coverage_edge(mv_coverage *c, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    int32_t step = y1 < y0 ? -1 : 1;
    int32_t row = step > 0 ? y0 >> UNIT_BITS : (y0 - 1) >> UNIT_BITS;
    int32_t last = step > 0 ? (y1 - 1) >> UNIT_BITS : y1 >> UNIT_BITS;
    int32_t seen = within(row, c->top, c->bottom - 1), x = x0, y = y0;

    if (y0 == y1 || c->left == c->right || c->top == c->bottom ||
        (x0 >= c->right * MV_PIXEL_UNITS && x1 >= c->right * MV_PIXEL_UNITS))
        return;
    if (seen != row) {
        if ((seen - row) * step < 0 || (last - seen) * step < 0)
            return;
        row = seen;
        y = (row + (step < 0)) * MV_PIXEL_UNITS;
        x = between(y0, x0, y1, x1, y);
    }
    for (; row >= c->top && row < c->bottom && !c->failed; row += step) {
        int32_t y_end = row == last ? y1 : (row + (step > 0)) * MV_PIXEL_UNITS;
        int32_t x_end = row == last ? x1 : between(y0, x0, y1, x1, y_end);
        add_in_row(c, row, x, y, x_end, y_end);
        if (row == last)
            return;
        x = x_end;
        y = y_end;
    }
}

/* ---- rows -------------------------------------------------------------------------------- */

static uint8_t mask_of(int64_t winding)
{
    int64_t part = winding < 0 ? -winding : winding;

    if (part >= WHOLE)
        return 255;
    return (uint8_t)((part * 255 + WHOLE / 2) / WHOLE);
}

/* Spreads out the cells of a row: sums[i] is the difference between pixel i and pixel i - 1, and
 * bit i of `touched` is set if that difference is not 0. */
static void spread_cells(mv_coverage *c, int32_t y)
{
    for (uint32_t i = c->row[y]; i; i = c->cells[i - 1].next) {
        const mv_coverage_cell *cell = &c->cells[i - 1];
        uint32_t x = (uint32_t)cell->x, after = x + 1;
        c->sums[x] += (int64_t)cell->cover * 2 * MV_PIXEL_UNITS - cell->area;
        c->sums[after] += cell->area;
        c->touched[x / 64] |= UINT64_C(1) << x % 64;
        c->touched[after / 64] |= UINT64_C(1) << after % 64;
    }
    c->row[y] = 0;
}

/* Returns the next pixel at or after x that has a difference; c->right if there is none. */
static int32_t next_touched(const mv_coverage *c, int32_t x)
{
    uint32_t word = (uint32_t)x / 64, words = (uint32_t)c->right / 64 + 1;
    uint64_t bits = c->touched[word] & ~UINT64_C(0) << (uint32_t)x % 64;

    while (bits == 0 && ++word < words)
        bits = c->touched[word];
    if (bits == 0)
        return c->right;
    x = (int32_t)(word * 64) + __builtin_ctzll(bits);
    return x < c->right ? x : c->right;
}

/* Reports the row in runs, without pixels whose coverage is 0. An edge to the right of the clip has
 * left no cell, so an open area extends to the border. */
static void take_row(mv_coverage *c, int32_t y, mv_coverage_take_row *take, void *to)
{
    int32_t x = next_touched(c, c->left), start = -1;
    int64_t winding = 0;

    while (x < c->right) {
        int32_t end = next_touched(c, x + 1);
        uint8_t part;
        winding += c->sums[x];
        part = mask_of(winding);
        c->sums[x] = 0;
        if (part != 0) {
            start = start < 0 ? x : start;
            memset(c->mask + x, part, (size_t)(end - x));
        } else if (start >= 0) {
            take(to, start, y, (uint32_t)(x - start), c->mask + start);
            start = -1;
        }
        x = end;
    }
    if (start >= 0)
        take(to, start, y, (uint32_t)(c->right - start), c->mask + start);
    c->sums[c->right] = 0;
    memset(c->touched + c->left / 64, 0,
           ((size_t)c->right / 64 - (size_t)c->left / 64 + 1) * sizeof *c->touched);
}

void mv_coverage_take(mv_coverage *c, mv_coverage_take_row *take, void *to)
{
    for (int32_t y = c->first_row; y <= c->last_row; y++)
        if (c->row[y]) {
            spread_cells(c, y);
            take_row(c, y, take, to);
        }
    c->first_row = (int32_t)c->rows;
    c->last_row = -1;
    c->count = 0;
}
