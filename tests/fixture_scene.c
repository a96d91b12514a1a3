#include "tests/fixture_scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t mvt_scene_cross(const mv_scene *scene, const mv_shape *s, float x, mvt_extent *out,
                         uint32_t most)
{
    const mv_point *p = scene->points + s->first;
    float y[64];
    uint32_t count = 0;

    if (s->kind == MV_SHAPE_RECTS) {
        for (uint32_t i = 0; i + 1 < s->count && count < most; i += 2)
            if (p[i].x <= x && x < p[i + 1].x)
                out[count++] = (mvt_extent){p[i].y, p[i + 1].y};
        return count;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point a = mv_scene_corner(scene, s, i);
        mv_point b = mv_scene_corner(scene, s, (i + 1) % s->count);
        if ((a.x <= x) != (b.x <= x) && count < 64)
            y[count++] = a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
    }
    cr_assert_eq(count % 2, 0);
    for (uint32_t i = 0; i + 1 < count; i += 2)
        out[i / 2] = (mvt_extent){fminf(y[i], y[i + 1]), fmaxf(y[i], y[i + 1])};
    return count / 2;
}

bool mvt_shape_is_filled(const mv_shape *s)
{
    return (s->kind == MV_SHAPE_RECTS || s->kind == MV_SHAPE_POLYGON ||
            s->kind == MV_SHAPE_STRIP) &&
           !s->is_hatched;
}

typedef struct {
    float x0, y0, x1, y1;
} box;

static box text_box(const mv_scene *scene, const mv_shape *s)
{
    mv_point at = scene->points[s->first];
    float w = mv_text_width(s->text, s->width);
    float x = s->anchor == MV_ANCHOR_START ? at.x
              : s->anchor == MV_ANCHOR_END ? at.x - w
                                           : at.x - w / 2;

    return (box){x, at.y - s->width * 0.75f, x + w, at.y + s->width * 0.2f};
}

/* What a clip leaves of it: nothing when x1 <= x0. */
static box clipped(box a, const box *clip)
{
    return (box){fmaxf(a.x0, clip->x0), fmaxf(a.y0, clip->y0), fminf(a.x1, clip->x1),
                 fminf(a.y1, clip->y1)};
}

/* Follows the clips of a scene, a shape at a time. */
static void follow_clip(const mv_scene *scene, uint32_t i, box *clip)
{
    const mv_shape *s = &scene->shapes[i];
    const mv_point *p = scene->points + s->first;

    if (s->kind == MV_SHAPE_CLIP)
        *clip = s->count ? (box){p[0].x, p[0].y, p[1].x, p[1].y} : (box){-1e9f, -1e9f, 1e9f, 1e9f};
}

void mvt_scene_check_texts(const mv_scene *scene, const char *name)
{
    box clip = {-1e9f, -1e9f, 1e9f, 1e9f};

    for (uint32_t i = 0; i < scene->shape_count; i++) {
        box a, other;
        follow_clip(scene, i, &clip);
        if (scene->shapes[i].kind != MV_SHAPE_TEXT)
            continue;
        other = clip;
        a = clipped(text_box(scene, &scene->shapes[i]), &clip);
        cr_expect(a.x0 >= 0 && a.y0 >= 0 && a.x1 <= scene->width && a.y1 <= scene->height,
                  "%s: \"%s\" leaves the picture", name, scene->shapes[i].text);
        for (uint32_t j = i + 1; j < scene->shape_count; j++) {
            box b;
            follow_clip(scene, j, &other);
            if (scene->shapes[j].kind != MV_SHAPE_TEXT)
                continue;
            b = clipped(text_box(scene, &scene->shapes[j]), &other);
            cr_expect_not(a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1,
                          "%s: \"%s\" meets \"%s\"", name, scene->shapes[i].text,
                          scene->shapes[j].text);
        }
    }
}

static uint32_t blend(uint32_t under, uint32_t over)
{
    uint32_t alpha = over & 0xff, result = 0xff;

    for (int shift = 8; shift < 32; shift += 8) {
        uint32_t a = under >> shift & 0xff, b = over >> shift & 0xff;
        result |= (a * (255 - alpha) + b * alpha) / 255 << shift;
    }
    return result;
}

