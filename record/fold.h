/* Writes the folded part of a bounded recording (capture/wire_folded.h). */
#pragma once

#include "parse/live/live_follow.h"
#include "parse/live/read_live.h"

typedef struct {
    const mv_live_alive *alive;
    uint64_t through;          /* number of the last record that was folded */
    const mv_live_fact *facts; /* [fact_count] */
    uint32_t fact_count;
    const uint64_t *places; /* [place_count] from mv_live_follow_places */
    uint64_t place_count, start;
} mv_fold;

/* Returns the bytes of the file, in `arena`. False when out of memory. */
bool mv_fold_bytes(mv_arena *arena, const mv_fold *fold, mv_span *out);
