/* Areas and strokes of one colour, as rectangles of whole pixels: one call of SDL for all pixels
 * with equal coverage. What is covered in part (slanted edges, places between pixels) is drawn with
 * that part of the colour's alpha, in MV_FILL_LEVELS steps. */
#ifndef MV_FILL_RECTS_H
#define MV_FILL_RECTS_H

#include "view/sdl/sdl_api.h"
#include "viz/scene/coverage.h"
#include "viz/scene/scene.h"

enum { MV_FILL_LEVELS = 32 };

typedef struct {
    uint32_t count, capacity;
    SDL_Rect *rects; /* [count] */
} mv_rect_list;

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    mv_arena *arena; /* of the lists */
    mv_coverage cover;
    mv_rect_list level[MV_FILL_LEVELS]; /* of the current shape: covered (i + 1) / LEVELS */
    SDL_Rect clip;
    int width, height; /* of the picture */
    bool failed;       /* memory ran out; something is missing in the picture */
} mv_fill_rects;

/* For a picture of that size, not clipped. False when memory is out; releasing is always safe. The
 * caller sets `sdl` and `renderer`. */
bool mv_fill_rects_resize(mv_fill_rects *p, mv_arena *arena, int width, int height);
void mv_fill_rects_release(mv_fill_rects *p);

/* From here on, clips to the rectangle, which lies within the picture. */
void mv_fill_rects_clip(mv_fill_rects *p, SDL_Rect clip);

/* Draws the area of rectangles, a polygon or a strip; the stroke of these or of a line. */
void mv_fill_rects_fill(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s);
void mv_fill_rects_stroke(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s);

/* Reports the area as rectangles instead: pixels that are covered by half or more. */
void mv_fill_rects_rows(mv_fill_rects *p, const mv_scene *scene, const mv_shape *s,
                        void (*take)(void *to, SDL_Rect row), void *to);

#endif
