/* Background work for the user interface. Each slot keeps the newest result of one kind of query.
 *
 *     pane:    mv_slot_query(slot, &ask, &is_current)  ->  a result, perhaps for an earlier query
 *     worker:                            fn(arena, context, ask)  ->  result, a wake-up
 *
 * Queries are compared byte by byte, so they must not contain padding (base/plain.h). Only the
 * newest query of a slot waits, but a query that is already running always finishes. A result is
 * valid until the next mv_slot_query of the same slot. Without threads, queries run at once on the
 * calling thread, which tests and golden pictures use. With MV_COOPERATIVE (viz/core/background.h),
 * queries wait for mv_jobs_run_one_task. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

typedef struct mv_jobs mv_jobs;
typedef struct mv_slot mv_slot;

enum { MV_ASK_MOST = 4096 }; /* largest size of a query in bytes */

/* Computes the result in `arena`, which is kept as long as the result. Returns NULL if there is no
 * result. */
typedef void *mv_job_fn(mv_arena *arena, void *context, const void *ask);

/* Opens the jobs. A worker calls `wake(user)` when a result is ready. If `threads` is 0, there are
 * no workers. Returns NULL when out of memory. */
mv_jobs *mv_jobs_open(mv_arena *arena, mv_budget *budget, uint32_t threads, void (*wake)(void *),
                      void *user);

/* Waits until the workers have finished their current jobs, and releases all results. `jobs` may be
 * NULL. */
void mv_jobs_close(mv_jobs *jobs);

/* Opens a slot. Returns NULL when out of memory. */
mv_slot *mv_slot_open(mv_jobs *jobs, mv_job_fn *fn, void *context, uint32_t ask_bytes);

/* Returns the newest result of the slot; NULL: there is none yet. *is_current is set if the result
 * is for `ask`. A job's NULL counts as a result. */
const void *mv_slot_query(mv_slot *slot, const void *ask, bool *is_current);

/* With MV_COOPERATIVE: runs one waiting query. Returns false if no query is waiting. */
bool mv_jobs_run_one_task(mv_jobs *jobs);

/* Whether no query is waiting and no worker is running. */
bool mv_jobs_are_idle(mv_jobs *jobs);

/* Returns the number of queries so far that did not receive a result at once. If this count does
 * not change while a frame is drawn, the frame shows every result, even if some workers finished
 * while it was being drawn. */
uint64_t mv_jobs_missed(mv_jobs *jobs);
