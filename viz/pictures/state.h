/* The allocator's state at a point in time: every segment, with every block at its address.
 *
 *     large pool · 60.0 MiB in 3 segments            one row is 20.0 MiB
 *     ┌──────────┬────┬────────┐┌──────────
 *     │ a        │ b  │ (free) ││ c            segments of one pool and stream are together,
 *     └──────────┴────┴────────┘└──────────    largest first, continued in the next row
 *     ───────────┐┌────────────────┐
 *      c         ││ (free)         │           one scale for all rows: areas are comparable
 *     ───────────┘└────────────────┘
 *
 * mv_state_lay computes only numbers, which tests compare with a literal layout. state_place.h
 * places the boxes in a box of pixels, and state_scene.h draws the shapes. */
#pragma once

#include "analyze/heap/heap.h"

/* The segments of one pool, kind and stream. If there are too many groups to show, the last group
 * merges all that are left. */
typedef struct {
    uint32_t pools;    /* 1, or the number of merged pools and streams */
    uint32_t segments; /* first segment, as a row of mv_state.order */
    uint32_t segment_count;
    uint32_t first_row, rows;
    uint64_t bytes, allocated, pending, free;
    uint64_t largest; /* size of the largest hole */
} mv_state_group;

/* A piece of the heap in one row, or several adjacent pieces that are too narrow to show
 * separately. */
typedef struct {
    uint32_t row;
    uint32_t segment;      /* row of the first segment in the map */
    uint32_t piece, count; /* row of the map's first piece; number of pieces, of which the last may
                              be in another segment */
    uint64_t offset;       /* bytes of the row to the left of the box */
    uint64_t bytes;        /* = allocated + pending + free */
    uint64_t allocated, pending;
    uint64_t before; /* bytes of the piece that are in earlier rows */
    bool goes_on;    /* the piece continues in the next row */
} mv_state_box;

typedef struct {
    uint64_t row_bytes; /* at least 1 */
    uint64_t whole;     /* free bytes that could be returned to the device, because their segments
                           are unused */
    uint32_t rows;
    uint32_t group_count;
    mv_state_group *groups; /* sorted by bytes, largest first */
    uint32_t *order;        /* [map.count] segments in the order in which they are shown */
    uint32_t *group_of;     /* [map.count] the group of each segment */
    uint64_t *offset;       /* [map.count] how many bytes of its group are shown before each
                               segment */
    uint32_t box_count;
    mv_state_box *boxes; /* boxes in the order in which they are shown. The boxes of a row touch
                            each other */
    uint32_t *row_box;   /* [rows + 1] the first box of each row */
} mv_state;

typedef struct {
    uint32_t most_rows;   /* approximate maximum number of rows */
    uint32_t most_groups; /* maximum number of groups; at least 1 */
    uint32_t columns;     /* columns in a row; boxes that are narrower than a column are merged */
    uint32_t rows;        /* rows that fill the picture: as many are made if no segment is cut for
                           * it; 0: as few as are legible */
    bool by_address;      /* all segments are in one group, sorted by address */
    bool has_no_kinds;    /* small and large segments are in the same group, because on a level of
                           * calls, segments are blocks */
} mv_state_opts;

/* Lays out the state. O(n log n) in the number of pieces in the map. Fails only when out of
 * memory. */
mv_code mv_state_lay(mv_arena *arena, const mv_lives *lives, const mv_heap_map *map, uint32_t event,
                     const mv_state_opts *opts, mv_state *out, mv_err *err);
