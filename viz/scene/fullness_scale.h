/* How full a segment is, in steps that have names for a legend. All pictures, pages and panes use
 * this scale.
 *
 *     level    0       1             2          3          4
 *              empty   up to 25 %    25 to 50   50 to 75   75 to 100 % in use
 *     light    sand    ───────────────────────────────────  deep blue
 *     dark     sand    ───────────────────────────────────  blue
 *
 * A colour means the same in both themes. The colours differ mainly in lightness, so that they
 * remain distinct with red-green colour blindness and in print. The colour of the fullest level is
 * lighter on a dark background. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { MV_FULLNESS_LEVELS = 5 };

/* Returns the level of a segment. Level 0 is an empty segment. Levels 1, 2 and 3 mean that less
 * than a quarter, a half or three quarters is in use, and level 4 that more is in use. */
static inline uint32_t mv_fullness_level(uint64_t used, uint64_t bytes)
{
    if (used == 0 || bytes == 0)
        return 0;
    return used >= bytes - bytes / 4 ? 4 : 1 + (uint32_t)((double)used / (double)bytes * 4);
}

/* Returns the colour of a level as 0xRRGGBBAA. Levels above the last one count as the last one. */
uint32_t mv_fullness_colour(uint32_t level, bool is_dark);

const char *mv_fullness_name(uint32_t level); /* returns a name such as "50 to 75 % in use" */
