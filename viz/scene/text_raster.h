/* Texts as areas of pixels.
 *
 * A text is drawn with DejaVu Sans or Liberation Sans that came with the program, or where Debian,
 * Fedora or Arch put them (the widths of mv_text_width are DejaVu's), otherwise, or on request,
 * with our own font: letters of at most 5 x 7 pixels with whole pixels for dots, the same on every
 * machine. Characters that the font lacks show as the font's box. */
#ifndef MV_TEXT_RASTER_H
#define MV_TEXT_RASTER_H

#include "viz/scene/coverage.h"

typedef enum {
    MV_FONT_FOUND, /* the first one found; the bitmap font if there is none */
    MV_FONT_BITMAP
} mv_font_choice;

typedef struct mv_font mv_font;

typedef struct {
    double size;             /* pixels of the scene */
    double scale_x, scale_y; /* from the scene's pixels to the picture's */
    bool is_bold;
} mv_text_style;

/* NULL when memory is out. A font file that cannot be read counts as missing. */
mv_font *mv_font_open(mv_arena *arena, mv_font_choice choice);
void mv_font_close(mv_font *font); /* NULL is allowed */

/* False: the bitmap font. */
bool mv_font_is_scalable(const mv_font *font);

/* Whether memory was out for a letter since this was asked last: it is missing, or has no width. */
bool mv_font_lacked_memory(mv_font *font);

/* Pixels of the picture from the start of the text to its end. */
double mv_font_width(mv_font *font, const char *text, const mv_text_style *style);

/* Adds the text, which starts at x on the baseline y (both in the picture's pixels). */
void mv_font_draw(mv_font *font, const char *text, const mv_text_style *style, double x, double y,
                  mv_coverage *out);

/* The character at *at, which is moved after it; U+FFFD for an invalid byte. */
uint32_t mv_text_next(const char **at);

#endif
