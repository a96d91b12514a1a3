#include "viz/scene/raster.h"

#include "base/grow.h"
#include "viz/scene/letters.h"
#include "viz/scene/occlusion.h"
#include "viz/scene/raster_rows.h"
#include "viz/scene/stroke.h"

struct mv_raster {
    mv_arena arena;
    mv_font *font;
    mv_letters letters;
    mv_damage damage;
    mv_coverage cover;
    mv_rows rows; /* the pixels, and how to paint them */
    uint32_t box_capacity;
    mv_pixel_rect *boxes; /* [shapes] the box in which each shape of the scene may change pixels */
    mv_pixel_rect *clips; /* [shapes] clip of each shape */
    uint32_t point_capacity;
    mv_point *points; /* points of a stroke */
    mv_occlusion occlusion;
    const mv_scene *scene;
    double scale_x, scale_y;
};

/* ---- the boxes of shapes ----------------------------------------------------------------- */

static mv_pixel_rect whole_of(const mv_raster *r)
{
    return (mv_pixel_rect){0, 0, (int32_t)r->rows.width, (int32_t)r->rows.height};
}

static mv_text_style style_of(const mv_raster *r, const mv_shape *s)
{
    return (mv_text_style){s->width, r->scale_x, r->scale_y, s->is_bold};
}

/* Returns where a text starts. */
static double text_start(mv_raster *r, const mv_shape *s, double *width)
{
    mv_text_style style = style_of(r, s);
    double x = r->scene->points[s->first].x * r->scale_x;

    *width = mv_letters_take(&style) ? mv_letters_width(&r->letters, s->text, &style)
                                     : mv_font_width(r->font, s->text, &style);
    return s->anchor == MV_ANCHOR_START ? x
           : s->anchor == MV_ANCHOR_END ? x - *width
                                        : x - *width / 2;
}

/* Returns the box of a text. Letters may be wider than their advance, and up to twice their size in
 * height. */
static mv_pixel_rect text_box(mv_raster *r, const mv_shape *s)
{
    double width, size_x = s->width * r->scale_x, size_y = s->width * r->scale_y;
    double x, y = r->scene->points[s->first].y * r->scale_y;

    if (!s->text || !(s->width > 0))
        return (mv_pixel_rect){0};
    x = text_start(r, s, &width);
    return mv_pixel_rect_between(mv_nearest_pixel(x - size_x - 2), mv_nearest_pixel(y - 2 * size_y),
                                 mv_nearest_pixel(x + width + size_x + 2),
                                 mv_nearest_pixel(y + size_y + 2));
}

/* Returns the box around all points, including the stroke and its corners. */
static mv_pixel_rect points_box(const mv_raster *r, const mv_shape *s, uint32_t count)
{
    const mv_point *at = r->scene->points + s->first;
    double pen = s->width > 0 && (s->stroke & 0xff) && s->kind != MV_SHAPE_IMAGE ? s->width * 2 : 0;
    float left = at[0].x, right = left, top = at[0].y, bottom = top;

    for (uint32_t i = 1; i < count; i++) {
        left = at[i].x < left ? at[i].x : left;
        right = at[i].x > right ? at[i].x : right;
        top = at[i].y < top ? at[i].y : top;
        bottom = at[i].y > bottom ? at[i].y : bottom;
    }
    return mv_pixel_rect_between(mv_nearest_pixel(floor((left - pen) * r->scale_x) - 1),
                                 mv_nearest_pixel(floor((top - pen) * r->scale_y) - 1),
                                 mv_nearest_pixel(ceil((right + pen) * r->scale_x) + 1),
                                 mv_nearest_pixel(ceil((bottom + pen) * r->scale_y) + 1));
}

static mv_pixel_rect box_of(mv_raster *r, const mv_shape *s)
{
    if (s->count == 0 || (s->kind == MV_SHAPE_IMAGE && s->count < 4))
        return (mv_pixel_rect){0};
    if (s->kind == MV_SHAPE_TEXT)
        return text_box(r, s);
    return points_box(r, s, s->kind == MV_SHAPE_IMAGE ? 2 : s->count);
}

static int32_t whole(double pixels)
{
    return mv_unit_of(pixels, true) / MV_PIXEL_UNITS;
}

