/* Totals of one device: how many bytes were allocated, active, requested and reserved, now and at
 * their peaks, in total and per pool; and bounds of these figures.
 *
 * The four measures are the same as in torch.cuda.memory_stats():
 *
 *     allocated   bytes of blocks:                  from alloc to free_requested
 *     active      bytes of blocks not yet reusable: from alloc to free_completed
 *     requested   bytes that were requested:        from alloc to free_completed
 *     reserved    bytes of segments:                segment_alloc, segment_map to _free, _unmap
 *
 * `current` is the final heap in the file, or follows from the events without one; peaks and
 * totals come from the events. The audit compares both. docs/internals/lives.md explains which
 * figures are exact. */
#ifndef MV_TOTALS_H
#define MV_TOTALS_H

#include "analyze/totals/bounds.h"

typedef struct {
    uint64_t allocated;
    uint64_t active;
    uint64_t requested;
    uint64_t reserved;
} mv_levels;

typedef struct {
    mv_levels bytes;
    uint64_t segments;    /* entries of the final heap: one per cudaMalloc or mapped range */
    uint64_t allocations; /* allocated blocks, except blocks that wait for a stream */
} mv_current;

/* The highest level of each measure, and the first event after which it was reached. The event is
 * MV_BEFORE if that was before the first event, or if events are missing: XLA's allocator reports
 * its own peak (MV_FACT_PEAK), a lower bound of the device's. On levels and in files of other
 * tools, where each segment is for the block of the next event, `reserved_event` is that next
 * event (mv_moment_filled). */
typedef struct {
    mv_levels bytes;
    uint32_t allocated_event;
    uint32_t active_event;
    uint32_t requested_event;
    uint32_t reserved_event;
} mv_peak;

/* One pool, or several together. */
typedef struct {
    uint8_t kind;       /* mv_segment_kind: MV_SEGMENT_SMALL or MV_SEGMENT_LARGE */
    mv_pool_id pool_id; /* MV_NO_POOL if the file has none. Released segments without a pool count
                         * in the default pool if other segments have pools; the audit says so */
    mv_current current;
    mv_peak peak;
} mv_pool_totals;

typedef struct {
    bool exact;         /* current figures and every peak are known to the byte */
    int64_t residual;   /* final heap's allocated bytes minus those according to the events */
    uint32_t count;     /* of notes */
    const char **notes; /* [count] sentences about unknown and contradictory data */
    mv_bounds peak;     /* whether each peak is exact, or a bound */
    mv_bound total;     /* bounds of the two totals below: EXACT, LEAST or ABOUT */
} mv_audit;

typedef struct {
    uint32_t device;
    mv_current current;
    mv_peak peak;
    /* Bytes of all blocks ever allocated (those from before the first event count once) and of all
     * ever freed; the difference is the allocated bytes according to the events. */
    struct {
        uint64_t allocated;
        uint64_t freed;
    } total;
    mv_pool_totals kinds[2]; /* small_pool and large_pool of memory_stats(): indexed by
                              * mv_segment_kind, all pool ids together */
    uint32_t pool_count;
    mv_pool_totals *pools; /* [pool_count] each kind and pool id ever used; by pool id, small before
                            * large, unknown pools last */
    mv_audit audit;
} mv_totals;

/* Totals of a trace in pieces (parse/pieces.h), each with its lives:
 *
 *     mv_totals_begin, mv_totals_add for each piece in order, mv_totals_end
 *
 * The last piece completes the totals; `peak` covers the pieces so far, and its events are event
 * numbers. `arena` keeps the result. O(n). All functions fail only when out of memory;
 * mv_totals_end releases the search even after a failure. */
typedef struct mv_totals_search mv_totals_search;

mv_totals_search *mv_totals_begin(mv_arena *arena, mv_totals *out);
mv_code mv_totals_add(mv_totals_search *search, const mv_trace *trace, const mv_lives *lives,
                      mv_err *err);
void mv_totals_end(mv_totals_search *search);

/* Whether totals can be computed from pieces. They cannot where only a segment's end may show that
 * it is in a private pool. */
bool mv_totals_take_pieces(const mv_trace *trace);

/* Totals of a trace in one piece. */
mv_code mv_totals_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_totals *out, mv_err *err);

/* The levels after each event: 32 bytes per event. */
typedef struct {
    uint32_t count;
    mv_levels before;    /* before the first event */
    uint64_t *allocated; /* [count] */
    uint64_t *active;    /* [count] */
    uint64_t *requested; /* [count] */
    uint64_t *reserved;  /* [count] */
} mv_series;

/* For pictures, and for the levels at any event. O(n). Fails only when out of memory. */
mv_code mv_totals_series(mv_arena *arena, const mv_lives *lives, mv_series *out, mv_err *err);

#endif
