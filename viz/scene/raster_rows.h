/* The pixels of a picture, and the functions that paint rows with coverage, rectangles, letter
 * masks and images into them. Colours are blended in integers, two channels at a time. */
#pragma once

#include "viz/scene/raster.h"

typedef struct {
    uint32_t width, height;
    uint8_t *pixels; /* pixels as in mv_image; NULL: there are none yet */
    mv_pixel_order order;
    /* The current colour. */
    uint32_t pixel; /* the colour multiplied by alpha */
    uint32_t alpha;
    bool is_hatched;
    mv_pixel_rect clip; /* masks are drawn only inside this rectangle */
    uint32_t *columns;  /* [width] the column of the image for each pixel of a row */
} mv_rows;

void mv_rows_init(mv_rows *rows, mv_pixel_order order);

/* Makes room for a picture of this size. `pixels` is NULL when out of memory. */
void mv_rows_resize(mv_rows *rows, mv_arena *arena, uint32_t width, uint32_t height);

/* Sets the colour for the following calls, as 0xRRGGBBAA. Only mv_rows_cover hatches. */
void mv_rows_colour(mv_rows *rows, uint32_t colour, bool is_hatched);

/* An mv_coverage_take_row, for which `to` is an mv_rows. */
void mv_rows_cover(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage);

/* Fill a rectangle inside the picture. mv_rows_fill blends it, and mv_rows_set replaces the old
 * pixels. */
void mv_rows_fill(mv_rows *rows, mv_pixel_rect rect);
void mv_rows_set(mv_rows *rows, mv_pixel_rect rect);

/* Fills the columns of `columns` between two heights, given in mv_coverage units, within the rows
 * of `columns`. */
void mv_rows_column(mv_rows *rows, mv_pixel_rect columns, int32_t top, int32_t bottom);

/* An mv_letter_put, for which `to` is an mv_rows. It draws only inside rows->clip. */
void mv_rows_mask(void *to, int32_t x, int32_t y, int32_t width, int32_t height,
                  const uint8_t *mask);

/* How an image is stretched. Pixel x of `place` shows the image at x + step_x / 2. */
typedef struct {
    mv_pixel_rect place;
    double x, y;           /* position in the image of the upper left corner */
    double step_x, step_y; /* number of image pixels per pixel of `place` */
} mv_image_place;

/* Draws the part `seen` of the image's place, which must be inside the picture. */
void mv_rows_image(mv_rows *rows, const mv_pixels *image, const mv_image_place *at,
                   mv_pixel_rect seen);

/* Converts a colour 0xRRGGBBAA to a pixel of a picture. */
uint32_t mv_pixel_of(uint32_t colour, mv_pixel_order order);

/* Converts a position to mv_coverage units, rounded to whole pixels if it is crisp. */
int32_t mv_unit_of(double pixels, bool is_crisp);
