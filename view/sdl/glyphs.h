/* Letters as pieces of one texture: drawn once (viz/scene/text_raster.h), in white, and tinted when
 * they are copied. A letter of a scalable font is kept at up to four offsets within a pixel, so
 * that texts have the widths of their design. When the texture is full it is cleared. */
#ifndef MV_GLYPHS_H
#define MV_GLYPHS_H

#include "view/sdl/sdl_api.h"
#include "viz/scene/scene.h"
#include "viz/scene/text_raster.h"

typedef struct {
    uint64_t key;   /* character, offset, weight, size; 0: the slot is free */
    SDL_Rect place; /* in the texture; empty: nothing to draw */
    int left, top;  /* of the box, from the pixel of the pen */
    float advance;  /* pixels to the next letter */
} mv_glyph;

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    SDL_Texture *texture; /* NULL: not made yet */
    mv_font *font;
    mv_coverage cover; /* one letter */
    uint32_t *pixels;  /* of one letter */
    uint32_t count;
    mv_glyph *slots;         /* a hash table */
    int row_x, row_y, row_h; /* where the next letter goes in the texture */
} mv_glyphs;

/* False when memory is out; releasing is always safe. */
bool mv_glyphs_init(mv_glyphs *g, mv_arena *arena, const mv_sdl *sdl, SDL_Renderer *renderer,
                    mv_font_choice font);
void mv_glyphs_release(mv_glyphs *g);

/* Draws a text of a scene at its place. */
void mv_glyphs_draw(mv_glyphs *g, const mv_shape *text, mv_point at);

#endif
