/* Images at sizes other than their own, for SDL's software renderer. It is fast at copying pixel by
 * pixel and slow at any other copy, since it stretches all of an image however little of it is
 * visible. Each pixel shows the image's nearest, as in viz/scene/raster.c. */
#ifndef MV_IMAGE_SCALER_H
#define MV_IMAGE_SCALER_H

#include <stdbool.h>

#include "view/sdl/sdl_api.h"
#include "viz/scene/scene.h"

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    mv_arena *arena;
    int width, height; /* of the picture, and of the textures */
    SDL_Texture
        *texture[2];  /* for images with transparent pixels, for opaque ones; NULL: not made yet */
    uint32_t *column; /* [width] of the image, for each column of the picture */
    uint32_t *argb;   /* [height][width] */
} mv_image_scaler;

/* Where a part of an image is placed: pixel (i, j) of the picture shows the image's pixel at x + (i
 * - place.x + 0.5) * step_x, and y likewise. */
typedef struct {
    SDL_Rect place;
    double x, y, step_x, step_y;
} mv_stretch;

/* For a picture of that size. The caller sets `sdl`, `renderer` and `arena`. False when memory is
 * out. */
bool mv_image_scaler_resize(mv_image_scaler *s, int width, int height);
void mv_image_scaler_release(mv_image_scaler *s);

/* Draws the image on `seen`, which lies within the place and the picture. */
void mv_image_scaler_draw(mv_image_scaler *s, const mv_pixels *image, const mv_stretch *how,
                          SDL_Rect seen);

#endif
