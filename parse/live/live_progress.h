/* Progress of a live file (capture/wire_live.h), from the headers of its chunks alone: whether there is
 * something new to read. Costs one small read for each chunk. */
#ifndef MV_LIVE_PROGRESS_H
#define MV_LIVE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t mark; /* another number once records were added or removed, or the file was replaced */
    bool has_ended; /* its facts contain the end: nothing more is written */
} mv_live_progress;

/* False: the file cannot be opened, or is not a live file. */
bool mv_live_progress_find(const char *path, mv_live_progress *out);

#endif
