#include "view/sdl/image_scaler.h"

#include <string.h>

static void drop_textures(mv_image_scaler *s)
{
    for (int i = 0; i < 2; i++) {
        if (s->texture[i])
            s->sdl->DestroyTexture(s->texture[i]);
        s->texture[i] = NULL;
    }
}

void mv_image_scaler_release(mv_image_scaler *s)
{
    if (s->sdl)
        drop_textures(s);
    *s = (mv_image_scaler){0};
}

bool mv_image_scaler_resize(mv_image_scaler *s, int width, int height)
{
    if (s->width == width && s->height == height)
        return true;
    drop_textures(s);
    mv_arena_drop(s->arena, s->column);
    mv_arena_drop(s->arena, s->argb);
    s->width = s->height = 0;
    s->column = mv_arena_grow(s->arena, NULL, (uint64_t)width * 4 + 1);
    s->argb = mv_arena_grow(s->arena, NULL, (uint64_t)width * (uint64_t)height * 4 + 1);
    if (!s->column || !s->argb)
        return false;
    s->width = width;
    s->height = height;
    return true;
}

static bool make_texture(mv_image_scaler *s, bool is_opaque)
{
    SDL_Texture **texture = &s->texture[is_opaque];

    if (*texture)
        return true;
    *texture = s->sdl->CreateTexture(s->renderer,
                                     is_opaque ? SDL_PIXELFORMAT_RGB888 : SDL_PIXELFORMAT_ARGB8888,
                                     SDL_TEXTUREACCESS_STATIC, s->width, s->height);
    if (*texture)
        s->sdl->SetTextureBlendMode(*texture, is_opaque ? SDL_BLENDMODE_NONE : SDL_BLENDMODE_BLEND);
    return *texture != NULL;
}

static uint32_t nearest_of(double at, uint32_t count)
{
    return !(at > 0) ? 0 : at >= count ? count - 1 : (uint32_t)at;
}

/* The pixels of `seen`, row by row. */
static void stretch(mv_image_scaler *s, const mv_pixels *image, const mv_stretch *how,
                    SDL_Rect seen)
{
    uint32_t *to = s->argb, last = UINT32_MAX;

    for (int i = 0; i < seen.w; i++)
        s->column[i] =
            nearest_of(how->x + (seen.x + i - how->place.x + 0.5) * how->step_x, image->width);
    for (int j = 0; j < seen.h; j++, to += seen.w) {
        double at = how->y + (seen.y + j - how->place.y + 0.5) * how->step_y;
        uint32_t row = nearest_of(at, image->height);
        const uint32_t *from = image->pixels + (uint64_t)row * image->width;
        if (row == last) {
            memcpy(to, to - seen.w, (size_t)seen.w * 4);
            continue;
        }
        for (int i = 0; i < seen.w; i++) {
            uint32_t colour = from[s->column[i]];
            to[i] = colour >> 8 | colour << 24;
        }
        last = row;
    }
}

void mv_image_scaler_draw(mv_image_scaler *s, const mv_pixels *image, const mv_stretch *how,
                          SDL_Rect seen)
{
    SDL_Texture *texture;

    if (!make_texture(s, image->is_opaque))
        return;
    texture = s->texture[image->is_opaque];
    stretch(s, image, how, seen);
    /* SDL draws what is still queued from this place before it changes. */
    s->sdl->UpdateTexture(texture, &seen, s->argb, seen.w * 4);
    s->sdl->RenderCopy(s->renderer, texture, &seen, &seen);
}
