/* The built-in font: one dot is one pixel, whatever fonts a machine has. */
#ifndef MV_BITMAP_FONT_H
#define MV_BITMAP_FONT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    MV_BITMAP_ROWS = 9,    /* dots; the baseline is below the seventh */
    MV_BITMAP_ASCENT = 7,  /* rows above the baseline */
    MV_BITMAP_COLUMNS = 5, /* at most; letters have individual widths, and are one dot apart */
    MV_BITMAP_SPACE = 3
};

/* The width of a character's glyph in columns; characters missing from the font show as a box. */
uint32_t mv_bitmap_width(uint32_t character);

bool mv_bitmap_dot(uint32_t character, uint32_t column, uint32_t row);

#endif
