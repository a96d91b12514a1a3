#include "view/sdl/display_scale.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1440,
    HEIGHT = 900,
    LEAST_WIDTH = 640,
    LEAST_HEIGHT = 400,
    EDGE = 8,       /* total width of a window's frame on both sides */
    TITLE_BAR = 44, /* height of a window's frame, including the title bar */
    DESIGN_DPI = 96,
    DENSE_DPI = 144 /* below this many dots per inch, desktops draw letters at their normal size */
};

/* ---- the desktop's settings -------------------------------------------------------------- */

static float number(const char *text)
{
    float value = text ? strtof(text, NULL) : 0;

    return value >= 0.5f && value <= 8 ? value : 0;
}

float mv_scale_of_words(const char *gdk, const char *qt, const char *resources)
{
    static const char name[] = "Xft.dpi:";
    float scale = fmaxf(number(gdk), number(qt));

    for (const char *line = resources; line && *line;) {
        if (strncmp(line, name, sizeof name - 1) == 0) {
            float dpi = strtof(line + sizeof name - 1, NULL);
            scale = fmaxf(scale, dpi >= 48 && dpi <= 768 ? dpi / DESIGN_DPI : 0);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return scale;
}

/* Returns the scale of this desktop. SDL has already loaded the X library. */
static float scale_of_desktop(void)
{
    void *x = dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *(*open)(const char *) = NULL;
    char *(*resources)(void *) = NULL;
    int (*close)(void *) = NULL;
    void *display = NULL;
    float scale;

    if (x) {
        *(void **)&open = dlsym(x, "XOpenDisplay");
        *(void **)&resources = dlsym(x, "XResourceManagerString");
        *(void **)&close = dlsym(x, "XCloseDisplay");
    }
    if (open && resources && close)
        display = open(NULL);
    scale = mv_scale_of_words(getenv("GDK_SCALE"), getenv("QT_SCALE_FACTOR"),
                              display ? resources(display) : NULL);
    if (display)
        close(display);
    if (x)
        dlclose(x);
    return scale;
}

/* ---- scale ------------------------------------------------------------------------------- */

static float in_quarters(float scale)
{
    scale = roundf(scale * 4) / 4;
    return scale < 1 ? 1 : scale > 4 ? 4 : scale;
}

float mv_display_scale(const mv_sdl *sdl)
{
    const char *driver = sdl->GetCurrentVideoDriver();
    float scale, dpi = 0;

    if (!driver || strcmp(driver, "x11") != 0)
        return 1;
    scale = scale_of_desktop();
    if (scale == 0 && sdl->GetDisplayDPI(0, &dpi, NULL, NULL) == 0 && dpi >= DENSE_DPI)
        scale = dpi / DESIGN_DPI;
    return in_quarters(scale);
}

float mv_window_scale(float units, float pixels, float before)
{
    return units > 0 && pixels > units ? in_quarters(pixels / units) : before;
}

/* ---- size -------------------------------------------------------------------------------- */

static uint32_t fit(float wanted, float room, float least)
{
    return (uint32_t)fmaxf(least, room > 0 ? fminf(wanted, room) : wanted);
}

void mv_first_window(SDL_Rect usable, float scale, uint32_t *width, uint32_t *height)
{
    *width = fit(WIDTH * scale, usable.w > 0 ? (float)usable.w - EDGE : 0, LEAST_WIDTH);
    *height = fit(HEIGHT * scale, usable.h > 0 ? (float)usable.h - TITLE_BAR : 0, LEAST_HEIGHT);
}
