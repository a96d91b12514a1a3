/* Receives reports from the processes of a run while they run (capture/wire_status.h). The reports
 * tell how many processes there are, and why some of them are not recorded. The reports are in a
 * page of memory, not in a file. Processes in another container or of another user cannot open the
 * page, and report nothing. */
#pragma once

#include <stdbool.h>

#include "capture/wire_status.h"

typedef struct {
    char where[MV_STATUS_PATH + 24]; /* value for $MEMVIZ_STATUS; "": there is no page */
    int file;
    mv_status_page *page;
} mv_run_status;

/* Creates the page. If there is no memory for it, there is no page. */
void mv_run_status_open(mv_run_status *status);
void mv_run_status_close(mv_run_status *status);

/* Figures from the page; all are 0 if there is no page. */
typedef struct {
    uint32_t loaded, opened, failed;
} mv_run_counts;

mv_run_counts mv_run_status_counts(const mv_run_status *status);

/* Reads failure `i` of the first MV_STATUS_FAILURES failures. False if there is no such failure. */
bool mv_run_status_failure(const mv_run_status *status, uint32_t i, uint32_t *pid, int32_t *error);
