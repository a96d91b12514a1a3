/* Running processes that are being recorded: their live files, and their launcher.
 *
 * A live file is found in the process's memory map, so it is the file itself, whatever its name or
 * the process's environment say. A process without a live file may be the launcher of a run: then
 * the files of all processes of that run are meant. */
#ifndef MV_WATCHED_H
#define MV_WATCHED_H

#include "base/arena.h"
#include "base/err.h"

typedef struct {
    uint32_t pid;
    const char *path; /* of its live file */
} mv_watched;

/* The live files of process `pid`, or of the run that it has launched, by pid; in `arena`. Fails,
 * with a sentence, if there are none. */
mv_code mv_watched_find(mv_arena *arena, uint32_t pid, mv_watched **out, uint32_t *count,
                        mv_err *err);

/* The process that a live file's name contains ("a.bin.5f3a09c1.812.live"); 0: none. */
uint32_t mv_watched_process_of(const char *path);

/* Whether the process has a live file now. */
bool mv_watched_is_recorded(uint32_t pid);

/* $MEMVIZ_STATUS (capture/wire_status.h) of a process that a launcher has started, or of any
 * process that launcher `pid` has started. False: there is none, or it cannot be inspected. */
bool mv_watched_status(uint32_t pid, char *status, size_t size);

#endif
