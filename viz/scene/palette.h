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
    uint32_t faint_text; /* at least 4.5:1 against background and plot */
    uint32_t rest;       /* allocations too small for a separate shape */
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
    uint32_t replayed; /* the curves of a run replayed with other settings */
} mv_theme;

const mv_theme *mv_theme_of(bool is_dark);

enum { MV_BASE_COLOURS = 6, MV_SITE_COLOURS = 14, MV_MUTED_COLOURS = 4 };

/* Colours that remain distinct with red-green colour blindness (tests/scene/test_palette.c measures
 * it). The first MV_BASE_COLOURS are hues of Okabe and Ito ("Color Universal Design", 2008), except
 * vermillion, which is too close to the leak colour. The others are darker and lighter shades of
 * those hues, found by a search for the largest minimum distance between all of them, the greys and
 * the leak colour, as seen with normal vision, without red and without green. */
uint32_t mv_site_colour(uint32_t index);

/* Holders of the whole device's memory: PyTorch, then libraries. Duller than lines of code, which
 * have other colours in the same window. */
enum { MV_HOLDER_COLOURS = 4 };
uint32_t mv_holder_colour(uint32_t index);

/* The site colour chosen by a hash, or the next one that is not in *used (bits): a plain hue while
 * any is free, then a shade. Adds it to *used. */
uint32_t mv_site_hue(uint64_t hash, uint32_t *used);

/* For items distinguished by a hash alone: the site colours, then pale ones. */
enum { MV_HASH_COLOURS = 2 * MV_SITE_COLOURS };
uint32_t mv_hash_colour(uint64_t hash);

/* Steps of sizes and lifetimes, from dark to light, distinct with red-green colour blindness; the
 * last is for rows that are never freed. */
enum { MV_STEP_COLOURS = 7 };
uint32_t mv_step_colour(uint32_t step);

/* For the many sites that are not in the legend: pale, and distinct from the grey of `rest`. */
uint32_t mv_muted_colour(uint32_t index);

/* The colour, mixed with an eighth of white. */
uint32_t mv_lighter(uint32_t colour);

#endif
