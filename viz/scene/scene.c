#include "viz/scene/scene.h"

#include <math.h>
#include <xxhash.h>

#include "base/escape.h"
#include "base/grow.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/texts.h"

enum { MOST_SIDE = 16384 };

void mv_scene_init(mv_scene *scene, mv_arena *arena, float width, float height, uint32_t background)
{
    *scene = (mv_scene){.arena = arena, .width = width, .height = height, .background = background};
}

void mv_scene_init_shown(mv_scene *scene, mv_arena *arena, uint32_t width, uint32_t height,
                         uint32_t least_width, uint32_t least_height, uint32_t background)
{
    float x = (float)width / (float)least_width, y = (float)height / (float)least_height;
    float scale = x < y ? x : y;
    float w = (float)width, h = (float)height;

    if (scale < 1) { /* the same factor in both directions, within limits */
        w = fminf(w / scale, MOST_SIDE);
        h = fminf(h / scale, MOST_SIDE);
    }
    mv_scene_init(scene, arena, roundf(w), roundf(h), background);
    if (scale < 1) {
        scene->shown_width = (float)width;
        scene->shown_height = (float)height;
    }
}

void mv_scene_clear(mv_scene *scene, float width, float height, uint32_t background)
{
    scene->width = width;
    scene->height = height;
    scene->background = background;
    scene->failed = false;
    scene->shape_count = 0;
    scene->point_count = 0;
}

void mv_scene_point(mv_scene *scene, float x, float y)
{
    scene->failed = scene->failed || !mv_append(scene->arena, scene->points, scene->point_count,
                                                scene->point_capacity, (mv_point){x, y});
}

void mv_scene_add(mv_scene *scene, mv_shape shape)
{
    uint32_t used = 0;

    if (scene->failed)
        return;
    if (scene->shape_count) {
        const mv_shape *last = &scene->shapes[scene->shape_count - 1];
        used = last->first + last->count;
    }
    shape.first = used;
    shape.count = scene->point_count - used;
    scene->failed =
        !mv_append(scene->arena, scene->shapes, scene->shape_count, scene->shape_capacity, shape);
}

void mv_scene_clip(mv_scene *scene, float x, float y, float w, float h)
{
    mv_scene_point(scene, x, y);
    mv_scene_point(scene, x + w, y + h);
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_CLIP});
}

void mv_scene_unclip(mv_scene *scene)
{
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_CLIP});
}

void mv_scene_line(mv_scene *scene, float x0, float y0, float x1, float y1, uint32_t stroke,
                   float width)
{
    mv_scene_point(scene, x0, y0);
    mv_scene_point(scene, x1, y1);
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_LINE, .stroke = stroke, .width = width});
}

void mv_scene_text(mv_scene *scene, float x, float y, float size, uint32_t colour, mv_anchor anchor,
                   const char *text)
{
    mv_scene_point(scene, x, y);
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_TEXT,
                                   .anchor = (uint8_t)anchor,
                                   .fill = colour,
                                   .width = size,
                                   .text = text});
}

void mv_scene_image(mv_scene *scene, mv_box place, mv_box part, const mv_pixels *image)
{
    mv_scene_point(scene, place.x, place.y);
    mv_scene_point(scene, place.x + place.w, place.y + place.h);
    mv_scene_point(scene, part.x, part.y);
    mv_scene_point(scene, part.x + part.w, part.y + part.h);
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_IMAGE, .image = image});
}

mv_point mv_scene_corner(const mv_scene *scene, const mv_shape *s, uint32_t i)
{
    uint32_t pairs = s->count / 2;

    if (s->kind == MV_SHAPE_STRIP) /* along the upper edge, and back along the lower edge */
        i = i < pairs ? 2 * i : 2 * (2 * pairs - 1 - i) + 1;
    return scene->points[s->first + i];
}

const char *mv_scene_format(mv_scene *scene, const char *format, ...)
{
    va_list args;
    const char *text;

    va_start(args, format);
    text = mv_arena_vprintf(scene->arena, format, args);
    va_end(args);
    scene->failed = scene->failed || !text;
    return text ? text : "";
}

const char *mv_scene_count(mv_scene *scene, uint64_t count)
{
    char text[MV_COUNT_TEXT];

    return mv_scene_format(scene, "%s", mv_count_text(text, count));
}

float mv_text_width(const char *text, float size)
{
    /* Advance widths of DejaVu Sans from ' ' to '~', in thousandths of the font size. It is the
     * widest of the usual sans-serif faces. */
    static const uint16_t widths[] = {
        318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
        636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
        1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
        603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
        500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
        635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
    uint32_t units = 0;

    while (*text) {
        uint32_t bytes;
        if (*text >= ' ' && *text <= '~') {
            units += widths[*text++ - ' '];
            continue;
        }
        units += 1000; /* letters of wide scripts fill a square, and so does the replacement for an
                     invalid byte */
        bytes = mv_utf8_length_at(text);
        text += bytes ? bytes : 1;
    }
    return (float)units * size / 1000;
}

static const char *const kind_names[] = {"rects", "polygon", "line", "text",
                                         "strip", "image",   "clip"};

static void print_flags(const mv_shape *s, FILE *out)
{
    static const char *const anchors[] = {"", " middle", " end"};

    fprintf(out, "%s%s%s%s%s", anchors[s->anchor], s->is_bold ? " bold" : "",
            s->is_dashed ? " dashed" : "", s->is_hatched ? " hatched" : "",
            s->is_crisp ? " crisp" : "");
}

/* Prints a string on one line of the output. */
static void print_quoted(const char *name, const char *text, FILE *out)
{
    mv_escaped piece;

    if (!text)
        return;
    fprintf(out, " %s\"", name);
    for (uint64_t at = 0; mv_escape_next(mv_text_span(text), &at, MV_ESCAPE_JSON, &piece);) {
        fwrite(piece.plain.data, 1, piece.plain.length, out);
        fwrite(piece.escape, 1, piece.length, out);
    }
    fputc('"', out);
}

static uint64_t hash_of(const mv_pixels *image)
{
    return XXH3_64bits(image->pixels, (size_t)image->width * image->height * 4);
}

void mv_scene_print(const mv_scene *scene, FILE *out)
{
    fprintf(out, "scene %gx%g background %08x\n", (double)scene->width, (double)scene->height,
            scene->background);
    if (scene->shown_width > 0)
        fprintf(out, "shown %gx%g\n", (double)scene->shown_width, (double)scene->shown_height);
    for (uint32_t i = 0; i < scene->shape_count; i++) {
        const mv_shape *s = &scene->shapes[i];
        fprintf(out, "%s", kind_names[s->kind]);
        if (s->kind != MV_SHAPE_CLIP)
            fprintf(out, " fill %08x stroke %08x width %g", s->fill, s->stroke, (double)s->width);
        print_flags(s, out);
        for (uint32_t p = s->first; p < s->first + s->count; p++)
            fprintf(out, " %.1f,%.1f", (double)scene->points[p].x, (double)scene->points[p].y);
        print_quoted("", s->text, out);
        if (s->image)
            fprintf(out, " %ux%u pixels %016llx", s->image->width, s->image->height,
                    (unsigned long long)hash_of(s->image));
        print_quoted("title ", s->title, out);
        fputc('\n', out);
    }
}
