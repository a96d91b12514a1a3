
#include "base/numbers.h"
#include "parse/source/base64.h"
#include "viz/scene/markup.h"
#include "viz/scene/png.h"

typedef struct {
    mv_sink *sink;
    const mv_scene *scene;
    uint32_t clips;   /* number of clips so far, which is also the name of the last one */
    bool is_clipping; /* whether a group is open */
} svg;

/* Writes coordinates in tenths of a pixel and as differences, so that rounding errors do not add
 * up, and a step of a curve takes four or five bytes. */
static int32_t tenths_of(float pixels)
{
    return (int32_t)lround(mv_within_far(pixels) * 10);
}

/* Writes a number of tenths as "12", ".5" or "-3.2". */
static void write_tenths(mv_sink *sink, int32_t tenths)
{
    char text[MV_DIGITS + 3];
    uint32_t value = tenths < 0 ? 0u - (uint32_t)tenths : (uint32_t)tenths, length = 0;

    if (tenths < 0)
        text[length++] = '-';
    if (value >= 10 || value == 0)
        length += mv_digits(text + length, value / 10);
    if (value % 10) {
        text[length++] = '.';
        text[length++] = (char)('0' + value % 10);
    }
    mv_sink_write(sink, text, length);
}

static void write_attribute(mv_sink *sink, const char *name, float value)
{
    mv_sink_printf(sink, " %s=\"", name);
    write_tenths(sink, tenths_of(value));
    mv_sink_write(sink, "\"", 1);
}

static void write_colour(mv_sink *sink, const char *name, uint32_t colour)
{
    uint32_t alpha = colour & 0xff;

    if (alpha == 0) {
        mv_sink_printf(sink, " %s=\"none\"", name);
        return;
    }
    mv_sink_printf(sink, " %s=\"#%06x\"", name, colour >> 8);
    if (alpha != 0xff)
        mv_sink_printf(sink, " %s-opacity=\"%.2f\"", name, alpha / 255.0);
}

/* Writes a path. Most edges of a timeline are horizontal or vertical, and are written with h and
 * v. */
static void write_path(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    int32_t x0 = 0, y0 = 0;

    for (uint32_t i = 0; i < s->count; i++) {
        mv_point at = mv_scene_corner(scene, s, i);
        int32_t x = tenths_of(at.x), y = tenths_of(at.y);
        if (i > 0 && y == y0 && x == x0)
            continue;
        mv_sink_write(sink, i == 0 ? "M" : y == y0 ? "h" : x == x0 ? "v" : "l", 1);
        if (i == 0 || x != x0)
            write_tenths(sink, x - x0);
        if (i == 0 || (x != x0 && y != y0 && y > y0)) /* a minus sign also separates numbers */
            mv_sink_write(sink, " ", 1);
        if (i == 0 || y != y0)
            write_tenths(sink, y - y0);
        x0 = x;
        y0 = y;
    }
    if (s->kind != MV_SHAPE_LINE)
        mv_sink_write(sink, "z", 1);
}

static void write_rects(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    for (uint32_t i = 0; i + 1 < s->count; i += 2) {
        const mv_point *p = &scene->points[s->first + i];
        int32_t x = tenths_of(p[0].x), y = tenths_of(p[0].y);
        int32_t w = tenths_of(p[1].x) - x, h = tenths_of(p[1].y) - y;
        mv_sink_write(sink, "M", 1);
        write_tenths(sink, x);
        mv_sink_write(sink, " ", 1);
        write_tenths(sink, y);
        mv_sink_write(sink, "h", 1);
        write_tenths(sink, w);
        mv_sink_write(sink, "v", 1);
        write_tenths(sink, h);
        mv_sink_write(sink, "h", 1);
        write_tenths(sink, -w);
        mv_sink_write(sink, "z", 1);
    }
}

static void write_label(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    mv_point at = scene->points[s->first];

    mv_sink_printf(sink, "<text");
    write_attribute(sink, "x", at.x);
    write_attribute(sink, "y", at.y);
    write_attribute(sink, "font-size", s->width);
    write_colour(sink, "fill", s->fill);
    if (s->anchor != MV_ANCHOR_START)
        mv_sink_printf(sink, " text-anchor=\"%s\"", anchors[s->anchor]);
    if (s->is_bold)
        mv_sink_printf(sink, " font-weight=\"bold\"");
    mv_sink_printf(sink, ">");
    if (s->title) {
        mv_sink_printf(sink, "<title>");
        mv_markup_write(sink, MV_MARKUP_SVG, s->title);
        mv_sink_printf(sink, "</title>");
    }
    mv_markup_write(sink, MV_MARKUP_SVG, s->text ? s->text : "");
    mv_sink_printf(sink, "</text>\n");
}