static mv_pixel_rect clip_of(const mv_raster *r, const mv_shape *s)
{
    const mv_point *p = &r->scene->points[s->first];

    if (s->count < 2)
        return whole_of(r);
    return mv_pixel_rect_common(
        whole_of(r), mv_pixel_rect_between(whole(p[0].x * r->scale_x), whole(p[0].y * r->scale_y),
                                           whole(p[1].x * r->scale_x), whole(p[1].y * r->scale_y)));
}

/* ---- shapes ------------------------------------------------------------------------------ */

static void paint(mv_raster *r, uint32_t colour, bool is_hatched)
{
    mv_rows_colour(&r->rows, colour, is_hatched);
    mv_coverage_take(&r->cover, mv_rows_cover, &r->rows);
}

typedef struct {
    int32_t left, right, top, bottom; /* units */
} unit_rect;

static unit_rect rect_of(const mv_raster *r, const mv_shape *s, uint32_t i)
{
    const mv_point *p = &r->scene->points[s->first + i];

    return (unit_rect){mv_unit_of(fminf(p[0].x, p[1].x) * r->scale_x, s->is_crisp),
                       mv_unit_of(fmaxf(p[0].x, p[1].x) * r->scale_x, s->is_crisp),
                       mv_unit_of(fminf(p[0].y, p[1].y) * r->scale_y, s->is_crisp),
                       mv_unit_of(fmaxf(p[0].y, p[1].y) * r->scale_y, s->is_crisp)};
}

static bool is_whole(unit_rect rect)
{
    return ((rect.left | rect.right | rect.top | rect.bottom) & (MV_PIXEL_UNITS - 1)) == 0;
}

/* Fills the visible parts of rectangle `i`, which consists of whole pixels. */
static void fill_whole(mv_raster *r, const mv_shape *s, uint32_t shape, unit_rect rect,
                       mv_pixel_rect clip)
{
    mv_pixel_rect pieces[MV_MOST_PIECES];
    mv_pixel_rect seen = mv_pixel_rect_common(
        clip, mv_pixel_rect_between(rect.left / MV_PIXEL_UNITS, rect.top / MV_PIXEL_UNITS,
                                    rect.right / MV_PIXEL_UNITS, rect.bottom / MV_PIXEL_UNITS));
    uint32_t count = mv_occlusion_rest(&r->occlusion, shape, seen, pieces);

    mv_rows_colour(&r->rows, s->fill, false);
    for (uint32_t i = 0; i < count; i++)
        mv_rows_fill(&r->rows, pieces[i]);
}

/* Fills rectangles. Rectangles of whole pixels need no coverage, unless blended rectangles
 * overlap. */
static void fill_rects(mv_raster *r, const mv_shape *s, uint32_t shape, mv_pixel_rect clip)
{
    bool is_plain = !s->is_hatched && (s->count == 2 || (s->fill & 0xff) == 0xff);
    bool has_others = false;

    for (uint32_t i = 0; i + 1 < s->count; i += 2) {
        unit_rect rect = rect_of(r, s, i);
        if (is_plain && is_whole(rect)) {
            fill_whole(r, s, shape, rect, clip);
            continue;
        }
        mv_coverage_edge(&r->cover, rect.left, rect.bottom, rect.left, rect.top);
        mv_coverage_edge(&r->cover, rect.right, rect.top, rect.right, rect.bottom);
        has_others = true;
    }
    if (has_others)
        paint(r, s->is_hatched ? s->stroke : s->fill, s->is_hatched);
}

/* Whether a strip consists of horizontal steps between whole pixel columns, like curves over the
 * columns of a picture. */
static bool is_stepped(const mv_raster *r, const mv_shape *s)
{
    const mv_point *p = &r->scene->points[s->first];

    if (s->kind != MV_SHAPE_STRIP || s->is_hatched || s->count % 4 != 0)
        return false;
    for (uint32_t i = 0; i < s->count; i += 4) {
        double left = p[i].x * r->scale_x, right = p[i + 2].x * r->scale_x;
        bool is_level = p[i].y == p[i + 2].y && p[i + 1].y == p[i + 3].y;
        bool is_upright = p[i].x == p[i + 1].x && p[i + 2].x == p[i + 3].x;
        bool is_next = i == 0 || p[i].x == p[i - 2].x;
        if (!is_level || !is_upright || !is_next || left != floor(left) || right != floor(right) ||
            !(left <= right && right < MV_IMAGE_MOST && left > -MV_IMAGE_MOST))
            return false;
    }
    return true;
}

