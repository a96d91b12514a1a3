/* Threads, cancellation and coroutines. */
#define _GNU_SOURCE
#include "guest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_THREADS = 1000, THREAD_STACK = 64 << 10, WORKERS = 8 };

static void *go_often(void *number)
{
    for (unsigned i = 0; i < 20; i++)
        guest_go_deep((unsigned)(uintptr_t)number % 40 + i % 7, 5);
    return NULL;
}

static void start(pthread_t *thread, void *(*runs)(void *), void *argument, size_t stack)
{
    pthread_attr_t how;

    pthread_attr_init(&how);
    if (stack && pthread_attr_setstacksize(&how, stack) != 0)
        guest_cannot("pthread_attr_setstacksize");
    if (pthread_create(thread, &how, runs, argument) != 0)
        guest_cannot("pthread_create");
    pthread_attr_destroy(&how);
}

static void threads(const char *count)
{
    static pthread_t all[MOST_THREADS];
    int most = guest_number(count) < MOST_THREADS ? guest_number(count) : MOST_THREADS;

    for (int i = 0; i < most; i++)
        start(&all[i], go_often, (void *)(uintptr_t)i, THREAD_STACK);
    for (int i = 0; i < most; i++)
        pthread_join(all[i], NULL);
}

static void small_thread(const char *bytes)
{
    pthread_t thread;

    start(&thread, go_often, NULL, (size_t)guest_number(bytes));
    pthread_join(thread, NULL);
}

static atomic_bool is_over;

static void *go_on(void *number)
{
    while (!atomic_load(&is_over)) {
        guest_go_deep((unsigned)(uintptr_t)number * 5, 5);
        guest_rest();
    }
    return NULL;
}

/* A child that takes longer than this many milliseconds counts as hung. */
enum { PATIENCE_MS = 200000 };

static int ends_in_time(pid_t child)
{
    for (int waited = 0; waited < PATIENCE_MS; waited++) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child)
            return status == 0;
        usleep(1000);
    }
    kill(child, 9);
    waitpid(child, NULL, 0);
    return 0;
}

static void forks_among_threads(const char *count)
{
    pthread_t workers[WORKERS];
    int bad = 0;

    atomic_store(&is_over, false);
    for (int i = 0; i < WORKERS; i++)
        start(&workers[i], go_on, (void *)(uintptr_t)i, 0);
    for (int i = guest_number(count); i > 0; i--) {
        pid_t child = fork();
        if (child == 0) {
            guest_go(5);
            _exit(0);
        }
        bad += !ends_in_time(child);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    printf("%d children hung or failed\n", bad);
}

static void *until_canceled(void *type)
{
    pthread_setcanceltype((int)(uintptr_t)type, NULL);
    for (;;) {
        guest_go_deep(3, 2);
        pthread_testcancel();
    }
    return NULL;
}

static void wait_to_be_canceled(void)
{
    for (;;)
        pause();
}

static void *canceled_inside(void *unused)
{
    (void)unused;
    guest_call_back(wait_to_be_canceled);
    return NULL;
}

static void cancel(void *(*runs)(void *), int type, int count)
{
    int canceled = 0;

    for (int i = 0; i < count; i++) {
        pthread_t thread;
        void *result;
        start(&thread, runs, (void *)(uintptr_t)type, 0);
        usleep(500 + 37 * (unsigned)(i % 50));
        pthread_cancel(thread);
        pthread_join(thread, &result);
        canceled += result == PTHREAD_CANCELED;
    }
    printf("%d threads canceled\n", canceled);
    guest_go(3);
}

static void cancel_deferred(const char *count)
{
    cancel(until_canceled, PTHREAD_CANCEL_DEFERRED, guest_number(count));
}

static void cancel_at_once(const char *count)
{
    cancel(until_canceled, PTHREAD_CANCEL_ASYNCHRONOUS, guest_number(count));
}

static void cancel_inside(const char *count)
{
    cancel(canceled_inside, PTHREAD_CANCEL_DEFERRED, guest_number(count));
}

static ucontext_t caller, routine;

static void in_routine(void)
{
    for (int i = 0; i < 10; i++) {
        guest_go(3);
        swapcontext(&routine, &caller);
    }
    _exit(7);
}

/* Runs on a stack with this many bytes and inaccessible memory on both sides. */
static void coroutine(const char *bytes)
{
    size_t size = (size_t)guest_number(bytes), page = 4096;
    char *memory = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + page, size, PROT_READ | PROT_WRITE) != 0)
        guest_cannot("mmap");
    getcontext(&routine);
    routine.uc_stack.ss_sp = memory + page;
    routine.uc_stack.ss_size = size;
    makecontext(&routine, in_routine, 0);
    for (int i = 0; i < 10; i++) {
        swapcontext(&caller, &routine);
        guest_go(1);
    }
}

const guest_word guest_threads[] = {{"threads", .does = threads},
                                    {"small_thread", .does = small_thread},
                                    {"forks_among_threads", .does = forks_among_threads},
                                    {"cancel_deferred", .does = cancel_deferred},
                                    {"cancel_at_once", .does = cancel_at_once},
                                    {"cancel_inside", .does = cancel_inside},
                                    {"coroutine", .does = coroutine},
                                    {NULL}};
