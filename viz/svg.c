#include "viz/scene.h"

/* Text of the input may be anything: what XML 1.0 forbids becomes U+FFFD. */
static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\n':
    case '\t':
        return NULL;
    default:
        return c < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

/* Bytes of the UTF-8 character at `c`, or 0 when it is none that XML allows. */
static unsigned utf8_length(const unsigned char *c)
{
    uint32_t code;

    if (c[0] < 0x80)
        return 1;
    if (c[0] >= 0xc2 && c[0] <= 0xdf && (c[1] & 0xc0) == 0x80)
        return 2;
    if ((c[0] & 0xf0) == 0xe0 && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80) {
        code = (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
        return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) || code >= 0xfffe ? 0 : 3;
    }
    if (c[0] >= 0xf0 && c[0] <= 0xf4 && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80 &&
        (c[3] & 0xc0) == 0x80) {
        code = (c[0] & 7u) << 18 | (c[1] & 0x3fu) << 12;
        return code < 0x10000 || code > 0x10ffff ? 0 : 4;
    }
    return 0;
}

static void write_text(mv_sink *sink, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c) {
        unsigned length = utf8_length(c);
        const char *escape = length == 1 ? escape_of(*c) : NULL;
        if (length == 0 || escape) {
            escape = escape ? escape : "\xef\xbf\xbd";
            mv_sink_write(sink, escape, strlen(escape));
            c++;
            continue;
        }
        mv_sink_write(sink, c, length);
        c += length;
    }
}

/* A number with at most two decimals, and no more digits than it needs. */
static void write_number(mv_sink *sink, float value)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%.2f", (double)value);

    while (length > 0 && text[length - 1] == '0')
        length--;
    if (length > 0 && text[length - 1] == '.')
        length--;
    if (length == 2 && text[0] == '-' && text[1] == '0')
        mv_sink_write(sink, "0", 1);
    else
        mv_sink_write(sink, text, (uint64_t)length);
}

static void write_attribute(mv_sink *sink, const char *name, float value)
{
    mv_sink_printf(sink, " %s=\"", name);
    write_number(sink, value);
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

/* Most edges of a timeline are level or upright: H and V halve the file. */
static void write_path(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    mv_point last = {0, 0};

    mv_sink_printf(sink, "<path d=\"");
    for (uint32_t i = 0; i < s->count; i++) {
        mv_point p = scene->points[s->first + i];
        if (i > 0 && p.y == last.y) {
            mv_sink_write(sink, "H", 1);
            write_number(sink, p.x);
        } else if (i > 0 && p.x == last.x) {
            mv_sink_write(sink, "V", 1);
            write_number(sink, p.y);
        } else {
            mv_sink_write(sink, i ? "L" : "M", 1);
            write_number(sink, p.x);
            mv_sink_write(sink, " ", 1);
            write_number(sink, p.y);
        }
        last = p;
    }
    mv_sink_printf(sink, s->kind == MV_SHAPE_POLYGON ? "Z\"" : "\"");
}

static void write_rect(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    mv_point a = scene->points[s->first], b = scene->points[s->first + 1];

    mv_sink_printf(sink, "<rect");
    write_attribute(sink, "x", a.x);
    write_attribute(sink, "y", a.y);
    write_attribute(sink, "width", b.x - a.x);
    write_attribute(sink, "height", b.y - a.y);
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
        write_text(sink, s->title);
        mv_sink_printf(sink, "</title>");
    }
    write_text(sink, s->text ? s->text : "");
    mv_sink_printf(sink, "</text>\n");
}

static void write_shape(mv_sink *sink, const mv_scene *scene, const mv_shape *s)
{
    if (s->kind == MV_SHAPE_TEXT) {
        write_label(sink, scene, s);
        return;
    }
    if (s->kind == MV_SHAPE_RECT)
        write_rect(sink, scene, s);
    else
        write_path(sink, scene, s);
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
    if (!s->title) {
        mv_sink_printf(sink, "/>\n");
        return;
    }
    mv_sink_printf(sink, "><title>");
    write_text(sink, s->title);
    mv_sink_printf(sink, s->kind == MV_SHAPE_RECT ? "</title></rect>\n" : "</title></path>\n");
}

/* The hatch takes the colour of the first shape that asks for one: a scene has one kind. */
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
    if (scene->failed)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    mv_sink_printf(sink,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                   "viewBox=\"0 0 %g %g\" font-family=\"DejaVu Sans,Verdana,Helvetica,Arial,"
                   "sans-serif\">\n",
                   (double)scene->width, (double)scene->height, (double)scene->width,
                   (double)scene->height);
    mv_sink_printf(sink, "<rect width=\"100%%\" height=\"100%%\"");
    write_colour(sink, "fill", scene->background);
    mv_sink_printf(sink, "/>\n");
    write_hatch(sink, scene);
    for (uint32_t i = 0; i < scene->shape_count && !sink->failed; i++)
        write_shape(sink, scene, &scene->shapes[i]);
    mv_sink_printf(sink, "</svg>\n");
    return MV_OK;
}
