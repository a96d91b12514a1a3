/* Converts the records of a live file to the rows of a trace, as described in docs/capture.md,
 * "Reading".
 *
 *     mv_live_rows *l = mv_live_rows_begin(&scratch, &arena, &trace);
 *     l->names = &names;                       ids of the records
 *     mv_live_rows_know(l, false, err);        when facts and names are known
 *     mv_live_rows_add(l, &record);            for each record, in order
 *     mv_live_rows_finish(l, err);             or mv_live_rows_finish_copy, and then more records
 *     mv_live_rows_end(l); */
#pragma once

#include "parse/live/live_heap.h"
#include "parse/live/live_ranges.h"

/* The events of one device. */
typedef struct {
    mv_event_row *rows; /* [count] rows of events; NULL: the list's events go directly to the
                         * builder */
    uint32_t count, capacity;
    uint64_t allocated, reserved;         /* bytes allocated and reserved according to the events */
    uint64_t off_allocated, off_reserved; /* difference between the framework's last totals and the
                                           * sums */
    int64_t last_us;
    uint64_t last_stack; /* stack of the last event, as id + 1 */
    uint32_t last_thread;
    bool has_segments;
} mv_live_list;

typedef struct {
    mv_arena scratch;
    mv_build build;
    mv_live_names *names; /* names in the file; their builder may build a different trace */
    mv_live_ranges ranges;
    mv_live_holdings blocks, segments, reservations;
    mv_live_holdings foreign; /* mapped memory that belongs to other processes, all in list 0 */
    mv_map imports;           /* handles to other processes' memory */
    mv_map pools;             /* device + 1 of each pool, by its handle; 0: the host */
    mv_live_list lists[MV_LIVE_LISTS];
    uint32_t straight;   /* the list whose rows go directly to the builder; MV_NO_ROW: none yet */
    uint32_t gpus;       /* number of accelerators, which is above all ordinals in the records */
    bool has_cpu;        /* there is a list for CPU tensors, even if it has no events */
    int64_t accelerator; /* device type of the ordinals; 0: none yet */
    int64_t to_epoch_us;
    uint64_t launches, waits; /* values of the clocks in the latest records */
    uint64_t order;
    bool is_uncached; /* PyTorch's cache is off, so each cudaMalloc of its allocator is one block */
    bool is_lent;     /* a trace shares the builder's events, so these must stay in place */
    bool is_copy;     /* the lists belong to another mv_live_rows */
} mv_live_rows;

/* `scratch` contains the result; rows go to `arena`, and temporary memory comes from its budget.
 * Returns NULL when out of memory. */
mv_live_rows *mv_live_rows_begin(mv_arena *scratch, mv_arena *arena, mv_trace *out);
void mv_live_rows_end(mv_live_rows *l);

/* Reads the facts on which records depend, and looks up lines and symbols of new frames.
 * `looks_here` is that of mv_live_opts. */
mv_code mv_live_rows_know(mv_live_rows *l, bool looks_here, mv_err *err);

/* Adds the next record. Returns false if memory or row numbers run out, as l->build.code says. */
bool mv_live_rows_add(mv_live_rows *l, const mv_live_record *r);

/* Adds notes about numbers that are missing from the records. */
void mv_live_rows_note_missing(mv_live_rows *l, const mv_live_missing *missing);

/* Makes the trace. No more records can be added. */
mv_code mv_live_rows_finish(mv_live_rows *l, mv_err *err);

/* Returns true if a trace can share the builder's events, because later records will only append to
 * them. This is the case if there are events, all are on one device, and the last one cannot be
 * extended. */
bool mv_live_rows_can_lend(const mv_live_rows *l);

/* Makes a trace in `arena`, after which more records can be added to `l`. All rows are copied; if
 * `shares_events` is set, all except the events are, which takes no longer for a longer recording.
 * The caller then sets l->is_lent while the trace is in use. */
mv_code mv_live_rows_finish_copy(const mv_live_rows *l, const mv_live_missing *missing,
                                 bool shares_events, mv_arena *arena, mv_trace *out, mv_err *err);
