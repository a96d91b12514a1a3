/* Who recorded a trace, in words: what its allocator is called, and what to do to record more. All
 * sentences that name the allocator or its recorder have the name from here. */
#ifndef MV_RECORDER_H
#define MV_RECORDER_H

#include "parse/model/trace.h"

typedef struct {
    const char *allocator; /* "PyTorch's allocator", "XLA's allocator" */
    const char *about;     /* what its level is, in a few words; of other tools alone */
    const char *writer;    /* "XLA's profiler"; NULL: the keys tell (analyze/replay/release.h) */
    const char *nothing;   /* a sentence on what has to happen for a file to have memory */
    bool lacks_failures;   /* requests that failed are not recorded */
    const char *call;      /* what records events */
    /* Advice, without a full stop. */
    const char *events, *no_events; /* how to record some; the same after what is wrong */
    const char *stacks, *no_stacks; /* likewise */
    const char *begin;              /* the events begin in a heap in use */
    const char *more;               /* some were dropped */
    const char *steps;              /* how to mark them */
    const char *drop;               /* a leak: printf's format, with the place (%s) */
} mv_recorder;

/* Never NULL; static. */
const mv_recorder *mv_recorder_of(const mv_trace *trace);

/* That of files of another tool, by the name of their level ("xla"). NULL for other names. */
const mv_recorder *mv_recorder_named(const char *name);

#endif
