/* Letters as masks of pixels. Each letter is drawn once from its font (viz/scene/text_raster.h) and
 * cached. Letters of a scalable font are cached at up to four offsets within a pixel, so that text
 * keeps the width it was designed for. When the cache is full, all letters are dropped. */
#pragma once

#include "viz/scene/text_raster.h"

typedef struct {
    uint64_t key; /* hash key of character, offset and weight; 0: the slot is free */
    double size_x, size_y;
    int32_t left, top;     /* position of the mask, relative to the pen's pixel */
    int32_t width, height; /* size of the mask; 0: nothing to draw */
    double advance;        /* distance to the next letter in pixels */
    uint32_t mask;         /* start of the mask in mv_letters.masks, where it is stored row by
                              row */
} mv_letter;

typedef struct {
    mv_arena arena;
    mv_font *font;
    mv_coverage cover; /* coverage of the letter that is being drawn */
    uint8_t *cell;     /* pixels of the letter that is being drawn */
    uint32_t count;
    mv_letter *slots; /* a hash table */
    uint32_t mask_count, mask_capacity;
    uint8_t *masks; /* coverage of each pixel; 255 is a whole pixel */
} mv_letters;

/* Returns false when out of memory. Releasing is always safe. `font` is borrowed. */
bool mv_letters_init(mv_letters *letters, mv_budget *budget, mv_font *font);
void mv_letters_release(mv_letters *letters);

/* Returns the width of the text in pixels. */
double mv_letters_width(mv_letters *letters, const char *text, const mv_text_style *style);

/* Draws a mask with its upper left corner at x, y. */
typedef void mv_letter_put(void *to, int32_t x, int32_t y, int32_t width, int32_t height,
                           const uint8_t *mask);

/* Draws the letters of a text that starts at x, with its baseline at y. */
void mv_letters_draw(mv_letters *letters, const char *text, const mv_text_style *style, double x,
                     double y, mv_letter_put *put, void *to);

/* Whether letters of this size are cached. Larger letters are drawn by mv_font_draw. */
bool mv_letters_take(const mv_text_style *style);