/* Fills the steps of a strip. They do not overlap, so each is filled separately. */
static void fill_steps(mv_raster *r, const mv_shape *s, mv_pixel_rect clip)
{
    const mv_point *p = &r->scene->points[s->first];

    mv_rows_colour(&r->rows, s->fill, false);
    for (uint32_t i = 0; i < s->count; i += 4) {
        mv_pixel_rect columns = mv_pixel_rect_common(
            clip, (mv_pixel_rect){(int32_t)(p[i].x * r->scale_x), clip.y,
                                  (int32_t)((p[i + 2].x - p[i].x) * r->scale_x), clip.h});
        int32_t a = mv_unit_of(p[i].y * r->scale_y, s->is_crisp);
        int32_t b = mv_unit_of(p[i + 1].y * r->scale_y, s->is_crisp);
        if (!mv_pixel_rect_is_empty(columns))
            mv_rows_column(&r->rows, columns, a < b ? a : b, a < b ? b : a);
    }
}

static void fill_polygon(mv_raster *r, const mv_shape *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point a = mv_scene_corner(r->scene, s, i);
        mv_point b = mv_scene_corner(r->scene, s, i + 1 < s->count ? i + 1 : 0);
        mv_coverage_edge(&r->cover, mv_unit_of(a.x * r->scale_x, s->is_crisp),
                         mv_unit_of(a.y * r->scale_y, s->is_crisp),
                         mv_unit_of(b.x * r->scale_x, s->is_crisp),
                         mv_unit_of(b.y * r->scale_y, s->is_crisp));
    }
    paint(r, s->is_hatched ? s->stroke : s->fill, s->is_hatched);
}

/* Adds a stroke around each rectangle of a shape. */
static void add_frames(mv_raster *r, const mv_point *points, uint32_t count,
                       const mv_stroke *stroke)
{
    for (uint32_t i = 0; i + 1 < count; i += 2) {
        mv_point a = points[i], b = points[i + 1];
        mv_point corners[] = {a, {b.x, a.y}, b, {a.x, b.y}};
        mv_stroke_add(&r->cover, corners, 4, stroke);
    }
}

/* Returns the points in the picture; NULL when out of memory. */
static const mv_point *scaled_points(mv_raster *r, const mv_shape *s)
{
    if (!mv_room_for(&r->arena, r->points, s->count, r->point_capacity))
        return NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point at = s->kind == MV_SHAPE_STRIP ? mv_scene_corner(r->scene, s, i)
                                                : r->scene->points[s->first + i];
        r->points[i] = (mv_point){(float)(at.x * r->scale_x), (float)(at.y * r->scale_y)};
    }
    return r->points;
}

static void draw_stroke(mv_raster *r, const mv_shape *s)
{
    const mv_point *points = scaled_points(r, s);
    mv_stroke stroke = {.width = s->width * sqrt(r->scale_x * r->scale_y),
                        .is_closed = s->kind != MV_SHAPE_LINE,
                        .is_dashed = s->is_dashed};

    if (!points)
        r->cover.failed = true;
    else if (s->kind == MV_SHAPE_RECTS)
        add_frames(r, points, s->count, &stroke);
    else
        mv_stroke_add(&r->cover, points, s->count, &stroke);
    paint(r, s->stroke, false);
}

static void draw_text(mv_raster *r, const mv_shape *s, mv_pixel_rect clip)
{
    mv_text_style style = style_of(r, s);
    double width, x = text_start(r, s, &width);
    double y = r->scene->points[s->first].y * r->scale_y;

    if ((s->fill & 0xff) == 0)
        return;
    if (!mv_letters_take(&style)) {
        mv_font_draw(r->font, s->text, &style, x, y, &r->cover);
        paint(r, s->fill, false);
        return;
    }
    mv_rows_colour(&r->rows, s->fill, false);
    r->rows.clip = clip;
    mv_letters_draw(&r->letters, s->text, &style, x, y, mv_rows_mask, &r->rows);
}

