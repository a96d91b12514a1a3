#include "viz/scene/raster.h"

#include <math.h>

#include "viz/scene/stroke.h"

/* As in the back end for SVG. */
const uint8_t mv_hatch[MV_HATCH_PERIOD] = {173, 5, 0, 0, 0, 0, 0, 0, 0, 128};

typedef struct {
    const mv_scene *scene;
    mv_image *image;
    mv_font *font;
    mv_coverage cover;
    double scale_x, scale_y;
    uint32_t colour; /* multiplied by alpha, as in the image: red is the first byte */
    uint32_t alpha;
    bool is_hatched;
} raster;

/* ---- pixels ------------------------------------------------------------------------------ */

/* a * b / 255, rounded. */
static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = a * b + 128;

    return (product + (product >> 8)) >> 8;
}

/* All four channels of a pixel times b / 255: two at a time, as times() does it. */
static uint32_t times_all(uint32_t pixel, uint32_t b)
{
    uint32_t even = (pixel & 0xff00ff) * b + 0x800080;
    uint32_t odd = (pixel >> 8 & 0xff00ff) * b + 0x800080;

    even = (even + (even >> 8 & 0xff00ff)) >> 8 & 0xff00ff;
    odd = (odd + (odd >> 8 & 0xff00ff)) & 0xff00ff00;
    return even | odd;
}

static void blend(uint8_t *at, uint32_t colour, uint32_t coverage)
{
    uint32_t below, above = coverage == 255 ? colour : times_all(colour, coverage);

    memcpy(&below, at, 4);
    below = above + times_all(below, 255 - (above >> 24));
    memcpy(at, &below, 4);
}

static void paint_row(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage)
{
    raster *r = to;
    uint8_t *at = r->image->pixels + ((uint64_t)y * r->image->width + (uint32_t)x) * 4;

    for (uint32_t i = 0; i < count; i++, at += 4) {
        uint32_t part = coverage[i];
        if (r->is_hatched)
            part = times(part, mv_hatch[((uint32_t)x + i + (uint32_t)y) % MV_HATCH_PERIOD]);
        if (part == 255 && r->alpha == 255)
            memcpy(at, &r->colour, 4);
        else if (part > 0)
            blend(at, r->colour, part);
    }
}

/* 0xRRGGBBAA as a pixel of the image. */
static uint32_t pixel_of(uint32_t colour)
{
    uint32_t alpha = colour & 0xff, pixel;
    uint8_t parts[] = {(uint8_t)times(colour >> 24, alpha),
                       (uint8_t)times(colour >> 16 & 0xff, alpha),
                       (uint8_t)times(colour >> 8 & 0xff, alpha), (uint8_t)alpha};

    memcpy(&pixel, parts, 4);
    return pixel;
}

static void paint(raster *r, uint32_t colour, bool is_hatched)
{
    r->colour = pixel_of(colour);
    r->alpha = colour & 0xff;
    r->is_hatched = is_hatched;
    mv_coverage_take(&r->cover, paint_row, r);
}

/* ---- shapes ------------------------------------------------------------------------------ */

static int32_t unit_of(double pixels, bool is_crisp)
{
    int32_t unit = mv_stroke_unit(pixels);

    if (!is_crisp)
        return unit;
    return (unit + MV_PIXEL_UNITS / 2) & ~(MV_PIXEL_UNITS - 1);
}

static void add_rects(raster *r, const mv_shape *s)
{
    for (uint32_t i = 0; i + 1 < s->count; i += 2) {
        const mv_point *p = &r->scene->points[s->first + i];
        int32_t left = unit_of(fminf(p[0].x, p[1].x) * r->scale_x, s->is_crisp);
        int32_t right = unit_of(fmaxf(p[0].x, p[1].x) * r->scale_x, s->is_crisp);
        int32_t top = unit_of(fminf(p[0].y, p[1].y) * r->scale_y, s->is_crisp);
        int32_t bottom = unit_of(fmaxf(p[0].y, p[1].y) * r->scale_y, s->is_crisp);
        mv_coverage_edge(&r->cover, left, bottom, left, top);
        mv_coverage_edge(&r->cover, right, top, right, bottom);
    }
}

