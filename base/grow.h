/* Macros for growing lists. A list consists of rows in an arena, a count and a capacity.
 *
 *     mv_pin *pins = NULL;
 *     uint32_t count = 0, capacity = 0;
 *     ...
 *     if (!mv_append(arena, pins, count, capacity, (mv_pin){.group = g, .bytes = bytes}))
 *         return out_of_memory;
 *
 * `rows`, `count` and `capacity` are variables or members; they are evaluated more than once.
 * Counts are uint32_t or uint64_t; a list with uint32_t has at most UINT32_MAX rows, so that no row
 * number is MV_NO_ROW. The rows are allocated with mv_arena_grow. So they may move when the list
 * grows, new rows are zero, and mv_arena_drop releases them. Each list costs at least a page, so do
 * not use this for thousands of small lists.
 *
 * Growing by half makes n pushes cost O(n), and large blocks are moved by mapping. */
#pragma once

#include "base/arena.h"

/* Makes room for `wanted` rows in total, and grows the list if needed. Returns false when out of
 * memory or if the count would not fit into its type; the list is then unchanged. */
#define mv_room_for(arena, rows, wanted, capacity) \
    ((wanted) <= (capacity) ||                     \
     _Generic((capacity), uint32_t                 \
              : mv_grow_u32, uint64_t              \
              : mv_grow_u64)((arena), &(rows), (void *)&(capacity), (wanted), sizeof *(rows)))

/* Does the same as mv_room_for, for one more row. */
#define mv_room(arena, rows, count, capacity) \
    mv_room_for(arena, rows, (uint64_t)(count) + 1, capacity)

/* Appends a row. The expression for the row must not read `count`, which changes during the call.
 * Returns false like mv_room_for. */
#define mv_append(arena, rows, count, capacity, ...) \
    (mv_room(arena, rows, count, capacity) && ((rows)[(count)++] = (__VA_ARGS__), true))

/* Used by the macros. `rows` is the address of a pointer, and `capacity` is the address of a
 * capacity. */
bool mv_grow_u32(mv_arena *arena, void *rows, uint32_t *capacity, uint64_t wanted, uint64_t size);
bool mv_grow_u64(mv_arena *arena, void *rows, uint64_t *capacity, uint64_t wanted, uint64_t size);
