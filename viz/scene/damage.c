#include "viz/scene/damage.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void mv_damage_init(mv_damage *damage, mv_budget *budget)
{
    *damage = (mv_damage){0};
    mv_arena_init(&damage->arena, budget);
}

void mv_damage_release(mv_damage *damage)
{
    mv_arena_release(&damage->arena);
}

void mv_damage_forget(mv_damage *damage)
{
    damage->is_known = false;
}

/* ---- keys -------------------------------------------------------------------------------- */

static bool resize(mv_damage *d, uint32_t width, uint32_t height)
{
    uint64_t cells;

    if (d->now && d->width == width && d->height == height)
        return true;
    mv_arena_drop(&d->arena, d->now);
    mv_arena_drop(&d->arena, d->before);
    d->columns = (width + MV_DAMAGE_CELL - 1) / MV_DAMAGE_CELL;
    d->rows = (height + MV_DAMAGE_CELL - 1) / MV_DAMAGE_CELL;
    cells = (uint64_t)d->columns * d->rows;
    d->now = mv_arena_grow(&d->arena, NULL, cells * sizeof *d->now);
    d->before = mv_arena_grow(&d->arena, NULL, cells * sizeof *d->before);
    d->width = width;
    d->height = height;
    d->is_known = false;
    return d->now && d->before;
}

bool mv_damage_begin(mv_damage *d, const mv_scene *scene, uint32_t width, uint32_t height)
{
    uint64_t background = XXH3_64bits(&scene->background, sizeof scene->background);

    if (!resize(d, width, height))
        return false;
    d->turn++;
    for (uint64_t i = 0; i < (uint64_t)d->columns * d->rows; i++)
        d->now[i] = background;
    return true;
}

static uint64_t key_of(const mv_damage *d, const mv_scene *scene, const mv_shape *s)
{
    struct {
        uint64_t points, text, image;
        uint32_t fill, stroke, width, kind;
    } parts = {.fill = s->fill, .stroke = s->stroke};

    parts.kind = (uint32_t)s->kind | (uint32_t)s->anchor << 8 | (uint32_t)s->is_bold << 16 |
                 (uint32_t)s->is_dashed << 17 | (uint32_t)s->is_hatched << 18 |
                 (uint32_t)s->is_crisp << 19;
    memcpy(&parts.width, &s->width, sizeof parts.width);
    parts.points = XXH3_64bits(scene->points + s->first, s->count * sizeof *scene->points);
    if (s->text)
        parts.text = XXH3_64bits(s->text, strlen(s->text));
    if (s->image)
        parts.image = s->image->key ? s->image->key : d->turn << 1;
    return XXH3_64bits(&parts, sizeof parts);
}

void mv_damage_add(mv_damage *d, const mv_scene *scene, const mv_shape *shape, mv_pixel_rect box)
{
    mv_pixel_rect whole = {0, 0, (int32_t)d->width, (int32_t)d->height};
    /* The box is part of the key, because the visible part of a clipped shape depends on it. */
    uint64_t key = XXH3_64bits_withSeed(&box, sizeof box, key_of(d, scene, shape));
    uint32_t left, right, top, bottom;

    box = mv_pixel_rect_common(box, whole);
    if (mv_pixel_rect_is_empty(box))
        return;
    left = (uint32_t)box.x / MV_DAMAGE_CELL;
    right = (uint32_t)(box.x + box.w - 1) / MV_DAMAGE_CELL;
    top = (uint32_t)box.y / MV_DAMAGE_CELL;
    bottom = (uint32_t)(box.y + box.h - 1) / MV_DAMAGE_CELL;
    for (uint32_t row = top; row <= bottom; row++)
        for (uint32_t column = left; column <= right; column++) {
            uint64_t *cell = &d->now[(uint64_t)row * d->columns + column];
            *cell = (*cell ^ key) * UINT64_C(0x9e3779b97f4a7c15) + (*cell >> 29);
        }
}

/* ---- rectangles -------------------------------------------------------------------------- */

static bool differs(const mv_damage *d, uint32_t row, uint32_t column)
{
    uint64_t cell = (uint64_t)row * d->columns + column;

    return !d->is_known || d->now[cell] != d->before[cell];
}

/* Adds the cells [from, to) of a row to the rectangle that ends above them, or as a new rectangle.
 * Returns false if there are too many. */
static bool add_run(mv_damage *d, uint32_t row, uint32_t from, uint32_t to)
{
    mv_pixel_rect run = {(int32_t)(from * MV_DAMAGE_CELL), (int32_t)(row * MV_DAMAGE_CELL),
                         (int32_t)((to - from) * MV_DAMAGE_CELL), MV_DAMAGE_CELL};

    for (uint32_t i = 0; i < d->count; i++) {
        mv_pixel_rect *above = &d->rects[i];
        if (above->x == run.x && above->w == run.w && above->y + above->h == run.y) {
            above->h += run.h;
            return true;
        }
    }
    if (d->count == MV_MOST_DAMAGE)
        return false;
    d->rects[d->count++] = run;
    return true;
}

static bool find_runs(mv_damage *d)
{
    d->count = 0;
    for (uint32_t row = 0; row < d->rows; row++)
        for (uint32_t from = 0, to; from < d->columns; from = to + 1) {
            for (; from < d->columns && !differs(d, row, from); from++)
                ;
            for (to = from; to < d->columns && differs(d, row, to); to++)
                ;
            if (to > from && !add_run(d, row, from, to))
                return false;
        }
    return true;
}

/* Finds one rectangle around all differences. */
static void find_bounds(mv_damage *d)
{
    uint32_t left = d->columns, right = 0, top = d->rows, bottom = 0;

    for (uint32_t row = 0; row < d->rows; row++)
        for (uint32_t column = 0; column < d->columns; column++)
            if (differs(d, row, column)) {
                left = column < left ? column : left;
                right = column + 1 > right ? column + 1 : right;
                top = row < top ? row : top;
                bottom = row + 1;
            }
    d->rects[0] = mv_pixel_rect_between(
        (int32_t)(left * MV_DAMAGE_CELL), (int32_t)(top * MV_DAMAGE_CELL),
        (int32_t)(right * MV_DAMAGE_CELL), (int32_t)(bottom * MV_DAMAGE_CELL));
    d->count = 1;
}

void mv_damage_end(mv_damage *d)
{
    mv_pixel_rect whole = {0, 0, (int32_t)d->width, (int32_t)d->height};
    uint64_t *before = d->before;

    if (!find_runs(d))
        find_bounds(d);
    for (uint32_t i = 0; i < d->count; i++)
        d->rects[i] = mv_pixel_rect_common(d->rects[i], whole);
    d->before = d->now;
    d->now = before;
    d->is_known = true;
}
