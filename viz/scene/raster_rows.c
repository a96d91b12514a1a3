#include "viz/scene/raster_rows.h"

#include "viz/scene/stroke.h"

/* Hatching consists of lines along x + y that are 1.2 wide and 10 apart, as in the SVG back end. How
 * much of a pixel they cover, as a value up to 255, depends only on x + y. */
enum { HATCH_PERIOD = 10 };
static const uint8_t hatch[HATCH_PERIOD] = {173, 5, 0, 0, 0, 0, 0, 0, 0, 128};

int32_t mv_unit_of(double pixels, bool is_crisp)
{
    int32_t unit = mv_stroke_unit(pixels);

    if (!is_crisp)
        return unit;
    return (unit + MV_PIXEL_UNITS / 2) & ~(MV_PIXEL_UNITS - 1);
}

void mv_rows_init(mv_rows *rows, mv_pixel_order order)
{
    *rows = (mv_rows){.order = order};
}

void mv_rows_resize(mv_rows *rows, mv_arena *arena, uint32_t width, uint32_t height)
{
    mv_arena_drop(arena, rows->pixels);
    mv_arena_drop(arena, rows->columns);
    rows->width = width;
    rows->height = height;
    rows->pixels = mv_arena_grow(arena, NULL, (uint64_t)width * height * 4);
    rows->columns = mv_arena_grow(arena, NULL, (uint64_t)width * sizeof *rows->columns);
    if (rows->columns)
        return;
    mv_arena_drop(arena, rows->pixels);
    rows->pixels = NULL;
}

/* Loops over rows of pixels are also compiled for wider registers, which are used on machines that
 * have them. All versions give the same pixels. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(MV_PLAIN_LOOPS)
#define MV_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define MV_WIDE
#endif

/* ---- colours ----------------------------------------------------------------------------- */

/* Returns a * b / 255, rounded. */
static inline uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = a * b + 128;

    return (product + (product >> 8)) >> 8;
}

/* Returns all four channels of a pixel times b / 255, computed two at a time, like times(). */
static inline uint32_t times_all(uint32_t pixel, uint32_t b)
{
    uint32_t even = (pixel & 0xff00ff) * b + 0x800080;
    uint32_t odd = (pixel >> 8 & 0xff00ff) * b + 0x800080;

    even = (even + (even >> 8 & 0xff00ff)) >> 8 & 0xff00ff;
    odd = (odd + (odd >> 8 & 0xff00ff)) & 0xff00ff00;
    return even | odd;
}

static inline uint32_t blended(uint32_t below, uint32_t colour, uint32_t coverage)
{
    uint32_t above = coverage == 255 ? colour : times_all(colour, coverage);

    return above + times_all(below, 255 - (above >> 24));
}

/* Converts an opaque colour, for which only the byte order changes. */
static inline uint32_t reordered(uint32_t colour, mv_pixel_order order)
{
    return order == MV_PIXELS_RGBA ? __builtin_bswap32(colour) : colour >> 8 | colour << 24;
}

uint32_t mv_pixel_of(uint32_t colour, mv_pixel_order order)
{
    uint32_t alpha = colour & 0xff;

    return reordered(times(colour >> 24, alpha) << 24 | times(colour >> 16 & 0xff, alpha) << 16 |
                         times(colour >> 8 & 0xff, alpha) << 8 | alpha,
                     order);
}

void mv_rows_colour(mv_rows *rows, uint32_t colour, bool is_hatched)
{
    rows->pixel = mv_pixel_of(colour, rows->order);
    rows->alpha = colour & 0xff;
    rows->is_hatched = is_hatched;
}

/* ---- rows -------------------------------------------------------------------------------- */

static inline uint32_t *pixel_at(const mv_rows *rows, int32_t x, int32_t y)
{
    return (uint32_t *)(void *)rows->pixels + (uint64_t)y * rows->width + (uint32_t)x;
}

