/* The SDL2 functions that the window needs. They are looked up when the window is opened, so memviz
 * itself is not linked with SDL. Linking would load 45 libraries (X11, Wayland, sound, ...) for
 * every command, which takes 13 ms each time, and the memviz program alone would not start on a
 * machine without these libraries. */
#pragma once

#include <SDL.h>

#include "base/err.h"

#if !SDL_VERSION_ATLEAST(2, 0, 20)
#error "SDL 2.0.20 or newer is needed; -DMV_SDL=OFF builds without the window"
#endif

#define MV_SDL_FUNCTIONS(X)   \
    X(GetVersion)             \
    X(GetError)               \
    X(SetHint)                \
    X(InitSubSystem)          \
    X(QuitSubSystem)          \
    X(CreateWindow)           \
    X(DestroyWindow)          \
    X(GetWindowSize)          \
    X(GetWindowDisplayIndex)  \
    X(GetDisplayDPI)          \
    X(GetDisplayUsableBounds) \
    X(SetWindowTitle)         \
    X(SetWindowMinimumSize)   \
    X(GetCurrentVideoDriver)  \
    X(CreateRenderer)         \
    X(DestroyRenderer)        \
    X(GetRendererInfo)        \
    X(GetRendererOutputSize)  \
    X(RenderCopy)             \
    X(RenderPresent)          \
    X(RenderReadPixels)       \
    X(CreateTexture)          \
    X(DestroyTexture)         \
    X(UpdateTexture)          \
    X(SetTextureBlendMode)    \
    X(PollEvent)              \
    X(WaitEventTimeout)       \
    X(PushEvent)              \
    X(RegisterEvents)         \
    X(FlushEvent)             \
    X(StartTextInput)         \
    X(StopTextInput)          \
    X(SetTextInputRect)       \
    X(CaptureMouse)           \
    X(GetModState)            \
    X(SetClipboardText)       \
    X(HideWindow)             \
    X(GetNumRenderDrivers)    \
    X(GetRenderDriverInfo)    \
    X(GetClipboardText)       \
    X(GetTicks64)             \
    X(free)

typedef struct {
    void *library;
#define MV_SDL_FIELD(name) __typeof__(&SDL_##name) name;
    MV_SDL_FUNCTIONS(MV_SDL_FIELD)
#undef MV_SDL_FIELD
} mv_sdl;

/* Loads SDL. Returns MV_IO, with installation advice, if SDL 2.0.20 or newer is missing. */
mv_code mv_sdl_load(mv_sdl *out, mv_err *err);

/* Unloads SDL. It is safe to call this on a zeroed struct. */
void mv_sdl_unload(mv_sdl *sdl);
