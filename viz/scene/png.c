#include "viz/scene/png.h"

#include <png.h>
#include <setjmp.h>

#include "base/grow.h"

/* Pictures have large even areas: without a filter and with little effort a file is a tenth larger
 * than the smallest possible, but is written in a fraction of the time. */
enum { EFFORT = 3 };

typedef struct {
    mv_arena arena;
    mv_sink *sink;  /* NULL: into memory */
    mv_arena *kept; /* the owner of that memory */
    uint8_t *bytes; /* [used] */
    uint64_t used, capacity;
    bool failed;
} writer;

static png_voidp take_memory(png_structp png, png_alloc_size_t bytes)
{
    writer *w = png_get_mem_ptr(png);

    return mv_arena_push(&w->arena, bytes, 1);
}

/* Does nothing: memory is freed with the arena. */
static void leave_memory(png_structp png, png_voidp memory)
{
    (void)png;
    (void)memory;
}

static void keep_bytes(writer *w, const uint8_t *bytes, uint64_t count)
{
    w->failed = w->failed || !mv_room_for(w->kept, w->bytes, w->used + count, w->capacity);
    if (w->failed)
        return;
    memcpy(w->bytes + w->used, bytes, count);
    w->used += count;
}

static void write_bytes(png_structp png, png_bytep bytes, size_t count)
{
    writer *w = png_get_io_ptr(png);

    if (w->sink)
        mv_sink_write(w->sink, bytes, count);
    else
        keep_bytes(w, bytes, count);
}

static void flush_bytes(png_structp png)
{
    (void)png;
}

static void stop(png_structp png, png_const_charp why)
{
    (void)why;
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp why)
{
    (void)png;
    (void)why;
}

static bool is_opaque(const mv_image *image)
{
    uint64_t pixels = (uint64_t)image->width * image->height;

    for (uint64_t i = 0; i < pixels; i++)
        if (image->pixels[4 * i + 3] != 255)
            return false;
    return true;
}

/* The pixels of a row without alpha, or with colours that are not premultiplied. */
static void convert_row(const uint8_t *from, uint32_t width, bool has_alpha, uint8_t *to)
{
    for (uint32_t i = 0; i < width; i++, from += 4) {
        uint32_t alpha = from[3];
        for (int part = 0; part < 3; part++)
            *to++ = alpha ? (uint8_t)((from[part] * 255u + alpha / 2) / alpha) : 0;
        if (has_alpha)
            *to++ = (uint8_t)alpha;
    }
}

/* False when libpng stopped, which it does only when out of memory. */
static bool write_rows(png_structp png, png_infop info, const mv_image *image, uint8_t *row,
                       bool has_alpha)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_set_IHDR(png, info, image->width, image->height, 8,
                 has_alpha ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_compression_level(png, EFFORT);
    png_write_info(png, info);
    for (uint32_t y = 0; y < image->height; y++) {
        convert_row(image->pixels + (uint64_t)y * image->width * 4, image->width, has_alpha, row);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return true;
}

static mv_code encode(writer *w, mv_budget *budget, const mv_image *image, mv_err *err)
{
    png_structp png;
    png_infop info;
    uint8_t *row;
    bool is_whole = false;

    mv_arena_init(&w->arena, budget);
    row = mv_push_array(&w->arena, uint8_t, (uint64_t)image->width * 4);
    png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, NULL, stop, ignore_warning, w,
                                    take_memory, leave_memory);
    info = png ? png_create_info_struct(png) : NULL;
    if (info && row) {
        png_set_write_fn(png, w, write_bytes, flush_bytes);
        is_whole = write_rows(png, info, image, row, !is_opaque(image)) && !w->failed;
    }
    if (png)
        png_destroy_write_struct(&png, &info);
    mv_arena_release(&w->arena);
    return is_whole ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "picture");
}

mv_code mv_png_write(mv_budget *budget, const mv_image *image, mv_sink *sink, mv_err *err)
{
    writer w = {.sink = sink};

    return encode(&w, budget, image, err);
}

mv_code mv_png_encode(mv_arena *arena, const mv_image *image, mv_span *out, mv_err *err)
{
    writer w = {.kept = arena};
    mv_code code = encode(&w, arena->budget, image, err);

    *out = (mv_span){w.bytes, w.used};
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
