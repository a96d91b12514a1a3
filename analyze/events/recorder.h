/* Describes the tool that recorded a trace: the name of its allocator, and how to record more. All
 * sentences use the names of allocators and recorders that are defined here. */
#pragma once

#include "parse/model/trace.h"

typedef struct {
    const char *allocator;    /* name of the allocator: "PyTorch's allocator", "XLA's allocator" */
    const char *about;        /* description of the allocator's level in a few words; set only
                               * for other tools */
    const char *writer;       /* name of the writer, such as "XLA's profiler"; NULL: the keys of
                               * the file show the writer (analyze/replay/release.h) */
    const char *nothing;      /* when a file of this tool contains memory, as a sentence */
    bool is_missing_failures; /* the tool does not record failed requests */
    const char *call;         /* name of the call that records events */
    /* Advice, without a full stop. */
    const char *events, *no_events; /* how to record events, as a sentence and as the end of a
                                     * sentence */
    const char *stacks, *no_stacks; /* how to record stacks, in the same two forms */
    const char *begin;              /* advice if memory was already in use at the first event */
    const char *more;               /* advice if some events were dropped */
    const char *steps;              /* how to mark the steps */
    const char *drop;               /* how to fix a leak, as a printf format with the line of
                                     * code (%s) */
} mv_recorder;

/* Returns the recorder of a trace. Never NULL; the result is static. */
const mv_recorder *mv_recorder_of(const mv_trace *trace);

/* Returns the recorder of another tool's files by the name of their level ("xla"), or NULL for any
 * other name. */
const mv_recorder *mv_recorder_named(const char *name);
