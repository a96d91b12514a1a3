/* Reads untrusted bytes with a span, and a cursor over the span. When a read passes the end, the
 * cursor remains in the failed state, so one check at the end of a record is enough. All integers
 * are little-endian. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A view of `length` bytes that someone else owns. */
typedef struct {
    const uint8_t *data;
    uint64_t length;
} mv_span;

typedef struct {
    mv_span span;
    uint64_t at;  /* next byte to read */
    bool overrun; /* a read passed the end; this read and all later reads return zeros */
} mv_cursor;

static inline mv_cursor mv_cursor_over(mv_span span)
{
    return (mv_cursor){.span = span};
}

/* Returns `length` bytes at the cursor, or NULL (and sets `overrun`) if fewer bytes are left. */
static inline const uint8_t *mv_take_bytes(mv_cursor *c, uint64_t length)
{
    const uint8_t *at = c->span.data + c->at;

    if (c->overrun || length > c->span.length - c->at) {
        c->overrun = true;
        return NULL;
    }
    c->at += length;
    return at;
}

static inline uint8_t mv_take_u8(mv_cursor *c)
{
    const uint8_t *at = mv_take_bytes(c, 1);
    return at ? *at : 0;
}

static inline uint16_t mv_load_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t mv_load_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t mv_load_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t mv_take_u32(mv_cursor *c)
{
    const uint8_t *at = mv_take_bytes(c, 4);
    return at ? mv_load_u32(at) : 0;
}

static inline uint64_t mv_take_u64(mv_cursor *c)
{
    const uint8_t *at = mv_take_bytes(c, 8);
    return at ? mv_load_u64(at) : 0;
}
