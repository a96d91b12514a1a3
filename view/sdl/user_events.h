/* Converts SDL events to viewer inputs. */
#pragma once

#include <assert.h>
#include <stdbool.h>

#include "view/sdl/sdl_api.h"
#include "view/state/user_input.h"

typedef struct {
    float scale_x, scale_y; /* number of scene pixels per unit of window coordinates */
    float x, y;             /* position of the pointer, in pixels */
} mv_pointer;

/* Returns false if the event does not come from the user. The caller must free the name of a
 * dropped file. */
bool mv_user_event(const SDL_Event *event, uint16_t key_mods, mv_pointer *pointer, mv_input *out);
