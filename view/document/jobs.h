/* Work done by other threads than the user interface's: slots that hold the newest result of one
 * question.
 *
 *     pane:    mv_slot_ask(slot, &ask, &is_current)  ->  a result, perhaps of an earlier ask
 *     worker:                            fn(arena, context, ask)  ->  result, a wake-up
 *
 * An ask is compared byte by byte, so it has no padding (base/plain.h). Only the newest ask of a
 * slot waits; a worker that has begun finishes. A result is valid until the next mv_slot_ask of its
 * slot. Without threads, asks are answered at once, on this thread: that is what tests and golden
 * pictures use. With MV_IN_TURNS (viz/core/background.h) they wait for mv_jobs_turn. */
#ifndef MV_JOBS_H
#define MV_JOBS_H

#include "base/arena.h"
#include "base/err.h"

typedef struct mv_jobs mv_jobs;
typedef struct mv_slot mv_slot;

enum { MV_ASK_MOST = 4096 }; /* bytes of an ask */

/* Finds the answer, in `arena`, which lives as long as the answer. NULL: there is none. */
typedef void *mv_job_fn(mv_arena *arena, void *context, const void *ask);

/* `wake(user)` is called, from a worker, when a result is there. `threads` 0: none. NULL when
 * memory is out. */
mv_jobs *mv_jobs_open(mv_arena *arena, mv_budget *budget, uint32_t threads, void (*wake)(void *),
                      void *user);

/* Waits for the workers to finish their current jobs, and releases all results. NULL is allowed. */
void mv_jobs_close(mv_jobs *jobs);

/* NULL when memory is out. */
mv_slot *mv_slot_open(mv_jobs *jobs, mv_job_fn *fn, void *context, uint32_t ask_bytes);

/* The newest result; NULL: none yet. *is_current: it answers `ask` (a job's NULL answer counts as
 * one). */
const void *mv_slot_ask(mv_slot *slot, const void *ask, bool *is_current);

/* With MV_IN_TURNS: answers one ask that waits. False: none does. */
bool mv_jobs_turn(mv_jobs *jobs);

/* No ask waits and no worker works. */
bool mv_jobs_are_idle(mv_jobs *jobs);

/* How many asks did not get their answer so far: a frame that adds none shows all answers, even if
 * workers were done before it ended. */
uint64_t mv_jobs_missed(mv_jobs *jobs);

#endif