static void add_polygon(raster *r, const mv_shape *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point a = mv_scene_corner(r->scene, s, i);
        mv_point b = mv_scene_corner(r->scene, s, i + 1 < s->count ? i + 1 : 0);
        mv_coverage_edge(&r->cover, unit_of(a.x * r->scale_x, s->is_crisp),
                         unit_of(a.y * r->scale_y, s->is_crisp),
                         unit_of(b.x * r->scale_x, s->is_crisp),
                         unit_of(b.y * r->scale_y, s->is_crisp));
    }
}

/* Each rectangle of a shape has a stroke around it. */
static void add_frames(raster *r, const mv_point *points, uint32_t count, const mv_stroke *stroke)
{
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        mv_point a = points[i], b = points[i + 1];
        mv_point corners[] = {a, {b.x, a.y}, b, {a.x, b.y}};
        mv_stroke_add(&r->cover, corners, 4, stroke);
    }
}

/* The points where they are in the picture; NULL when memory is out. */
static mv_point *scaled_points(mv_arena *scratch, const raster *r, const mv_shape *s)
{
    mv_point *points = mv_push_array(scratch, mv_point, s->count);

    for (uint32_t i = 0; points && i < s->count; i++) {
        mv_point at = s->kind == MV_SHAPE_STRIP ? mv_scene_corner(r->scene, s, i)
                                                : r->scene->points[s->first + i];
        points[i] = (mv_point){(float)(at.x * r->scale_x), (float)(at.y * r->scale_y)};
    }
    return points;
}

static bool draw_stroke(raster *r, const mv_shape *s)
{
    mv_arena_mark here = mv_arena_here(&r->cover.arena);
    mv_point *points = scaled_points(&r->cover.arena, r, s);
    mv_stroke stroke = {.width = s->width * sqrt(r->scale_x * r->scale_y),
                        .is_closed = s->kind != MV_SHAPE_LINE,
                        .is_dashed = s->is_dashed};

    if (!points)
        return false;
    if (s->kind == MV_SHAPE_RECTS)
        add_frames(r, points, s->count, &stroke);
    else
        mv_stroke_add(&r->cover, points, s->count, &stroke);
    paint(r, s->stroke, false);
    mv_arena_rewind(&r->cover.arena, here);
    return true;
}

static void draw_text(raster *r, const mv_shape *s)
{
    mv_text_style style = {s->width, r->scale_x, r->scale_y, s->is_bold};
    mv_point at = r->scene->points[s->first];
    double x = at.x * r->scale_x;

    if (!s->text || !(s->width > 0))
        return;
    if (s->anchor != MV_ANCHOR_START) {
        double width = mv_font_width(r->font, s->text, &style);
        x -= s->anchor == MV_ANCHOR_END ? width : width / 2;
    }
    mv_font_draw(r->font, s->text, &style, x, at.y * r->scale_y, &r->cover);
    paint(r, s->fill, false);
}

static int32_t whole_of(double pixels)
{
    return unit_of(pixels, true) / MV_PIXEL_UNITS;
}

/* Which of `count` rows or columns is shown in the middle of step `i`. */
static uint32_t nearest_of(double from, double step, int32_t i, uint32_t count)
{
    double at = from + (i + 0.5) * step;

    return !(at > 0) ? 0 : at >= count ? count - 1 : (uint32_t)at;
}

static void draw_image(raster *r, const mv_shape *s)
{
    const mv_point *p = &r->scene->points[s->first];
    const mv_coverage *c = &r->cover;
    int32_t left, right, top, bottom;
    double step_x, step_y;

    if (s->count < 4 || !s->image || s->image->width == 0 || s->image->height == 0)
        return;
    left = whole_of(p[0].x * r->scale_x);
    right = whole_of(p[1].x * r->scale_x);
    top = whole_of(p[0].y * r->scale_y);
    bottom = whole_of(p[1].y * r->scale_y);
    step_x = ((double)p[3].x - p[2].x) / (right > left ? right - left : 1);
    step_y = ((double)p[3].y - p[2].y) / (bottom > top ? bottom - top : 1);
    for (int32_t y = top > c->top ? top : c->top; y < bottom && y < c->bottom; y++) {
        uint32_t row = nearest_of(p[2].y, step_y, y - top, s->image->height);
        const uint32_t *from = s->image->pixels + (uint64_t)row * s->image->width;
        uint8_t *to = r->image->pixels + (uint64_t)y * r->image->width * 4;
        for (int32_t x = left > c->left ? left : c->left; x < right && x < c->right; x++)
            blend(to + 4 * (uint64_t)x,
                  pixel_of(from[nearest_of(p[2].x, step_x, x - left, s->image->width)]), 255);
    }
}

