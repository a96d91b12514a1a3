/* Shows the progress of a long operation on standard error, but only on a terminal, and only after
 * a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char what[80]; /* what is being done: "reading train.pickle" */
    bool silent;
    bool shown;
    int64_t started_ms, printed_ms;
} mv_progress;

/* `what` may contain a file's name: control characters in it are replaced. */
void mv_progress_start(mv_progress *progress, const char *what, bool quiet);

/* An mv_progress_fn; `progress` is an mv_progress. */
void mv_progress_show(void *progress, uint64_t done, uint64_t total);

/* Clears the progress line if one was shown. */
void mv_progress_end(mv_progress *progress);
