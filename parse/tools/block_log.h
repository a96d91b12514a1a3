/* From the log of an allocator that tells of its blocks alone to the rows of a trace: RMM's log,
 * XLA's profile (docs/other-files.md).
 *
 * Which bytes such an allocator took from the device is not known, so each block is a segment of
 * its own:
 *
 *     mv_block_log_begin(&log, ...)        once
 *     mv_block_log_device(&log, 0)         for each device, then for MV_BLOCK_LOG_HOST
 *     mv_block_log_alloc(&log, &entry)     SEGMENT_ALLOC, ALLOC
 *     mv_block_log_free(&log, &entry)      FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *     mv_block_log_end(&log, &err)         the final heap
 *
 * As in a builder a failure stays; mv_block_log_end tells of it.
 *
 * Entries are kept until all of a list are there, since what is missing in a log shows later:
 *
 *     block_pairs.c     which free is that of which alloc, and what has no other half
 *     block_balance.c   where events are missing: the allocator's own total differs from what the
 *                       events lead to, or bytes are allocated that are in use. The sums are made
 *                       right, as docs/other-files.md says
 *     block_log.c       the rows of the trace */
#ifndef MV_BLOCK_LOG_H
#define MV_BLOCK_LOG_H

#include "parse/live/live_heap.h"

/* The list of the host's memory; devices are below it. */
#define MV_BLOCK_LOG_HOST ((uint32_t)MV_LIVE_CPU)

/* Blocks without an address have one from here on, as levels have (analyze/levels). */
#define MV_BLOCK_LOG_ADDRESS ((uint64_t)1 << 62)

/* What the allocator has reserved beyond its blocks begins here, where entries tell it: one segment
 * that grows and shrinks (SEGMENT_MAP, SEGMENT_UNMAP), so that all segments add up to that. */
#define MV_BLOCK_LOG_CACHE ((uint64_t)1 << 63)

typedef struct {
    int64_t time_us;
    uint64_t addr;
    uint64_t requested; /* bytes that the program asked for */
    uint64_t bytes;     /* of the block */
    uint64_t stream;
    mv_stack_id stack;  /* of the call */
    uint32_t allocator; /* from 0 on, where a list has several */
    bool has_total;
    uint64_t total; /* what the allocator had allocated after the event, as the log says */
    bool has_reserved;
    uint64_t reserved; /* what it had taken from the device then */
    mv_tag_id tag;
} mv_block_entry;

/* An entry as it is kept. */
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
    uint32_t devices; /* one more than the largest */
    uint64_t cached;  /* bytes that the list has reserved beyond its blocks */
    int64_t last_us;
    uint64_t next_address;
    mv_block_step *steps; /* [count] of the list */
    uint32_t step_count, step_capacity;
    uint64_t unsure; /* places where it is not known which block ended */
    mv_range ranges[MV_LIVE_LISTS];
    bool failed; /* memory is out */
} mv_block_log;

/* `scratch` is temporary, and lives until mv_block_log_end is done. */
void mv_block_log_begin(mv_block_log *log, mv_build *build, mv_arena *scratch);

/* The entries from here on are those of a device, or of MV_BLOCK_LOG_HOST. Each list has one turn.
 */
void mv_block_log_device(mv_block_log *log, uint32_t list);

/* Entries come in order of time. Threads that log at once may be out of order by less than a
 * second: then an entry has the time of the one before it. */
void mv_block_log_alloc(mv_block_log *log, const mv_block_entry *entry);

/* The block at `addr` ends. One that was not allocated in the log has `bytes` and `requested` of
 * the entry; others keep those of their alloc. */
void mv_block_log_free(mv_block_log *log, const mv_block_entry *entry);

/* An entry that cannot be read: it may be the end of any block. */
void mv_block_log_unread(mv_block_log *log);

/* A request for `requested` bytes that failed. */
void mv_block_log_failure(mv_block_log *log, const mv_block_entry *entry);

/* Adds the final heap and finishes the trace. Where events are missing there is the note
 * LOST_EVENTS, and the fact `unsure_ends` where it is not known which block ended. */
mv_code mv_block_log_end(mv_block_log *log, mv_err *err);

/* Adds a block that is alive at the end, as a segment of its own. For snapshots without events.
 * `device` is -1 for the host. */
void mv_block_log_final(mv_build *build, int32_t device, uint64_t addr, uint64_t bytes,
                        uint64_t requested, uint64_t stream, mv_stack_id stack, uint32_t call);

/* Adds a fact. */
void mv_block_log_fact(mv_build *build, const char *key, const char *value);
void mv_block_log_number(mv_build *build, const char *key, uint64_t value);

#endif
