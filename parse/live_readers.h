/* Reads live files that grow again and again. Each read decodes only the records that are new, and
 * keeps their rows. The trace shares the kept events, so a read takes time in proportion to what is
 * new, plus the time for copying all other tables and checking the order of times. If events are on
 * several devices, or the last event is a mapping that the next call may extend, the events are copied
 * too, in about a third of the time in which they are decoded.
 *
 *     mv_live_readers *r = mv_live_readers_open(&budget);
 *     mv_trace_read(&arena, path, &(mv_read_opts){.readers = r}, &trace, &err);     any number of times
 *     mv_live_readers_return(r, &arena);        before the arena is released
 *     mv_live_readers_close(r);
 *
 * The trace is the one that reading the whole file would give, except that records after a call that
 * is under way are held back, for MV_LIVE_FOLLOW_LATE_US at most (live_follow.h). The whole file is
 * read
 *
 *     - again, if it was replaced, became shorter or is another recording now, or if a record
 *       arrived after the records behind it were no longer held back;
 *     - always, if it is damaged or bounded (docs/recorder.md), or if there is no memory for its rows.
 *
 * Threads may share the readers. */
#pragma once

#include "parse/model/trace.h"

typedef struct mv_live_readers mv_live_readers;

/* Returns NULL when out of memory. */
mv_live_readers *mv_live_readers_open(mv_budget *budget);
void mv_live_readers_close(mv_live_readers *r); /* all traces were returned; `r` may be NULL */

/* Fills `out`. `now_us` is CLOCK_MONOTONIC. Returns false if the file must be read in another way,
 * because it is not a live file or for a reason above; `arena` may then contain unused memory. */
bool mv_live_readers_read(mv_live_readers *r, const char *path, uint64_t now_us, mv_arena *arena,
                          mv_trace *out);

/* Ends the use of the trace that was read to this arena, if any. */
void mv_live_readers_return(mv_live_readers *r, const mv_arena *arena);

/* Moves the kept rows to the budget's disk, if it has one (mv_arena_file). */
void mv_live_readers_file(mv_live_readers *r);

/* Releases all rows that no trace shares. Files that are read later are read from their beginning. */
void mv_live_readers_drop(mv_live_readers *r);

typedef struct {
    uint64_t bytes, records; /* number of bytes read and of records decoded so far */
    uint32_t replaced;       /* number of times that a file was found to be another one, or
                              * shorter, and was closed */
    bool are_waiting;        /* records of a file are held back */
} mv_live_readers_state;

mv_live_readers_state mv_live_readers_status(mv_live_readers *r);
