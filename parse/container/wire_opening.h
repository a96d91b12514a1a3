/* OPENING (docs/internals/snapshot-format.md): the number of allocations before a chunk of EVENTS
 * at each address of the chunk, so that a reader of a part can number the allocations in it without
 * reading earlier events. */
#pragma once

#include "base/map.h"
#include "parse/model/tables.h"
#include "parse/model/versions.h"

/* The columns of an opening, as rows of a mv_opening. */
extern const mv_model_table mv_opening_layout;

/* The allocations at one address in the current chunk. */
typedef struct {
    uint64_t addr;
    uint32_t allocs;
} mv_chunk_address;

/* State for writing openings. All zeros except for the arena of both maps. */
typedef struct {
    mv_map allocs;          /* number of allocations at each address before the current chunk */
    mv_map row_of;          /* row + 1 of each address of the current chunk */
    mv_chunk_address *rows; /* [before.count] in order of their first events */
    mv_opening before;
    uint32_t rows_capacity, capacity;
} mv_openings;

/* Makes o->before for a chunk, the events [first, end), and counts its allocations. False when out
 * of memory. */
bool mv_openings_pass(mv_openings *o, const mv_events *events, uint32_t first, uint32_t end);
