/* A picture as plain data: shapes in drawing order. Layouts make scenes, back ends draw them; tests
 * compare scenes as text. Coordinates are pixels, x to the right and y downwards; back ends may
 * round them to a tenth. Texts may contain any bytes: a back end replaces characters that it cannot
 * show. */
#ifndef MV_SCENE_H
#define MV_SCENE_H

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
    const uint32_t *pixels; /* [height][width] 0xRRGGBBAA; must live as long as the scene */
    uint64_t key;           /* equal keys mean equal pixels, so a back end may keep them; 0: none */
    bool is_opaque;         /* all alphas are 255: shapes below need not be drawn */
} mv_pixels;

typedef enum {
    MV_SHAPE_RECTS,   /* pairs of points: opposite corners of one rectangle each */
    MV_SHAPE_POLYGON, /* closed, filled */
    MV_SHAPE_LINE,    /* open, stroked */
    MV_SHAPE_TEXT,    /* one point: on the baseline */
    MV_SHAPE_STRIP,   /* pairs of points, upper and lower edge from left to right: filled between */
    MV_SHAPE_IMAGE,   /* two points for the place, rounded to whole pixels, and two for the part of
                         `image` that fills it, in image pixels (upper left and lower right
                         corners); each pixel shows the image's pixel at its middle */
    MV_SHAPE_CLIP     /* two points: the following shapes are clipped to this rectangle; no points:
                         clipping ends */
} mv_shape_kind;

typedef enum { MV_ANCHOR_START, MV_ANCHOR_MIDDLE, MV_ANCHOR_END } mv_anchor;

/* Colours are 0xRRGGBBAA; with an alpha of 0 nothing is drawn. */
typedef struct {
    uint8_t kind;   /* mv_shape_kind */
    uint8_t anchor; /* mv_anchor of a text */
    bool is_bold;
    bool is_dashed;
    bool is_hatched; /* diagonal lines in the colour of `stroke` instead of a fill */
    bool is_crisp;   /* edges are not smoothed: no seam between shapes that meet */
    uint32_t fill;   /* of a text: its colour */
    uint32_t stroke;
    float width;    /* of the stroke; of a text: its size in pixels */
    uint32_t first; /* points[first] to points[first + count - 1] */
    uint32_t count;
    const char *text;       /* of a text, NUL-terminated; owned by the scene's arena or static */
    const char *title;      /* shown on hover; NULL: none */
    const mv_pixels *image; /* of an image */
} mv_shape;

typedef struct {
    mv_arena *arena;
    float width, height;
    float shown_width, shown_height; /* pixels of the picture, to which the scene is stretched; 0:
                                        the scene's size */
    uint32_t background;
    bool failed; /* memory ran out; nothing more was added */

    uint32_t shape_count, shape_capacity;
    mv_shape *shapes; /* [shape_count] */
    uint32_t point_count, point_capacity;
    mv_point *points; /* [point_count] */
} mv_scene;

void mv_scene_init(mv_scene *scene, mv_arena *arena, float width, float height,
                   uint32_t background);

/* mv_scene_init for a picture of width x height pixels, at least 1 x 1. If the layout needs more,
 * the scene has at least least_width x least_height and is shown smaller. */
void mv_scene_init_shown(mv_scene *scene, mv_arena *arena, uint32_t width, uint32_t height,
                         uint32_t least_width, uint32_t least_height, uint32_t background);

/* Empties the scene and keeps its memory, for the next frame. Texts stay in the arena. */
void mv_scene_clear(mv_scene *scene, float width, float height, uint32_t background);

/* Adds a point for the shape of the next mv_scene_add. */
void mv_scene_point(mv_scene *scene, float x, float y);

/* Adds the shape with all points since the last shape; sets its `first` and `count`. */
void mv_scene_add(mv_scene *scene, mv_shape shape);

void mv_scene_rect(mv_scene *scene, float x, float y, float w, float h, uint32_t fill);
void mv_scene_clip(mv_scene *scene, float x, float y, float w, float h);
void mv_scene_unclip(mv_scene *scene);
void mv_scene_line(mv_scene *scene, float x0, float y0, float x1, float y1, uint32_t stroke,
                   float width);
void mv_scene_text(mv_scene *scene, float x, float y, float size, uint32_t colour, mv_anchor anchor,
                   const char *text);

/* `part` of the image, in its pixels, fills `place`. */
void mv_scene_image(mv_scene *scene, mv_box place, mv_box part, const mv_pixels *image);

/* Corner `i` of s->count corners of a polygon, or of the outline of a strip. */
mv_point mv_scene_corner(const mv_scene *scene, const mv_shape *s, uint32_t i);

/* A formatted text in the scene's arena; "" when out of memory. */
const char *mv_scene_format(mv_scene *scene, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "1,234", in the scene's arena. */
const char *mv_scene_count(mv_scene *scene, uint64_t count);

/* The approximate width of a text when drawn. It needs no font, and tends to overestimate. */
float mv_text_width(const char *text, float size);

/* Prints the scene as lines of text, for tests and for debugging layouts. */
void mv_scene_print(const mv_scene *scene, FILE *out);

/* Back end: one self-contained SVG file. Fails if the scene did; mv_sink_commit reports failed
 * writes. */
mv_code mv_svg_write(const mv_scene *scene, mv_sink *sink, mv_err *err);

#endif
