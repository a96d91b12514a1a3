/* Letters as masks of pixels, each drawn once from its font (viz/scene/text_raster.h) and kept.
 * Letters of a scalable font are kept at up to four offsets within a pixel, so that texts keep
 * their designed widths. When the cache is full, all letters are dropped. */
#ifndef MV_VIZ_SCENE_LETTERS_H
#define MV_VIZ_SCENE_LETTERS_H

#include "viz/scene/text_raster.h"

typedef struct {
    uint64_t key; /* character, offset, weight; 0: the slot is free */
    double size_x, size_y;
    int32_t left, top;     /* position of the mask, relative to the pen's pixel */
    int32_t width, height; /* size of the mask; 0: nothing to draw */
    double advance;        /* pixels to the next letter */
    uint32_t mask;         /* start of the mask in mv_letters.masks; row by row */
} mv_letter;

typedef struct {
    mv_arena arena;
    mv_font *font;
    mv_coverage cover; /* for one letter */
    uint8_t *cell;     /* for one letter */
    uint32_t count;
    mv_letter *slots; /* a hash table */
    uint32_t mask_count, mask_capacity;
    uint8_t *masks; /* 255: a whole pixel */
} mv_letters;

/* False when out of memory; releasing is always safe. `font` is borrowed. */
bool mv_letters_init(mv_letters *letters, mv_budget *budget, mv_font *font);
void mv_letters_release(mv_letters *letters);

/* Pixels from the start of the text to its end. */
double mv_letters_width(mv_letters *letters, const char *text, const mv_text_style *style);

/* Puts a mask with its upper left corner at x, y. */
typedef void mv_letter_put(void *to, int32_t x, int32_t y, int32_t width, int32_t height,
                           const uint8_t *mask);

/* Draws the letters of a text that starts at x on the baseline y. */
void mv_letters_draw(mv_letters *letters, const char *text, const mv_text_style *style, double x,
                     double y, mv_letter_put *put, void *to);

/* Whether letters of this size are kept: larger letters are drawn by mv_font_draw. */
bool mv_letters_take(const mv_text_style *style);

#endif
