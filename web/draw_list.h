/* A scene as a list of 32-bit words, which the page's painter (web/painter.js) goes through without
 * knowing C's structs. Coordinates and sizes are floats; colours 0xRRGGBBAA; addresses are those of
 * WebAssembly's memory, in bytes.
 *
 *     END
 *     RECTS    colour, count, count x (x, y, w, h)
 *     AREA     colour, count, count x (x, y)        a polygon, filled
 *     LINE     colour, width, is_dashed, is_closed, count, count x (x, y)
 *     TEXT     colour, size, is_bold, anchor, x, y, address, length      UTF-8, not validated
 *     IMAGE    key's low and high half, address, width, height, place (x, y, w, h), part (x, y, w,
 * h) CLIP     x, y, w, h UNCLIP HATCH    like AREA, filled with the hatch of that colour
 *
 * What is transparent or empty is left out; corners of crisp shapes, clips and places of images are
 * on whole pixels. */
#ifndef MV_DRAW_LIST_H
#define MV_DRAW_LIST_H

#include "viz/scene/scene.h"

typedef struct {
    uint32_t count, capacity;
    uint32_t *words; /* [count] ends with END */
} mv_draw_list;

/* Replaces the list by that of the scene. False when memory is out, or was for the scene. */
bool mv_draw_list_make(mv_arena *arena, const mv_scene *scene, mv_draw_list *out);

#endif
