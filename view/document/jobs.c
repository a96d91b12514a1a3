#include "view/document/jobs.h"

#include <string.h>

#include "base/thread.h"
#include "viz/core/background.h"

enum { MOST_THREADS = 16 };

/* A result, and the query that it answers. */
typedef struct {
    bool is_there;
    _Alignas(16) unsigned char ask[MV_ASK_MOST];
    mv_arena arena;
    void *answer;
} result;

struct mv_slot {
    mv_jobs *jobs;
    mv_slot *next; /* next slot in the list of all slots */
    mv_job_fn *fn;
    void *context;
    uint32_t ask_bytes;
    result shown;   /* the result that the pane is using */
    result ready;   /* newer result that the pane has not asked for yet */
    result running; /* result that a worker is computing; other threads may read only its `ask` */
    bool is_waiting;
    _Alignas(16) unsigned char waiting[MV_ASK_MOST];
};

struct mv_jobs {
    mv_arena *arena;
    mv_budget *budget;
    void (*wake)(void *user);
    void *user;
    uint32_t thread_count;
    bool is_cooperative;
    pthread_t threads[MOST_THREADS];
    pthread_mutex_t lock; /* protects everything below, and all slots */
    pthread_cond_t work;
    mv_slot *slots;
    bool is_closing;
    uint64_t missed; /* number of queries that have not received a result */
};

static void drop(result *r)
{
    if (r->is_there)
        mv_arena_release(&r->arena);
    r->is_there = false;
}

static bool answers(const mv_slot *slot, const result *r, const void *ask)
{
    return r->is_there && memcmp(r->ask, ask, slot->ask_bytes) == 0;
}

static void find(mv_slot *slot, result *r)
{
    mv_arena_init(&r->arena, slot->jobs->budget);
    r->answer = slot->fn(&r->arena, slot->context, r->ask);
    r->is_there = true;
}

/* ---- workers ----------------------------------------------------------------------------- */

/* Returns a slot whose query is waiting and has no worker. The list is rotated, so that no slot
 * waits forever. */
static mv_slot *next_waiting(mv_jobs *jobs)
{
    for (mv_slot **at = &jobs->slots; *at; at = &(*at)->next) {
        mv_slot *slot = *at, **last = at;
        if (!slot->is_waiting || slot->running.is_there)
            continue;
        *at = slot->next;
        while (*last)
            last = &(*last)->next;
        slot->next = NULL;
        *last = slot;
        return slot;
    }
    return NULL;
}

static void run(mv_jobs *jobs, mv_slot *slot)
{
    result r;

    memcpy(r.ask, slot->waiting, slot->ask_bytes);
    memcpy(slot->running.ask, slot->waiting, slot->ask_bytes);
    slot->running.is_there = true;
    slot->is_waiting = false;
    pthread_mutex_unlock(&jobs->lock);
    find(slot, &r);
    pthread_mutex_lock(&jobs->lock);
    slot->running.is_there = false;
    drop(&slot->ready);
    slot->ready = r;
    if (slot->is_waiting)
        pthread_cond_signal(&jobs->work);
}

static void *work(void *user)
{
    mv_jobs *jobs = user;

    mv_background_begin();
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->is_closing) {
        mv_slot *slot = next_waiting(jobs);
        if (!slot) {
            pthread_cond_wait(&jobs->work, &jobs->lock);
            continue;
        }
        run(jobs, slot);
        if (jobs->wake) {
            pthread_mutex_unlock(&jobs->lock);
            jobs->wake(jobs->user);
            pthread_mutex_lock(&jobs->lock);
        }
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

/* ---- opening and closing ----------------------------------------------------------------- */

mv_jobs *mv_jobs_open(mv_arena *arena, mv_budget *budget, uint32_t threads, void (*wake)(void *),
                      void *user)
{
    mv_jobs *jobs = mv_push_struct(arena, mv_jobs);

    if (!jobs)
        return NULL;
    *jobs = (mv_jobs){.arena = arena,
                      .budget = budget,
                      .wake = wake,
                      .user = user,
                      .is_cooperative = threads == MV_COOPERATIVE};
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->work, NULL);
    if (jobs->is_cooperative)
        threads = 0;
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    while (jobs->thread_count < threads &&
           mv_thread_start(&jobs->threads[jobs->thread_count], work, jobs))
        jobs->thread_count++;
    return jobs;
}

