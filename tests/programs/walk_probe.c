/* A library that Python programs load with ctypes. It walks the calling thread's frames, as the
 * shim does, and writes them as text. ctypes releases the GIL around a call, as do the allocators
 * that call the shim. */
#include "capture/record/stack.h"
#include "parse/symbols/python_lines.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int probe_walk(char *out, size_t size);
EXPORT int probe_walk_in_thread(char *out, size_t size);
EXPORT void probe_call(void (*function)(void));
EXPORT void probe_call_in_thread(void (*function)(void));
EXPORT const char *probe_why_off(void);
EXPORT const char *probe_version(void);
EXPORT double probe_cost(int walks);
EXPORT long probe_loop(double seconds);
EXPORT int probe_native(void);
EXPORT int probe_native_same(void);
EXPORT double probe_native_cost(int walks);

static int64_t line_of(const mv_python_frame *frame, const mv_python_code *code)
{
    mv_python_lines lines = {frame->version, code->first_line, {code->table, code->table_bytes}};
    int64_t line;

    return mv_python_lines_find(&lines, &frame->offset, 1, &line) ? line : -2;
}

/* Writes one line for each frame, innermost first: LINE TAB NAME TAB FILE. Returns the number of
 * frames, or -1 if one could not be described. */
int probe_walk(char *out, size_t size)
{
    static __thread mv_python_frame frames[MV_LIVE_MOST_FRAMES];
    uint32_t count = mv_python_walk(frames, MV_LIVE_MOST_FRAMES);
    mv_python_code code;
    size_t at = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!mv_python_describe(&frames[i], &code))
            return -1;
        at += (size_t)snprintf(out + at, size - at, "%ld\t%.*s\t%.*s\n",
                               (long)line_of(&frames[i], &code), (int)code.name_bytes, code.name,
                               (int)code.file_bytes, code.file);
        if (at >= size)
            return -1;
    }
    return (int)count;
}

typedef struct {
    char *out;
    size_t size;
    int count;
    void (*function)(void);
} thread_work;

static void *work(void *context)
{
    thread_work *w = context;

    if (w->function)
        w->function();
    else
        w->count = probe_walk(w->out, w->size);
    return NULL;
}

static int run_in_thread(thread_work w)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, work, &w))
        return -1;
    pthread_join(thread, NULL);
    return w.count;
}

/* Runs a thread that Python does not know about. */
int probe_walk_in_thread(char *out, size_t size)
{
    return run_in_thread((thread_work){.out = out, .size = size});
}

/* Calls from C into Python again, so that the stack is Python, C, Python, C. */
void probe_call(void (*function)(void))
{
    function();
}

void probe_call_in_thread(void (*function)(void))
{
    run_in_thread((thread_work){.function = function});
}

const char *probe_why_off(void)
{
    return mv_python_why_off();
}

const char *probe_version(void)
{
    return mv_python_version();
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Returns the nanoseconds that one walk from here takes, as the best of 20 attempts, so that
 * disturbances do not count. */
double probe_cost(int walks)
{
    static __thread mv_python_frame frames[MV_LIVE_MOST_FRAMES];
    double best = 1e9;

    for (int turn = 0; turn < 20; turn++) {
        double start = seconds_now(), took;
        for (int i = 0; i < walks; i++)
            mv_python_walk(frames, MV_LIVE_MOST_FRAMES);
        took = (seconds_now() - start) * 1e9 / walks;
        best = took < best ? took : best;
    }
    return best;
}

/* Walks forever, because the interpreter must be able to end during a walk. Counts the walks that
 * find frames. */
long probe_loop(double seconds)
{
    static __thread mv_python_frame frames[MV_LIVE_MOST_FRAMES];
    double end = seconds_now() + seconds;
    long walks = 0;

    while (seconds_now() < end)
        for (int i = 0; i < 1000; i++)
            walks += mv_python_walk(frames, MV_LIVE_MOST_FRAMES) > 0;
    return walks;
}

static __thread mv_native_past past;

/* Returns the number of native frames from here. */
int probe_native(void)
{
    static __thread uint64_t addresses[MV_LIVE_MOST_FRAMES];

    mv_native_start();
    return (int)mv_native_walk(&past, addresses, MV_LIVE_MOST_FRAMES);
}

/* Returns the number of our callers' native frames if they equal those from the C library's
 * backtrace(), otherwise -1. */
int probe_native_same(void)
{
    uint64_t own[MV_LIVE_MOST_FRAMES];
    void *theirs[MV_LIVE_MOST_FRAMES];
    uint32_t skip;

    mv_native_start();
    uint32_t count = mv_native_walk(&past, own, MV_LIVE_MOST_FRAMES);
    int want = backtrace(theirs, MV_LIVE_MOST_FRAMES);
    for (skip = 0; skip < count && want > 1 && own[skip] != (uint64_t)(uintptr_t)theirs[1];)
        skip++;
    if (want < 2 || (uint32_t)want - 1 > count - skip)
        return -1;
    for (int i = 1; i < want; i++)
        if (own[skip + (uint32_t)i - 1] != (uint64_t)(uintptr_t)theirs[i])
            return -1;
    return want - 1;
}

/* Returns the nanoseconds that one native walk from here takes, as the best of 20 attempts. */
double probe_native_cost(int walks)
{
    double best = 1e9;

    for (int turn = 0; turn < 20; turn++) {
        double start = seconds_now(), took;
        for (int i = 0; i < walks; i++)
            probe_native();
        took = (seconds_now() - start) * 1e9 / walks;
        best = took < best ? took : best;
    }
    return best;
}