static void draw_image(mv_raster *r, const mv_shape *s, uint32_t shape, mv_pixel_rect clip)
{
    const mv_point *p = &r->scene->points[s->first];
    mv_image_place at = {
        .place = mv_pixel_rect_between(whole(p[0].x * r->scale_x), whole(p[0].y * r->scale_y),
                                       whole(p[1].x * r->scale_x), whole(p[1].y * r->scale_y)),
        .x = p[2].x,
        .y = p[2].y};
    mv_pixel_rect pieces[MV_MOST_PIECES];
    uint32_t count;

    if (!s->image || s->image->width == 0 || s->image->height == 0 ||
        mv_pixel_rect_is_empty(at.place))
        return;
    at.step_x = ((double)p[3].x - p[2].x) / at.place.w;
    at.step_y = ((double)p[3].y - p[2].y) / at.place.h;
    count = mv_occlusion_rest(&r->occlusion, shape, mv_pixel_rect_common(at.place, clip), pieces);
    for (uint32_t i = 0; i < count; i++)
        mv_rows_image(&r->rows, s->image, &at, pieces[i]);
}

static void draw_shape(mv_raster *r, uint32_t shape, mv_pixel_rect clip)
{
    const mv_shape *s = &r->scene->shapes[shape];

    mv_coverage_clip(&r->cover, clip.x, clip.y, clip.x + clip.w, clip.y + clip.h);
    if (s->kind == MV_SHAPE_TEXT) {
        draw_text(r, s, clip);
        return;
    }
    if (s->kind == MV_SHAPE_IMAGE) {
        draw_image(r, s, shape, clip);
        return;
    }
    if (s->kind != MV_SHAPE_LINE && (s->is_hatched || (s->fill & 0xff))) {
        if (s->kind == MV_SHAPE_RECTS)
            fill_rects(r, s, shape, clip);
        else if (is_stepped(r, s))
            fill_steps(r, s, clip);
        else
            fill_polygon(r, s);
    }
    if (!s->is_hatched && s->width > 0 && (s->stroke & 0xff))
        draw_stroke(r, s);
}

/* ---- the picture ------------------------------------------------------------------------- */

/* Finds the box of each shape, the shapes that hide other shapes, and the differences from the last
 * scene. */
static bool look(mv_raster *r)
{
    const mv_scene *scene = r->scene;
    mv_pixel_rect clip = whole_of(r);

    if (!mv_damage_begin(&r->damage, scene, r->rows.width, r->rows.height))
        return false;
    r->occlusion.count = 0;
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        r->boxes[i] = (mv_pixel_rect){0};
        if (s->kind == MV_SHAPE_CLIP) {
            clip = clip_of(r, s);
            continue;
        }
        r->clips[i] = clip;
        r->boxes[i] = mv_pixel_rect_common(box_of(r, s), clip);
        if (mv_pixel_rect_is_empty(r->boxes[i]))
            continue;
        mv_damage_add(&r->damage, scene, s, r->boxes[i]);
        mv_occlusion_add(&r->occlusion, scene, i, r->boxes[i], r->scale_x, r->scale_y);
    }
    mv_damage_end(&r->damage);
    return true;
}

static void draw_part(mv_raster *r, mv_pixel_rect part)
{
    mv_pixel_rect pieces[MV_MOST_PIECES];
    uint32_t count = mv_occlusion_rest(&r->occlusion, MV_BACKGROUND, part, pieces);

    mv_rows_colour(&r->rows, r->scene->background, false);
    for (uint32_t i = 0; i < count; i++)
        mv_rows_set(&r->rows, pieces[i]);
    for (uint32_t i = 0; i < r->scene->shape_count && !r->cover.failed; i++) {
        mv_pixel_rect box = mv_pixel_rect_common(r->boxes[i], part);
        if (!mv_pixel_rect_is_empty(box))
            draw_shape(r, i, mv_pixel_rect_common(r->clips[i], part));
    }
}

/* Makes room for the picture and for the shapes. */
static bool make_room(mv_raster *r, uint32_t width, uint32_t height)
{
    uint32_t shapes = r->scene->shape_count;

    if (!r->rows.pixels || r->rows.width != width || r->rows.height != height) {
        mv_coverage_release(&r->cover);
        mv_rows_resize(&r->rows, &r->arena, width, height);
        if (!r->rows.pixels || !mv_coverage_init(&r->cover, r->arena.budget, width, height))
            return false;
    }
    if (shapes <= r->box_capacity)
        return true;
    mv_arena_drop(&r->arena, r->boxes);
    mv_arena_drop(&r->arena, r->clips);
    r->box_capacity = shapes + shapes / 2;
    r->boxes = mv_arena_grow(&r->arena, NULL, (uint64_t)r->box_capacity * sizeof *r->boxes);
    r->clips = mv_arena_grow(&r->arena, NULL, (uint64_t)r->box_capacity * sizeof *r->clips);
    if (r->boxes && r->clips)
        return true;
    r->box_capacity = 0;
    return false;
}

