/* Finds running processes that are being recorded, with their live files and their launcher. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

typedef struct {
    uint32_t pid;
    const char *path; /* path of the live file */
} mv_watched;

/* Lists the live files of process `pid` or, if the process is a launcher, of its run, sorted by
 * process id and allocated in `arena`. Fails with a sentence if there are none. */
mv_code mv_watched_find(mv_arena *arena, uint32_t pid, mv_watched **out, uint32_t *count,
                        mv_err *err);

/* Returns the process id in the name of a live file ("a.bin.5f3a09c1.812.live"); 0: none. */
uint32_t mv_watched_process_of(const char *path);

/* Returns true if the process has a live file at present. */
bool mv_watched_is_recorded(uint32_t pid);

/* Reads the value of $MEMVIZ_STATUS (capture/wire_status.h) from the environment of a process that
 * a launcher started. If `pid` is a launcher, reads it from any process that this launcher started.
 * False if there is none, or if the process cannot be inspected. */
bool mv_watched_status(uint32_t pid, char *status, size_t size);
