/* Chooses the SDL renderer for the window. It uses a GPU, unless there is none or the GPU driver is
 * slower than drawing in software, as is OpenGL without a GPU. */
#pragma once

#include <stdbool.h>

#include "view/sdl/sdl_api.h"

typedef struct {
    const mv_sdl *sdl;
    SDL_Renderer *renderer;
    bool has_vsync; /* presenting a frame waits for the display */
} mv_driver;

/* Opens a renderer. `name` is an SDL driver ("software", "opengl", "opengles2"); NULL: the driver
 * is chosen automatically. Fails if there is no such driver, or if the driver does not work.
 * Closing is always safe. */
mv_code mv_driver_open(mv_driver *driver, const mv_sdl *sdl, SDL_Window *window, const char *name,
                       mv_err *err);
void mv_driver_close(mv_driver *driver);