static double luminance(uint32_t colour)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126};
    double sum = 0;

    for (int i = 0; i < 3; i++) {
        double part = (double)(colour >> (8 + 8 * i) & 0xff) / 255;
        sum += weights[i] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

/* What an image shows at a point; clear where it does not lie. */
static uint32_t image_at(const mv_scene *scene, const mv_shape *s, float x, float y)
{
    const mv_point *p = scene->points + s->first;
    float column = p[2].x + (x - p[0].x) * (p[3].x - p[2].x) / (p[1].x - p[0].x);
    float row = p[2].y + (y - p[0].y) * (p[3].y - p[2].y) / (p[1].y - p[0].y);

    if (!(x >= p[0].x && x < p[1].x && y >= p[0].y && y < p[1].y))
        return 0;
    cr_assert(column >= 0 && column < s->image->width && row >= 0 && row < s->image->height);
    return s->image->pixels[(uint32_t)row * s->image->width + (uint32_t)column];
}

/* WCAG 2: contrast of a text to what was painted below it before. */
static void check_contrast(const mv_scene *scene, const box *bounds, uint32_t text,
                           const char *name)
{
    const mv_shape *s = &scene->shapes[text];
    box at = text_box(scene, s);
    float x = (at.x0 + at.x1) / 2, y = (at.y0 + at.y1) / 2;
    uint32_t under = scene->background;
    double a, b;

    for (uint32_t i = 0; i < text; i++) {
        mvt_extent crossings[64];
        bool is_near = mvt_shape_is_filled(&scene->shapes[i]) && bounds[i].x0 <= x &&
                       x <= bounds[i].x1 && bounds[i].y0 <= y && y <= bounds[i].y1;
        uint32_t count = is_near ? mvt_scene_cross(scene, &scene->shapes[i], x, crossings, 64) : 0;
        if (scene->shapes[i].kind == MV_SHAPE_IMAGE)
            under = blend(under, image_at(scene, &scene->shapes[i], x, y));
        for (uint32_t c = 0; c < count; c++)
            if (crossings[c].top <= y && y < crossings[c].bottom)
                under = blend(under, scene->shapes[i].fill);
    }
    a = luminance(s->fill) + 0.05;
    b = luminance(under) + 0.05;
    cr_expect((a > b ? a / b : b / a) >= 4.5, "%s: \"%s\" %06x on %06x", name, s->text,
              s->fill >> 8, under >> 8);
}

void mvt_scene_check_contrasts(const mv_scene *scene, const char *name)
{
    box *bounds = mv_push_array(scene->arena, box, scene->shape_count);

    cr_assert(bounds != NULL);
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        bounds[i] = (box){1e9f, 1e9f, -1e9f, -1e9f};
        for (uint32_t n = s->first; n < s->first + s->count; n++) {
            bounds[i].x0 = fminf(bounds[i].x0, scene->points[n].x);
            bounds[i].y0 = fminf(bounds[i].y0, scene->points[n].y);
            bounds[i].x1 = fmaxf(bounds[i].x1, scene->points[n].x);
            bounds[i].y1 = fmaxf(bounds[i].y1, scene->points[n].y);
        }
    }
    for (uint32_t i = 0; i < scene->shape_count; i++)
        if (scene->shapes[i].kind == MV_SHAPE_TEXT)
            check_contrast(scene, bounds, i, name);
}

uint64_t mvt_scene_svg_bytes(const mv_scene *scene)
{
    mv_sink sink;
    mv_err err = {0};
    uint64_t bytes;

    cr_assert_eq(mv_sink_open(&sink, "/dev/null", &err), MV_OK);
    cr_assert_eq(mv_svg_write(scene, &sink, &err), MV_OK);
    cr_assert_eq(mv_sink_commit(&sink, &err), MV_OK);
    bytes = sink.bytes;
    mv_sink_abort(&sink);
    return bytes;
}

void mvt_scene_check_inside(const mv_scene *scene, const char *name)
{
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        uint32_t count = s->kind == MV_SHAPE_IMAGE ? 2 : s->count;
        for (const mv_point *p = scene->points + s->first; count > 0; p++, count--)
            cr_assert(p->x >= 0 && p->x <= scene->width && p->y >= 0 && p->y <= scene->height,
                      "%s: %g,%g", name, (double)p->x, (double)p->y);
    }
}

bool mvt_scene_says(const mv_scene *scene, const char *text)
{
    for (uint32_t i = 0; i < scene->shape_count; i++)
        if (scene->shapes[i].text && strstr(scene->shapes[i].text, text))
            return true;
    return false;
}

bool mvt_scene_hovers(const mv_scene *scene, const char *text)
{
    for (uint32_t i = 0; i < scene->shape_count; i++)
        if (scene->shapes[i].title && strstr(scene->shapes[i].title, text))
            return true;
    return false;
}

void mvt_scene_golden(const mv_scene *scene, const char *name)
{
    char path[512];
    char *now = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&now, &length);
    mv_span expected;

    snprintf(path, sizeof path, MV_TESTDATA "/golden/%s.scene", name);
    mv_scene_print(scene, out);
    cr_assert_eq(fclose(out), 0);
    if (getenv("MV_BLESS")) {
        FILE *file = fopen(path, "wb");
        cr_assert(file && fwrite(now, 1, length, file) == length && fclose(file) == 0);
    }
    expected = mvt_file(scene->arena, path);
    cr_expect(expected.length == length && memcmp(expected.data, now, length) == 0,
              "the scene is not %s; now:\n%s", path, now);
    free(now);
}

void mvt_scene_check(const mv_scene *scene, const char *name)
{
    mvt_scene_check_inside(scene, name);
    mvt_scene_check_texts(scene, name);
    mvt_scene_check_contrasts(scene, name);
    cr_expect_lt(mvt_scene_svg_bytes(scene), 5000000, "%s", name);
}
