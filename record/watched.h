/* Running processes that are being recorded: their live files, and their launcher.
 *
 * A live file is found in the process's memory map, so it is the file that the process really uses,
 * regardless of the file's name or the process's environment. A process without a live file may be
 * the launcher of a run, in which case the live files of all processes of this run are listed. */
#ifndef MV_WATCHED_H
#define MV_WATCHED_H

#include "base/arena.h"
#include "base/err.h"

typedef struct {
    uint32_t pid;
    const char *path; /* path of the live file */
} mv_watched;

/* Lists the live files of process `pid` or, if the process is a launcher, of its run, sorted by
 * process id; in `arena`. Fails with a sentence if there are none. */
mv_code mv_watched_find(mv_arena *arena, uint32_t pid, mv_watched **out, uint32_t *count,
                        mv_err *err);

/* The process id in the name of a live file ("a.bin.5f3a09c1.812.live"); 0: none. */
uint32_t mv_watched_process_of(const char *path);

/* Whether the process has a live file at present. */
bool mv_watched_is_recorded(uint32_t pid);

/* Reads the $MEMVIZ_STATUS (capture/wire_status.h) of a process that was started by a launcher or,
 * if `pid` is a launcher, of any process that it started. False if there is none, or if the process
 * cannot be inspected. */
bool mv_watched_status(uint32_t pid, char *status, size_t size);

#endif
