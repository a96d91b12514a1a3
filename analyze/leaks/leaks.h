/* Which memory grows step by step and is never freed, and what else is alive at the end.
 *
 * Every allocation that is alive when the trace ends belongs to exactly one row, so
 *
 *     sum of leaks.bytes + sum of retained.bytes = live_bytes
 *
 * All figures are allocated bytes: the sizes of blocks, as torch.cuda.memory_allocated() counts
 * them. A leaked loss of 4 bytes is therefore a leak of 512. Blocks from before the first event are
 * part of `retained`. Blocks that were freed but wait for a stream are not allocated, and are in
 * neither list.
 *
 * A site is a stack without its native frames. A row of the report gathers the sites that pass
 * through the same lines of the user's and other packages' code, or that belong to one kept
 * autograd graph. docs/leaks.md explains the rules and the numbers. */
#ifndef MV_LEAKS_H
#define MV_LEAKS_H

#include "analyze/steps/step_floor.h"

typedef enum {
    MV_VERDICT_UNKNOWN, /* the trace does not show it: `why` says the reason, and `settle` what to
                         * record */
    MV_VERDICT_CLEAN,
    MV_VERDICT_LEAK
} mv_leak_verdict;

/* The cause of a leak. docs/leaks.md lists the evidence for each. */
#define MV_LEAK_KIND_LIST(X)                                                                     \
    X(UNKNOWN, "unknown")                                                                        \
    X(GRAPH, "autograd_graph")      /* results kept with their graph; backward passes run */     \
    X(NO_GRAD, "no_grad")           /* the same, but no backward pass runs */                    \
    X(HIDDEN_STATE, "hidden_state") /* a recurrent state that carries the graph of all steps */  \
    X(LOSS, "accumulated_loss")     /* the scalars that a loss function returned */              \
    X(HOOK, "module_hook")                                                                       \
    X(OBJECT, "object")         /* tensors of objects that are created again and again */        \
    X(CYCLE, "reference_cycle") /* blocks of many steps are freed together, from time to time */ \
    X(OPTIMIZER, "optimizer_state") /* state of optimizers that are created again and again */   \
    X(COMMUNICATION, "communication")                                                            \
    X(GROWING_BLOCK, "growing_block") /* one block, copied into a larger one in each step */     \
    X(PRIVATE_POOL, "private_pool")   /* each step's blocks are in their own memory pool */      \
    X(CUDA_CALLS, "cuda_calls")       /* CUDA calls whose memory is not given back */            \
    X(HEAP, "heap")                   /* blocks of an allocator that the program registered */

typedef enum {
#define MV_LEAK_KIND_ENUM(name, text) MV_LEAK_##name,
    MV_LEAK_KIND_LIST(MV_LEAK_KIND_ENUM) MV_LEAK_KIND_COUNT
} mv_leak_kind;

typedef struct {
    uint32_t found; /* number in the order in which leaks were found, from 0 */
    uint64_t bytes; /* alive at the end because of this leak */
    uint32_t blocks;
    uint64_t own_threads;    /* part of `bytes`: by threads of the library's own (own_threads.h) */
    uint64_t bytes_per_step; /* mean over the complete steps, rounded to the nearest byte */
    uint32_t first_event;    /* birth of the first leaked block */
    uint32_t last_event;     /* birth of the last one */
    double confidence;       /* 0.5 to 1; see docs/leaks.md */
    uint32_t lines; /* lines of user code that the blocks come from: 1, except for graphs, which
                     * hold the blocks of many lines */
    mv_leak_kind kind;
    mv_stack_id stack;    /* of the site with the most bytes */
    mv_frame_id culprit;  /* the frame to look at; part of `stack`, or MV_NO_ROW when it has none */
    const char *library;  /* who called CUDA, in a trace of such calls; NULL elsewhere */
    const char *evidence; /* half a sentence: why it is this kind; "" when unknown */
    const char *advice;   /* one sentence */
} mv_leak;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint64_t in_progress; /* part of `bytes`: from the step that had not finished at the end */
    mv_stack_id stack;    /* of the site with the most bytes; MV_NO_STACK: not recorded */
} mv_retained;

