/* Keeps recordings within bounds while they are being written (docs/recorder.md). Each live file of
 * a run keeps its last records, as many as the bounds allow. Older records are folded into the
 * file's folded part (capture/wire_folded.h), and the chunks that contained them are removed from
 * the live file by punching holes.
 *
 *     mv_rings_open(&rings, budget, &names, &bounds);
 *     ... mv_rings_update(&rings);          often, because a file grows freely between two updates
 *     mv_rings_close(&rings);               before the files are completed
 *
 * The programs do not notice this, because nothing waits and nothing in their memory changes. */
#pragma once

#include "record/run_names.h"

/* Smallest value of --max-size. If it were smaller, the recorder's reserved space would take most
 * of it. */
#define MV_RING_LEAST_SIZE ((uint64_t)16 << 20)

/* Bounds for each process. 0: no bound. */
typedef struct {
    uint64_t max_size;   /* bytes on disk that the live file and its folded part may take
                          * together */
    uint64_t max_age_us; /* maximum age; older records are folded */
} mv_ring_bounds;

typedef struct mv_ring mv_ring;

typedef struct {
    mv_arena arena;
    const mv_run_names *names;
    mv_ring_bounds bounds;
    mv_ring **rings; /* [count] one ring for each live file */
    uint32_t count, capacity;
    bool is_watched;  /* files are searched for even if there are no bounds */
    uint64_t look_us; /* time at which the folder is searched again */
    bool is_behind;   /* the last update did not fold everything that it should have */
    const char
        *fault; /* why a file is no longer folded, for the first such file; NULL: all are folded */
} mv_rings;

void mv_rings_open(mv_rings *r, mv_budget *budget, const mv_run_names *names,
                   const mv_ring_bounds *bounds);
void mv_rings_update(mv_rings *r);
void mv_rings_end(mv_rings *r); /* called when the program has ended; searches for files for the
                                 * last time */
void mv_rings_close(mv_rings *r);

/* Returns the name of a live file in its folder. */
const char *mv_ring_name(const mv_rings *r, uint32_t ring);

/* Number of bytes that the shim may reserve in advance under these bounds; 0: no limit. */
uint64_t mv_ring_window(const mv_ring_bounds *bounds);
