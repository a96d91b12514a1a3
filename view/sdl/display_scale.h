/* The size of letters and of the first window, chosen to suit the display. */
#pragma once

#include "view/sdl/sdl_api.h"

/* Returns the largest scale that the desktop sets in GDK_SCALE, QT_SCALE_FACTOR and the resources
 * of an X server ("Xft.dpi: 192"); 0 if it sets none. NULL or an invalid value counts as not
 * set. */
float mv_scale_of_words(const char *gdk, const char *qt, const char *resources);

/* Returns how many screen pixels a pixel of the design takes, in steps of a quarter from 1 to 4,
 * measured before the window is created. It is the desktop's setting. If there is none, it is
 * derived from the dots per inch if these are 144 or more. On displays where window units are not
 * pixels, it is 1. */
float mv_display_scale(const mv_sdl *sdl);

/* Returns the scale once there is a window: the number of pixels in a window unit if that is more
 * than one, otherwise `before`. */
float mv_window_scale(float units, float pixels, float before);

/* Chooses the size of the first window to suit `scale`, if the window and its frame fit into the
 * usable part of the display. If `usable` is zero, that part is unknown. */
void mv_first_window(SDL_Rect usable, float scale, uint32_t *width, uint32_t *height);
