#include "view/sdl/sdl_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#ifdef __APPLE__
static const char library[] = "libSDL2-2.0.0.dylib";
#else
static const char library[] = "libSDL2-2.0.so.0";
#endif

static mv_code not_there(mv_err *err)
{
    return mv_fail(err, MV_IO, MV_NO_OFFSET,
                   "the viewer needs SDL 2.0.20 or newer (%s): apt-get install libsdl2-2.0-0, or "
                   "see trace_plot -o X.html",
                   library);
}

mv_code mv_sdl_load(mv_sdl *out, mv_err *err)
{
    SDL_version version;
    bool is_whole = true;

    /* Drivers have threads and exit handlers, so the library is never unloaded. */
    *out = (mv_sdl){.library = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!out->library)
        return not_there(err);
#define MV_SDL_FIND(name)                                \
    {                                                    \
        void *found = dlsym(out->library, "SDL_" #name); \
        is_whole = is_whole && found;                    \
        memcpy(&out->name, &found, sizeof found);        \
    }
    MV_SDL_FUNCTIONS(MV_SDL_FIND)
#undef MV_SDL_FIND
    if (is_whole)
        out->GetVersion(&version);
    if (!is_whole || SDL_VERSIONNUM(version.major, version.minor, version.patch) < 2020) {
        mv_sdl_unload(out);
        return not_there(err);
    }
    return MV_OK;
}

void mv_sdl_unload(mv_sdl *sdl)
{
    if (sdl->library)
        dlclose(sdl->library);
    *sdl = (mv_sdl){0};
}
