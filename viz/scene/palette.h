/* The colours of a picture, as 0xRRGGBBAA. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t background;
    uint32_t plot; /* background of the plot, and of labels on curves */
    uint32_t grid;
    uint32_t text;       /* contrast of at least 4.5:1 against background and plot */
    uint32_t faint_text; /* contrast of at least 4.5:1 against background and plot */
    uint32_t rest;       /* allocations too small for a separate shape */
    uint32_t unknown;    /* allocations without a stack */
    uint32_t native;     /* allocations whose stack has no frames, as in threads without Python */
    uint32_t leak;       /* allocations that are part of a leak */
    uint32_t edge;       /* edges between shapes */
    uint32_t outline;    /* allocated bytes */
    uint32_t reserved;
    uint32_t active;
    uint32_t alarm;    /* out of memory */
    uint32_t hatch;    /* allocated before recording began */
    uint32_t lane;     /* annotations */
    uint32_t compared; /* the curve of another device */
    uint32_t replayed; /* the curves of a run replayed with other settings */
} mv_theme;

const mv_theme *mv_theme_of(bool is_dark);

enum { MV_BASE_COLOURS = 6, MV_SITE_COLOURS = 14, MV_MUTED_COLOURS = 4 };

/* Colours that remain distinct with red-green colour blindness (tests/scene/test_palette.c measures
 * it). The first MV_BASE_COLOURS are hues of Okabe and Ito ("Color Universal Design", 2008),
 * without vermillion, which is too close to the leak colour. The other colours are darker and
 * lighter shades of these hues. They were found by a search for the largest minimum distance
 * between all site colours, the greys and the leak colour, as seen with normal vision, without red
 * receptors and without green receptors. */
uint32_t mv_site_colour(uint32_t index);

/* Colours for the holders of the whole device's memory, which are PyTorch first and then libraries.
 * They are duller than the colours of lines of code in the same window. */
enum { MV_HOLDER_COLOURS = 4 };
uint32_t mv_holder_colour(uint32_t index);

/* Returns the site colour that a hash chooses, or the next one that is not in the bit set *used.
 * The colour is a plain hue as long as one is free, and otherwise a shade. Adds the colour to
 * *used. */
uint32_t mv_site_hue(uint64_t hash, uint32_t *used);

/* Colours for items that only a hash distinguishes: the site colours, followed by pale ones. */
enum { MV_HASH_COLOURS = 2 * MV_SITE_COLOURS };
uint32_t mv_hash_colour(uint64_t hash);

/* Colours for the steps of sizes and lifetimes, from dark to light. They are distinct with
 * red-green colour blindness. The last colour is for rows that are never freed. */
enum { MV_STEP_COLOURS = 7 };
uint32_t mv_step_colour(uint32_t step);

/* Colours for the many sites that are not in the legend. They are pale, and distinct from the grey
 * of `rest`. */
uint32_t mv_muted_colour(uint32_t index);

/* Returns the colour mixed with an eighth of white. */
uint32_t mv_lighter(uint32_t colour);
