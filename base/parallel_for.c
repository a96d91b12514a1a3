#include "base/parallel_for.h"

#include <stdatomic.h>

#include "base/processors.h"
#include "base/thread.h"

enum { MOST_THREADS = 16 };

typedef struct {
    void (*piece)(void *user, uint32_t i);
    void *user;
    uint32_t count;
    bool is_whole;         /* loops inside a piece use only the piece's thread */
    _Atomic uint32_t next; /* first piece that no thread has taken yet */
} work;

static _Thread_local bool is_inside_whole;

static void *work_off(void *user)
{
    work *w = user;
    bool was_inside = is_inside_whole;
    uint32_t i;

    is_inside_whole = was_inside || w->is_whole;
    while ((i = atomic_fetch_add(&w->next, 1)) < w->count)
        w->piece(w->user, i);
    is_inside_whole = was_inside;
    return NULL;
}

uint32_t mv_parallel_for_threads(uint32_t count, uint32_t threads)
{
    uint32_t most = threads ? threads : mv_processors();

    most = is_inside_whole ? 1 : most;
    most = most < MOST_THREADS ? most : MOST_THREADS;
    most = count < most ? count : most;
    return most ? most : 1;
}

static void run(work *w, uint32_t threads)
{
    pthread_t thread[MOST_THREADS];
    bool is_started[MOST_THREADS] = {false};

    for (uint32_t i = 1; i < threads; i++)
        is_started[i] = mv_thread_start(&thread[i], work_off, w);
    work_off(w);
    for (uint32_t i = 1; i < threads; i++)
        if (is_started[i])
            pthread_join(thread[i], NULL);
}

void mv_parallel_for(uint32_t count, uint32_t threads, void (*piece)(void *user, uint32_t i),
                     void *user)
{
    work w = {.piece = piece, .user = user, .count = count};

    run(&w, mv_parallel_for_threads(count, threads));
}

void mv_parallel_for_whole(uint32_t count, uint32_t threads, void (*piece)(void *user, uint32_t i),
                           void *user)
{
    work w = {.piece = piece, .user = user, .count = count};

    threads = mv_parallel_for_threads(count, threads);
    w.is_whole = threads > 1;
    run(&w, threads);
}
