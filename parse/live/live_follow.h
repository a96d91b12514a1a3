/* Reads a live file (capture/wire_live.h) while its process writes it: each update reads only new
 * bytes, and returns the events since the last update.
 *
 *     mv_live_follow *f = mv_live_follow_open(&arena, path, &err);
 *     for (;;) {
 *         mv_live_follow_update(f, now_us, &err);        what was committed since the last update
 *         while (mv_live_follow_next(f, &record))
 *             ...                                        records of all threads, in order
 *         wait;
 *     }
 *     mv_live_follow_close(f);                           frees everything and closes the file
 *
 * Together, the updates return the same records as reading the finished file (live_events.h).
 * Records are sorted by number, and additional records of an event follow directly after it.
 * Records contain the file's ids, as id + 1; see mv_live_follow_names.
 *
 * A missing number may belong to a call that is under way (a cudaFree that waits for the device),
 * so later records are held back until the missing record arrives. They are returned without it
 *
 *     - when the recording has ended: its facts contain the end, or the caller passes
 *       MV_LIVE_FOLLOW_ENDED because the process was killed;
 *     - when at two updates no open chunk has only lower numbers, so no thread can be writing it;
 *     - when the first record after it is older than MV_LIVE_FOLLOW_LATE_US.
 *
 * A record that arrives later is returned when it arrives, with `is_late` in mv_live_follow_status.
 *
 * The file is read, never mapped, so if it becomes shorter, a chunk ends early, but no signal is
 * raised. A bounded file (docs/recorder.md) is read together with its folded part, whose records
 * are returned first. If the launcher folds records that this reader has not read yet, `overtaken`
 * is set. Those records are lost for this reader, so the caller must close it and open a new
 * one. */
#pragma once

#include "parse/live/live_events.h"
#include "parse/live/live_names.h"

/* If a call takes longer than this, the records after it are returned first, and the call is
 * returned when it ends. The value was chosen because PyTorch's longest cudaFree waits for the work
 * in flight, which training loops limit to a few steps. */
enum { MV_LIVE_FOLLOW_LATE_US = 2000000 };

typedef struct mv_live_follow mv_live_follow;

/* Returns NULL, with the reason in `err`, if the file cannot be opened or is not a live file. A
 * live file may have no chunks yet. Memory comes from the arena's budget. */
mv_live_follow *mv_live_follow_open(mv_arena *arena, const char *path, mv_err *err);
/* Does the same for an open file; the reader then owns the descriptor. */
mv_live_follow *mv_live_follow_open_fd(mv_arena *arena, int fd, mv_err *err);
void mv_live_follow_close(mv_live_follow *f); /* `f` may be NULL */

/* Passed as `now_us`, it means that nothing more will be written, so missing numbers are lost. */
#define MV_LIVE_FOLLOW_ENDED UINT64_MAX

/* Looks for new records, names and facts. `now_us` is CLOCK_MONOTONIC, as are the records' times.
 * Fails if memory runs out or the file cannot be read; after a failure, the reader can only be
 * closed. Takes O(new bytes + open chunks). */
mv_code mv_live_follow_update(mv_live_follow *f, uint64_t now_us, mv_err *err);

/* Returns true if the file at `path`, which the reader was opened for, is no longer the one that was
 * read: another file has its name, it became shorter, or another recording was copied over it, so
 * that the facts read so far, which contain the time of its start, have changed. A copy changes them
 * first, so if this is false after an update, all that the update read is of one recording. */
bool mv_live_follow_is_replaced(mv_live_follow *f, const char *path);

/* Returns the next record; false if there is none until another update. */
bool mv_live_follow_next(mv_live_follow *f, mv_live_record *out);

typedef struct {
    uint64_t events;   /* number of records returned so far, not counting additional records of an
                        * event */
    uint64_t sequence; /* the highest number returned */
    uint64_t time_us;  /* time of the latest record returned, CLOCK_MONOTONIC; 0: none yet */
    uint64_t lost;     /* number of missing numbers that were skipped and have not arrived since */
    uint64_t late;     /* number of records that arrived after their numbers were skipped */
    uint64_t bytes;    /* number of bytes read from the file so far */
    uint64_t file_bytes; /* size of the file at the last update */
    uint64_t damaged;    /* number of chunks and records that could not be read */
    bool is_partial;     /* the file contains more than this reader returns: chunks of an unknown
                        * kind, bytes outside chunks, or too many gaps for mv_live_follow_missing */
    bool is_late;        /* the last record returned is counted in `late` */
    bool is_waiting;     /* records are held back for a missing number */
    bool has_ended;      /* the facts contain the end, or the caller passed MV_LIVE_FOLLOW_ENDED */
    bool overtaken;      /* records were folded before this reader had read them, as described
                        * above */
} mv_live_follow_state;

const mv_live_follow_state *mv_live_follow_status(const mv_live_follow *f);

/* For the launcher, which removes chunks that were read (docs/recorder.md). Returns the next
 * complete chunk whose records were all returned; false if there is no more such chunk. */
bool mv_live_follow_finished(mv_live_follow *f, uint64_t *at, uint64_t *bytes);

/* Returns the positions of the chunks that are still needed, in ascending order: NAMES chunks,
 * unfinished chunks, and slots where a chunk may begin. The result is allocated in `arena`; NULL
 * when out of memory. No chunk has been found at or after *start. */
uint64_t *mv_live_follow_places(mv_live_follow *f, mv_arena *arena, uint64_t *count,
                                uint64_t *start);

/* Returns the missing numbers before the records that were returned, as reading the finished file
 * would count them. */
mv_live_missing mv_live_follow_missing(const mv_live_follow *f);

/* Returns the names and facts that were read so far. Ids in records are ids of these names. */
mv_live_names *mv_live_follow_names(mv_live_follow *f);