/* Old live blocks, without any notion of steps: the blocks of a line, alive at the end, that are
 * older than any block of that line was when it was freed. */
typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t age_events; /* of the oldest: events from its birth, or the first event, to the end */
    mv_stack_id stack;   /* of the site with the most bytes; MV_NO_STACK: not recorded */
} mv_older;

/* A line that grew while the events of a bounded recording were folded: it held more in the last
 * whole span of the folded time than in the one in the middle. By counters, without events. */
typedef struct {
    uint64_t bytes;                    /* to - from */
    uint64_t from, to;                 /* the least that it held in the two spans */
    uint64_t allocations, born, freed; /* of the whole folded time; bytes */
    uint64_t span_us;                  /* the length of a span */
    uint32_t spans;                    /* whole ones */
    uint32_t rises;                    /* spans in which it held more than in the one before */
    mv_stack_id stack;                 /* the one with the most bytes born */
} mv_grown;

/* Why blocks that piled up over several steps were freed at one moment. */
typedef enum {
    MV_PILE_OF_CYCLES, /* Python's garbage collector did it: reference cycles held them */
    MV_PILE_UNKNOWN    /* it, or a list that is emptied */
} mv_pile_cause;

/* The evidence for the cause. That for MV_PILE_OF_CYCLES comes first. */
typedef enum {
    MV_PILE_BY_COLLECTOR, /* the collector is on the stacks of the frees */
    MV_PILE_IN_PASSING,   /* lines freed them that run in most steps, and free some in few */
    MV_PILE_ANYWHERE,     /* at three places of the program or more */
    MV_PILE_ONE_PLACE,    /* at one place, or two */
    MV_PILE_NO_PLACE      /* the stacks of the frees were not recorded */
} mv_pile_proof;

/* Blocks that pile up over several steps and are freed all at once (piles.h): no leak, but part of
 * the peak. A block waits from the end of its step to its free. */
typedef struct {
    uint64_t bytes;                   /* that waited at one moment, at the most */
    uint32_t blocks;                  /* at that moment */
    uint64_t at_peak;                 /* bytes of it at the peak of allocated memory, */
    uint64_t peak;                    /* and the height of that peak */
    uint32_t lines;                   /* that they come from */
    uint32_t times;                   /* that they were freed at once */
    uint32_t least_steps, most_steps; /* from one of these times to the next */
    uint32_t places;                  /* where they were freed */
    mv_pile_cause cause;
    mv_pile_proof proof;
    mv_stack_id stack;    /* of the site with the most bytes; MV_NO_STACK: not recorded */
    mv_stack_id freed_at; /* of one of the frees, the last time; MV_NO_STACK: not recorded */
    const char *every;    /* "all at once every 40 steps, 7 times" */
    const char *evidence; /* half a sentence: what shows the cause */
    const char *advice;   /* one sentence */
} mv_pile;

/* The least allocated in the first whole step after the warm-up and in the last whole step
 * (analyze/steps/step_floor.h). */
typedef struct {
    uint64_t first, last;
    uint32_t steps; /* whole steps from the first to the last; 0: there are none */
    bool rises;     /* to the end (mv_floor_trend): the verdict is not CLEAN */
    mv_floor all;   /* of all steps */
} mv_leak_floor;

