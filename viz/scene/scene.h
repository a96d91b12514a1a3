/* A picture as plain data: shapes in drawing order. Layouts make scenes, back ends draw them, and
 * tests compare scenes as text. Coordinates are in pixels, with x to the right and y downwards.
 * Back ends may round them to a tenth of a pixel. Strings may contain any bytes, and a back end
 * replaces characters that it cannot show. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "parse/source/sink.h"

typedef struct {
    float x, y;
} mv_point;

typedef struct {
    float x, y, w, h;
} mv_box;

/* Pixels that a scene shows unchanged. */
typedef struct {
    uint32_t width, height;
    const uint32_t *pixels; /* [height][width] 0xRRGGBBAA; must stay valid as long as the scene */
    uint64_t key;           /* equal keys mean equal pixels, so a back end may cache them; 0: there
                               is no key */
    bool is_opaque;         /* every pixel is opaque, so shapes below the image need not be drawn */
} mv_pixels;

typedef enum {
    MV_SHAPE_RECTS,   /* pairs of points, which are opposite corners of rectangles */
    MV_SHAPE_POLYGON, /* closed, filled */
    MV_SHAPE_LINE,    /* open, stroked */
    MV_SHAPE_TEXT,    /* one point, on the baseline */
    MV_SHAPE_STRIP,   /* pairs of points on the upper and lower edge, from left to right; the area
                         between the edges is filled */
    MV_SHAPE_IMAGE,   /* four points. The first two are the upper left and lower right corners of
                         the image's position, rounded to whole pixels. The other two are the
                         corners of the part of `image` that is shown there, in image pixels. Each
                         pixel shows the image pixel at its middle */
    MV_SHAPE_CLIP     /* two points, which are opposite corners of a rectangle to which the
                         following shapes are clipped, or no points, to end clipping */
} mv_shape_kind;

typedef enum { MV_ANCHOR_START, MV_ANCHOR_MIDDLE, MV_ANCHOR_END } mv_anchor;

/* Colours are 0xRRGGBBAA. If alpha is 0, nothing is drawn. */
typedef struct {
    uint8_t kind;   /* mv_shape_kind */
    uint8_t anchor; /* mv_anchor, for text */
    bool is_bold;
    bool is_dashed;
    bool is_hatched; /* instead of a fill, diagonal lines are drawn in the colour of `stroke` */
    bool is_crisp;   /* edges are not smoothed, so there is no seam between shapes that meet */
    uint32_t fill;   /* fill colour, or colour of the text */
    uint32_t stroke;
    float width;    /* width of the stroke, or size of the text in pixels */
    uint32_t first; /* the points are points[first] to points[first + count - 1] */
    uint32_t count;
    const char *text;       /* string of a text, NUL-terminated; it is in the scene's arena or
                               static */
    const char *title;      /* tooltip; NULL: none */
    const mv_pixels *image; /* pixels of an image */
} mv_shape;

typedef struct {
    mv_arena *arena;
    float width, height;
    float shown_width, shown_height; /* size of the picture in pixels, to which the scene is
                                        stretched; 0: the scene's size */
    uint32_t background;
    bool failed; /* memory ran out, and nothing more was added */

    uint32_t shape_count, shape_capacity;
    mv_shape *shapes; /* [shape_count] */
    uint32_t point_count, point_capacity;
    mv_point *points; /* [point_count] */
} mv_scene;

void mv_scene_init(mv_scene *scene, mv_arena *arena, float width, float height,
                   uint32_t background);

/* Like mv_scene_init, for a picture of width x height pixels, at least 1 x 1. If the layout needs
 * more room, the scene is at least least_width x least_height, and is scaled down when shown. */
void mv_scene_init_shown(mv_scene *scene, mv_arena *arena, uint32_t width, uint32_t height,
                         uint32_t least_width, uint32_t least_height, uint32_t background);

/* Empties the scene for the next frame, and keeps its memory. Strings stay in the arena. */
void mv_scene_clear(mv_scene *scene, float width, float height, uint32_t background);

/* Adds a point to the shape that the next mv_scene_add adds. */
void mv_scene_point(mv_scene *scene, float x, float y);

/* Adds the shape with all points added since the last shape. Sets its `first` and `count`. */
void mv_scene_add(mv_scene *scene, mv_shape shape);

void mv_scene_clip(mv_scene *scene, float x, float y, float w, float h);
void mv_scene_unclip(mv_scene *scene);
void mv_scene_line(mv_scene *scene, float x0, float y0, float x1, float y1, uint32_t stroke,
                   float width);
void mv_scene_text(mv_scene *scene, float x, float y, float size, uint32_t colour, mv_anchor anchor,
                   const char *text);

/* Adds an image. `part`, in pixels of the image, fills `place`. */
void mv_scene_image(mv_scene *scene, mv_box place, mv_box part, const mv_pixels *image);

/* Returns corner `i` of a polygon, or of the outline of a strip. There are s->count corners. */
mv_point mv_scene_corner(const mv_scene *scene, const mv_shape *s, uint32_t i);

/* Formats a string in the scene's arena; "" when out of memory. */
const char *mv_scene_format(mv_scene *scene, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Formats a number such as "1,234", in the scene's arena. */
const char *mv_scene_count(mv_scene *scene, uint64_t count);

/* Returns the approximate width of a text when it is drawn. It needs no font, and tends to
 * overestimate. */
float mv_text_width(const char *text, float size);

/* Prints the scene as lines of text, for tests and for debugging layouts. */
void mv_scene_print(const mv_scene *scene, FILE *out);

/* Back end: writes a self-contained SVG file. Fails if the scene ran out of memory. Write errors
 * are reported by mv_sink_commit. */
mv_code mv_svg_write(const mv_scene *scene, mv_sink *sink, mv_err *err);
