/* Computes the totals of one device: how many bytes are allocated, active, requested and reserved,
 * now and at the peaks, in total and for each pool. Also finds bounds for these figures.
 *
 * The four measures are the same as in torch.cuda.memory_stats():
 *
 *     allocated   bytes of blocks:                  from alloc to free_requested
 *     active      bytes of blocks not yet reusable: from alloc to free_completed
 *     requested   bytes that were requested:        from alloc to free_completed
 *     reserved    bytes of segments:                segment_alloc, segment_map to _free, _unmap
 *
 * `current` is computed from the final heap in the file or, if there is none, from the events.
 * Peaks and totals come from the events. The audit compares the final heap with the events.
 * docs/internals/lives.md explains which figures are exact. */
#pragma once

#include "analyze/totals/bounds.h"

typedef struct {
    uint64_t allocated;
    uint64_t active;
    uint64_t requested;
    uint64_t reserved;
} mv_levels;

typedef struct {
    mv_levels bytes;
    uint64_t segments;    /* number of entries of the final heap; each cudaMalloc or mapped range
                           * is one entry */
    uint64_t allocations; /* number of allocated blocks, without blocks that wait for a stream */
} mv_current;

/* The highest level of each measure, and the first event after which the level was reached. The
 * event is MV_BEFORE if the level was reached before the first event, or if events are missing
 * because XLA's allocator reports its own peak (MV_FACT_PEAK), which is a lower bound of the
 * device's peak. On levels and in files of other tools, each segment is for the block of the next
 * event, so `reserved_event` is this next event (mv_moment_filled). */
typedef struct {
    mv_levels bytes;
    uint32_t allocated_event;
    uint32_t active_event;
    uint32_t requested_event;
    uint32_t reserved_event;
} mv_peak;

/* One pool, or several pools together. */
typedef struct {
    uint8_t kind;       /* mv_segment_kind: MV_SEGMENT_SMALL or MV_SEGMENT_LARGE */
    mv_pool_id pool_id; /* id of the pool; MV_NO_POOL if the file has no pools. If some segments
                         * have pools, released segments without a pool count as part of the
                         * default pool, and the audit notes it */
    mv_current current;
    mv_peak peak;
} mv_pool_totals;

typedef struct {
    bool exact;         /* the current figures and all peaks are correct to the byte */
    int64_t residual;   /* allocated bytes of the final heap minus allocated bytes according to
                         * the events */
    uint32_t count;     /* number of notes */
    const char **notes; /* [count] sentences about unknown and contradictory data */
    mv_bounds peak;     /* whether each peak is exact or a bound */
    mv_bound total;     /* bounds of the two totals in mv_totals.total: EXACT, LEAST or ABOUT */
} mv_audit;

typedef struct {
    uint32_t device;
    mv_current current;
    mv_peak peak;
    /* Total bytes of all blocks that were ever allocated (those from before the first event count
     * once), and of all blocks that were ever freed. The difference is the allocated bytes
     * according to the events. */
    struct {
        uint64_t allocated;
        uint64_t freed;
    } total;
    mv_pool_totals kinds[2]; /* small_pool and large_pool of memory_stats(), indexed by
                              * mv_segment_kind; each includes all pool ids */
    uint32_t pool_count;
    mv_pool_totals *pools; /* [pool_count] one entry for each kind and pool id ever used, sorted
                            * by pool id, with small before large; unknown pools are last */
    mv_audit audit;
} mv_totals;

/* Computes the totals of a trace that is read in pieces (parse/pieces.h), each of which has its own
 * lives:
 *
 *     mv_totals_begin, mv_totals_add for each piece in order, mv_totals_end
 *
 * The totals are complete after the last piece. Until then, `peak` covers the pieces added so far,
 * and its events are event numbers. The result is in `arena`. O(n). All functions fail only when
 * out of memory; mv_totals_end releases the search even after a failure. */
typedef struct mv_totals_search mv_totals_search;

mv_totals_search *mv_totals_begin(mv_arena *arena, mv_totals *out);
mv_code mv_totals_add(mv_totals_search *search, const mv_trace *trace, const mv_lives *lives,
                      mv_err *err);
void mv_totals_end(mv_totals_search *search);

/* Whether totals can be computed from pieces. They cannot if only the end of a segment may show
 * that it is in a private pool. */
bool mv_totals_take_pieces(const mv_trace *trace);

/* Returns the set of the event columns that totals and lives need (mv_pieces_need). */
uint32_t mv_totals_columns(const mv_trace *trace);

/* Computes the totals of a trace in one piece. */
mv_code mv_totals_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_totals *out, mv_err *err);

/* The levels after each event, which take 32 bytes per event. */
typedef struct {
    uint32_t count;
    mv_levels before;    /* before the first event */
    uint64_t *allocated; /* [count] */
    uint64_t *active;    /* [count] */
    uint64_t *requested; /* [count] */
    uint64_t *reserved;  /* [count] */
} mv_series;

/* Computes the levels, for pictures and for reports on a single event. O(n). Fails only when out of
 * memory. */
mv_code mv_totals_series(mv_arena *arena, const mv_lives *lives, mv_series *out, mv_err *err);
