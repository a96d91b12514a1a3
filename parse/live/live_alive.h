/* Selects the records of a live file that still matter after a given record. These are the records
 * of allocations that have not been freed, and of ranges that are still open. All records are added
 * in order; replaying only the kept records leads to the same final state. docs/recorder.md
 * describes the rules.
 *
 *     mv_live_alive_init(&a, &arena);
 *     mv_live_alive_add(&a, &record);                 for each record
 *     for (i = 0; i < a.count; i++)
 *         if (a.rows[i].is_used)
 *             ... a.rows[i].record                    not in order: sort by `sequence`
 *
 * Blocks and memory of calls are dropped when they are freed. Failed calls, totals and calls that
 * make nothing are never kept; out-of-memory events and contexts are always kept. Of the marks, the
 * newest MV_LIVE_ALIVE_MARKS are kept, as well as the newest mark with each pinned string. */
#pragma once

#include "parse/live/live_heap.h"
#include "parse/live/live_records.h"

/* 4,096 marks take about 100 KB in the folded part. `memviz ctl` cannot add more marks than
 * this. */
enum { MV_LIVE_ALIVE_MARKS = 4096, MV_LIVE_ALIVE_PINNED = 2 };

/* Kinds of keys that identify a kept record. The framework's blocks have separate maps, by
 * address. */
typedef enum {
    MV_ALIVE_ADDR,
    MV_ALIVE_ARRAY,
    MV_ALIVE_HANDLE,
    MV_ALIVE_MAPPING,
    MV_ALIVE_RESERVATION,
    MV_ALIVE_POOL,
    MV_ALIVE_LOAD,
    MV_ALIVE_OBJECT,
    MV_ALIVE_HEAP,
    MV_ALIVE_THREAD, /* a thread's innermost open range */
    MV_ALIVE_RANGE,
    MV_ALIVE_KEYS
} mv_live_alive_key;

typedef struct {
    mv_live_record record;
    uint64_t sequence;        /* number of the record */
    uint64_t launches, waits; /* number of launches and waits before the record */
    uint32_t outer;           /* the row that this row hides: an outer range, an older reference, or
                               * another heap's block at the same address. In an unused row: the
                               * next unused row. MV_NOT_IN_MAP: none */
    bool is_used;
} mv_live_alive_row;

typedef struct {
    mv_arena *arena;
    mv_map blocks[MV_LIVE_LISTS]; /* rows of blocks, by address */
    mv_map by[MV_ALIVE_KEYS];
    mv_live_alive_row *rows; /* [count] */
    uint32_t count, capacity, spare;
    uint32_t newest; /* row of the record that was kept last */
    uint64_t launches, waits;
    uint64_t pinned[MV_LIVE_ALIVE_PINNED]; /* pinned strings, as ids in records, set by the caller;
                                            * 0: none */
    uint32_t pinned_row[MV_LIVE_ALIVE_PINNED];
    uint32_t marks[MV_LIVE_ALIVE_MARKS]; /* ring of rows, whose oldest row is at mark_count %
                                          * length */
    uint64_t mark_count;                 /* number of marks added so far */
    uint64_t kept, seen;                 /* number of used rows; number of events added */
    uint64_t allocated[MV_LIVE_LISTS];   /* total bytes of the live blocks */
    uint64_t reserved[MV_LIVE_LISTS];    /* reserved bytes in the framework's last totals; 0 before
                                          * the first */
} mv_live_alive;

void mv_live_alive_init(mv_arena *arena, mv_live_alive *out);

/* Adds the next record. Returns false when out of memory. */
bool mv_live_alive_add(mv_live_alive *a, const mv_live_record *r);

/* Makes a record that frees the memory which the kept record `made` allocated. Returns false if
 * `made` did not allocate memory. */
bool mv_live_alive_ending(const mv_live_record *made, mv_live_record *out);

/* Returns the list to which a framework record belongs: a device's ordinal, MV_LIVE_CPU, or
 * MV_NO_ROW for none. */
uint32_t mv_live_alive_list(const mv_live_record *r);
