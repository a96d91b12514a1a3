/* Presents the picture of the scene (viz/scene/raster.h) in the window: one texture, in which only
 * differences are updated. */
#ifndef MV_PRESENTER_H
#define MV_PRESENTER_H

#include "view/sdl/sdl_api.h"
#include "viz/scene/raster.h"

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    bool is_software; /* the window keeps its pixels: only differences are copied */
    mv_raster *raster;
    SDL_Texture *texture;   /* NULL: not created yet */
    uint32_t width, height; /* of the texture */
} mv_presenter;

/* False when out of memory; releasing is always safe. */
bool mv_presenter_open(mv_presenter *presenter, mv_budget *budget, const mv_sdl *sdl,
                       SDL_Renderer *renderer);
void mv_presenter_close(mv_presenter *presenter);

/* Shows the scene. If it equals the last one, nothing is drawn, unless the window has lost its
 * picture (`is_lost`: it was hidden, resized or covered). */
void mv_presenter_show(mv_presenter *presenter, const mv_scene *scene, bool is_lost);

/* The texture is lost, for example because a display was reset: the next scene is drawn
 * completely. */
void mv_presenter_forget(mv_presenter *presenter);

#endif
