/* Colours of a picture, 0xRRGGBBAA. */
#ifndef MV_PALETTE_H
#define MV_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t background;
    uint32_t plot; /* for text on curves */
    uint32_t grid;
    uint32_t text;       /* at least 4.5:1 against background and plot */
    uint32_t faint_text; /* likewise */
    uint32_t rest;       /* allocations too small for a shape of their own */
    uint32_t unknown;    /* allocations without a stack */
    uint32_t native;     /* allocations whose stack has no frames: threads without Python */
    uint32_t leak;       /* allocations that are part of a leak */
    uint32_t edge;       /* between shapes */
    uint32_t outline;    /* allocated */
    uint32_t reserved;
    uint32_t active;
    uint32_t alarm;    /* out of memory */
    uint32_t hatch;    /* allocated before recording began */
    uint32_t lane;     /* annotations */
    uint32_t compared; /* the curve of another device */
} mv_theme;

const mv_theme *mv_theme_of(bool is_dark);

enum { MV_BASE_COLOURS = 6, MV_SITE_COLOURS = 14, MV_MUTED_COLOURS = 4 };

/* Colours that people who see no red or no green can also tell apart (tests/scene/test_palette.c
 * says how well). The first MV_BASE_COLOURS are hues of Okabe and Ito ("Color Universal Design",
 * 2008), without vermillion, which is too close to the colour of a leak. The others are darker and
 * lighter ones near those hues, chosen by a search for the largest minimum distance between all of
 * them, the greys and the leak, as seen with normal vision, without red and without green. */
uint32_t mv_site_colour(uint32_t index);

/* The site colour that a hash asks for, or the next that is not in *used (bits): while plain hues
 * are left, one of those, then one of their shades. Adds it to *used. */
uint32_t mv_site_hue(uint64_t hash, uint32_t *used);

/* For what is told apart by a hash alone: the site colours, then pale ones. */
enum { MV_HASH_COLOURS = 2 * MV_SITE_COLOURS };
uint32_t mv_hash_colour(uint64_t hash);

/* Steps of sizes and lifetimes, from dark to light, which people who see no red or no green can
 * also tell apart; the last is for what is never freed. */
enum { MV_STEP_COLOURS = 7 };
uint32_t mv_step_colour(uint32_t step);

/* For the many sites that are not in the legend: pale, and unlike the grey of `rest`. */
uint32_t mv_muted_colour(uint32_t index);

/* The colour, an eighth of the way to white. */
uint32_t mv_lighter(uint32_t colour);

#endif
