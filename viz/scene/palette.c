#include "viz/scene/palette.h"

const mv_theme *mv_theme_of(bool is_dark)
{
    static const mv_theme light = {
        .background = 0xffffffff,
        .plot = 0xfafafaff,
        .grid = 0xe2e2e2ff,
        .text = 0x1c1c1cff,
        .faint_text = 0x595959ff,
        .rest = 0xd0d2d4ff,
        .unknown = 0xa8a4a1ff,
        .native = 0x6a757bff,
        .leak = 0xc91e11ff,
        .edge = 0xffffff8c,
        .outline = 0x202020ff,
        .reserved = 0x8a1538ff,
        .active = 0x6a3d9aff,
        .alarm = 0xc00000ff,
        .hatch = 0xffffff9c,
        .lane = 0xb7c5d1ff,
        .compared = 0x1238d6ff,
        .replayed = 0x00737fff,
    };
    static const mv_theme dark = {
        .background = 0x16191dff,
        .plot = 0x1d2126ff,
        .grid = 0x333940ff,
        .text = 0xf0f0f0ff,
        .faint_text = 0xb4bac0ff,
        .rest = 0x4a5057ff,
        .unknown = 0x6d797bff,
        .native = 0xb8b6b2ff,
        .leak = 0xfe3733ff,
        .edge = 0x16191d8c,
        .outline = 0xf5f5f5ff,
        .reserved = 0xff8fa8ff,
        .active = 0xc9a6ffff,
        .alarm = 0xff7878ff,
        .hatch = 0x16191d9c,
        .lane = 0x3f5161ff,
        .compared = 0x8fd3ffff,
        .replayed = 0x4fe3d5ff,
    };
    return is_dark ? &dark : &light;
}

uint32_t mv_site_colour(uint32_t index)
{
    static const uint32_t colours[MV_SITE_COLOURS] = {
        0x0072b2ff, 0xe69f00ff, 0x009e73ff, 0xcc79a7ff, 0x56b4e9ff, 0xf0e442ff, 0x2d5679ff,
        0x50eab1ff, 0xb40087ff, 0xb5b288ff, 0x295f49ff, 0xfcb0e4ff, 0x51a2f7ff, 0xe0e187ff,
    };

    return colours[index % MV_SITE_COLOURS];
}

uint32_t mv_holder_colour(uint32_t index)
{
    static const uint32_t colours[MV_HOLDER_COLOURS] = {0x7a86a8ff, 0x7a5a2eff, 0x7b7e00ff,
                                                        0x6a4fa3ff};

    return colours[index % MV_HOLDER_COLOURS];
}

uint32_t mv_site_hue(uint64_t hash, uint32_t *used)
{
    uint32_t few = (1u << MV_BASE_COLOURS) - 1;
    bool plain_left = (*used & few) != few;
    uint32_t first = plain_left ? 0 : MV_BASE_COLOURS;
    uint32_t count = plain_left ? MV_BASE_COLOURS : MV_SITE_COLOURS - MV_BASE_COLOURS;
    uint32_t index = (uint32_t)(hash % count);

    for (uint32_t tries = 0; tries < count && *used >> (first + index) & 1; tries++)
        index = (index + 1) % count;
    *used |= 1u << (first + index);
    return first + index;
}

uint32_t mv_step_colour(uint32_t step)
{
    static const uint32_t colours[MV_STEP_COLOURS] = {
        0x2b3a80ff, 0x2f6c9aff, 0x2a9d8fff, 0x6cbf5fff, 0xc3d046ff, 0xf7ea6bff, 0xcc79a7ff};

    return colours[step % MV_STEP_COLOURS];
}

uint32_t mv_muted_colour(uint32_t index)
{
    static const uint32_t colours[MV_MUTED_COLOURS] = {0xa9bccbff, 0xd2c2a6ff, 0xa9c4b4ff,
                                                       0xc9b6cdff};

    return colours[index % MV_MUTED_COLOURS];
}

/* Returns the colour mixed with some eighths of white. */
static uint32_t toward_white(uint32_t colour, uint32_t eighths)
{
    uint32_t lighter = colour & 0xff;

    for (int shift = 8; shift < 32; shift += 8) {
        uint32_t part = colour >> shift & 0xff;
        lighter |= (part + (255 - part) * eighths / 8) << shift;
    }
    return lighter;
}

uint32_t mv_lighter(uint32_t colour)
{
    return toward_white(colour, 1);
}

uint32_t mv_hash_colour(uint64_t hash)
{
    uint32_t index = (uint32_t)(hash % MV_HASH_COLOURS), colour = mv_site_colour(index);

    return index < MV_SITE_COLOURS ? colour : toward_white(colour, 4);
}