/* Returns how many values at the start are equal to the first. */
static uint32_t run_of(const uint8_t *coverage, uint32_t count)
{
    uint32_t i = 1;

    while (i < count && coverage[i] == coverage[0])
        i++;
    return i;
}

static void cover_hatched(const mv_rows *rows, int32_t x, int32_t y, uint32_t count,
                          const uint8_t *coverage)
{
    uint32_t *at = pixel_at(rows, x, y);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = times(coverage[i], hatch[((uint32_t)x + i + (uint32_t)y) % HATCH_PERIOD]);
        if (part > 0)
            at[i] = blended(at[i], rows->pixel, part);
    }
}

MV_WIDE static void set_row(uint32_t *at, uint32_t count, uint32_t pixel)
{
    for (uint32_t i = 0; i < count; i++)
        at[i] = pixel;
}

/* Blends a colour with a row. `above` is premultiplied, and `rest` is 255 minus its alpha. */
MV_WIDE static void blend_row(uint32_t *at, uint32_t count, uint32_t above, uint32_t rest)
{
    for (uint32_t i = 0; i < count; i++)
        at[i] = above + times_all(at[i], rest);
}

void mv_rows_cover(void *to, int32_t x, int32_t y, uint32_t count, const uint8_t *coverage)
{
    const mv_rows *rows = to;
    uint32_t *at = pixel_at(rows, x, y), pixel = rows->pixel;

    if (rows->is_hatched) {
        cover_hatched(rows, x, y, count, coverage);
        return;
    }
    for (uint32_t i = 0, end; i < count; i = end) {
        uint32_t part = coverage[i];
        end = i + run_of(coverage + i, count - i);
        if (end == i + 1)
            at[i] = blended(at[i], pixel, part);
        else if (part == 255 && rows->alpha == 255)
            set_row(at + i, end - i, pixel);
        else {
            uint32_t above = part == 255 ? pixel : times_all(pixel, part);
            blend_row(at + i, end - i, above, 255 - (above >> 24));
        }
    }
}

void mv_rows_set(mv_rows *rows, mv_pixel_rect rect)
{
    for (int32_t y = rect.y; y < rect.y + rect.h; y++)
        set_row(pixel_at(rows, rect.x, y), (uint32_t)rect.w, rows->pixel);
}

void mv_rows_fill(mv_rows *rows, mv_pixel_rect rect)
{
    if (rows->alpha == 255) {
        mv_rows_set(rows, rect);
        return;
    }
    if (rect.w == 1) { /* a column of a curve */
        uint32_t *at = rect.h > 0 ? pixel_at(rows, rect.x, rect.y) : NULL;
        for (int32_t i = 0; i < rect.h; i++, at += rows->width)
            *at = blended(*at, rows->pixel, 255);
        return;
    }
    for (int32_t y = rect.y; y < rect.y + rect.h; y++)
        blend_row(pixel_at(rows, rect.x, y), (uint32_t)rect.w, rows->pixel, 255 - rows->alpha);
}

/* Blends one row of a column. `part` is how much of the row is covered, up to 256. */
static void cover_row(const mv_rows *rows, mv_pixel_rect columns, int32_t y, int32_t part)
{
    uint32_t *at;

    if (y < columns.y || y >= columns.y + columns.h || part <= 0)
        return;
    at = pixel_at(rows, columns.x, y);
    part = (part * 255 + MV_PIXEL_UNITS / 2) / MV_PIXEL_UNITS;
    for (int32_t i = 0; i < columns.w; i++)
        at[i] = blended(at[i], rows->pixel, (uint32_t)part);
}

void mv_rows_column(mv_rows *rows, mv_pixel_rect columns, int32_t top, int32_t bottom)
{
    int32_t first = top >> 8, last = bottom >> 8;

    if (first == last) {
        cover_row(rows, columns, first, bottom - top);
        return;
    }
    if (top & (MV_PIXEL_UNITS - 1))
        cover_row(rows, columns, first++, MV_PIXEL_UNITS - (top & (MV_PIXEL_UNITS - 1)));
    mv_rows_fill(rows, mv_pixel_rect_common(
                           columns, (mv_pixel_rect){columns.x, first, columns.w, last - first}));
    cover_row(rows, columns, last, bottom & (MV_PIXEL_UNITS - 1));
}

