#include "viz/scene/fullness_scale.h"

uint32_t mv_fullness_colour(uint32_t level, bool is_dark)
{
    static const uint32_t colours[2][MV_FULLNESS_LEVELS] = {
        {0xf6e7bfff, 0xbfc79cff, 0x7ea69bff, 0x3d7592ff, 0x153a69ff},
        {0xf6e7bfff, 0xbfc79cff, 0x86a99aff, 0x4f83a6ff, 0x2b58a0ff}};

    return colours[is_dark][level < MV_FULLNESS_LEVELS ? level : MV_FULLNESS_LEVELS - 1];
}

const char *mv_fullness_name(uint32_t level)
{
    static const char *const names[MV_FULLNESS_LEVELS] = {"empty", "up to 25 % in use",
                                                          "25 to 50 % in use", "50 to 75 % in use",
                                                          "75 to 100 % in use"};

    return names[level < MV_FULLNESS_LEVELS ? level : MV_FULLNESS_LEVELS - 1];
}
