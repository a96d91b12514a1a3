/* Checks whether a live file (capture/wire_live.h) has anything new to read, using only its chunk
 * headers. This takes one small read for each chunk. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t mark;  /* changes when records or facts are added or records are removed, or the file
                     * is replaced */
    bool has_ended; /* the file's facts contain the end of the recording, so nothing more will be
                     * written */
} mv_live_progress;

/* Returns false if the file cannot be opened or is not a live file. */
bool mv_live_progress_find(const char *path, mv_live_progress *out);
