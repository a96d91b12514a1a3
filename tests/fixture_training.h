/* Random training runs with known leaks: layers, batches, optimizers and habits (caches, windows,
 * copies, evaluations) drawn from a seed, written as a fixture trace. */
#ifndef MV_FIXTURE_TRAINING_H
#define MV_FIXTURE_TRAINING_H

#include "tests/fixture.h"

typedef enum {
    MVT_LEAK_NONE,
    MVT_LEAK_LOSS,   /* each step's loss is kept */
    MVT_LEAK_SMALL,  /* a tensor of 1 to 1024 bytes each step, on a line of its own */
    MVT_LEAK_SELDOM, /* a tensor in one step of 2 to 7 */
    MVT_LEAK_HOOK,   /* the output of one layer, whose code other layers share */
    MVT_LEAK_GRAPH,  /* all activations of an evaluation batch, one batch a step */
    MVT_LEAK_LATE,   /* a tensor each step, from a third of the run on */
    MVT_LEAK_TWO,    /* SMALL and HOOK together */
    MVT_LEAK_COUNT
} mvt_leak;

/* How the run marks its steps. */
typedef enum {
    MVT_MARKS_OPTIMIZER,
    MVT_MARKS_PROFILER,
    MVT_MARKS_RANGE,
    MVT_MARKS_METADATA,
    MVT_MARKS_NONE,
    MVT_MARKS_COUNT
} mvt_marks;

typedef struct {
    uint32_t steps;
    mvt_marks marks;
    uint32_t leaked;       /* blocks */
    uint64_t leaked_bytes; /* rounded up to 512 a block */
    const char *lines[2];  /* culprit labels of the leaks; NULL: none, or several (GRAPH) */
} mvt_training_truth;

/* Appends the run to `t`, with its final heap. */
void mvt_training(mvt_trace *t, uint64_t seed, mvt_leak leak, mvt_training_truth *truth);

#endif
