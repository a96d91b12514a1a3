/* Bounds for recordings that are being written (docs/recorder.md): of each live file of a run the
 * last records stay, as many as the bounds allow. Older ones are folded into the file's folded part
 * (capture/wire_folded.h), and their chunks are removed from the live file by holes.
 *
 *     mv_rings_open(&rings, budget, &names, &bounds);
 *     ... mv_rings_update(&rings);          often: between two updates a file grows freely
 *     mv_rings_close(&rings);               before the files are completed
 *
 * The programs do not notice: nothing waits, and nothing in their memory changes. */
#ifndef MV_RECORD_RING_H
#define MV_RECORD_RING_H

#include "record/run_names.h"

/* Smallest --max-size: below, the space that the recorder reserves in advance would be most of
 * it. */
#define MV_RING_LEAST_SIZE ((uint64_t)16 << 20)

/* Of each process. 0: no bound. */
typedef struct {
    uint64_t max_size;   /* bytes of disk, of the live file and its folded part together */
    uint64_t max_age_us; /* records that are older are folded */
} mv_ring_bounds;

typedef struct mv_ring mv_ring;

typedef struct {
    mv_arena arena;
    const mv_run_names *names;
    mv_ring_bounds bounds;
    mv_ring **rings; /* [count] one for each live file */
    uint32_t count, capacity;
    bool is_watched;  /* files are found although there are no bounds */
    uint64_t look_us; /* when the folder is looked at again */
    bool is_behind;   /* the last update has more to fold */
    const char
        *fault; /* why a file is not folded any more; NULL: all are. Of the first such file */
} mv_rings;

void mv_rings_open(mv_rings *r, mv_budget *budget, const mv_run_names *names,
                   const mv_ring_bounds *bounds);
void mv_rings_update(mv_rings *r);
void mv_rings_end(mv_rings *r); /* the program has ended: looks for files for the last time */
void mv_rings_close(mv_rings *r);

/* The name of a live file in the folder. */
const char *mv_ring_name(const mv_rings *r, uint32_t ring);

/* Bytes that the shim may reserve in advance under these bounds; 0: as many as it likes. */
uint64_t mv_ring_window(const mv_ring_bounds *bounds);

#endif
