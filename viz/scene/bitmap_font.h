/* The built-in font, in which a dot is one pixel. It looks the same whatever fonts a machine
 * has. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    MV_BITMAP_ROWS = 9,    /* height in dots; the baseline is below the seventh row */
    MV_BITMAP_ASCENT = 7,  /* rows above the baseline */
    MV_BITMAP_COLUMNS = 5, /* maximum width of a letter; letters have different widths, and are one
                              dot apart */
    MV_BITMAP_SPACE = 3
};

/* Returns the width of a character's glyph in columns. A character that the font lacks is shown as
 * a box. */
uint32_t mv_bitmap_width(uint32_t character);

bool mv_bitmap_dot(uint32_t character, uint32_t column, uint32_t row);
