/* Converts one column of integers to and from the numbers that the container stores, using as few
 * bytes per number as the chunk's range of values allows (capture/wire.h: mv_wire_column). Both
 * directions are as fast as reading memory; compressing repeated data is left to zstd. */
#pragma once

#include <stdbool.h>

#include "capture/wire.h"

/* Stored payloads begin at multiples of MV_WIRE_ALIGN. */
static inline uint64_t mv_wire_aligned(uint64_t bytes)
{
    return (bytes + MV_WIRE_ALIGN - 1) & ~(uint64_t)(MV_WIRE_ALIGN - 1);
}

/* A column of values of `size` bytes each: 1, 4 or 8. */
typedef struct {
    const void *values;
    uint32_t count;
    uint8_t size;
    uint8_t transform; /* mv_wire_transform; MV_WIRE_PLAIN for size 1, MV_WIRE_CALLS for 4 only */
    uint64_t start;    /* initial value (mv_wire_column.start), used by MV_WIRE_CALLS, and by
                        * MV_WIRE_DELTA if `keeps_start` */
    bool keeps_start;
} mv_column_values;

/* Stores the values in `data`, which has room for count * size bytes, and describes the encoding in
 * `head`; the caller sets `head->column` and `head->columns`. `work` has room for `count` numbers.
 * Returns the bytes stored. CALLS falls back to PLAIN where it cannot express a value. */
uint64_t mv_column_encode(const mv_column_values *in, uint64_t *work, mv_wire_column *head,
                          uint8_t *data);

/* Returns true if mv_column_decode can decode `head` into values of `size` bytes. */
bool mv_column_can_decode(const mv_wire_column *head, uint8_t size);

/* Returns true if mv_column_decode writes nothing, because all values are 0. */
static inline bool mv_column_is_zero(const mv_wire_column *head)
{
    return head->width == 0 && head->transform == MV_WIRE_PLAIN && head->base == 0;
}

/* Fills out[0] to out[count - 1] from count * head->width bytes at any alignment. If
 * mv_column_is_zero, they must be zero before the call. `work` has room for `count` numbers of head->width bytes; it is used only
 * if head->planes is set, and may be NULL otherwise. */
void mv_column_decode(const mv_wire_column *head, const uint8_t *data, uint32_t count, uint8_t size,
                      uint8_t *work, void *out);
