/* Reads numbers and strings in a live file's records (capture/wire_live.h), through a cursor with
 * sticky failure. */
#pragma once

#include "base/cursor.h"

/* Reads a LEB128 number of at most 10 bytes; a longer number overruns the cursor. */
static inline uint64_t mv_take_varint(mv_cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = mv_take_u8(c);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            return value;
    }
    c->overrun = true;
    return 0;
}

static inline int64_t mv_unzigzag(uint64_t n)
{
    return (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
}

static inline int64_t mv_take_signed(mv_cursor *c)
{
    return mv_unzigzag(mv_take_varint(c));
}

/* Reads a length and that many bytes; the result is empty if the cursor overran. */
static inline mv_span mv_take_text(mv_cursor *c)
{
    uint64_t length = mv_take_varint(c);
    const uint8_t *data = mv_take_bytes(c, length);

    return data ? (mv_span){data, length} : (mv_span){(const uint8_t *)"", 0};
}
