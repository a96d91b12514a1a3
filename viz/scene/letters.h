/* Letters as masks of pixels, each drawn once from its font (viz/scene/text_raster.h) and kept. A
 * letter of a scalable font is kept at up to four offsets within a pixel, so that texts have the
 * widths of their design. When there are too many, all are dropped. */
#ifndef MV_LETTERS_H
#define MV_LETTERS_H

#include "viz/scene/text_raster.h"

typedef struct {
    uint64_t key; /* character, offset, weight; 0: the slot is free */
    double size_x, size_y;
    int32_t left, top;     /* of the mask, from the pixel of the pen */
    int32_t width, height; /* of the mask; 0: nothing to draw */
    double advance;        /* pixels to the next letter */
    uint32_t mask;         /* where it begins in mv_letters.masks; row by row */
} mv_letter;

typedef struct {
    mv_arena arena;
    mv_font *font;
    mv_coverage cover; /* one letter */
    uint8_t *cell;     /* likewise */
    uint32_t count;
    mv_letter *slots; /* a hash table */
    uint32_t mask_count, mask_capacity;
    uint8_t *masks; /* 255: all of the pixel */
} mv_letters;

/* False when memory is out; releasing is always safe. `font` is borrowed. */
bool mv_letters_init(mv_letters *letters, mv_budget *budget, mv_font *font);
void mv_letters_release(mv_letters *letters);

/* Pixels from the start of the text to its end. */
double mv_letters_width(mv_letters *letters, const char *text, const mv_text_style *style);

/* A mask is put with its upper left corner at x, y. */
typedef void mv_letter_put(void *to, int32_t x, int32_t y, int32_t width, int32_t height,
                           const uint8_t *mask);

/* Puts the letters of a text that starts at x on the baseline y. */
void mv_letters_draw(mv_letters *letters, const char *text, const mv_text_style *style, double x,
                     double y, mv_letter_put *put, void *to);

/* Whether letters of this size are kept: larger ones are drawn by mv_font_draw. */
bool mv_letters_take(const mv_text_style *style);

#endif
