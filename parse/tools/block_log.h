/* Converts the log of an allocator that reports only its blocks to the rows of a trace: RMM's log,
 * XLA's profile (docs/other-files.md).
 *
 * The memory that the allocator took from the device is unknown, so each block is a segment of its
 * own:
 *
 *     mv_block_log_begin(&log, ...)        once
 *     mv_block_log_device(&log, 0)         for each device, then for MV_BLOCK_LOG_HOST
 *     mv_block_log_alloc(&log, &entry)     SEGMENT_ALLOC, ALLOC
 *     mv_block_log_free(&log, &entry)      FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *     mv_block_log_end(&log, &err)         the final heap
 *
 * As in a builder a failure is sticky; mv_block_log_end reports it.
 *
 * Entries are kept until their list is complete, since missing entries are detected later:
 *
 *     block_balance.c   matches frees and allocs, and finds missing events: the allocator's own
 *                       total differs from the sum of the events, or bytes in use are allocated.
 *                       Corrects the sums as described in docs/other-files.md
 *     block_log.c       the rows of the trace */
#ifndef MV_BLOCK_LOG_H
#define MV_BLOCK_LOG_H

#include "parse/live/live_facts.h"
#include "parse/live/live_heap.h"

/* The list of the host's memory; device lists are below it. */
#define MV_BLOCK_LOG_HOST ((uint32_t)MV_LIVE_CPU)

/* Blocks without an address get one from here on, as in levels (analyze/levels). */
#define MV_BLOCK_LOG_ADDRESS ((uint64_t)1 << 62)

/* The allocator's reserved bytes beyond its blocks begin here, if entries have the figure: one
 * segment that grows and shrinks (SEGMENT_MAP, SEGMENT_UNMAP), so that all segments add up to
 * it. */
#define MV_BLOCK_LOG_CACHE ((uint64_t)1 << 63)

typedef struct {
    int64_t time_us;
    uint64_t addr;
    uint64_t requested; /* bytes requested by the program */
    uint64_t bytes;     /* of the block */
    uint64_t stream;
    mv_stack_id stack;  /* of the call */
    uint32_t allocator; /* from 0 on, if a list has several */
    bool has_total;
    uint64_t total; /* the allocator's allocated bytes after the event, from the log */
    bool has_reserved;
    uint64_t reserved; /* its bytes reserved from the device then */
    mv_tag_id tag;
} mv_block_entry;

/* A stored entry. */
typedef struct {
    mv_block_entry entry;
    uint8_t kind; /* mv_block_step_kind */
} mv_block_step;

typedef enum { MV_BLOCK_STEP_ALLOC, MV_BLOCK_STEP_FREE, MV_BLOCK_STEP_FAILURE } mv_block_step_kind;

typedef struct {
    mv_build *build;
    mv_arena *scratch;
    mv_live_holdings held; /* `order` is the event of the ALLOC, plus 1; 0: before the first */
    uint32_t list;
    uint32_t devices; /* largest one + 1 */
    uint64_t cached;  /* bytes that the list has reserved beyond its blocks */
    int64_t last_us;
    uint64_t next_address;
    mv_block_step *steps; /* [count] of the list */
    uint32_t step_count, step_capacity;
    uint64_t unsure; /* places where the block that ended is uncertain */
    mv_range ranges[MV_LIVE_LISTS];
    bool failed; /* memory is out */
} mv_block_log;

/* `scratch` is temporary, and lives until mv_block_log_end has returned. */
void mv_block_log_begin(mv_block_log *log, mv_build *build, mv_arena *scratch);

/* The following entries belong to a device, or to MV_BLOCK_LOG_HOST. Each list is begun once. */
void mv_block_log_device(mv_block_log *log, uint32_t list);

/* Entries come in order of time. Threads that log at once may be out of order by less than a
 * second: then an entry gets the time of the previous one. */
void mv_block_log_alloc(mv_block_log *log, const mv_block_entry *entry);

/* The block at `addr` ends. A block not allocated in the log gets `bytes` and `requested` of the
 * entry; others keep those of their alloc. */
void mv_block_log_free(mv_block_log *log, const mv_block_entry *entry);

/* An unreadable entry: it may be the end of any block. */
void mv_block_log_unread(mv_block_log *log);

/* A request for `requested` bytes that failed. */
void mv_block_log_failure(mv_block_log *log, const mv_block_entry *entry);

/* Adds the final heap and finishes the trace. If events are missing, the trace has the note
 * LOST_EVENTS, and the fact `unsure_ends` if the block that ended is uncertain. */
mv_code mv_block_log_end(mv_block_log *log, mv_err *err);

/* Adds a block that is alive at the end, as its own segment. For snapshots without events.
 * `device` is -1 for the host. */
void mv_block_log_final(mv_build *build, int32_t device, uint64_t addr, uint64_t bytes,
                        uint64_t requested, uint64_t stream, mv_stack_id stack, uint32_t call);

#endif
