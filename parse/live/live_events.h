/* Returns the records of a live file's EVENTS chunks, of all threads, in the order of their
 * numbers.
 *
 * Numbers rise within a chunk, so the chunks can be merged: a heap orders the chunks by their next
 * record, which costs almost nothing while only one thread records. No records are sorted or
 * stored.
 *
 * While the capture is still running, chunks are read one after another, so the last records of
 * some chunks are later than the last records of others. All records of the first reading came
 * before all records that are new at the second (live_chunks.h). Therefore the merge ends at M, the
 * highest number of the first reading, and returns every record up to M that was committed by then.
 *
 *     thread 1  ──1──2─────5──6┊──8──        ┊ first reading: M = 7
 *     thread 2  ────────3──4───┊7─────       3 and 4 may have come after it, and are there
 *
 * A number up to M is missing if it was taken, but its record had not been committed yet. If the
 * thread that took the number may still be in the call (its chunk is open and has only lower
 * numbers), the call counts as under way, because a free can take a long time. All other missing
 * numbers count as lost. */
#pragma once

#include "parse/live/live_records.h"

/* Numbers that are missing from the records. */
typedef struct {
    uint64_t under_way; /* number of missing numbers whose calls were under way */
    uint64_t lost;      /* number of all other missing numbers */
    uint64_t lost_at;   /* the first lost number */
} mv_live_missing;

/* Counts `count` missing numbers, the first of which is `first`. `open` is the number of threads
 * that may still be in a call whose number precedes the next record. Must be called in the order of
 * the numbers. */
void mv_live_missing_add(mv_live_missing *m, uint64_t first, uint64_t count, uint64_t open);

typedef struct {
    mv_build *build;
    const mv_live_chunk *chunks;
    mv_live_stream *streams; /* one stream for each chunk */
    uint32_t *heap;          /* [heap_count] rows of `streams`, as a heap ordered by their next
                              * record */
    uint32_t heap_count;
    uint64_t through; /* mv_live_chunks */
    bool has_ended;   /* the recording has ended, so no call is under way */
    bool started;
    uint64_t last; /* M; UINT64_MAX if the second reading found no new records, or the
                         * recording has ended */
    uint64_t next; /* next number that is expected */
    uint32_t open; /* number of open chunks whose records have all been read */
    mv_live_missing missing;
} mv_live_merge;

/* Returns false when out of memory. */
bool mv_live_merge_init(mv_arena *arena, const mv_live_chunks *chunks, bool has_ended, mv_build *b,
                        mv_live_merge *out);

/* Returns the next record; false after the last. */
bool mv_live_merge_next(mv_live_merge *m, mv_live_record *out);
