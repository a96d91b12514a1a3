#include "view/sdl/presenter.h"

bool mv_presenter_open(mv_presenter *p, mv_budget *budget, const mv_sdl *sdl,
                       SDL_Renderer *renderer)
{
    SDL_RendererInfo info = {0};

    *p = (mv_presenter){.sdl = sdl, .renderer = renderer};
    sdl->GetRendererInfo(renderer, &info);
    p->is_software = info.flags & SDL_RENDERER_SOFTWARE;
    p->raster = mv_raster_open(budget, &(mv_raster_opts){.order = MV_PIXELS_BGRA});
    return p->raster != NULL;
}

void mv_presenter_forget(mv_presenter *p)
{
    if (p->texture)
        p->sdl->DestroyTexture(p->texture);
    p->texture = NULL;
}

void mv_presenter_close(mv_presenter *p)
{
    mv_presenter_forget(p);
    mv_raster_close(p->raster);
    *p = (mv_presenter){0};
}

/* Makes a texture of the image's size. Returns false if there is none. A new texture has no pixels
 * yet. */
static bool make_texture(mv_presenter *p, const mv_image *image, bool *is_new)
{
    *is_new = !p->texture || p->width != image->width || p->height != image->height;
    if (!*is_new)
        return true;
    mv_presenter_forget(p);
    p->texture = p->sdl->CreateTexture(
        p->renderer, p->is_software ? SDL_PIXELFORMAT_RGB888 : SDL_PIXELFORMAT_ARGB8888,
        SDL_TEXTUREACCESS_STREAMING, (int)image->width, (int)image->height);
    if (!p->texture)
        return false;
    p->sdl->SetTextureBlendMode(p->texture, SDL_BLENDMODE_NONE);
    p->width = image->width;
    p->height = image->height;
    return true;
}

static void update(mv_presenter *p, const mv_image *image, mv_pixel_rect rect)
{
    SDL_Rect part = {rect.x, rect.y, rect.w, rect.h};
    uint64_t first = ((uint64_t)rect.y * image->width + (uint64_t)rect.x) * 4;

    p->sdl->UpdateTexture(p->texture, &part, image->pixels + first, (int)image->width * 4);
    if (p->is_software)
        p->sdl->RenderCopy(p->renderer, p->texture, &part, &part);
}

void mv_presenter_show(mv_presenter *p, const mv_scene *scene, bool is_lost)
{
    mv_raster_frame frame;
    mv_err err = {.offset = MV_NO_OFFSET};
    bool is_new;

    if (mv_raster_next(p->raster, scene, &frame, &err) != MV_OK ||
        !make_texture(p, &frame.image, &is_new))
        return;
    if (is_new || is_lost)
        update(p, &frame.image,
               (mv_pixel_rect){0, 0, (int32_t)frame.image.width, (int32_t)frame.image.height});
    else if (frame.count == 0)
        return;
    else
        for (uint32_t i = 0; i < frame.count; i++)
            update(p, &frame.image, frame.drawn[i]);
    if (!p->is_software)
        p->sdl->RenderCopy(p->renderer, p->texture, NULL, NULL);
    p->sdl->RenderPresent(p->renderer);
}