void mv_jobs_close(mv_jobs *jobs)
{
    if (!jobs)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->is_closing = true;
    pthread_cond_broadcast(&jobs->work);
    pthread_mutex_unlock(&jobs->lock);
    for (uint32_t i = 0; i < jobs->thread_count; i++)
        pthread_join(jobs->threads[i], NULL);
    for (mv_slot *slot = jobs->slots; slot; slot = slot->next) {
        drop(&slot->shown);
        drop(&slot->ready);
    }
    pthread_cond_destroy(&jobs->work);
    pthread_mutex_destroy(&jobs->lock);
}

mv_slot *mv_slot_open(mv_jobs *jobs, mv_job_fn *fn, void *context, uint32_t ask_bytes)
{
    mv_slot *slot = ask_bytes <= MV_ASK_MOST ? mv_push_struct(jobs->arena, mv_slot) : NULL;

    if (!slot)
        return NULL;
    *slot = (mv_slot){.jobs = jobs, .fn = fn, .context = context, .ask_bytes = ask_bytes};
    pthread_mutex_lock(&jobs->lock);
    slot->next = jobs->slots;
    jobs->slots = slot;
    pthread_mutex_unlock(&jobs->lock);
    return slot;
}

/* ---- asking ------------------------------------------------------------------------------ */

static void ask_now(mv_slot *slot, const void *ask)
{
    drop(&slot->shown);
    memcpy(slot->shown.ask, ask, slot->ask_bytes);
    find(slot, &slot->shown);
}

const void *mv_slot_query(mv_slot *slot, const void *ask, bool *is_current)
{
    mv_jobs *jobs = slot->jobs;

    if (jobs->thread_count == 0 && !jobs->is_cooperative) {
        if (!answers(slot, &slot->shown, ask))
            ask_now(slot, ask);
        *is_current = true;
        return slot->shown.answer;
    }
    pthread_mutex_lock(&jobs->lock);
    if (slot->ready.is_there) {
        drop(&slot->shown);
        slot->shown = slot->ready;
        slot->ready.is_there = false;
    }
    *is_current = answers(slot, &slot->shown, ask);
    jobs->missed += !*is_current;
    slot->is_waiting = !*is_current && !answers(slot, &slot->running, ask);
    if (slot->is_waiting) {
        memcpy(slot->waiting, ask, slot->ask_bytes);
        pthread_cond_signal(&jobs->work);
    }
    pthread_mutex_unlock(&jobs->lock);
    return slot->shown.is_there ? slot->shown.answer : NULL;
}

bool mv_jobs_run_one_task(mv_jobs *jobs)
{
    mv_slot *slot;

    pthread_mutex_lock(&jobs->lock);
    slot = jobs->is_cooperative ? next_waiting(jobs) : NULL;
    if (slot)
        run(jobs, slot);
    pthread_mutex_unlock(&jobs->lock);
    return slot;
}

bool mv_jobs_are_idle(mv_jobs *jobs)
{
    bool is_idle = true;

    pthread_mutex_lock(&jobs->lock);
    for (const mv_slot *slot = jobs->slots; slot; slot = slot->next)
        if (slot->is_waiting || slot->running.is_there)
            is_idle = false;
    pthread_mutex_unlock(&jobs->lock);
    return is_idle;
}

uint64_t mv_jobs_missed(mv_jobs *jobs)
{
    uint64_t missed;

    pthread_mutex_lock(&jobs->lock);
    missed = jobs->missed;
    pthread_mutex_unlock(&jobs->lock);
    return missed;
}
