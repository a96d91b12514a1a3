/* From the log of an allocator that tells of its blocks alone to the rows of a trace: RMM's log,
 * XLA's profile (docs/other-files.md).
 *
 * What such an allocator took from the device is not known, so each block is a segment of its own:
 *
 *     mv_block_log_begin(&log, ...)        once
 *     mv_block_log_device(&log, 0)         for each device, then for MV_BLOCK_LOG_HOST
 *     mv_block_log_alloc(&log, &entry)     SEGMENT_ALLOC, ALLOC
 *     mv_block_log_free(&log, &entry)      FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *     mv_block_log_end(&log, &err)         the final heap
 *
 * As in a builder a failure stays; mv_block_log_end tells of it. */
#ifndef MV_BLOCK_LOG_H
#define MV_BLOCK_LOG_H

#include "parse/live/live_heap.h"

/* The list of the host's memory; devices are below it. */
#define MV_BLOCK_LOG_HOST ((uint32_t)MV_LIVE_CPU)

/* Blocks without an address have one from here on, as levels have (analyze/levels). */
#define MV_BLOCK_LOG_ADDRESS ((uint64_t)1 << 62)

typedef struct {
    int64_t time_us;
    uint64_t addr;
    uint64_t requested; /* bytes that the program asked for */
    uint64_t bytes;     /* of the block */
    uint64_t stream;
    mv_stack_id stack; /* of the call */
} mv_block_entry;

typedef struct {
    mv_build *build;
    mv_arena *scratch;
    mv_live_holdings held; /* `order` is the event of the ALLOC, plus 1; 0: before the first */
    uint32_t list;
    uint32_t devices; /* one more than the largest */
    int64_t last_us;
    uint64_t next_address;
    uint64_t allocated; /* of the list: bytes that its events lead to, from 0 on, modulo 2^64 */
    uint64_t unknown;   /* of the list: bytes that were freed, but not allocated in the log */
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

/* A request for `requested` bytes that failed. */
void mv_block_log_failure(mv_block_log *log, const mv_block_entry *entry);

/* Bytes that are there from before the first event to the end, one block without a stack. */
void mv_block_log_before(mv_block_log *log, uint64_t bytes);

/* Adds the final heap and finishes the trace. */
mv_code mv_block_log_end(mv_block_log *log, mv_err *err);

/* Adds a block that is alive at the end, as a segment of its own. For snapshots without events.
 * `device` is -1 for the host. */
void mv_block_log_final(mv_build *build, int32_t device, uint64_t addr, uint64_t bytes,
                        uint64_t requested, uint64_t stream, mv_stack_id stack, uint32_t call);

/* Adds a fact. */
void mv_block_log_fact(mv_build *build, const char *key, const char *value);
void mv_block_log_number(mv_build *build, const char *key, uint64_t value);

#endif
