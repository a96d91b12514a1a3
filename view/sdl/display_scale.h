/* The size of letters and of the first window on a display. */
#ifndef MV_DISPLAY_SCALE_H
#define MV_DISPLAY_SCALE_H

#include "view/sdl/sdl_api.h"

/* The scale set by the desktop in GDK_SCALE, QT_SCALE_FACTOR and the resources of an X server
 * ("Xft.dpi: 192"): the largest of them; NULL or an invalid value: not set. 0 when nothing is
 * set. */
float mv_scale_of_words(const char *gdk, const char *qt, const char *resources);

/* Screen pixels for each designed pixel of a letter, in quarters from 1 to 4, before there is a
 * window: the desktop's setting, or else derived from dots per inch if that is 144 or more. On
 * displays where window units are not pixels it is 1. */
float mv_display_scale(const mv_sdl *sdl);

/* With a window: the pixels in one window unit if there are several, otherwise `before`. */
float mv_window_scale(float units, float pixels, float before);

/* The size of the first window: suitable for `scale`, if it fits the usable part of the display
 * with its frame. Zero `usable`: unknown. */
void mv_first_window(SDL_Rect usable, float scale, uint32_t *width, uint32_t *height);

#endif
