/* A program that puts load on a recording for a long time. Threads allocate and free through CUDA's
 * runtime, from stacks of many depths, until the time is up or someone kills the program. What the
 * program did is written to a file that survives it.
 *
 *     soaking TRUTH SECONDS THREADS CALLS_A_SECOND SEED [fork]
 *
 * TRUTH is written through shared memory. It has a row of six 64-bit numbers for each thread, in
 * the order of `counts`. The "begun" numbers are stored before a call, the "done" numbers after the
 * call has returned. With `fork`, children do the same for a short time, each with a separate file
 * TRUTH.PID. The runtime is $SOAKING_CUDART or libcudart.so.13. The program prints nothing unless
 * it fails. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 64, LIVE = 256, MOST_DEPTH = 40, KINDS_OF_SIZE = 12 };

typedef struct {
    atomic_uint_fast64_t begun, done;             /* allocations */
    atomic_uint_fast64_t begun_bytes, done_bytes; /* of blocks */
    atomic_uint_fast64_t begun_frees, done_frees;
} counts;

typedef struct {
    pthread_t id;
    counts *truth;
    uint64_t state; /* of the thread's random numbers */
    double until;
    unsigned rate;
    bool forks;
    void *live[LIVE];
} worker;

static int (*cuda_malloc)(void **, size_t);
static int (*cuda_free)(void *);
static const char *truth_path;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t draw(worker *w, uint64_t below)
{
    w->state ^= w->state << 13;
    w->state ^= w->state >> 7;
    w->state ^= w->state << 17;
    return w->state % below;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "soaking: %s\n", what);
    _exit(9);
}

static void allocate(worker *w, void **slot)
{
    uint64_t bytes = (UINT64_C(512) << draw(w, KINDS_OF_SIZE)) + draw(w, 4) * 512;

    w->truth->begun_bytes += bytes;
    w->truth->begun++;
    if (cuda_malloc(slot, bytes) != 0)
        fail("cudaMalloc fails");
    w->truth->done_bytes += bytes;
    w->truth->done++;
}

static __attribute__((noinline)) unsigned deep(worker *w, void **slot, unsigned depth)
{
    volatile unsigned left = depth;

    if (left > 0)
        return deep(w, slot, left - 1) + 1;
    allocate(w, slot);
    return left;
}

static void release(worker *w, void **slot)
{
    w->truth->begun_frees++;
    if (cuda_free(*slot) != 0)
        fail("cudaFree fails");
    *slot = NULL;
    w->truth->done_frees++;
}

static counts *map_truth(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    counts *map;

    if (file < 0 || ftruncate(file, MOST_THREADS * sizeof *map) != 0)
        fail("cannot write its truth");
    map = mmap(NULL, MOST_THREADS * sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        fail("cannot map its truth");
    close(file);
    return map;
}

static void work(worker *w)
{
    void **slot = &w->live[draw(w, LIVE)];

    if (*slot)
        release(w, slot);
    else
        deep(w, slot, (unsigned)draw(w, MOST_DEPTH));
}

/* The parent's blocks do not belong to the child. */
static void have_child(const worker *parent)
{
    char path[4096];
    worker w = {.state = (parent->state ^ (uint64_t)getpid() << 20) | 1};
    pid_t child = fork();

    if (child < 0)
        return;
    if (child > 0) {
        waitpid(child, NULL, 0);
        return;
    }
    snprintf(path, sizeof path, "%s.%d", truth_path, (int)getpid());
    w.truth = map_truth(path);
    for (unsigned i = 0; i < 500; i++)
        work(&w);
    _exit(0);
}

/* Makes bursts of a tenth of a second's calls, then pauses for the remaining part of that time. */
static void *run(void *argument)
{
    worker *w = argument;
    double begin = now();

    for (uint64_t bursts = 1; now() < w->until; bursts++) {
        for (unsigned i = 0; i < w->rate / 10; i++)
            work(w);
        if (w->forks && draw(w, 20) == 0)
            have_child(w);
        while (now() < begin + (double)bursts / 10 && now() < w->until)
            usleep(5000);
    }
    return NULL;
}

static void find_cuda(void)
{
    const char *name = getenv("SOAKING_CUDART");
    void *library = dlopen(name ? name : "libcudart.so.13", RTLD_NOW | RTLD_LOCAL), *found;

    if (!library)
        fail(dlerror());
    found = dlsym(library, "cudaMalloc");
    memcpy(&cuda_malloc, &found, sizeof found);
    found = dlsym(library, "cudaFree");
    memcpy(&cuda_free, &found, sizeof found);
}

int main(int argc, char **argv)
{
    static worker workers[MOST_THREADS];
    unsigned threads = argc > 5 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;

    if (threads == 0 || threads > MOST_THREADS)
        fail("usage: soaking TRUTH SECONDS THREADS CALLS_A_SECOND SEED [fork]");
    truth_path = argv[1];
    counts *truth = map_truth(truth_path);
    find_cuda();
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (worker){.truth = &truth[i],
                              .state = strtoul(argv[5], NULL, 10) * 2654435761u + i + 1,
                              .until = now() + strtod(argv[2], NULL),
                              .rate = (unsigned)strtoul(argv[4], NULL, 10),
                              .forks = argc > 6 && i == 0};
        if (pthread_create(&workers[i].id, NULL, run, &workers[i]) != 0)
            fail("cannot make a thread");
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(workers[i].id, NULL);
    return 0;
}
