/* The allocator's state at a moment: every segment, with every block at its address.
 *
 *     large pool · 60.0 MiB in 3 segments            one row is 20.0 MiB
 *     ┌──────────┬────┬────────┐┌──────────
 *     │ a        │ b  │ (free) ││ c            segments of one pool and stream are together,
 *     └──────────┴────┴────────┘└──────────    largest first, continued in the next row
 *     ───────────┐┌────────────────┐
 *      c         ││ (free)         │           one scale for all rows: areas are comparable
 *     ───────────┘└────────────────┘
 *
 * mv_state_lay computes numbers, which tests compare with a literal layout; state_place.h places
 * them in a box of pixels, and state_scene.h draws the shapes. */
#ifndef MV_STATE_H
#define MV_STATE_H

#include "analyze/heap/heap.h"

/* Segments of one pool, kind and stream; the last group may merge all groups that are too many to
 * show. */
typedef struct {
    uint32_t pools;    /* 1, or the number of merged pools and streams */
    uint32_t segments; /* rows of mv_state.order: first, and count */
    uint32_t segment_count;
    uint32_t first_row, rows;
    uint64_t bytes, allocated, pending, free;
    uint64_t largest; /* hole */
} mv_state_group;

/* A piece of the heap in one row, or several neighbours that are too narrow to show separately. */
typedef struct {
    uint32_t row;
    uint32_t segment;      /* first segment, a row of the map */
    uint32_t piece, count; /* row of the map's first piece; number of pieces (the last may be in
                              another segment) */
    uint64_t offset;       /* bytes of the row to its left */
    uint64_t bytes;        /* = allocated + pending + free */
    uint64_t allocated, pending;
    uint64_t before; /* bytes of the piece in earlier rows */
    bool goes_on;    /* and it ends in a later row */
} mv_state_box;

typedef struct {
    uint64_t row_bytes; /* at least 1 */
    uint64_t whole;     /* free bytes that could be returned to the device: unused segments */
    uint32_t rows;
    uint32_t group_count;
    mv_state_group *groups; /* most bytes first */
    uint32_t *order;        /* [map.count] segments in the order shown */
    uint32_t *group_of;     /* [map.count] the group of a segment */
    uint64_t *offset;       /* [map.count] bytes of the group shown before a segment */
    uint32_t box_count;
    mv_state_box *boxes; /* in the order shown; the boxes of a row touch each other */
    uint32_t *row_box;   /* [rows + 1] the first box of a row */
} mv_state;

typedef struct {
    uint32_t most_rows;   /* about */
    uint32_t most_groups; /* at least 1 */
    uint32_t columns;     /* of a row; narrower boxes are merged */
    bool by_address;      /* all segments in one group, by address */
    bool has_no_kinds;    /* small and large segments are in one group: on a level of calls they are
                           * blocks */
} mv_state_opts;

/* O(n log n) in pieces of the map. Fails only when out of memory. */
mv_code mv_state_lay(mv_arena *arena, const mv_lives *lives, const mv_heap_map *map, uint32_t event,
                     const mv_state_opts *opts, mv_state *out, mv_err *err);

#endif
