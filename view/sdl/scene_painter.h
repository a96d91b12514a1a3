/* Back end: a scene through an SDL renderer, in software or on a GPU, the same pixels on both.
 *
 * Everything solid becomes rectangles on whole pixels (view/sdl/fill_rects.h), texts are copies
 * from one texture of letters (view/sdl/glyphs.h), images are textures (view/sdl/image_cache.h).
 * There is no smoothing that depends on a driver, and no triangles, which SDL's software renderer
 * fills slowly. Shapes are drawn in the order of the scene; drivers batch neighbours that are
 * alike. */
#ifndef MV_SCENE_PAINTER_H
#define MV_SCENE_PAINTER_H

#include "view/sdl/fill_rects.h"
#include "view/sdl/glyphs.h"
#include "view/sdl/image_cache.h"
#include "view/sdl/image_scaler.h"
#include "view/sdl/occlusion.h"

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    mv_arena arena;
    mv_fill_rects fill_rects;
    mv_glyphs glyphs;
    mv_image_cache images;
    mv_image_scaler scaler;
    mv_occlusion occlusion; /* of the scene that is drawn */
    SDL_Texture *hatch;
} mv_scene_painter;

/* False when memory is out; releasing is always safe. The renderer must outlive the painter. After
 * lost textures (SDL_RENDER_TARGETS_RESET, SDL_RENDER_DEVICE_RESET) make another painter.
 * `image_bytes`: most memory of textures that are kept. */
bool mv_scene_painter_init(mv_scene_painter *p, mv_budget *budget, const mv_sdl *sdl,
                           SDL_Renderer *renderer, mv_font_choice font, uint64_t image_bytes);
void mv_scene_painter_release(mv_scene_painter *p);

/* Draws the scene on width x height pixels of the renderer, one to one; the caller presents it.
 * False when memory ran out. */
bool mv_scene_painter_draw(mv_scene_painter *p, const mv_scene *scene, int width, int height);

#endif
