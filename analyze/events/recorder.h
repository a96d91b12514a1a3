/* The tool that recorded a trace, in words: the name of its allocator, and how to record more. All
 * sentences take the names of allocators and recorders from here. */
#ifndef MV_RECORDER_H
#define MV_RECORDER_H

#include "parse/model/trace.h"

typedef struct {
    const char *allocator;    /* "PyTorch's allocator", "XLA's allocator" */
    const char *about;        /* the allocator's level in a few words; only for other tools */
    const char *writer;       /* "XLA's profiler"; NULL: found from the
                               * keys (analyze/replay/release.h) */
    const char *nothing;      /* a sentence on how a file comes to contain memory */
    bool is_missing_failures; /* failed requests are not recorded */
    const char *call;         /* the call that records events */
    /* Advice, without a full stop. */
    const char *events, *no_events; /* how to record events, as a sentence and as the end of one */
    const char *stacks, *no_stacks; /* for stacks */
    const char *begin;              /* the events begin with a heap in use */
    const char *more;               /* some events were dropped */
    const char *steps;              /* how to mark the steps */
    const char *drop;               /* how to mend a leak: a printf format with the place (%s) */
} mv_recorder;

/* The recorder of a trace: never NULL; static. */
const mv_recorder *mv_recorder_of(const mv_trace *trace);

/* The recorder of another tool's files, by the name of their level ("xla"); NULL for
 * other names. */
const mv_recorder *mv_recorder_named(const char *name);

#endif
