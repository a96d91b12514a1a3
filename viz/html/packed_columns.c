#include "viz/html/packed_columns.h"

#include <stdarg.h>
#include <string.h>
#include <zlib.h>

#include "base/grow.h"
#include "parse/source/base64.h"

enum {
    MOST_NAME = 60,
    OUT_BYTES = 48 << 10,
    LEVEL = 5 /* one level more costs a third of the time and gains 1 % */
};

/* ---- bytes ------------------------------------------------------------------------------- */

/* Room for `bytes` more; NULL when memory is out. */
static uint8_t *reserve(mv_packed *c, uint64_t bytes)
{
    if (c->failure == MV_OK && !mv_room_for(c->arena, c->bytes, c->used + bytes, c->capacity))
        c->failure = MV_NOMEM;
    return c->failure == MV_OK ? c->bytes + c->used : NULL;
}

static void put(mv_packed *c, const void *data, uint64_t length)
{
    uint8_t *at = reserve(c, length);

    if (!at)
        return;
    memcpy(at, data, length);
    c->used += length;
}

static void put_varint(mv_packed *c, uint64_t value)
{
    uint8_t *start = reserve(c, 10), *at = start;

    if (!start)
        return;
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    c->used += (uint64_t)(at - start);
}

static void store_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* ---- columns ----------------------------------------------------------------------------- */

void mv_packed_init(mv_packed *c, mv_arena *arena)
{
    *c = (mv_packed){.arena = arena};
    put(c, "MVC1", 4);
}

void mv_packed_open(mv_packed *c, mv_coding coding, const char *name, ...)
{
    char text[MOST_NAME + 1];
    uint8_t head[8] = {0}, length;
    va_list arguments;

    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    length = (uint8_t)strlen(text);
    c->coding = (uint8_t)coding;
    c->last = 0;
    c->count = 0;
    put(c, &length, 1);
    put(c, text, length);
    put(c, &c->coding, 1);
    c->head = c->used;
    put(c, head, sizeof head);
}

void mv_packed_add(mv_packed *c, uint64_t value)
{
    uint64_t delta = value - c->last;

    if (c->coding == MV_CODING_DELTA)
        put_varint(c, delta << 1 ^ (0 - (delta >> 63)));
    else
        put_varint(c, value);
    c->last = value;
    c->count++;
}

void mv_packed_add_text(mv_packed *c, mv_span text)
{
    put_varint(c, text.length);
    put(c, text.data, text.length);
    c->count++;
}

void mv_packed_close(mv_packed *c)
{
    uint64_t length = c->used - c->head - 8;

    if (c->failure != MV_OK)
        return;
    if (length > UINT32_MAX) {
        c->failure = MV_LIMIT;
        return;
    }
    store_u32(c->bytes + c->head, c->count);
    store_u32(c->bytes + c->head + 4, (uint32_t)length);
}

/* ---- zlib -------------------------------------------------------------------------------- */

static void *zlib_push(void *arena, unsigned count, unsigned size)
{
    return mv_arena_push(arena, count, size);
}

/* Its arena is freed as a whole. */
static void zlib_drop(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

/* Whole buffers except for the last: OUT_BYTES is a multiple of 3, so that base64 is padded only at
 * the end. */
static int deflate_all(z_stream *z, const mv_packed *c, mv_sink *sink)
{
    uint8_t out[OUT_BYTES];
    uint64_t taken = 0;
    int status = Z_OK;

    z->next_out = out;
    z->avail_out = sizeof out;
    while (status == Z_OK) {
        uint64_t left = c->used - taken, piece = left > 1u << 30 ? 1u << 30 : left;
        z->next_in = c->bytes + taken;
        z->avail_in = (unsigned)piece;
        status = deflate(z, piece == left ? Z_FINISH : Z_NO_FLUSH);
        taken += piece - z->avail_in;
        if (z->avail_out == 0 || status == Z_STREAM_END) {
            mv_base64_write(sink, out, sizeof out - z->avail_out);
            z->next_out = out;
            z->avail_out = sizeof out;
        }
    }
    z->next_out = NULL;
    return status;
}

mv_code mv_packed_write(const mv_packed *c, mv_sink *sink, mv_err *err)
{
    mv_arena scratch;
    z_stream z = {.zalloc = zlib_push, .zfree = zlib_drop, .opaque = &scratch};
    int status;

    if (c->failure != MV_OK)
        return mv_fail(err, c->failure, MV_NO_OFFSET, "%s", "page");
    mv_arena_init(&scratch, c->arena->budget);
    status = deflateInit(&z, LEVEL);
    if (status == Z_OK) {
        status = deflate_all(&z, c, sink);
        deflateEnd(&z);
    }
    mv_arena_release(&scratch);
    if (status != Z_STREAM_END)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    return MV_OK;
}