void mv_rows_mask(void *to, int32_t x, int32_t y, int32_t width, int32_t height,
                  const uint8_t *mask)
{
    const mv_rows *rows = to;
    mv_pixel_rect seen = mv_pixel_rect_common((mv_pixel_rect){x, y, width, height}, rows->clip);

    for (int32_t row = seen.y; row < seen.y + seen.h; row++) {
        const uint8_t *part = mask + (int64_t)(row - y) * width + (seen.x - x);
        uint32_t *at = pixel_at(rows, seen.x, row);
        for (int32_t i = 0; i < seen.w; i++)
            if (part[i])
                at[i] = blended(at[i], rows->pixel, part[i]);
    }
}

/* ---- images ------------------------------------------------------------------------------ */

static uint32_t nearest_of(double at, uint32_t count)
{
    return !(at > 0) ? 0 : at >= count ? count - 1 : (uint32_t)at;
}

static bool is_pixel_for_pixel(const mv_image_place *at)
{
    return at->step_x == 1 && at->x == floor(at->x);
}

/* Copies one row, whose first pixel shows the first pixel of `from`. */
MV_WIDE static void copy_row(const uint32_t *from, uint32_t *to, uint32_t count,
                             mv_pixel_order order)
{
    if (order == MV_PIXELS_RGBA)
        for (uint32_t i = 0; i < count; i++)
            to[i] = reordered(from[i], MV_PIXELS_RGBA);
    else
        for (uint32_t i = 0; i < count; i++)
            to[i] = reordered(from[i], MV_PIXELS_BGRA);
}

/* Copies one row, whose pixel i shows pixel column[i] of `from`. */
MV_WIDE static void stretch_row(const uint32_t *from, const uint32_t *column, uint32_t *to,
                                uint32_t count, mv_pixel_order order)
{
    if (order == MV_PIXELS_RGBA)
        for (uint32_t i = 0; i < count; i++)
            to[i] = reordered(from[column[i]], MV_PIXELS_RGBA);
    else
        for (uint32_t i = 0; i < count; i++)
            to[i] = reordered(from[column[i]], MV_PIXELS_BGRA);
}

static void blend_image_row(const mv_rows *rows, const uint32_t *from, uint32_t *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = blended(to[i], mv_pixel_of(from[rows->columns[i]], rows->order), 255);
}

void mv_rows_image(mv_rows *rows, const mv_pixels *image, const mv_image_place *at,
                   mv_pixel_rect seen)
{
    double first = at->x + (seen.x - at->place.x) * at->step_x;
    bool is_plain =
        image->is_opaque && is_pixel_for_pixel(at) && first >= 0 && first + seen.w <= image->width;
    uint32_t last = UINT32_MAX, count = (uint32_t)seen.w;

    for (int32_t i = 0; i < seen.w && !is_plain; i++)
        rows->columns[i] = nearest_of(first + (i + 0.5) * at->step_x, image->width);
    for (int32_t y = seen.y; y < seen.y + seen.h; y++) {
        uint32_t row = nearest_of(at->y + (y - at->place.y + 0.5) * at->step_y, image->height);
        const uint32_t *from = image->pixels + (uint64_t)row * image->width;
        uint32_t *to = pixel_at(rows, seen.x, y);
        if (!image->is_opaque)
            blend_image_row(rows, from, to, count);
        else if (row == last)
            memcpy(to, to - rows->width, (size_t)count * 4);
        else if (is_plain)
            copy_row(from + (uint32_t)first, to, count, rows->order);
        else
            stretch_row(from, rows->columns, to, count, rows->order);
        last = row;
    }
}
