#include "view/sdl/frame_pace.h"

int mv_frame_pace_wait(const mv_frame_pace *pace, bool is_animating, uint64_t now)
{
    uint64_t since = now - pace->frame_at;
    uint64_t least = pace->has_vsync ? MV_PACE_LEAST_MS : MV_PACE_FRAME_MS;

    if (pace->is_hidden || (!pace->is_dirty && !is_animating))
        return MV_PACE_IDLE_MS;
    return since >= least ? 0 : (int)(least - since);
}

void mv_frame_pace_window(mv_frame_pace *pace, uint8_t event)
{
    switch (event) {
    case SDL_WINDOWEVENT_SHOWN:
    case SDL_WINDOWEVENT_EXPOSED:
    case SDL_WINDOWEVENT_RESTORED:
    case SDL_WINDOWEVENT_MAXIMIZED:
        pace->is_hidden = false;
        pace->is_dirty = pace->is_lost = true;
        break;
    case SDL_WINDOWEVENT_SIZE_CHANGED:
        pace->is_dirty = pace->is_lost = true;
        break;
    case SDL_WINDOWEVENT_HIDDEN:
    case SDL_WINDOWEVENT_MINIMIZED:
        pace->is_hidden = true;
        break;
    default:
        break;
    }
}
