/* What grows step by step and is never freed, and what else is alive at the end.
 *
 * Every allocation that is alive when the trace ends goes to exactly one row, so
 *
 *     sum of leaks.bytes + sum of retained.bytes = live_bytes
 *
 * All are allocated bytes, the sizes of blocks: what torch.cuda.memory_allocated() counts, so a
 * leaked loss of 4 bytes is a leak of 512. Blocks from before the first event are part of
 * `retained`; blocks that were freed but wait for a stream are not allocated and in neither.
 *
 * A site is a stack without its native frames; a row gathers the sites that pass through the same
 * lines of the user's and other packages' code, or that one kept autograd graph holds.
 * docs/leaks.md explains how a site is judged and what the numbers mean. */
#ifndef MV_LEAKS_H
#define MV_LEAKS_H

#include "analyze/steps/steps.h"

typedef enum {
    MV_VERDICT_UNKNOWN, /* the trace gives no basis: `why` says what is missing, `settle`
                         * how to get it */
    MV_VERDICT_CLEAN,
    MV_VERDICT_LEAK
} mv_leak_verdict;

/* What the trace shows of the reason; docs/leaks.md gives the evidence for each. */
#define MV_LEAK_KIND_LIST(X)                                                                    \
    X(UNKNOWN, "unknown")                                                                       \
    X(GRAPH, "autograd_graph")      /* results kept with their graph, beside backward passes */ \
    X(NO_GRAD, "no_grad")           /* likewise, but nothing ever runs backward */              \
    X(HIDDEN_STATE, "hidden_state") /* a recurrent state carried with the graph of all steps */ \
    X(LOSS, "accumulated_loss")     /* the scalars that a loss function gave */                 \
    X(HOOK, "module_hook")                                                                      \
    X(OBJECT, "object")             /* tensors of objects that are made again and again */      \
    X(CYCLE, "reference_cycle")     /* freed from time to time, many steps' blocks at once */   \
    X(OPTIMIZER, "optimizer_state") /* state of optimizers that are made again and again */     \
    X(COMMUNICATION, "communication")                                                           \
    X(GROWING_BLOCK, "growing_block") /* one block, copied into a larger one in each step */    \
    X(PRIVATE_POOL, "private_pool")   /* each step's blocks lie in a memory pool of their own */

typedef enum {
#define MV_LEAK_KIND_ENUM(name, text) MV_LEAK_##name,
    MV_LEAK_KIND_LIST(MV_LEAK_KIND_ENUM)
#undef MV_LEAK_KIND_ENUM
        MV_LEAK_KIND_COUNT
} mv_leak_kind;

typedef struct {
    uint64_t bytes; /* alive at the end because of this leak */
    uint32_t blocks;
    uint64_t bytes_per_step; /* mean over the complete steps, rounded to the nearest byte */
    uint32_t first_event;    /* birth of the first leaked block */
    uint32_t last_event;     /* birth of the last one */
    double confidence;       /* 0.5 to 1, see docs/leaks.md */
    uint32_t lines;          /* of the user's code that the leaked blocks come from: 1, but for
                              * graphs, which hold what many lines made */
    mv_leak_kind kind;
    mv_stack_id stack;    /* of the site with most of the bytes */
    mv_frame_id culprit;  /* the frame to look at; of `stack`, or MV_NO_ROW when it has none */
    const char *evidence; /* half a sentence: what `kind` rests on; "" when unknown */
    const char *advice;   /* one sentence */
} mv_leak;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint64_t in_progress; /* part of `bytes`: of the step that was under way at the end */
    mv_stack_id stack;    /* of the site with most of the bytes; MV_NO_STACK: not recorded */
} mv_retained;

/* The least allocated in the first whole step after the warm-up and in the last whole step
 * (analyze/steps/step_floor.h). */
typedef struct {
    uint64_t first, last;
    uint32_t steps; /* whole steps from the first to the last; 0: there is none */
} mv_leak_floor;

typedef struct {
    mv_leak_verdict verdict;
    const char *why;    /* one sentence on the verdict's ground; never NULL */
    const char *settle; /* what would settle an UNKNOWN verdict; "" otherwise */
    mv_steps steps;
    uint32_t count;
    mv_leak *leaks; /* [count] most bytes first */
    uint32_t retained_count;
    mv_retained *retained; /* [retained_count] most bytes first */
    uint8_t *is_leaked;    /* [lives.allocs.count] 1: the allocation is part of a leak */
    uint64_t live_bytes;
    uint64_t leaked_bytes;
    uint64_t retained_bytes;
    uint32_t exit_event; /* from here on a captured program ends: what is alive ahead of it counts;
                          * the number of events when there is no such end */
    uint64_t preexisting_bytes; /* part of retained_bytes: from before the first event */
    mv_leak_floor floor;
    /* Part of the retained: born in the step that was under way at the end, parameters and an
     * optimizer's state left out. */
    struct {
        uint64_t bytes;
        uint32_t blocks;
    } in_progress;
} mv_leaks;

/* Judges one device. Everything returned lives in `arena`. Fails only for want of memory. */
mv_code mv_leaks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_leaks *out,
                      mv_err *err);

/* When the leaks will have filled the device, if they go on as they did. */
typedef struct {
    uint64_t capacity;  /* bytes the allocator can have; MV_NO_BYTES: not known */
    const char *source; /* of the capacity: "option", "oom", "samples"; "" when not known */
    uint64_t steps;     /* complete steps that still fit; MV_NO_BYTES: not known, or no leak */
    int64_t time_us;    /* that many steps take; MV_NO_TIME: not known */
    uint32_t oom_event; /* the out-of-memory event that came of it: behind the last block of every
                         * leak; MV_NEVER */
} mv_leak_outlook;

/* `capacity` as the user gave it, or MV_NO_BYTES: then it is what an oom event of the trace or the
 * samples of a capture tell. What counts is the peak of the last complete step; fragmentation
 * makes it happen sooner. O(events). */
mv_code mv_leaks_outlook(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, uint64_t capacity, mv_leak_outlook *out,
                         mv_err *err);

/* Compares two mv_leak for qsort: most bytes first, then the earlier one. */
int mv_leak_order(const void *a, const void *b);

const char *mv_leak_verdict_name(mv_leak_verdict verdict); /* "leak" */
const char *mv_leak_kind_name(mv_leak_kind kind);          /* "autograd_graph" */

/* What to call a leak: the label of its culprit, or of its stack when it has none. Cut to fit;
 * returns `out`. */
const char *mv_leak_label(const mv_trace *trace, const uint8_t *kinds, const mv_leak *leak,
                          char *out, size_t size);

#endif