static void write_shape(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    mv_sink_printf(sink, "<path d=\"");
    if (s->kind == MV_SHAPE_RECTS)
        write_rects(sink, scene, s);
    else
        write_path(sink, scene, s);
    mv_sink_write(sink, "\"", 1);
    if (s->is_hatched)
        mv_sink_printf(sink, " fill=\"url(#hatch)\"");
    else
        write_colour(sink, "fill", s->kind == MV_SHAPE_LINE ? 0 : s->fill);
    if (s->width > 0 && !s->is_hatched) {
        write_colour(sink, "stroke", s->stroke);
        write_attribute(sink, "stroke-width", s->width);
    }
    if (s->is_dashed)
        mv_sink_printf(sink, " stroke-dasharray=\"7 4\"");
    if (s->is_crisp)
        mv_sink_printf(sink, " shape-rendering=\"crispEdges\"");
    if (!s->title) {
        mv_sink_printf(sink, "/>\n");
        return;
    }
    mv_sink_printf(sink, "><title>");
    mv_markup_write(sink, MV_MARKUP_SVG, s->title);
    mv_sink_printf(sink, "</title></path>\n");
}

/* Writes an image in a nested window, which clips everything outside the part. */
static mv_code write_image(svg *w, const mv_shape *s, mv_err *err)
{
    const mv_point *p = &w->scene->points[s->first];
    mv_image image;
    mv_span png;
    mv_arena scratch;
    mv_code code;

    if (s->count < 4 || !s->image || !(p[3].x > p[2].x && p[3].y > p[2].y))
        return MV_OK;
    mv_arena_init(&scratch, w->scene->arena->budget);
    code = mv_image_of_pixels(&scratch, s->image, &image, err);
    if (code == MV_OK)
        code = mv_png_encode(&scratch, &image, &png, err);
    if (code == MV_OK) {
        mv_sink_printf(w->sink, "<svg");
        write_attribute(w->sink, "x", roundf(p[0].x));
        write_attribute(w->sink, "y", roundf(p[0].y));
        write_attribute(w->sink, "width", roundf(p[1].x) - roundf(p[0].x));
        write_attribute(w->sink, "height", roundf(p[1].y) - roundf(p[0].y));
        mv_sink_printf(w->sink,
                       " viewBox=\"%g %g %g %g\" preserveAspectRatio=\"none\"><image width=\"%u\" "
                       "height=\"%u\" image-rendering=\"pixelated\" href=\"data:image/png;base64,",
                       (double)p[2].x, (double)p[2].y, (double)(p[3].x - p[2].x),
                       (double)(p[3].y - p[2].y), image.width, image.height);
        mv_base64_write(w->sink, png.data, png.length);
        mv_sink_printf(w->sink, "\"/></svg>\n");
    }
    mv_arena_release(&scratch);
    return code;
}

static void write_clip(svg *w, const mv_shape *s)
{
    if (w->is_clipping)
        mv_sink_printf(w->sink, "</g>\n");
    w->is_clipping = s->count > 0;
    if (!w->is_clipping)
        return;
    mv_sink_printf(w->sink, "<clipPath id=\"clip%u\"><path d=\"", w->clips);
    write_rects(w->sink, w->scene, s);
    mv_sink_printf(w->sink, "\"/></clipPath>\n<g clip-path=\"url(#clip%u)\">\n", w->clips++);
}

/* Writes the hatch pattern in the colour of the first hatched shape. A scene has only one kind of
 * hatching. */
static void write_hatch(mv_sink *sink, const mv_scene *scene)
{
    for (uint32_t i = 0; i < scene->shape_count; i++)
        if (scene->shapes[i].is_hatched) {
            mv_sink_printf(sink, "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" "
                                 "patternUnits=\"userSpaceOnUse\" "
                                 "patternTransform=\"rotate(45)\"><path d=\"M0 0V7\"");
            write_colour(sink, "stroke", scene->shapes[i].stroke);
            mv_sink_printf(sink, " stroke-width=\"1.6\"/></pattern></defs>\n");
            return;
        }
}

mv_code mv_svg_write(const mv_scene *scene, mv_sink *sink, mv_err *err)
{
    svg w = {.sink = sink, .scene = scene};
    bool is_scaled = scene->shown_width > 0 && scene->shown_height > 0;

    if (scene->failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    mv_sink_printf(sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                   "viewBox=\"0 0 %g %g\"%s font-family=\"DejaVu Sans,Verdana,Helvetica,Arial,"
                   "sans-serif\">\n",
                   (double)(is_scaled ? scene->shown_width : scene->width),
                   (double)(is_scaled ? scene->shown_height : scene->height), (double)scene->width,
                   (double)scene->height, is_scaled ? " preserveAspectRatio=\"none\"" : "");
    mv_sink_printf(sink, "<rect width=\"100%%\" height=\"100%%\"");
    write_colour(sink, "fill", scene->background);
    mv_sink_printf(sink, "/>\n");
    write_hatch(sink, scene);
    for (uint32_t i = 0; i < scene->shape_count && !sink->failed; i++) {
        const mv_shape *s = &scene->shapes[i];
        if (s->kind == MV_SHAPE_IMAGE && write_image(&w, s, err) != MV_OK)
            return err->code;
        if (s->kind == MV_SHAPE_CLIP)
            write_clip(&w, s);
        else if (s->kind == MV_SHAPE_TEXT)
            write_label(sink, scene, s);
        else if (s->kind != MV_SHAPE_IMAGE)
            write_shape(sink, scene, s);
    }
    mv_sink_printf(sink, "%s</svg>\n", w.is_clipping ? "</g>\n" : "");
    return MV_OK;
}
