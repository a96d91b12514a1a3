/* Images of scenes as textures, kept by their keys while they are used. */
#ifndef MV_IMAGE_CACHE_H
#define MV_IMAGE_CACHE_H

#include "view/sdl/sdl_api.h"
#include "viz/scene/scene.h"

enum { MV_IMAGE_SLOTS = 128 };

typedef struct {
    uint64_t key;         /* of mv_pixels */
    SDL_Texture *texture; /* NULL: the slot is free */
    uint32_t width, height;
    uint64_t used_at; /* frame */
} mv_image_slot;

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    bool is_software;    /* for opaque images: without an alpha channel their copies are fastest */
    uint64_t most_bytes; /* of all textures; those of the last two frames are always kept */
    uint64_t bytes;
    uint64_t frame;
    uint32_t uploads; /* since the start */
    mv_image_slot slots[MV_IMAGE_SLOTS];
} mv_image_cache;

void mv_image_cache_init(mv_image_cache *cache, const mv_sdl *sdl, SDL_Renderer *renderer,
                         bool is_software, uint64_t most_bytes);

/* Destroys all textures. */
void mv_image_cache_clear(mv_image_cache *cache);

/* A new frame begins. */
void mv_image_cache_begin(mv_image_cache *cache);

/* The pixels as a texture, made if there is none with that key. NULL when it cannot be made. Lives
 * until the next frame begins. `scratch` is for temporary pixels. */
SDL_Texture *mv_image_cache_get(mv_image_cache *cache, mv_arena *scratch, const mv_pixels *pixels);

#endif
