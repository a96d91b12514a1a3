#include "view/sdl/driver.h"

#include <stdio.h>
#include <string.h>

/* Uploading a new picture is the most expensive driver operation in a frame. It takes less than a
 * millisecond with a GPU, and twenty milliseconds with OpenGL in software. */
enum { TRIALS = 3, TRIAL_WIDTH = 256, TRIAL_HEIGHT = 600, MOST_MS = 5 };

void mv_driver_close(mv_driver *driver)
{
    if (driver->renderer)
        driver->sdl->DestroyRenderer(driver->renderer);
    *driver = (mv_driver){0};
}

static bool open_as(mv_driver *driver, const mv_sdl *sdl, SDL_Window *window, int row,
                    uint32_t flags)
{
    SDL_RendererInfo info = {0};

    *driver = (mv_driver){.sdl = sdl, .renderer = sdl->CreateRenderer(window, row, flags)};
    if (!driver->renderer)
        return false;
    sdl->GetRendererInfo(driver->renderer, &info);
    driver->has_vsync = info.flags & SDL_RENDERER_PRESENTVSYNC;
    return true;
}

static bool is_slow(const mv_driver *driver)
{
    static const uint32_t pixels[TRIAL_WIDTH * TRIAL_HEIGHT];
    const mv_sdl *sdl = driver->sdl;
    uint64_t start = 0;

    for (int i = 0; i <= TRIALS; i++) { /* the first trial does not count, because drivers need to
                                           warm up */
        SDL_Texture *texture =
            sdl->CreateTexture(driver->renderer, SDL_PIXELFORMAT_ARGB8888, SDL_TEXTUREACCESS_STATIC,
                               TRIAL_WIDTH, TRIAL_HEIGHT);
        uint32_t pixel;
        if (!texture)
            return true;
        if (i == 1)
            start = sdl->GetTicks64();
        sdl->UpdateTexture(texture, NULL, pixels, TRIAL_WIDTH * 4);
        sdl->RenderCopy(driver->renderer, texture, NULL, NULL);
        /* Reading back waits until drawing has finished. */
        sdl->RenderReadPixels(driver->renderer, &(SDL_Rect){0, 0, 1, 1}, SDL_PIXELFORMAT_ARGB8888,
                              &pixel, 4);
        sdl->DestroyTexture(texture);
    }
    return sdl->GetTicks64() - start > TRIALS * MOST_MS;
}

static mv_code open_named(mv_driver *driver, const mv_sdl *sdl, SDL_Window *window,
                          const char *name, mv_err *err)
{
    char names[120] = "";
    SDL_RendererInfo info;

    for (int i = 0; i < sdl->GetNumRenderDrivers(); i++) {
        size_t length = strlen(names);
        if (sdl->GetRenderDriverInfo(i, &info) != 0)
            continue;
        if (strcmp(info.name, name) == 0) {
            if (open_as(driver, sdl, window, i, SDL_RENDERER_PRESENTVSYNC) ||
                open_as(driver, sdl, window, i, 0))
                return MV_OK;
            return mv_fail(err, MV_IO, MV_NO_OFFSET, "renderer %.40s: %s", name, sdl->GetError());
        }
        snprintf(names + length, sizeof names - length, " %s", info.name);
    }
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "unknown renderer %.40s; available:%s", name, names);
}

mv_code mv_driver_open(mv_driver *driver, const mv_sdl *sdl, SDL_Window *window, const char *name,
                       mv_err *err)
{
    *driver = (mv_driver){.sdl = sdl};
    /* Software rendering should use shared memory for the window, rather than a texture. */
    sdl->SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");
    if (name)
        return open_named(driver, sdl, window, name, err);
    if (open_as(driver, sdl, window, -1, SDL_RENDERER_ACCELERATED | SDL_RENDERER_PRESENTVSYNC)) {
        if (!is_slow(driver))
            return MV_OK;
        mv_driver_close(driver);
    }
    if (open_as(driver, sdl, window, -1, SDL_RENDERER_SOFTWARE))
        return MV_OK;
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "no renderer is available: %s", sdl->GetError());
}
