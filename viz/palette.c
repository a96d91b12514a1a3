#include "viz/palette.h"

const mv_theme *mv_theme_of(bool is_dark)
{
    static const mv_theme light = {
        .background = 0xffffffff,
        .plot = 0xfafafaff,
        .grid = 0xe2e2e2ff,
        .text = 0x1c1c1cff,
        .faint_text = 0x595959ff,
        .rest = 0xc4c8ccff,
        .edge = 0xffffff8c,
        .outline = 0x202020ff,
        .reserved = 0x8a1538ff,
        .active = 0x6a3d9aff,
        .alarm = 0xc00000ff,
        .hatch = 0xffffff9c,
        .lane = 0x5b7083ff,
    };
    static const mv_theme dark = {
        .background = 0x16191dff,
        .plot = 0x1d2126ff,
        .grid = 0x333940ff,
        .text = 0xf0f0f0ff,
        .faint_text = 0xb4bac0ff,
        .rest = 0x565d64ff,
        .edge = 0x16191d8c,
        .outline = 0xf5f5f5ff,
        .reserved = 0xff8fa8ff,
        .active = 0xc9a6ffff,
        .alarm = 0xff6b6bff,
        .hatch = 0x16191d9c,
        .lane = 0x9fb4c6ff,
    };
    return is_dark ? &dark : &light;
}

uint32_t mv_site_colour(uint32_t rank)
{
    static const uint32_t colours[MV_SITE_COLOURS] = {
        0x0072b2ff, 0xe69f00ff, 0x009e73ff, 0xcc79a7ff, 0x56b4e9ff, 0xd55e00ff, 0xf0e442ff,
        0x00476fff, 0x9c6c00ff, 0x006a4dff, 0x8f4a71ff, 0x9ad3f5ff, 0xf29b63ff, 0x9b9214ff,
    };
    static const uint32_t muted[] = {0x93a1adff, 0xb3a58fff, 0x8fa89aff, 0xac9bb0ff};

    return rank < MV_SITE_COLOURS ? colours[rank] : muted[rank % 4];
}

uint32_t mv_lighter(uint32_t colour)
{
    uint32_t lighter = colour & 0xff;

    for (int shift = 8; shift < 32; shift += 8) {
        uint32_t part = colour >> shift & 0xff;
        lighter |= (part + (255 - part) / 8) << shift;
    }
    return lighter;
}
