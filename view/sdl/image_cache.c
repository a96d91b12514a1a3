#include "view/sdl/image_cache.h"

void mv_image_cache_init(mv_image_cache *cache, const mv_sdl *sdl, SDL_Renderer *renderer,
                         bool is_software, uint64_t most_bytes)
{
    *cache = (mv_image_cache){
        .sdl = sdl, .renderer = renderer, .is_software = is_software, .most_bytes = most_bytes};
}

static void drop(mv_image_cache *cache, mv_image_slot *slot)
{
    if (slot->texture) {
        cache->sdl->DestroyTexture(slot->texture);
        cache->bytes -= (uint64_t)slot->width * slot->height * 4;
    }
    *slot = (mv_image_slot){0};
}

void mv_image_cache_clear(mv_image_cache *cache)
{
    for (uint32_t i = 0; i < MV_IMAGE_SLOTS; i++)
        drop(cache, &cache->slots[i]);
}

void mv_image_cache_begin(mv_image_cache *cache)
{
    cache->frame++;
    for (uint32_t i = 0; i < MV_IMAGE_SLOTS; i++)
        if (cache->slots[i].texture && cache->slots[i].key == 0)
            drop(cache, &cache->slots[i]);
}

/* The slot of a key, or the one to use for it. */
static mv_image_slot *slot_of(mv_image_cache *cache, uint64_t key)
{
    mv_image_slot *oldest = &cache->slots[0];

    for (uint32_t i = 0; i < MV_IMAGE_SLOTS; i++) {
        mv_image_slot *slot = &cache->slots[i];
        if (key != 0 && slot->texture && slot->key == key)
            return slot;
        if (oldest->texture && (!slot->texture || slot->used_at < oldest->used_at))
            oldest = slot;
    }
    return oldest;
}

/* Makes room for more bytes: the least recently used are dropped first. */
static void make_room(mv_image_cache *cache, uint64_t bytes)
{
    while (cache->bytes + bytes > cache->most_bytes) {
        mv_image_slot *oldest = NULL;
        for (uint32_t i = 0; i < MV_IMAGE_SLOTS; i++) {
            mv_image_slot *slot = &cache->slots[i];
            if (slot->texture && slot->used_at + 1 < cache->frame &&
                (!oldest || slot->used_at < oldest->used_at))
                oldest = slot;
        }
        if (!oldest)
            return;
        drop(cache, oldest);
    }
}

/* 0xRRGGBBAA to 0xAARRGGBB. */
static void convert(const mv_pixels *from, uint32_t *to)
{
    uint64_t count = (uint64_t)from->width * from->height;

    for (uint64_t i = 0; i < count; i++)
        to[i] = from->pixels[i] >> 8 | from->pixels[i] << 24;
}

static SDL_Texture *upload(mv_image_cache *cache, mv_arena *scratch, const mv_pixels *pixels)
{
    bool is_plain = pixels->is_opaque && cache->is_software;
    uint32_t *argb = mv_arena_grow(scratch, NULL, (uint64_t)pixels->width * pixels->height * 4 + 1);
    SDL_Texture *texture = NULL;

    if (argb)
        texture = cache->sdl->CreateTexture(
            cache->renderer, is_plain ? SDL_PIXELFORMAT_RGB888 : SDL_PIXELFORMAT_ARGB8888,
            SDL_TEXTUREACCESS_STATIC, (int)pixels->width, (int)pixels->height);
    if (texture) {
        convert(pixels, argb);
        cache->sdl->SetTextureBlendMode(texture, pixels->is_opaque ? SDL_BLENDMODE_NONE
                                                                   : SDL_BLENDMODE_BLEND);
        cache->sdl->UpdateTexture(texture, NULL, argb, (int)pixels->width * 4);
        cache->uploads++;
    }
    mv_arena_drop(scratch, argb);
    return texture;
}

SDL_Texture *mv_image_cache_get(mv_image_cache *cache, mv_arena *scratch, const mv_pixels *pixels)
{
    mv_image_slot *slot = slot_of(cache, pixels->key);

    if (pixels->key == 0 || slot->texture == NULL || slot->key != pixels->key) {
        uint64_t bytes = (uint64_t)pixels->width * pixels->height * 4;
        drop(cache, slot);
        make_room(cache, bytes);
        slot->texture = upload(cache, scratch, pixels);
        if (!slot->texture)
            return NULL;
        cache->bytes += bytes;
        slot->key = pixels->key;
        slot->width = pixels->width;
        slot->height = pixels->height;
    }
    slot->used_at = cache->frame;
    return slot->texture;
}
