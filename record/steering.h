/* Answers the requests that `memviz ctl` sends to a run.
 *
 *     status               state, marks, loaded, opened, failed, max_size, max_age_us (0: no
 *                          bound), kept_files (of --on), live
 *     mark TEXT            sets a mark in all recordings of the run
 *     pause, resume        sets marks named MV_MARK_PAUSE and MV_MARK_RESUME
 *     stop                 ends recordings at their next event; programs continue
 *     snapshot PID PATH    writes the recordings so far of one process, or (0) of all, to separate
 *                          files; PATH is like the argument of -o; "": NAME.snapshot.K.bin
 *
 * An answer consists of lines "KEY VALUE", or of one line "error SENTENCE". A snapshot is written
 * by a separate process with a low priority, so that the launcher can continue. */
#pragma once

#include <sys/types.h>

#include "record/run_marks.h"

enum { MV_MOST_SNAPSHOTS = 4 }; /* maximum number of snapshots that are written at the same time */

typedef struct {
    mv_run_marks marks;
    bool is_paused, is_stopped;
    uint32_t snapshots;               /* number of snapshots begun so far */
    pid_t writers[MV_MOST_SNAPSHOTS]; /* processes that write snapshots; 0: none */
} mv_steering;

/* The function that answers requests (mv_control_answer); `recording` is an mv_recording. */
bool mv_steering_answer(void *recording, const char *line, int link, char *answer);

/* Waits until all snapshots are written. Called after the program has ended. */
void mv_steering_finish(mv_steering *steering);
