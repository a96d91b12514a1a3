/* Background work for the user interface: slots that hold the newest result of one query.
 *
 *     pane:    mv_slot_query(slot, &ask, &is_current)  ->  a result, perhaps for an earlier query
 *     worker:                            fn(arena, context, ask)  ->  result, a wake-up
 *
 * Queries are compared byte by byte, so they must not have padding (base/plain.h). Only the newest
 * query of a slot waits; a running worker always finishes. A result is valid until the next
 * mv_slot_query of its slot. Without threads, queries run at once, on the calling thread: tests and
 * golden pictures use that. With MV_COOPERATIVE (viz/core/background.h) they wait for mv_jobs_run_one_task. */
#ifndef MV_JOBS_H
#define MV_JOBS_H

#include "base/arena.h"
#include "base/err.h"

typedef struct mv_jobs mv_jobs;
typedef struct mv_slot mv_slot;

enum { MV_ASK_MOST = 4096 }; /* bytes of a query */

/* Computes the result in `arena`, which lives as long as the result. NULL: no result. */
typedef void *mv_job_fn(mv_arena *arena, void *context, const void *ask);

/* A worker calls `wake(user)` when a result is ready. `threads` 0: none. NULL when out of
 * memory. */
mv_jobs *mv_jobs_open(mv_arena *arena, mv_budget *budget, uint32_t threads, void (*wake)(void *),
                      void *user);

/* Waits for the workers to finish their current jobs, and releases all results. NULL is allowed. */
void mv_jobs_close(mv_jobs *jobs);

/* NULL when out of memory. */
mv_slot *mv_slot_open(mv_jobs *jobs, mv_job_fn *fn, void *context, uint32_t ask_bytes);

/* The newest result; NULL: none yet. *is_current: the result is for `ask` (NULL from a job counts
 * as a result). */
const void *mv_slot_query(mv_slot *slot, const void *ask, bool *is_current);

/* With MV_COOPERATIVE: runs one waiting query. False: none waits. */
bool mv_jobs_run_one_task(mv_jobs *jobs);

/* No query waits and no worker is running. */
bool mv_jobs_are_idle(mv_jobs *jobs);

/* The number of queries that did not get their result so far. A frame that adds none shows all
 * results, even if workers finished before it ended. */
uint64_t mv_jobs_missed(mv_jobs *jobs);

#endif
