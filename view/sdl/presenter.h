/* Shows the picture of the scene (viz/scene/raster.h) in the window. The picture is one texture, of
 * which only the parts that differ are updated. */
#pragma once

#include "view/sdl/sdl_api.h"
#include "viz/scene/raster.h"

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    bool is_software; /* the window keeps its pixels, so only the parts that differ are copied */
    mv_raster *raster;
    SDL_Texture *texture;   /* texture with the picture; NULL: the texture does not exist yet */
    uint32_t width, height; /* size of the texture */
} mv_presenter;

/* Returns false when out of memory. Releasing is always safe. */
bool mv_presenter_open(mv_presenter *presenter, mv_budget *budget, const mv_sdl *sdl,
                       SDL_Renderer *renderer);
void mv_presenter_close(mv_presenter *presenter);

/* Shows the scene. If the scene equals the last one, nothing is drawn, unless the window no longer
 * shows its picture (`is_lost`), because it was hidden, resized or covered. */
void mv_presenter_show(mv_presenter *presenter, const mv_scene *scene, bool is_lost);

/* Records that the texture is lost, for example because a display was reset. The next scene is then
 * drawn completely. */
void mv_presenter_forget(mv_presenter *presenter);
