/* Reports from the processes of a run while they run (capture/wire_status.h): their number, and why
 * some of them have no recording. The page is not a file; processes in another container or of
 * another user cannot open it, and report nothing. */
#ifndef MV_RUN_STATUS_H
#define MV_RUN_STATUS_H

#include <stdbool.h>

#include "capture/wire_status.h"

typedef struct {
    char where[MV_STATUS_PATH + 24]; /* for $MEMVIZ_STATUS; "": no page */
    int file;
    mv_status_page *page;
} mv_run_status;

/* Without memory for it there is no page. */
void mv_run_status_open(mv_run_status *status);
void mv_run_status_close(mv_run_status *status);

/* The figures of the page; all 0 without one. */
typedef struct {
    uint32_t loaded, opened, failed;
} mv_run_counts;

mv_run_counts mv_run_status_counts(const mv_run_status *status);

/* Failure `i` of the first MV_STATUS_FAILURES; false: there is none. */
bool mv_run_status_failure(const mv_run_status *status, uint32_t i, uint32_t *pid, int32_t *error);

#endif
