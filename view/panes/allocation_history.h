/* The life of one allocation, and the history of the byte at its address, for the details pane.
 *
 *     b   0x7f1200000000   third block here       0x7f1200000000#3
 *         ├─ #1 ─┤   ├─ other, begins lower ─┤   ├─ #3 ───── */
#pragma once

#include "view/document/document.h"

enum {
    MV_MOST_OCCUPANTS = 10000
}; /* maximum number of rows in a history, which keeps the latest
                                     * ones */

typedef struct {
    uint32_t alloc;      /* row of lives->allocs */
    uint32_t version;    /* which alloc event at its address created it, counted from 1 as in
                            `memviz trace`; 0: it existed before the first event */
    uint64_t total;      /* allocated bytes after its birth; for MV_BEFORE, before the first
                            event */
    mv_string_id within; /* the annotated range that it was allocated in, or MV_NO_STRING */
    uint32_t covered;    /* number of blocks that ever covered its first byte, including the block
                            itself */
    uint32_t count;
    uint32_t *history; /* [count] rows of these blocks in order of birth, at most the latest
                          MV_MOST_OCCUPANTS */
} mv_allocation_history;

/* Finds the history, which is allocated in `arena`. O(allocations of the device + sorted
 * annotations). Fails only when out of memory. */
mv_code mv_allocation_history_find(mv_arena *arena, const mv_trace *trace,
                                   const mv_document_device *device, uint32_t alloc,
                                   mv_allocation_history *out, mv_err *err);
