/* What hides what: the large opaque rectangles and images of a scene. Drawing in software spends
 * most of a frame on pixels, and a scene paints backgrounds and coarse pictures that later ones
 * cover. */
#ifndef MV_OCCLUSION_H
#define MV_OCCLUSION_H

#include "view/sdl/sdl_api.h"
#include "viz/scene/scene.h"

enum { MV_MOST_COVERS = 64, MV_MOST_PIECES = 64 };

typedef struct {
    uint32_t shape; /* of the scene */
    SDL_Rect rect;  /* pixels that it covers completely */
} mv_cover;

typedef struct {
    uint32_t count;
    mv_cover
        all[MV_MOST_COVERS]; /* in the order of the scene; only the first ones if there are more */
} mv_occlusion;

/* The pixels nearest to the coordinates, which may have any value. */
SDL_Rect mv_rect_between(mv_point a, mv_point b);
SDL_Rect mv_rect_intersect(SDL_Rect a, SDL_Rect b);

/* For a picture of width x height pixels. */
void mv_occlusion_find(mv_occlusion *occlusion, const mv_scene *scene, int width, int height);

/* The parts of a rectangle that no cover after `shape` in the scene hides (with MV_BACKGROUND: no
 * cover at all). Returns how many. */
#define MV_BACKGROUND UINT32_MAX
uint32_t mv_occlusion_rest(const mv_occlusion *occlusion, uint32_t shape, SDL_Rect rect,
                           SDL_Rect pieces[MV_MOST_PIECES]);

/* The rectangle of a shape that is a cover and only a rectangle; NULL: it is not. */
const SDL_Rect *mv_occlusion_plain(const mv_occlusion *occlusion, const mv_scene *scene,
                                   uint32_t shape);

#endif
