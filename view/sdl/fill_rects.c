#include "view/sdl/fill_rects.h"

#include <math.h>

#include "base/grow.h"
#include "viz/scene/stroke.h"

enum { LEVELS = MV_FILL_LEVELS, FAR_PIXELS = 100000 };

bool mv_fill_rects_resize(mv_fill_rects *p, mv_arena *arena, int width, int height)
{
    if (width != p->width || height != p->height || p->cover.failed) {
        mv_coverage_release(&p->cover);
        p->width = p->height = 0;
        if (!mv_coverage_init(&p->cover, arena->budget, (uint32_t)width, (uint32_t)height))
            return false;
        p->width = width;
        p->height = height;
    }
    p->arena = arena;
    mv_fill_rects_clip(p, (SDL_Rect){0, 0, width, height});
    return true;
}

void mv_fill_rects_release(mv_fill_rects *p)
{
    mv_coverage_release(&p->cover);
    *p = (mv_fill_rects){0};
}

void mv_fill_rects_clip(mv_fill_rects *p, SDL_Rect clip)
{
    p->clip = clip;
    mv_coverage_clip(&p->cover, clip.x, clip.y, clip.x + clip.w, clip.y + clip.h);
}

/* ---- rectangles by how much they cover --------------------------------------------------- */

/* A rectangle that is covered by `part` of 255. */
static void add(mv_fill_rects *p, int x, int y, int w, int h, uint32_t part)
{
    uint32_t level = (part * LEVELS + 127) / 255;
    mv_rect_list *list;

    if (level == 0 || w <= 0 || h <= 0)
        return;
    list = &p->level[level - 1];
    if (!mv_append(p->arena, list->rects, list->count, list->capacity, (SDL_Rect){x, y, w, h}))
        p->failed = true;
}

/* Draws what was added, in one colour. */
static void fill(mv_fill_rects *p, uint32_t colour)
{
    const mv_sdl *sdl = p->sdl;

    for (uint32_t i = 0; i < LEVELS; i++) {
        uint32_t alpha = ((colour & 0xff) * (i + 1) + LEVELS / 2) / LEVELS;
        if (p->level[i].count == 0)
            continue;
        sdl->SetRenderDrawBlendMode(p->renderer,
                                    alpha == 255 ? SDL_BLENDMODE_NONE : SDL_BLENDMODE_BLEND);
        sdl->SetRenderDrawColor(p->renderer, (uint8_t)(colour >> 24), (uint8_t)(colour >> 16),
                                (uint8_t)(colour >> 8), (uint8_t)alpha);
        sdl->RenderFillRects(p->renderer, p->level[i].rects, (int)p->level[i].count);
        p->level[i].count = 0;
    }
}

static float within(float value, float low, float high)
{
    if (!(value > low)) /* also when it is NaN */
        return low;
    return value < high ? value : high;
}

static int nearest(float pixels)
{
    return (int)floorf(within(pixels, -FAR_PIXELS, FAR_PIXELS) + 0.5f);
}

/* The pixels of a line from `from` to `to`, and how much of each is covered: at most one in part,
 * some completely, one in part. */
typedef struct {
    int at[3], length[3];
    uint32_t part[3]; /* of 255 */
    uint32_t count;
} span;

static void add_piece(span *s, int at, int length, float part)
{
    if (length <= 0 || part <= 0)
        return;
    s->at[s->count] = at;
    s->length[s->count] = length;
    s->part[s->count++] = (uint32_t)(part * 255 + 0.5f);
}

static span span_of(float from, float to, int low, int high)
{
    span s = {.count = 0};
    float a = within(from, (float)low, (float)high), b = within(to, (float)low, (float)high);
    int first = (int)floorf(a), last = (int)floorf(b);

    if (first == last) {
        add_piece(&s, first, 1, b - a);
        return s;
    }
    add_piece(&s, first, (float)first < a, 1 - (a - (float)first));
    first += (float)first < a;
    add_piece(&s, first, last - first, 1);
    add_piece(&s, last, 1, b - (float)last);
    return s;
}

/* A rectangle anywhere, cut to the clip. */
static void add_box(mv_fill_rects *p, mv_point a, mv_point b, bool is_crisp)
{
    span x, y;

    if (is_crisp) {
        a = (mv_point){(float)nearest(a.x), (float)nearest(a.y)};
        b = (mv_point){(float)nearest(b.x), (float)nearest(b.y)};
    }
    x = span_of(fminf(a.x, b.x), fmaxf(a.x, b.x), p->clip.x, p->clip.x + p->clip.w);
    y = span_of(fminf(a.y, b.y), fmaxf(a.y, b.y), p->clip.y, p->clip.y + p->clip.h);
    for (uint32_t j = 0; j < y.count; j++)
        for (uint32_t i = 0; i < x.count; i++)
            add(p, x.at[i], y.at[j], x.length[i], y.length[j],
                x.part[i] == 255 ? y.part[j] : (x.part[i] * y.part[j] + 127) / 255);
}

/* ---- areas of any form ------------------------------------------------------------------- */

static void take_row(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage)
{
    mv_fill_rects *p = to;

    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && coverage[end] == coverage[i]; end++)
            ;
        add(p, x + (int32_t)i, y, (int)(end - i), 1, coverage[i]);
    }
}

