#include "web/draw_list.h"

#include <math.h>
#include <string.h>

#include "base/grow.h"

typedef enum { END, RECTS, AREA, LINE, TEXT, IMAGE, CLIP, UNCLIP, HATCH } op;

typedef struct {
    mv_arena *arena;
    const mv_scene *scene;
    mv_draw_list *list;
    bool failed;
} writer;

static void put(writer *w, uint32_t word)
{
    mv_draw_list *l = w->list;

    w->failed = w->failed || !mv_append(w->arena, l->words, l->count, l->capacity, word);
}

static void put_float(writer *w, float value)
{
    uint32_t word;

    memcpy(&word, &value, sizeof word);
    put(w, word);
}

static float at_pixel(float value, bool is_crisp)
{
    return is_crisp ? floorf(value + 0.5f) : value;
}

/* The rectangle between two corners. */
static void put_box(writer *w, mv_point a, mv_point b, bool is_crisp)
{
    float x = at_pixel(a.x, is_crisp), y = at_pixel(a.y, is_crisp);

    put_float(w, x);
    put_float(w, y);
    put_float(w, at_pixel(b.x, is_crisp) - x);
    put_float(w, at_pixel(b.y, is_crisp) - y);
}

/* ---- shapes ------------------------------------------------------------------------------ */

static void put_corners(writer *w, const mv_shape *s)
{
    put(w, s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point at = mv_scene_corner(w->scene, s, i);
        put_float(w, at_pixel(at.x, s->is_crisp));
        put_float(w, at_pixel(at.y, s->is_crisp));
    }
}

static void put_rects(writer *w, const mv_shape *s)
{
    const mv_point *at = w->scene->points + s->first;

    put(w, RECTS);
    put(w, s->fill);
    put(w, s->count / 2);
    for (uint32_t i = 0; i + 1 < s->count; i += 2)
        put_box(w, at[i], at[i + 1], s->is_crisp);
}

/* An area for each rectangle, since hatches and strokes go around each. */
static void put_each_rect(writer *w, const mv_shape *s, op what)
{
    const mv_point *at = w->scene->points + s->first;

    for (uint32_t i = 0; i + 1 < s->count; i += 2) {
        mv_point a = at[i], b = at[i + 1], corners[] = {a, {b.x, a.y}, b, {a.x, b.y}};
        put(w, what);
        put(w, s->stroke);
        if (what == LINE) {
            put_float(w, s->width);
            put(w, s->is_dashed);
            put(w, true);
        }
        put(w, 4);
        for (int k = 0; k < 4; k++) {
            put_float(w, at_pixel(corners[k].x, s->is_crisp));
            put_float(w, at_pixel(corners[k].y, s->is_crisp));
        }
    }
}

static void put_area(writer *w, const mv_shape *s, op what, uint32_t colour)
{
    put(w, what);
    put(w, colour);
    put_corners(w, s);
}

static void put_stroke(writer *w, const mv_shape *s)
{
    if (s->kind == MV_SHAPE_RECTS) {
        put_each_rect(w, s, LINE);
        return;
    }
    put(w, LINE);
    put(w, s->stroke);
    put_float(w, s->width);
    put(w, s->is_dashed);
    put(w, s->kind != MV_SHAPE_LINE);
    put_corners(w, s);
}

static void put_text(writer *w, const mv_shape *s)
{
    mv_point at = w->scene->points[s->first];

    if (!s->text || !*s->text || !(s->width > 0) || (s->fill & 0xff) == 0)
        return;
    put(w, TEXT);
    put(w, s->fill);
    put_float(w, s->width);
    put(w, s->is_bold);
    put(w, s->anchor);
    put_float(w, at.x);
    put_float(w, floorf(at.y + 0.5f));
    put(w, (uint32_t)(uintptr_t)s->text);
    put(w, (uint32_t)strlen(s->text));
}

static void put_image(writer *w, const mv_shape *s)
{
    const mv_point *at = w->scene->points + s->first;

    if (s->count < 4 || !s->image || s->image->width == 0 || s->image->height == 0)
        return;
    put(w, IMAGE);
    put(w, (uint32_t)s->image->key);
    put(w, (uint32_t)(s->image->key >> 32));
    put(w, (uint32_t)(uintptr_t)s->image->pixels);
    put(w, s->image->width);
    put(w, s->image->height);
    put_box(w, at[0], at[1], true);
    put_box(w, at[2], at[3], false);
}

static void put_clip(writer *w, const mv_shape *s)
{
    const mv_point *at = w->scene->points + s->first;

    put(w, s->count >= 2 ? CLIP : UNCLIP);
    if (s->count >= 2)
        put_box(w, at[0], at[1], true);
}

static void put_filled(writer *w, const mv_shape *s)
{
    if (s->is_hatched && s->kind == MV_SHAPE_RECTS)
        put_each_rect(w, s, HATCH);
    else if (s->is_hatched)
        put_area(w, s, HATCH, s->stroke);
    else if ((s->fill & 0xff) && s->kind == MV_SHAPE_RECTS)
        put_rects(w, s);
    else if (s->fill & 0xff)
        put_area(w, s, AREA, s->fill);
    if (!s->is_hatched && s->width > 0 && (s->stroke & 0xff))
        put_stroke(w, s);
}

static void put_shape(writer *w, const mv_shape *s)
{
    switch ((mv_shape_kind)s->kind) {
    case MV_SHAPE_TEXT:
        put_text(w, s);
        break;
    case MV_SHAPE_IMAGE:
        put_image(w, s);
        break;
    case MV_SHAPE_LINE:
        if (s->width > 0 && (s->stroke & 0xff))
            put_stroke(w, s);
        break;
    default:
        put_filled(w, s);
    }
}

bool mv_draw_list_make(mv_arena *arena, const mv_scene *scene, mv_draw_list *out)
{
    writer w = {.arena = arena, .scene = scene, .list = out};

    out->count = 0;
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_CLIP)
            put_clip(&w, s);
        else if (s->count > 0)
            put_shape(&w, s);
    }
    put(&w, END);
    return !w.failed && !scene->failed;
}
