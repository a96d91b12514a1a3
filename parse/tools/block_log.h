/* Converts the log of an allocator that reports only its blocks, such as RMM's log or XLA's profile
 * (docs/other-files.md), to the rows of a trace.
 *
 * The memory that the allocator took from the device is unknown, so each block has its own segment:
 *
 *     mv_block_log_begin(&log, ...)        once
 *     mv_block_log_device(&log, 0)         for each device, then for MV_BLOCK_LOG_HOST
 *     mv_block_log_alloc(&log, &entry)     SEGMENT_ALLOC, ALLOC
 *     mv_block_log_free(&log, &entry)      FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *     mv_block_log_end(&log, &err)         the final heap
 *
 * As in a builder, a failure is sticky, and mv_block_log_end reports it.
 *
 * Entries are kept until their list is complete, because missing entries are detected later:
 *
 *     block_balance.c   matches frees and allocs, and finds missing events, at which the
 *                       allocator's total differs from the sum of the events, or bytes in use are
 *                       allocated again. Corrects the sums as docs/other-files.md describes
 *     block_log.c       creates the rows of the trace */
#pragma once

#include "parse/live/live_facts.h"
#include "parse/live/live_heap.h"

/* The number of the list for the host's memory; the numbers of device lists are lower. */
#define MV_BLOCK_LOG_HOST ((uint32_t)MV_LIVE_CPU)

/* Blocks without an address are given addresses starting at this one, as levels do
 * (analyze/levels). */
#define MV_BLOCK_LOG_ADDRESS ((uint64_t)1 << 62)

/* Address of a segment for reserved bytes that are not in blocks. This segment exists if entries
 * contain the number of reserved bytes. It grows and shrinks (SEGMENT_MAP, SEGMENT_UNMAP), so that
 * all segments add up to that number. */
#define MV_BLOCK_LOG_CACHE ((uint64_t)1 << 63)

typedef struct {
    int64_t time_us;
    uint64_t addr;
    uint64_t requested; /* number of bytes that the program requested */
    uint64_t bytes;     /* size of the block in bytes */
    uint64_t stream;
    mv_stack_id stack;  /* stack of the call that made the entry */
    uint32_t allocator; /* number of the allocator, from 0, if a list has several */
    bool has_total;
    uint64_t total; /* bytes allocated after the event, according to the log */
    bool has_reserved;
    uint64_t reserved; /* bytes reserved after the event, according to the log */
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
    mv_live_holdings held; /* live blocks, whose `order` is the number of the ALLOC event + 1, or 0
                            * for blocks from before the first event */
    uint32_t list;
    uint32_t devices; /* number of the highest device + 1 */
    uint64_t cached;  /* reserved bytes of the list that are not in its blocks */
    int64_t last_us;
    uint64_t next_address;
    mv_block_step *steps; /* [step_count] entries of the current list */
    uint32_t step_count, step_capacity;
    uint64_t unsure; /* number of entries at which it is uncertain which block ended */
    mv_range ranges[MV_LIVE_LISTS];
    bool failed; /* memory has run out */
} mv_block_log;

/* Temporary memory comes from `scratch`, which must stay valid until mv_block_log_end returns. */
void mv_block_log_begin(mv_block_log *log, mv_build *build, mv_arena *scratch);

/* Begins the list of a device, or of MV_BLOCK_LOG_HOST, to which all further entries belong. Each
 * list is begun once. */
void mv_block_log_device(mv_block_log *log, uint32_t list);

/* Adds an allocation. Entries must be added in order of time. Entries of threads that log at the
 * same time may be out of order by less than a second; such an entry is given the time of the
 * previous entry. */
void mv_block_log_alloc(mv_block_log *log, const mv_block_entry *entry);

/* Ends the block at `addr`. `bytes` and `requested` are used only if the log does not contain its
 * alloc. */
void mv_block_log_free(mv_block_log *log, const mv_block_entry *entry);

/* Adds an unreadable entry, which may be the end of any block. */
void mv_block_log_unread(mv_block_log *log);

/* Adds a request for `requested` bytes that failed. */
void mv_block_log_failure(mv_block_log *log, const mv_block_entry *entry);

/* Adds the final heap and finishes the trace. If events are missing, adds the note LOST_EVENTS; if
 * it is uncertain which blocks ended, also adds the fact `unsure_ends`. */
mv_code mv_block_log_end(mv_block_log *log, mv_err *err);

/* Adds a block that is alive at the end, in a separate segment. Used for snapshots without events.
 * `device` is -1 for the host. */
void mv_block_log_final(mv_build *build, int32_t device, uint64_t addr, uint64_t bytes,
                        uint64_t requested, uint64_t stream, mv_stack_id stack, uint32_t call);
