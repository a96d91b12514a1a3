/* Recordings that are being written, for a report that is made again and again: what is kept of a
 * file from one time to the next.
 *
 * Live blocks, totals and growth come from mv_live_watch, which reads only new records. The leak
 * verdict needs the whole recording: it is found again once a share of it is new, so that all
 * verdicts together cost time for the records of the recording, and not more often than a twentieth
 * of a processor allows. It has its age in the report. */
#ifndef MV_FOLLOWED_H
#define MV_FOLLOWED_H

#include "analyze/leaks/leaks.h"
#include "cli/commands.h"
#include "parse/live/live_watch.h"

typedef struct {
    mv_leak_verdict verdict;
    const char *why; /* why it is unknown; NULL: it is known */
} mv_judged;

typedef struct {
    mv_arena arena, judged_arena;
    mv_live_watch *watch; /* NULL: not opened */
    bool is_off;          /* the recording has ended, or cannot be followed: it is read whole */
    mv_live_watch_state state;
    const char *level; /* of the whole recording; NULL: PyTorch's */
    uint32_t judged_count;
    mv_judged *judged;     /* [judged_count] of devices */
    uint64_t judged_found; /* records up to then, see `state` */
    uint64_t judged_rows;  /* records that were read for it: a bounded recording has fewer */
    int64_t judged_ms;     /* when they were last known to be right; 0: never */
    int64_t next_ms;
} mv_followed;

/* CLOCK_MONOTONIC. */
int64_t mv_followed_now_ms(void);

/* Fills `trace`, of the command's level, with the blocks of the recording at `path`, now and `span_us`
 * before (live_watch.h); in the command's arena. False: the file has to be read whole. */
bool mv_followed_read(mv_cli *cli, mv_followed *f, const char *path, int64_t span_us,
                      mv_trace *trace);

/* Whether the device has records of the level of `trace`. */
bool mv_followed_has(const mv_live_used *used, const mv_trace *trace, uint32_t device);

/* The verdict on a device; the sentence is in `why_arena`. */
mv_code mv_judge(mv_arena *arena, mv_arena *why_arena, const mv_trace *trace, const mv_lives *lives,
                 mv_judged *out, mv_err *err);

mv_judged mv_followed_judged(const mv_followed *f, uint32_t device);

void mv_followed_close(mv_followed *f);

#endif
