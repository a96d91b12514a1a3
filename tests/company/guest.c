#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef REAL_CUDA /* never calls back, and may change errno */
void (*small_cuda_calls)(void);
#endif

static atomic_ulong *calls; /* counter in memory shared with children */

void guest_cannot(const char *what)
{
    perror(what);
    exit(9);
}

long guest_number(const char *text)
{
    return strtol(text, NULL, 10);
}

void guest_go(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *memory = NULL;
        errno = EDOM;
        if (cudaMalloc(&memory, 1000 + i) != 0 || !memory)
            printf("a call went wrong\n");
#ifndef REAL_CUDA
        if (errno != EDOM)
            printf("errno became %d\n", errno);
#endif
        atomic_fetch_add(calls, 1);
        if (i % 2 && cudaFree(memory) == 0)
            atomic_fetch_add(calls, 1);
    }
}

__attribute__((noinline)) void guest_go_deep(unsigned frames, unsigned count)
{
    volatile unsigned left = frames;

    if (left > 0)
        guest_go_deep(left - 1, count);
    else
        guest_go(count);
    left = 0; /* no tail call */
}

void guest_call_back(void (*back)(void))
{
    void *memory;

    small_cuda_calls = back;
    cudaMallocManaged(&memory, 512, 1);
    small_cuda_calls = NULL;
    atomic_fetch_add(calls, 1);
}

void guest_rest(void)
{
    for (volatile int i = 0; i < 5000; i = i + 1)
        continue;
}

static void say(const char *text)
{
    puts(text);
}

static void go(const char *count)
{
    guest_go((unsigned)guest_number(count));
}

static void count_calls(void)
{
    printf("calls %lu\n", atomic_exchange(calls, 0));
    fflush(stdout);
}

static const guest_word guest_basics[] = {
    {"go", .does = go}, {"say", .does = say}, {"count", .acts = count_calls}, {NULL}};

static const guest_word *find(const char *name)
{
    static const guest_word *const all[] = {guest_basics, guest_processes, guest_threads,
                                            guest_signals, guest_limits};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (const guest_word *w = all[i]; w->name; w++)
            if (strcmp(w->name, name) == 0)
                return w;
    return NULL;
}

int main(int count, char **words)
{
    static char buffer[4096]; /* so that printing the first line needs no memory */

    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (calls == MAP_FAILED)
        guest_cannot("mmap");
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    for (int i = 1; i < count; i++) {
        const guest_word *word = find(words[i]);
        if (!word || (word->does && i + 1 >= count))
            return fprintf(stderr, "guest: %s?\n", words[i]), 8;
        if (word->does)
            word->does(words[++i]);
        else
            word->acts();
    }
    count_calls();
    return 0;
}