typedef struct {
    mv_leak_verdict verdict;
    const char *why;    /* one sentence: the reason for the verdict; never NULL */
    const char *lacks;  /* missing from the recording for a verdict, in few words: "no stacks"; "":
                         * nothing */
    const char *settle; /* what would settle an UNKNOWN verdict; "" otherwise */
    bool may_grow; /* UNKNOWN, and it looks like growth: the floor rises over two steps or more,
                    * or a line of the program's own keeps as many blocks as a list or a leak */
    mv_steps steps;
    uint32_t count;
    mv_leak *leaks; /* [count] most bytes first */
    /* Driver memory of objects that are never destroyed (driver_growth.h); NULL: none. It is
     * searched for when a whole capture is judged by its CUDA calls. The verdict covers both. */
    const struct mv_driver_growth *driver;
    uint32_t retained_count;
    mv_retained *retained; /* [retained_count] most bytes first */
    uint32_t older_count;
    mv_older *older;      /* [older_count] most bytes first; leaked blocks, too */
    bool has_grown;       /* there are counters of folded events */
    uint32_t grown_count; /* lines that grew; 0: none did */
    mv_grown *grown;      /* [grown_count] most bytes first */
    uint32_t pile_count;
    mv_pile *piles;     /* [pile_count] most bytes at the peak first */
    uint8_t *is_leaked; /* [lives.allocs.count] 1: the allocation is part of a leak */
    uint32_t *leak_of;  /* [lives.allocs.count] its row of `leaks`, or MV_NO_ROW; NULL: no leaks */
    uint64_t live_bytes;
    uint64_t leaked_bytes;
    uint64_t retained_bytes;
    uint32_t exit_event; /* where a captured program starts to exit: blocks alive before it count.
                          * The number of events when no exit was found */
    uint64_t preexisting_bytes; /* part of retained_bytes: from before the first event */
    mv_leak_floor floor;
    /* Part of the retained bytes: from the step that had not finished at the end, without
     * parameters and optimizer state. */
    struct {
        uint64_t bytes;
        uint32_t blocks;
    } in_progress;
} mv_leaks;

/* Judges one device. Everything returned lives in `arena`. Fails only when memory is out. */
mv_code mv_leaks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_leaks *out,
                      mv_err *err);

/* The same in pieces: begin, then mv_leak_search_some until *again is false or it fails. `end`
 * releases what the search alone needed; NULL is allowed. NULL: out of memory. */
typedef struct mv_leak_search mv_leak_search;
mv_leak_search *mv_leak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_leaks *out);
mv_code mv_leak_search_some(mv_leak_search *search, bool *again, mv_err *err);
void mv_leak_search_end(mv_leak_search *search);

/* When the leaks will have filled the device if they continue at the same rate. */
typedef struct {
    uint64_t capacity; /* bytes that the allocator can use; MV_NO_BYTES: not known */
    const char
        *source; /* where the capacity comes from: "option", "oom", "samples"; "" when not known */
    bool is_least;      /* a limit of the process refused: it may be more */
    uint64_t steps;     /* complete steps that still fit; MV_NO_BYTES: not known, or no leak */
    int64_t time_us;    /* how long these steps take; MV_NO_TIME: not known */
    uint32_t oom_event; /* the first out-of-memory event after the last block of every leak;
                         * MV_NEVER: none */
} mv_leak_outlook;

/* `capacity` is what the user gave, or MV_NO_BYTES: then an oom event of the trace or the samples
 * of a capture give it. The peak of the last complete step decides; with fragmentation memory runs
 * out sooner. O(events). */
mv_code mv_leaks_outlook(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, uint64_t capacity, mv_leak_outlook *out,
                         mv_err *err);

/* Compares two mv_leak for qsort: most bytes first, then the earlier one first. */
int mv_leak_order(const void *a, const void *b);

/* The verdict on several devices. A leak on one of them is a leak; otherwise one that cannot be
 * judged leaves it open. */
mv_leak_verdict mv_leak_verdict_join(mv_leak_verdict a, mv_leak_verdict b);

const char *mv_leak_verdict_name(mv_leak_verdict verdict); /* "leak" */
const char *mv_leak_kind_name(mv_leak_kind kind);          /* "autograd_graph" */

/* The name of a leak: the label of its culprit, or of its stack when it has none. Cut to fit;
 * returns `out`. */
const char *mv_leak_label(const mv_trace *trace, const uint8_t *kinds, const mv_leak *leak,
                          char *out, size_t size);

#endif
