/* Texts as areas of pixels.
 *
 * Text is drawn with DejaVu Sans or Liberation Sans, installed with the program or where Debian,
 * Fedora or Arch put them (the widths of mv_text_width are DejaVu's). Otherwise, or on request, the
 * built-in font is used: letters of at most 5 x 7 pixels with whole pixels for dots, the same on
 * every machine. Characters missing from the font show as the font's box. */
#ifndef MV_TEXT_RASTER_H
#define MV_TEXT_RASTER_H

#include "viz/scene/coverage.h"

typedef enum {
    MV_FONT_FOUND, /* the first font found; the bitmap font if there is none */
    MV_FONT_BITMAP
} mv_font_choice;

typedef struct mv_font mv_font;

typedef struct {
    double size;             /* in pixels of the scene */
    double scale_x, scale_y; /* from scene pixels to picture pixels */
    bool is_bold;
} mv_text_style;

/* NULL when out of memory. A font file that cannot be read counts as missing. */
mv_font *mv_font_open(mv_arena *arena, mv_font_choice choice);
void mv_font_close(mv_font *font); /* NULL is allowed */

/* False: the bitmap font. */
bool mv_font_is_scalable(const mv_font *font);

/* Whether a letter ran out of memory since the last call: it is missing, or has no width. */
bool mv_font_ran_out_of_memory(mv_font *font);

/* Picture pixels from the start of the text to its end. */
double mv_font_width(mv_font *font, const char *text, const mv_text_style *style);

/* Adds the text, which starts at x on the baseline y (both in the picture's pixels). */
void mv_font_draw(mv_font *font, const char *text, const mv_text_style *style, double x, double y,
                  mv_coverage *out);

/* The character at *at, which moves past it; U+FFFD for an invalid byte. */
uint32_t mv_text_next(const char **at);

#endif
