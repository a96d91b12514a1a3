/* Decides when a window draws: soon after something has changed or while something is moving, but
 * never while the window is invisible, and never faster than the display. At all other times its
 * thread sleeps. */
#pragma once

#include <SDL.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    MV_PACE_IDLE_MS = 500,
    MV_PACE_FRAME_MS = 16,
    MV_PACE_LEAST_MS = 4 /* minimum time between frames; it takes effect if presenting a frame does
                            not wait for the display, for example because the window is covered */
};

typedef struct {
    bool is_dirty;     /* something changed since the last frame */
    bool is_lost;      /* the window may no longer show the last frame */
    bool is_hidden;    /* minimised, or not on a screen */
    bool has_vsync;    /* presenting a frame waits for the display */
    uint64_t frame_at; /* time of the last frame, in ms */
} mv_frame_pace;

/* Returns the number of milliseconds until the next frame is due; 0: it is due now.
 * MV_PACE_IDLE_MS: no frame is needed. */
int mv_frame_pace_wait(const mv_frame_pace *pace, bool is_animating, uint64_t now);

/* Records a change of the window. */
void mv_frame_pace_window(mv_frame_pace *pace, uint8_t event); /* SDL_WINDOWEVENT_* */