static void set_clip(raster *r, const mv_shape *s)
{
    const mv_point *p = &r->scene->points[s->first];

    if (s->count < 2) {
        mv_coverage_clip(&r->cover, 0, 0, INT32_MAX, INT32_MAX);
        return;
    }
    mv_coverage_clip(&r->cover, whole_of(p[0].x * r->scale_x), whole_of(p[0].y * r->scale_y),
                     whole_of(p[1].x * r->scale_x), whole_of(p[1].y * r->scale_y));
}

static bool draw_shape(raster *r, const mv_shape *s)
{
    if (s->kind == MV_SHAPE_CLIP) {
        set_clip(r, s);
        return true;
    }
    if (s->kind == MV_SHAPE_TEXT) {
        draw_text(r, s);
        return true;
    }
    if (s->kind == MV_SHAPE_IMAGE) {
        draw_image(r, s);
        return true;
    }
    if (s->kind != MV_SHAPE_LINE && (s->is_hatched || (s->fill & 0xff))) {
        if (s->kind == MV_SHAPE_RECTS)
            add_rects(r, s);
        else
            add_polygon(r, s);
        paint(r, s->is_hatched ? s->stroke : s->fill, s->is_hatched);
    }
    return s->is_hatched || !(s->width > 0) || !(s->stroke & 0xff) || draw_stroke(r, s);
}

/* ---- the picture ------------------------------------------------------------------------- */

static bool draw_shapes(raster *r)
{
    for (uint32_t i = 0; i < r->scene->shape_count; i++)
        if (!draw_shape(r, &r->scene->shapes[i]) || r->cover.failed)
            return false;
    return true;
}

static void draw_background(raster *r)
{
    int32_t right = (int32_t)r->image->width * MV_PIXEL_UNITS;
    int32_t bottom = (int32_t)r->image->height * MV_PIXEL_UNITS;

    mv_coverage_edge(&r->cover, 0, bottom, 0, 0);
    mv_coverage_edge(&r->cover, right, 0, right, bottom);
    paint(r, r->scene->background, false);
}

/* Whole pixels, at least one; 0 when there are too many. */
static uint32_t pixels_of(float shown, float own)
{
    float pixels = shown > 0 ? shown : own;

    if (!(pixels < MV_IMAGE_MOST + 0.5f))
        return 0;
    return pixels < 1 ? 1 : (uint32_t)(pixels + 0.5f);
}

mv_code mv_image_of_pixels(mv_arena *arena, const mv_pixels *from, mv_image *out, mv_err *err)
{
    uint64_t count = (uint64_t)from->width * from->height;

    *out = (mv_image){from->width, from->height, mv_push_array(arena, uint8_t, count * 4)};
    if (!out->pixels)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    for (uint64_t i = 0; i < count; i++) {
        uint32_t pixel = pixel_of(from->pixels[i]);
        memcpy(out->pixels + 4 * i, &pixel, 4);
    }
    return MV_OK;
}

mv_code mv_raster_draw(mv_arena *arena, const mv_scene *scene, const mv_raster_opts *opts,
                       mv_image *out, mv_err *err)
{
    raster r = {.scene = scene, .image = out};
    bool is_whole = false;

    *out = (mv_image){.width = pixels_of(scene->shown_width, scene->width),
                      .height = pixels_of(scene->shown_height, scene->height)};
    if (out->width == 0 || out->height == 0)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "picture of more than %d pixels to a side",
                       MV_IMAGE_MOST);
    r.scale_x = scene->width > 0 ? out->width / (double)scene->width : 1;
    r.scale_y = scene->height > 0 ? out->height / (double)scene->height : 1;
    out->pixels = mv_push_array(arena, uint8_t, (uint64_t)out->width * out->height * 4);
    if (out->pixels && !scene->failed &&
        mv_coverage_init(&r.cover, arena->budget, out->width, out->height)) {
        r.font = mv_font_open(&r.cover.arena, opts->font);
        draw_background(&r);
        is_whole = r.font && draw_shapes(&r);
        mv_font_close(r.font);
    }
    mv_coverage_release(&r.cover);
    return is_whole ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
}
