/* How large letters and the first window are on a display. */
#ifndef MV_DISPLAY_SCALE_H
#define MV_DISPLAY_SCALE_H

#include "view/sdl/sdl_api.h"

/* What a desktop says in GDK_SCALE, QT_SCALE_FACTOR and the resources of an X server ("Xft.dpi:
 * 192"): the largest of them; NULL or nonsense: not said. 0 when nothing is said. */
float mv_scale_of_words(const char *gdk, const char *qt, const char *resources);

/* Pixels of a letter per pixel of its design, in quarters from 1 to 4, before there is a window:
 * what the desktop says, else by the dots of an inch when these are 144 or more. On displays where
 * units of a window are not pixels it is 1. */
float mv_display_scale(const mv_sdl *sdl);

/* With a window: the pixels of one of its units if there are several, else `before`. */
float mv_window_scale(float units, float pixels, float before);

/* The size of the first window: what suits `scale`, if the usable part of the display has room for
 * it and its frame. Zero `usable`: not known. */
void mv_first_window(SDL_Rect usable, float scale, uint32_t *width, uint32_t *height);

#endif
