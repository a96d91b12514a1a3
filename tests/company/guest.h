/* A program that executes its arguments, one word after the other:
 *
 *     guest go 5 close_all go 20
 *
 * `go N` calls CUDA N times. At the end it prints how many calls returned in all its processes.
 * With and without the shim it must print the same and end in the same way. */
#ifndef GUEST_H
#define GUEST_H

#include <stddef.h>

/* A word and its action; `argument` is NULL for words without one. */
typedef struct {
    const char *name;
    int has_argument;
    void (*does)(const char *argument);
} guest_word;

/* Ends with a NULL name. */
extern const guest_word guest_processes[];
extern const guest_word guest_threads[];
extern const guest_word guest_signals[];
extern const guest_word guest_limits[];

int cudaMalloc(void **out, size_t size);
int cudaFree(void *memory);
int cudaMallocManaged(void **out, size_t size, unsigned flags);
extern void (*small_cuda_calls)(void);

/* N calls, from a stack of this many frames. */
void guest_go(unsigned calls);
void guest_go_deep(unsigned frames, unsigned calls);

/* Some microseconds of other work: a loop that ends by the clock then makes a small recording. */
void guest_rest(void);

/* A call that calls `back`, which may leave it by a jump. It counts only when it returns. */
void guest_call_back(void (*back)(void));

long guest_number(const char *text);

/* Ends the program with this message and status 9: the test could not set up its conditions. */
void guest_cannot(const char *what);

#endif
