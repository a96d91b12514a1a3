/* The life of one allocation, and the history of its first byte, for the details pane.
 *
 *     b   0x7f1200000000   third block here       0x7f1200000000#3
 *         ├─ #1 ─┤   ├─ other, begins lower ─┤   ├─ #3 ───── */
#ifndef MV_ALLOCATION_HISTORY_H
#define MV_ALLOCATION_HISTORY_H

#include "view/document/document.h"

enum { MV_MOST_OCCUPANTS = 10000 }; /* most rows that a history keeps: the latest ones */

typedef struct {
    uint32_t alloc;      /* row of lives->allocs */
    uint32_t version;    /* the number of alloc events at its address up to its own, counted as in
                            `memviz trace`; 0: it is from before the first event */
    uint64_t total;      /* allocated bytes after its birth; before the first event for MV_BEFORE */
    mv_string_id within; /* the annotated range around its birth, or MV_NO_STRING */
    uint32_t covered;    /* number of blocks that ever covered its first byte, including this one */
    uint32_t count;
    uint32_t *history; /* [count] those rows, in order of birth; the latest MV_MOST_OCCUPANTS */
} mv_allocation_history;

/* O(allocations of the device + annotations sorted). Everything is allocated in `arena`. Fails only
 * when out of memory. */
mv_code mv_allocation_history_find(mv_arena *arena, const mv_trace *trace,
                                   const mv_document_device *device, uint32_t alloc,
                                   mv_allocation_history *out, mv_err *err);

#endif
