/* Writes PNG files with only zlib. Pictures have large areas of a single colour. Without filters
 * and at a low compression level, a file is a tenth larger than the smallest possible one, but is
 * written in a fraction of the time. */
#include "viz/scene/png.h"

#include <zlib.h>

enum { EFFORT = 3, CHUNK_FRAME = 12, HEAD = 8 + CHUNK_FRAME + 13 + CHUNK_FRAME + CHUNK_FRAME };

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Adds the frame of a chunk around `length` bytes that are already at to + 8. Returns the position
 * of the next chunk. */
static uint8_t *close_chunk(uint8_t *to, const char *type, uint32_t length)
{
    put_u32(to, length);
    memcpy(to + 4, type, 4);
    put_u32(to + 8 + length, (uint32_t)crc32(crc32(0, NULL, 0), to + 4, length + 4));
    return to + CHUNK_FRAME + length;
}

static bool is_opaque(const mv_image *image)
{
    uint64_t pixels = (uint64_t)image->width * image->height;

    for (uint64_t i = 0; i < pixels; i++)
        if (image->pixels[4 * i + 3] != 255)
            return false;
    return true;
}

/* Writes rows that consist of a filter byte and pixels, either without alpha or with colours that
 * are not premultiplied. */
static void convert_rows(const mv_image *image, bool has_alpha, uint8_t *to)
{
    const uint8_t *from = image->pixels;

    for (uint32_t y = 0; y < image->height; y++) {
        *to++ = 0;
        for (uint32_t x = 0; x < image->width; x++, from += 4) {
            uint32_t alpha = from[3];
            for (int part = 0; part < 3; part++)
                *to++ = alpha ? (uint8_t)((from[part] * 255u + alpha / 2) / alpha) : 0;
            if (has_alpha)
                *to++ = (uint8_t)alpha;
        }
    }
}

mv_code mv_png_encode(mv_arena *arena, const mv_image *image, mv_span *out, mv_err *err)
{
    bool has_alpha = !is_opaque(image);
    uLong raw = (uLong)image->height * ((has_alpha ? 4 : 3) * (uLong)image->width + 1);
    uLongf packed = compressBound(raw);
    uint8_t *bytes = mv_push_array(arena, uint8_t, (uint64_t)HEAD + packed), *at = bytes;
    uint8_t *rows = mv_push_array(arena, uint8_t, raw);

    *out = (mv_span){0};
    if (!bytes || !rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    convert_rows(image, has_alpha, rows);
    memcpy(at, "\x89PNG\r\n\x1a\n", 8);
    at += 8;
    put_u32(at + 8, image->width);
    put_u32(at + 12, image->height);
    memcpy(at + 16, (uint8_t[]){8, has_alpha ? 6 : 2, 0, 0, 0}, 5);
    at = close_chunk(at, "IHDR", 13);
    if (compress2(at + 8, &packed, rows, raw, EFFORT) != Z_OK)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
    at = close_chunk(at, "IDAT", (uint32_t)packed);
    at = close_chunk(at, "IEND", 0);
    *out = (mv_span){bytes, (uint64_t)(at - bytes)};
    return MV_OK;
}

mv_code mv_png_write(mv_budget *budget, const mv_image *image, mv_sink *sink, mv_err *err)
{
    mv_arena arena;
    mv_span bytes;
    mv_code code;

    mv_arena_init(&arena, budget);
    code = mv_png_encode(&arena, image, &bytes, err);
    if (code == MV_OK)
        mv_sink_write(sink, bytes.data, bytes.length);
    mv_arena_release(&arena);
    return code;
}

mv_code mv_scene_write_png(mv_budget *budget, const mv_scene *scene, mv_sink *sink, mv_err *err)
{
    mv_arena arena;
    mv_image image;
    mv_code code;

    mv_arena_init(&arena, budget);
    code = mv_raster_draw(&arena, scene, &(mv_raster_opts){0}, &image, err);
    if (code == MV_OK)
        code = mv_png_write(budget, &image, sink, err);
    mv_arena_release(&arena);
    return code;
}