static int32_t unit_of(float pixels, bool is_crisp)
{
    int32_t unit = mv_stroke_unit(pixels);

    return is_crisp ? (unit + MV_PIXEL_UNITS / 2) & ~(MV_PIXEL_UNITS - 1) : unit;
}

static void add_polygon(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point a = scene->points[s->first + i];
        mv_point b = scene->points[s->first + (i + 1) % s->count];
        mv_coverage_edge(&p->cover, unit_of(a.x, s->is_crisp), unit_of(a.y, s->is_crisp),
                         unit_of(b.x, s->is_crisp), unit_of(b.y, s->is_crisp));
    }
    mv_coverage_take(&p->cover, take_row, p);
}

/* Column by column: where the edges are in the middle of each. Equal neighbours are one rectangle.
 */
static void add_strip(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s)
{
    const mv_point *at = scene->points + s->first;
    uint32_t pairs = s->count / 2, i = 0;
    mv_point a = {0, 0}, b = {0, 0}; /* of the rectangle that is not added yet */
    int end = p->clip.x + p->clip.w;

    if (pairs < 2)
        return;
    for (int x = (int)within(ceilf(at[0].x - 0.5f), (float)p->clip.x, (float)end); x < end; x++) {
        float middle = (float)x + 0.5f, part, top, bottom;
        while (i + 2 < pairs && at[2 * i + 2].x <= middle)
            i++;
        if (at[2 * i + 2].x <= middle)
            break;
        part = (middle - at[2 * i].x) / (at[2 * i + 2].x - at[2 * i].x);
        top = at[2 * i].y + (at[2 * i + 2].y - at[2 * i].y) * part;
        bottom = at[2 * i + 1].y + (at[2 * i + 3].y - at[2 * i + 1].y) * part;
        if (b.x > a.x && top == a.y && bottom == b.y) {
            b.x = (float)(x + 1);
            continue;
        }
        if (b.x > a.x)
            add_box(p, a, b, s->is_crisp);
        a = (mv_point){(float)x, top};
        b = (mv_point){(float)(x + 1), bottom};
    }
    if (b.x > a.x)
        add_box(p, a, b, s->is_crisp);
}

/* ---- strokes ----------------------------------------------------------------------------- */

static bool is_straight(const mv_point *points, uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++)
        if (points[i].x != points[i + 1].x && points[i].y != points[i + 1].y)
            return false;
    return true;
}

/* A line of horizontal and vertical pieces: a rectangle each, which includes the corners. */
static void add_steps(mv_fill_rects *p, const mv_point *points, uint32_t count, float width)
{
    float half = width / 2;

    for (uint32_t i = 0; i + 1 < count; i++) {
        mv_point a = points[i], b = points[i + 1];
        bool is_level = a.y == b.y, is_back = is_level ? a.x > b.x : a.y > b.y;
        float before = i > 0 ? half : 0, after = i + 2 < count ? half : 0;
        float begin = is_back ? after : before, end = is_back ? before : after;
        mv_point from = is_back ? b : a, to = is_back ? a : b;
        if (is_level)
            add_box(p, (mv_point){from.x - begin, from.y - half},
                    (mv_point){to.x + end, to.y + half}, false);
        else
            add_box(p, (mv_point){from.x - half, from.y - begin},
                    (mv_point){to.x + half, to.y + end}, false);
    }
}

static void add_stroke(mv_fill_rects *p, const mv_point *points, uint32_t count,
                       const mv_stroke *stroke)
{
    if (!stroke->is_closed && !stroke->is_dashed && is_straight(points, count)) {
        add_steps(p, points, count, (float)stroke->width);
        return;
    }
    mv_stroke_add(&p->cover, points, count, stroke);
    mv_coverage_take(&p->cover, take_row, p);
}

/* ---- shapes ------------------------------------------------------------------------------ */

static void add_area(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s)
{
    const mv_point *at = scene->points + s->first;

    if (s->kind == MV_SHAPE_STRIP)
        add_strip(p, scene, s);
    else if (s->kind == MV_SHAPE_POLYGON)
        add_polygon(p, scene, s);
    else
        for (uint32_t i = 0; i + 1 < s->count; i += 2)
            add_box(p, at[i], at[i + 1], s->is_crisp);
}

void mv_fill_rects_fill(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s)
{
    add_area(p, scene, s);
    fill(p, s->fill);
}

void mv_fill_rects_stroke(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s)
{
    mv_stroke stroke = {
        .width = s->width, .is_closed = s->kind != MV_SHAPE_LINE, .is_dashed = s->is_dashed};
    const mv_point *at = scene->points + s->first;

    if (s->kind == MV_SHAPE_RECTS)
        for (uint32_t i = 0; i + 1 < s->count; i += 2) {
            mv_point corners[] = {
                at[i], {at[i + 1].x, at[i].y}, at[i + 1], {at[i].x, at[i + 1].y}, at[i]};
            stroke.is_closed = s->is_dashed;
            add_stroke(p, corners, s->is_dashed ? 4 : 5, &stroke);
        }
    else
        add_stroke(p, at, s->count, &stroke);
    fill(p, s->stroke);
}

void mv_fill_rects_rows(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s,
                        void (*take)(void *to, SDL_Rect row), void *to)
{
    add_area(p, scene, s);
    for (uint32_t i = 0; i < LEVELS; i++) {
        for (uint32_t j = 0; i >= LEVELS / 2 && j < p->level[i].count; j++)
            take(to, p->level[i].rects[j]);
        p->level[i].count = 0;
    }
}
