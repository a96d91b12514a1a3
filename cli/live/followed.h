/* Recordings that are still being written. A report that is repeated keeps this data about each of
 * them between two reports.
 *
 * Live blocks, totals and growth come from mv_live_watch, which reads only new records. The leak
 * verdict needs the whole recording, so it is computed again only when enough of the records are
 * new, and it uses at most a twentieth of one CPU. The report shows the age of the verdict. */
#pragma once

#include "cli/commands.h"
#include "parse/live/live_watch.h"

typedef struct {
    mv_leak_verdict verdict;
    const char *why; /* why the verdict is unknown; NULL: it is known */
} mv_judged;

typedef struct {
    mv_arena arena, judged_arena;
    mv_live_watch *watch; /* NULL: not opened */
    bool is_off;          /* the recording has ended or cannot be followed, so the file is read as a
                           * whole */
    mv_live_watch_state state;
    const char *level; /* level of the trace of the whole recording; NULL: PyTorch's */
    uint32_t judged_count;
    mv_judged *judged;     /* [judged_count] the verdict on each device */
    uint64_t judged_found; /* number of records in the recording when the verdicts were found (see
                            * `state`) */
    uint64_t judged_rows;  /* number of records read to find the verdicts, which is smaller for a
                            * bounded recording */
    int64_t judged_ms;     /* time when the verdicts were last up to date; 0: never */
    int64_t next_ms;
} mv_followed;

/* Fills `trace`, on the command's level and in the command's arena, with the live blocks of the
 * recording at `path`: those that are live now, and those that were live `span_us` ago
 * (live_watch.h). Returns false if the whole file must be read. */
bool mv_followed_read(mv_cli *cli, mv_followed *f, const char *path, int64_t span_us,
                      mv_trace *trace);

/* Whether the device has records on the level of `trace`. */
bool mv_followed_has(const mv_live_used *used, const mv_trace *trace, uint32_t device);

/* Finds the verdict on a device. The sentence about it is allocated in `why_arena`. */
mv_code mv_judge(mv_arena *arena, mv_arena *why_arena, const mv_trace *trace, const mv_lives *lives,
                 mv_judged *out, mv_err *err);

mv_judged mv_followed_judged(const mv_followed *f, uint32_t device);

void mv_followed_close(mv_followed *f);
