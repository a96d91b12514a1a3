#include "view/sdl/canvas.h"

mv_code mv_canvas_open(mv_canvas *canvas, const mv_sdl *sdl, uint32_t width, uint32_t height,
                       mv_err *err)
{
    *canvas = (mv_canvas){.sdl = sdl};
    canvas->surface =
        sdl->CreateRGBSurfaceWithFormat(0, (int)width, (int)height, 32, SDL_PIXELFORMAT_RGB888);
    if (canvas->surface)
        canvas->renderer = sdl->CreateSoftwareRenderer(canvas->surface);
    if (!canvas->renderer)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "SDL: %s", sdl->GetError());
    return MV_OK;
}

void mv_canvas_close(mv_canvas *canvas)
{
    if (canvas->renderer)
        canvas->sdl->DestroyRenderer(canvas->renderer);
    if (canvas->surface)
        canvas->sdl->FreeSurface(canvas->surface);
    *canvas = (mv_canvas){0};
}

mv_code mv_canvas_read(mv_arena *arena, const mv_sdl *sdl, SDL_Renderer *renderer, uint32_t width,
                       uint32_t height, mv_image *out, mv_err *err)
{
    *out = (mv_image){width, height, mv_push_array(arena, uint8_t, (uint64_t)width * height * 4)};
    if (!out->pixels)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    /* Never 0 for the format: sdl2-compat does not know the renderer's own. */
    if (sdl->RenderReadPixels(renderer, NULL, SDL_PIXELFORMAT_RGBA32, out->pixels,
                              (int)width * 4) != 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "SDL: %s", sdl->GetError());
    for (uint64_t i = 0; i < (uint64_t)width * height; i++)
        out->pixels[4 * i + 3] = 255; /* the renderer's surface has no alpha */
    return MV_OK;
}
