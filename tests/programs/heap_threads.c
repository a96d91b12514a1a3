/* Threads that register heaps and report their blocks at the same time, some under the same names,
 * with more names than rows; one thread forks meanwhile.
 *
 *     heap_threads THREADS ROUNDS
 *
 * Ends with status 1 if a name has no number, or two of them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/hooks/heaps.h"
#include "capture/hooks/hooks.h"
#define MEMVIZ_CAPTURE
#include "capture/memviz.h"

enum { MOST_THREADS = 64, NAMES = 100 };

static unsigned rounds;
static pthread_barrier_t together;

int mv_hook_current_device(void)
{
    return 0;
}

static void *work(void *number)
{
    uintptr_t thread = (uintptr_t)number, base = (thread + 1) << 32;
    char name[MV_HEAPS_NAME];

    pthread_barrier_wait(&together);
    for (unsigned i = 0; i < rounds; i++) {
        snprintf(name, sizeof name, "heap %u", (unsigned)(i * (thread % 3 + 1) % NAMES));
        unsigned heap = memviz_heap(name);
        memviz_alloc(heap, (const void *)(base + i * 4096), 512);
        memviz_free(i % 2 ? heap : 0, (const void *)(base + i * 4096));
        mv_heaps_report(0, MV_HEAP_FREE, (const void *)(base + i * 4096), 0, NULL);
        if (thread == 0 && i % 64 == 0) {
            pid_t child = fork();
            if (child == 0) {
                memviz_alloc(memviz_heap("child's"), (const void *)base, 512);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, others = 0;
    pthread_t thread[MOST_THREADS];

    if (threads == 0 || threads > MOST_THREADS)
        return 2;
    rounds = (unsigned)strtoul(argv[2], NULL, 10);
    pthread_barrier_init(&together, NULL, threads);
    for (uintptr_t i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    /* No more names are written. From now on each name has one number, or is counted among the
     * others. */
    for (unsigned i = 0; i < NAMES; i++) {
        char name[MV_HEAPS_NAME];
        snprintf(name, sizeof name, "heap %u", i);
        unsigned heap = mv_heaps_named(name);
        if (heap == 0 || heap > MV_HEAPS_MOST || heap != mv_heaps_named(name))
            return 1;
        others += heap == MV_HEAPS_MOST;
    }
    printf("%u names, %s\n", NAMES, others > 0 && others < NAMES ? "some are others" : "odd");
    return others > 0 && others < NAMES ? 0 : 1;
}
