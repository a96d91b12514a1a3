/* Rectangles of whole pixels. A rectangle without width or height is empty. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t x, y, w, h;
} mv_pixel_rect;

/* A position far outside of any picture. Anything farther away is drawn as if it were here. */
#define MV_FAR_PIXELS 1000000

/* Returns a position clamped to MV_FAR_PIXELS; 0 for NaN. */
static inline double mv_within_far(double pixels)
{
    if (pixels > -MV_FAR_PIXELS && pixels < MV_FAR_PIXELS)
        return pixels;
    return pixels > 0 ? MV_FAR_PIXELS : pixels < 0 ? -MV_FAR_PIXELS : 0;
}

/* Returns the nearest whole pixel, clamped to MV_FAR_PIXELS. NaN is far left. */
static inline int32_t mv_nearest_pixel(double pixels)
{
    if (!(pixels > -MV_FAR_PIXELS))
        return -MV_FAR_PIXELS;
    return (int32_t)floor((pixels < MV_FAR_PIXELS ? pixels : MV_FAR_PIXELS) + 0.5);
}

/* Returns the rectangle between two corners, which is empty if they are not in order. */
static inline mv_pixel_rect mv_pixel_rect_between(int32_t left, int32_t top, int32_t right,
                                                  int32_t bottom)
{
    return (mv_pixel_rect){left, top, right > left ? right - left : 0,
                           bottom > top ? bottom - top : 0};
}

static inline mv_pixel_rect mv_pixel_rect_common(mv_pixel_rect a, mv_pixel_rect b)
{
    return mv_pixel_rect_between(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y,
                                 a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w,
                                 a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h);
}

static inline bool mv_pixel_rect_is_empty(mv_pixel_rect rect)
{
    return rect.w <= 0 || rect.h <= 0;
}
