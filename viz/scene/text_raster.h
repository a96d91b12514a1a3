/* Draws text as areas of pixels.
 *
 * Text is drawn with DejaVu Sans or Liberation Sans, if they are installed with the program or
 * where Debian, Fedora or Arch put them (mv_text_width uses the widths of DejaVu Sans). Otherwise,
 * or on request, the built-in font is used. Its letters have at most 5 x 7 dots, each of which is a
 * whole pixel, and are the same on every machine. Characters that a font lacks are shown as the
 * font's box. */
#pragma once

#include "viz/scene/coverage.h"

typedef enum {
    MV_FONT_FOUND, /* the first font found, or the bitmap font if there is none */
    MV_FONT_BITMAP
} mv_font_choice;

typedef struct mv_font mv_font;

typedef struct {
    double size;             /* size in pixels of the scene */
    double scale_x, scale_y; /* picture pixels per scene pixel */
    bool is_bold;
} mv_text_style;

/* Returns NULL when out of memory. A font file that cannot be read counts as missing. */
mv_font *mv_font_open(mv_arena *arena, mv_font_choice choice);
void mv_font_close(mv_font *font); /* `font` may be NULL */

/* Whether the font is scalable, that is, not the bitmap font. */
bool mv_font_is_scalable(const mv_font *font);

/* Whether memory ran out for any letter since the last call. Such a letter is missing, or has no
 * width. */
bool mv_font_ran_out_of_memory(mv_font *font);

/* Returns the width of the text in picture pixels. */
double mv_font_width(mv_font *font, const char *text, const mv_text_style *style);

/* Adds the text, which starts at x with its baseline at y, both in pixels of the picture. */
void mv_font_draw(mv_font *font, const char *text, const mv_text_style *style, double x, double y,
                  mv_coverage *out);

/* Returns the character at *at, and moves *at past it; U+FFFD for an invalid byte. */
uint32_t mv_text_next(const char **at);