/* Returns the size in whole pixels, at least one; 0 if there are too many. */
static uint32_t pixels_of(float shown, float own)
{
    float pixels = shown > 0 ? shown : own;

    if (!(pixels < MV_IMAGE_MOST + 0.5f))
        return 0;
    return pixels < 1 ? 1 : (uint32_t)(pixels + 0.5f);
}

mv_code mv_raster_next(mv_raster *r, const mv_scene *scene, mv_raster_frame *out, mv_err *err)
{
    uint32_t width = pixels_of(scene->shown_width, scene->width);
    uint32_t height = pixels_of(scene->shown_height, scene->height);

    *out = (mv_raster_frame){0};
    if (width == 0 || height == 0)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "picture of more than %d pixels on a side",
                       MV_IMAGE_MOST);
    r->scene = scene;
    r->scale_x = scene->width > 0 ? width / (double)scene->width : 1;
    r->scale_y = scene->height > 0 ? height / (double)scene->height : 1;
    r->cover.failed = r->letters.cover.failed = false;
    if (scene->failed || !make_room(r, width, height) || !look(r)) {
        mv_damage_forget(&r->damage);
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    for (uint32_t i = 0; i < r->damage.count; i++)
        draw_part(r, r->damage.rects[i]);
    if (r->cover.failed || r->letters.cover.failed || mv_font_ran_out_of_memory(r->font)) {
        mv_damage_forget(&r->damage);
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    *out = (mv_raster_frame){{width, height, r->rows.pixels}, r->damage.count, r->damage.rects};
    return MV_OK;
}

mv_raster *mv_raster_open(mv_budget *budget, const mv_raster_opts *opts)
{
    mv_arena arena;
    mv_raster *r;

    mv_arena_init(&arena, budget);
    r = mv_push_struct(&arena, mv_raster);
    if (!r)
        return NULL;
    *r = (mv_raster){.arena = arena};
    r->font = mv_font_open(&r->arena, opts->font);
    mv_damage_init(&r->damage, budget);
    mv_rows_init(&r->rows, opts->order);
    if (r->font && mv_letters_init(&r->letters, budget, r->font))
        return r;
    mv_raster_close(r);
    return NULL;
}

void mv_raster_close(mv_raster *r)
{
    mv_arena arena;

    if (!r)
        return;
    if (r->letters.font)
        mv_letters_release(&r->letters);
    if (r->rows.pixels)
        mv_coverage_release(&r->cover);
    mv_font_close(r->font);
    mv_damage_release(&r->damage);
    arena = r->arena;
    mv_arena_release(&arena);
}

/* ---- single pictures --------------------------------------------------------------------- */

mv_code mv_raster_draw(mv_arena *arena, const mv_scene *scene, const mv_raster_opts *opts,
                       mv_image *out, mv_err *err)
{
    mv_raster *r = mv_raster_open(arena->budget, opts);
    mv_raster_frame frame;
    mv_code code;

    *out = (mv_image){0};
    if (!r)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    code = mv_raster_next(r, scene, &frame, err);
    if (code == MV_OK) {
        uint64_t bytes = (uint64_t)frame.image.width * frame.image.height * 4;
        *out = frame.image;
        out->pixels = (uint8_t *)mv_arena_text(arena, (const char *)frame.image.pixels, bytes);
        if (!out->pixels)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    }
    mv_raster_close(r);
    return code;
}

mv_code mv_image_of_pixels(mv_arena *arena, const mv_pixels *from, mv_image *out, mv_err *err)
{
    uint64_t count = (uint64_t)from->width * from->height;

    *out = (mv_image){from->width, from->height, mv_push_array(arena, uint8_t, count * 4)};
    if (!out->pixels)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    for (uint64_t i = 0; i < count; i++) {
        uint32_t pixel = mv_pixel_of(from->pixels[i], MV_PIXELS_RGBA);
        memcpy(out->pixels + 4 * i, &pixel, 4);
    }
    return MV_OK;
}
