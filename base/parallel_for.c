#include "base/parallel_for.h"

#include <stdatomic.h>

#include "base/processors.h"
#include "base/thread.h"

enum { MOST_THREADS = 16 };

typedef struct {
    void (*piece)(void *user, uint32_t i);
    void *user;
    uint32_t count;
    _Atomic uint32_t next; /* first piece that no thread has taken yet */
} work;

static void *work_off(void *user)
{
    work *w = user;
    uint32_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->count)
        w->piece(w->user, i);
    return NULL;
}

uint32_t mv_parallel_for_threads(uint32_t count, uint32_t threads)
{
    uint32_t most = threads ? threads : mv_processors();

    most = most < MOST_THREADS ? most : MOST_THREADS;
    most = count < most ? count : most;
    return most ? most : 1;
}

void mv_parallel_for(uint32_t count, uint32_t threads, void (*piece)(void *user, uint32_t i),
                     void *user)
{
    work w = {.piece = piece, .user = user, .count = count};
    pthread_t thread[MOST_THREADS];
    bool is_started[MOST_THREADS] = {false};

    threads = mv_parallel_for_threads(count, threads);
    for (uint32_t i = 1; i < threads; i++)
        is_started[i] = mv_thread_start(&thread[i], work_off, &w);
    work_off(&w);
    for (uint32_t i = 1; i < threads; i++)
        if (is_started[i])
            pthread_join(thread[i], NULL);
}
