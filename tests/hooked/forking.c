/* Threads work while their process forks, as in a data loader with workers. Each child does the
 * same work once and ends. A child that does not end within seconds counts as hung.
 *
 *     forking cuda FORKS      threads call CUDA; a child does, and asks the loader
 *     forking loader FORKS    in addition, a thread of the program is nearly always in the loader
 *     forking raw FORKS       the same; children are made without libc's knowledge
 *     forking tensors FORKS   threads make tensors of the CPU, as c10 does
 *     forking asked FORKS     in addition, a thread has asked whether to report, and never reports
 *
 * Prints "FORKS forks, N hung, M failed". */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, MOST_DEPTH = 24, PATIENCE_MS = 200000, TENSORS = 64 };

int cudaMalloc(void **out, size_t size);
int cudaFree(void *memory);

static void use_cuda(unsigned size)
{
    void *memory = NULL;

    if (cudaMalloc(&memory, 512 + size) != 0 || !memory)
        _exit(3);
    cudaFree(memory);
}

static __attribute__((noinline)) unsigned deep(unsigned depth)
{
    volatile unsigned left = depth;

    if (left > 0)
        return deep(left - 1) + 1;
    use_cuda(depth);
    return left;
}

typedef struct {
    int8_t type, index;
} c10_device;

bool memory_profiling_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
void report_memory_usage(void *ptr, int64_t size, size_t allocated, size_t reserved,
                         c10_device where) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_"
                                                   "6DeviceE");

static pthread_mutex_t reporter = PTHREAD_MUTEX_INITIALIZER;
static size_t tensors_bytes;

static void report_tensor(void *tensor, int64_t bytes)
{
    bool is_wanted = memory_profiling_enabled();
    size_t allocated = 0;

    if (is_wanted) {
        pthread_mutex_lock(&reporter);
        allocated = tensors_bytes += (size_t)bytes;
        for (volatile int i = 0; i < 300; i++) /* a table of sizes */
            ;
        pthread_mutex_unlock(&reporter);
        report_memory_usage(tensor, bytes, allocated, 0, (c10_device){0, -1});
    }
}

static void use_tensors(void)
{
    static _Atomic uintptr_t made;

    for (int i = 0; i < TENSORS; i++) {
        void *tensor = (void *)(++made * 64); // NOLINT: an address
        report_tensor(tensor, 64);
        report_tensor(tensor, -64);
    }
}

static atomic_bool is_over;
static bool makes_tensors, loads;

static int count_file(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    for (volatile int i = 0; i < 200; i++)
        ;
    ++*(unsigned *)data;
    return 0;
}

static void *work(void *start)
{
    unsigned depth = (unsigned)(uintptr_t)start;

    while (!atomic_load(&is_over)) {
        if (makes_tensors)
            use_tensors();
        else
            deep(++depth % MOST_DEPTH);
    }
    return NULL;
}

static void *ask_loader(void *unused)
{
    unsigned files = 0;

    while (!atomic_load(&is_over))
        dl_iterate_phdr(count_file, &files);
    return unused;
}

static void be_child(void)
{
    unsigned files = 0;

    if (makes_tensors)
        use_tensors();
    for (unsigned depth = 0; !makes_tensors && depth < 4; depth++)
        deep(depth);
    use_cuda(1); /* a place in the code that has not called before */
    if (!makes_tensors && !loads) {
        dl_iterate_phdr(count_file, &files);
        if (files < 3)
            _exit(4);
    }
    _exit(0);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

typedef enum { ENDED, FAILED, HUNG } fate;

static fate await(pid_t child)
{
    const struct timespec pause = {.tv_nsec = 500000};
    double start = now_ms();
    int state = 0;

    while (waitpid(child, &state, WNOHANG) == 0) {
        if (now_ms() - start > PATIENCE_MS) {
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
            return HUNG;
        }
        nanosleep(&pause, NULL);
    }
    return state == 0 ? ENDED : FAILED;
}

static pid_t make_child(bool raw)
{
    pid_t child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();

    if (child == 0)
        be_child();
    return child;
}

/* A thread that announces memory reports but never makes one. */
static void *ask(void *unused)
{
    memory_profiling_enabled();
    while (!atomic_load(&is_over))
        usleep(1000);
    return unused;
}

static unsigned start(pthread_t *threads, const char *mode)
{
    unsigned count = 0;

    for (; count < THREADS; count++)
        pthread_create(&threads[count], NULL, work, (void *)(uintptr_t)count); // NOLINT: a number
    if (loads)
        pthread_create(&threads[count++], NULL, ask_loader, NULL);
    if (strcmp(mode, "asked") == 0)
        pthread_create(&threads[count++], NULL, ask, NULL);
    return count;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    int forks = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0, counts[3] = {0};
    bool raw = strcmp(mode, "raw") == 0;
    pthread_t threads[THREADS + 2];

    makes_tensors = strcmp(mode, "tensors") == 0 || strcmp(mode, "asked") == 0;
    loads = raw || strcmp(mode, "loader") == 0;
    /* opens its driver now, because a child's dlopen would hang even without the shim */
    use_cuda(0);
    unsigned count = start(threads, mode);
    for (int i = 0; i < forks; i++)
        counts[await(make_child(raw))]++;
    atomic_store(&is_over, true);
    while (count-- > 0)
        pthread_join(threads[count], NULL);
    printf("%d forks, %d hung, %d failed\n", forks, counts[HUNG], counts[FAILED]);
    return 0;
}
