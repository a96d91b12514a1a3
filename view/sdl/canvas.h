/* A picture in memory that SDL's software renderer draws on: no window, no display. */
#ifndef MV_CANVAS_H
#define MV_CANVAS_H

#include "view/sdl/sdl_api.h"
#include "viz/scene/raster.h"

typedef struct {
    const mv_sdl *sdl;
    SDL_Surface *surface;
    SDL_Renderer *renderer;
} mv_canvas;

/* Closing is always safe. */
mv_code mv_canvas_open(mv_canvas *canvas, const mv_sdl *sdl, uint32_t width, uint32_t height,
                       mv_err *err);
void mv_canvas_close(mv_canvas *canvas);

/* What a renderer has drawn and not yet presented. */
mv_code mv_canvas_read(mv_arena *arena, const mv_sdl *sdl, SDL_Renderer *renderer, uint32_t width,
                       uint32_t height, mv_image *out, mv_err *err);

#endif
