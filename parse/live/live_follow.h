/* Reads a live file (capture/wire_live.h) while its process writes it: each update reads only the
 * bytes that are new, and gives the events since the last one.
 *
 *     mv_live_follow *f = mv_live_follow_open(&arena, path, &err);
 *     for (;;) {
 *         mv_live_follow_update(f, now_us, &err);        what was committed since the last update
 *         while (mv_live_follow_next(f, &record))
 *             ...                                        records of all threads, in their order
 *         wait;
 *     }
 *     mv_live_follow_close(f);                           frees everything, and closes the file
 *
 * Together the updates give the records that one reading of the finished file gives
 * (live_events.h), in the same order: by number, a record beside an event right after it. The
 * records' ids are the file's, as id + 1; see mv_live_follow_stack and mv_live_follow_text.
 *
 * A number that is missing may be taken by a call that is under way (a cudaFree that waits for the
 * device), so the records after it are kept back until it is there. They are given without it
 *
 *     - when the recording has ended (its facts contain the end), or the caller says so, of a
 *       process that was killed: MV_LIVE_FOLLOW_ENDED;
 *     - when no open chunk has only lower numbers, at two updates: then no thread can be writing it;
 *     - when the first record after it is older than MV_LIVE_FOLLOW_LATE_US.
 *
 * A number that arrives after all is given then, with `is_late` in mv_live_follow_status.
 *
 * The file is read, never mapped: one that becomes shorter ends a chunk early, and raises no
 * signal. A file that is bounded (docs/recorder.md) is read together with its folded part: first
 * the records that the folded part keeps, then the others. When the launcher folds records that
 * this reader has not read yet, they are lost for it: `overtaken` is set, and the caller closes the
 * reader and opens another. */
#ifndef MV_LIVE_FOLLOW_H
#define MV_LIVE_FOLLOW_H

#include "parse/live/live_names.h"
#include "parse/live/live_records.h"

/* Calls that take longer are given when they end, after younger records. Source: PyTorch's longest
 * cudaFree waits for the work in flight, which training loops bound to a few steps. */
enum { MV_LIVE_FOLLOW_LATE_US = 2000000 };

typedef struct mv_live_follow mv_live_follow;

/* NULL: the file cannot be opened, or is not a live file; `err` has the reason. A file in which no
 * chunk was begun yet is a live file. Memory comes from the arena's budget. */
mv_live_follow *mv_live_follow_open(mv_arena *arena, const char *path, mv_err *err);
/* The same for an open file; the descriptor belongs to the reader from then on. */
mv_live_follow *mv_live_follow_open_fd(mv_arena *arena, int fd, mv_err *err);
void mv_live_follow_close(mv_live_follow *f); /* NULL is allowed */

/* For `now_us`: no more is written, and no number is awaited. */
#define MV_LIVE_FOLLOW_ENDED UINT64_MAX

/* Looks for new records, names and facts. `now_us` is CLOCK_MONOTONIC, on which the records' times
 * are too. Fails when memory is out or the file cannot be read; the reader can then only be closed.
 * Costs O(new bytes + open chunks). */
mv_code mv_live_follow_update(mv_live_follow *f, uint64_t now_us, mv_err *err);

/* The next record; false: there is none until another update. */
bool mv_live_follow_next(mv_live_follow *f, mv_live_record *out);

/* Skips records with this number and lower ones. Before the first update. */
void mv_live_follow_after(mv_live_follow *f, uint64_t sequence);

typedef struct {
    uint64_t events;   /* given, without those beside an event */
    uint64_t sequence; /* the highest number given */
    uint64_t time_us;  /* of the youngest record given, CLOCK_MONOTONIC; 0: none yet */
    uint64_t lost;     /* numbers that were given up, and have not arrived since */
    uint64_t late;     /* numbers that arrived after they were given up */
    uint64_t bytes;    /* read from the file so far */
    uint64_t damaged;  /* chunks and records that could not be read */
    bool is_late;      /* the last record given is one of `late` */
    bool is_waiting;   /* records are kept back for a missing number */
    bool has_ended;    /* the recording ended: its facts contain the end, or the caller said so */
    bool overtaken;    /* see above */
} mv_live_follow_state;

const mv_live_follow_state *mv_live_follow_status(const mv_live_follow *f);

/* For the one who removes what was read (docs/recorder.md). A complete chunk whose records were all
 * given; false: there is none more. */
bool mv_live_follow_finished(mv_live_follow *f, uint64_t *at, uint64_t *bytes);

/* Bytes of the file from which on no chunk was seen, and the chunks before it that are not
 * finished, rising: names, open ones, and slots where none was begun yet. In `arena`; NULL: memory
 * is out. */
uint64_t *mv_live_follow_places(mv_live_follow *f, mv_arena *arena, uint64_t *count,
                                uint64_t *start);

/* A fact of the file ("pid", "rank", "command", "start_us"), NULL without it. Valid until the next
 * update. */
const char *mv_live_follow_fact(const mv_live_follow *f, const char *key);

/* Meaning of the ids in records, by id + 1. Lines and symbols of frames that are new are found at
 * the first question after an update. MV_NO_STACK, and an empty text, for 0. `trace` has the tables
 * that the stack's frames are in (mv_stack_frames), and grows with later questions. */
mv_stack_id mv_live_follow_stack(mv_live_follow *f, uint64_t id_and_1);
mv_span mv_live_follow_text(const mv_live_follow *f, uint64_t id_and_1);
const mv_trace *mv_live_follow_trace(const mv_live_follow *f);

/* For mv_live_convert. */
mv_live_names *mv_live_follow_names(mv_live_follow *f);

#endif
