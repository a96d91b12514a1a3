/* A program that executes its arguments, one word after the other:
 *
 *     guest go 5 close_all go 20
 *
 * `go N` calls CUDA N times. At the end the program prints how many calls returned in all of its
 * processes. It must print the same output and end in the same way with and without the shim. */
#pragma once

#include <stddef.h>

/* A word and the function it calls: `acts`, or `does` if the word has an argument. */
typedef struct {
    const char *name;
    void (*does)(const char *argument);
    void (*acts)(void);
} guest_word;

/* The last entry has a NULL name. */
extern const guest_word guest_processes[];
extern const guest_word guest_threads[];
extern const guest_word guest_signals[];
extern const guest_word guest_limits[];

int cudaMalloc(void **out, size_t size);
int cudaFree(void *memory);
int cudaMallocManaged(void **out, size_t size, unsigned flags);
extern void (*small_cuda_calls)(void);

/* Calls CUDA `calls` times; guest_go_deep does so from a stack of `frames` frames. */
void guest_go(unsigned calls);
void guest_go_deep(unsigned frames, unsigned calls);

/* Does some microseconds of other work, so that a loop that runs until a deadline makes only a
 * small recording. */
void guest_rest(void);

/* Makes a call that calls `back`, which may leave the call by a jump. The call is counted only when
 * it returns. */
void guest_call_back(void (*back)(void));

long guest_number(const char *text);

/* Ends the program with this message and status 9, because the test could not set up its
 * conditions. */
void guest_cannot(const char *what);
