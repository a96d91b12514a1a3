/* Converts the log of an allocator that reports only its blocks to the rows of a trace: RMM's log,
 * XLA's profile (docs/other-files.md).
 *
 * The memory that the allocator took from the device is unknown, so each block has its own segment:
 *
 *     mv_block_log_begin(&log, ...)        once
 *     mv_block_log_device(&log, 0)         for each device, then for MV_BLOCK_LOG_HOST
 *     mv_block_log_alloc(&log, &entry)     SEGMENT_ALLOC, ALLOC
 *     mv_block_log_free(&log, &entry)      FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *     mv_block_log_end(&log, &err)         the final heap
 *
 * As in a builder, a failure is sticky; mv_block_log_end reports it.
 *
 * Entries are kept until their list is complete, because missing entries are detected later:
 *
 *     block_balance.c   matches frees and allocs, and finds missing events, at which the
 *                       allocator's total differs from the sum of the events, or bytes in use are
 *                       allocated again. Corrects the sums as docs/other-files.md describes
 *     block_log.c       creates the rows of the trace */
#ifndef MV_BLOCK_LOG_H
#define MV_BLOCK_LOG_H

#include "parse/live/live_facts.h"
#include "parse/live/live_heap.h"

/* The list of the host's memory; device lists are below it. */
#define MV_BLOCK_LOG_HOST ((uint32_t)MV_LIVE_CPU)

/* Blocks without an address get one from here on, as levels do (analyze/levels). */
#define MV_BLOCK_LOG_ADDRESS ((uint64_t)1 << 62)

/* Address of the reserved bytes beyond the blocks, if entries have the figure: one segment that
 * grows and shrinks (SEGMENT_MAP, SEGMENT_UNMAP), so that all segments add up to the figure. */
#define MV_BLOCK_LOG_CACHE ((uint64_t)1 << 63)

typedef struct {
    int64_t time_us;
    uint64_t addr;
    uint64_t requested; /* bytes requested by the program */
    uint64_t bytes;     /* size of the block */
    uint64_t stream;
    mv_stack_id stack;  /* stack of the call */
    uint32_t allocator; /* number of the allocator, from 0, if a list has several */
    bool has_total;
    uint64_t total; /* from the log: bytes allocated after the event */
    bool has_reserved;
    uint64_t reserved; /* from the log: bytes reserved after the event */
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
    mv_live_holdings held; /* their `order` is the event of the ALLOC + 1, or 0 for blocks from
                            * before the first event */
    uint32_t list;
    uint32_t devices; /* highest device + 1 */
    uint64_t cached;  /* reserved bytes beyond the blocks of the list */
    int64_t last_us;
    uint64_t next_address;
    mv_block_step *steps; /* [step_count] of the list */
    uint32_t step_count, step_capacity;
    uint64_t unsure; /* places where it is uncertain which block ended */
    mv_range ranges[MV_LIVE_LISTS];
    bool failed; /* out of memory */
} mv_block_log;

/* `scratch` holds temporary memory, and must live until mv_block_log_end returns. */
void mv_block_log_begin(mv_block_log *log, mv_build *build, mv_arena *scratch);

/* Begins the list of a device, or of MV_BLOCK_LOG_HOST: all further entries belong to it. Each list
 * is begun once. */
void mv_block_log_device(mv_block_log *log, uint32_t list);

/* Entries come in order of time. Threads that log at the same time may be out of order by less than
 * a second: an entry then gets the time of the previous one. */
void mv_block_log_alloc(mv_block_log *log, const mv_block_entry *entry);

/* Ends the block at `addr`. `bytes` and `requested` are used only if the log does not contain its
 * alloc. */
void mv_block_log_free(mv_block_log *log, const mv_block_entry *entry);

/* Adds an unreadable entry, which may be the end of any block. */
void mv_block_log_unread(mv_block_log *log);

/* Adds a request for `requested` bytes that failed. */
void mv_block_log_failure(mv_block_log *log, const mv_block_entry *entry);

/* Adds the final heap and finishes the trace. If events are missing, the trace gets the note
 * LOST_EVENTS, and the fact `unsure_ends` if it is uncertain which blocks ended. */
mv_code mv_block_log_end(mv_block_log *log, mv_err *err);

/* Adds a block that is alive at the end, as its own segment. For snapshots without events.
 * `device` is -1 for the host. */
void mv_block_log_final(mv_build *build, int32_t device, uint64_t addr, uint64_t bytes,
                        uint64_t requested, uint64_t stream, mv_stack_id stack, uint32_t call);

#endif
