/* The records of a live file that still matter after a number: those that made what is alive, and
 * the open ranges. Fed with all records in their order, it keeps a set from which the same final
 * state follows; docs/recorder.md has the rules.
 *
 *     mv_live_alive_init(&a, &arena);
 *     mv_live_alive_add(&a, &record);                 for each record
 *     for (i = 0; i < a.count; i++)
 *         if (a.rows[i].is_used)
 *             ... a.rows[i].record                    in no order: sort by `sequence`
 *
 * A block or a call's memory that is freed leaves nothing. Failed calls, totals and calls that make
 * nothing leave nothing; out-of-memory events and contexts stay for good. Of marks the newest
 * MV_LIVE_ALIVE_MARKS stay, and the newest one of each pinned text. */
#ifndef MV_LIVE_ALIVE_H
#define MV_LIVE_ALIVE_H

#include "parse/live/live_heap.h"
#include "parse/live/live_records.h"

/* Some 100 KB in the folded part. As many as `memviz ctl` can add. */
enum { MV_LIVE_ALIVE_MARKS = 4096, MV_LIVE_ALIVE_PINNED = 2 };

/* Kinds of keys, besides the addresses of the framework's blocks. */
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
    MV_ALIVE_THREAD, /* its innermost open range */
    MV_ALIVE_RANGE,
    MV_ALIVE_KEYS
} mv_live_alive_key;

typedef struct {
    mv_live_record record;
    uint64_t sequence;        /* the record's */
    uint64_t launches, waits; /* the clocks at the record */
    uint32_t outer;           /* the row that this one hides: an outer range, an older reference, or
                               * a block of another heap at the address; of an unused row the next
                               * unused one. MV_NOT_IN_MAP: none */
    bool is_used;
} mv_live_alive_row;

typedef struct {
    mv_arena *arena;
    mv_map blocks[MV_LIVE_LISTS]; /* by address: the row */
    mv_map by[MV_ALIVE_KEYS];
    mv_live_alive_row *rows; /* [count] */
    uint32_t count, capacity, spare;
    uint32_t newest; /* row of the record that was kept last */
    uint64_t launches, waits;
    uint64_t pinned[MV_LIVE_ALIVE_PINNED]; /* texts, as in records; set by the caller. 0: none */
    uint32_t pinned_row[MV_LIVE_ALIVE_PINNED];
    uint32_t marks[MV_LIVE_ALIVE_MARKS]; /* rows, a ring: the oldest at mark_count % its length */
    uint64_t mark_count;                 /* so far */
    uint64_t kept, seen;                 /* rows that are used; events fed */
    uint64_t allocated[MV_LIVE_LISTS];   /* by the sum of the blocks */
    uint64_t reserved[MV_LIVE_LISTS];    /* by the framework's last totals; 0 before them */
    bool has_list[MV_LIVE_LISTS];
} mv_live_alive;

void mv_live_alive_init(mv_arena *arena, mv_live_alive *out);

/* False: memory is out. */
bool mv_live_alive_add(mv_live_alive *a, const mv_live_record *r);

/* A record that ends what `made`, a kept record, has made. False: it made no memory. */
bool mv_live_alive_ending(const mv_live_record *made, mv_live_record *out);

/* The list of a record of the framework: an ordinal, or MV_LIVE_CPU; MV_NO_ROW: none. */
uint32_t mv_live_alive_list(const mv_live_record *r);

#endif
