/* Writes numbers of a live file as LEB128: seven bits in each byte, lowest bits first. The caller
 * must provide MV_LEB128_BYTES bytes of space for each number. */
#pragma once

#include <stdint.h>

enum { MV_LEB128_BYTES = 10 };

static inline uint8_t *mv_leb128_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Maps small numbers of either sign to small unsigned numbers: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t mv_leb128_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}
