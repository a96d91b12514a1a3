/* Makes the leak report, which lists memory that grows step by step and is never freed, and all
 * other memory that is alive at the end.
 *
 * Every allocation that is alive when the trace ends belongs to exactly one row. Therefore:
 *
 *     sum of leaks.bytes + sum of retained.bytes = live_bytes
 *
 * All figures are allocated bytes, which means block sizes, as counted by
 * torch.cuda.memory_allocated(). A leaked loss of 4 bytes is therefore a leak of 512 bytes. Blocks
 * from before the first event are part of `retained`. Blocks that were freed but still wait for a
 * stream are not allocated, so they are in neither list.
 *
 * A site is a stack without its native frames. A row of the report combines the sites that pass
 * through the same lines of the user's code and of packages, or that belong to the same kept
 * autograd graph. docs/leaks.md explains the rules and the numbers. */
#pragma once

#include "analyze/steps/step_floor.h"

typedef enum {
    MV_VERDICT_UNKNOWN, /* the trace does not show whether memory leaks: `why` is the reason,
                         * `settle` what to record */
    MV_VERDICT_CLEAN,
    MV_VERDICT_LEAK
} mv_leak_verdict;

/* The cause of a leak. docs/leaks.md lists the evidence for each cause. */
#define MV_LEAK_KIND_LIST(X)                                                                    \
    X(UNKNOWN, "unknown")                                                                       \
    X(GRAPH, "autograd_graph")      /* kept results; the program runs backward passes */        \
    X(NO_GRAD, "no_grad")           /* like GRAPH, without backward passes */                   \
    X(HIDDEN_STATE, "hidden_state") /* a recurrent state that carries the graph of all steps */ \
    X(LOSS, "accumulated_loss")     /* the scalars that a loss function returned */             \
    X(HOOK, "module_hook")                                                                      \
    X(OBJECT, "object")             /* tensors of objects that are created again and again */   \
    X(CYCLE, "reference_cycle")     /* blocks of many steps, sometimes freed together */        \
    X(OPTIMIZER, "optimizer_state") /* state of optimizers that are created again and again */  \
    X(COMMUNICATION, "communication")                                                           \
    X(GROWING_BLOCK, "growing_block") /* one block, copied into a larger one in each step */    \
    X(PRIVATE_POOL, "private_pool")   /* a separate memory pool for the blocks of each step */  \
    X(CUDA_CALLS, "cuda_calls")       /* CUDA calls whose memory is never freed */              \
    X(HEAP, "heap")                   /* blocks of an allocator that the program registered */

typedef enum {
#define MV_LEAK_KIND_ENUM(name, text) MV_LEAK_##name,
    MV_LEAK_KIND_LIST(MV_LEAK_KIND_ENUM) MV_LEAK_KIND_COUNT
} mv_leak_kind;

typedef struct {
    uint32_t found; /* index of the leak in the order in which leaks were found, from 0 */
    uint64_t bytes; /* bytes that are alive at the end because of this leak */
    uint32_t blocks;
    uint64_t own_threads;    /* part of `bytes` that the library's own threads allocated
                              * (own_threads.h) */
    uint64_t bytes_per_step; /* mean growth per complete step, rounded to the nearest byte */
    uint32_t first_event;    /* birth of the first leaked block */
    uint32_t last_event;     /* birth of the last leaked block */
    double confidence;       /* certainty that this is a leak, from 0.5 to 1; see docs/leaks.md */
    uint32_t lines;          /* number of lines of user code that allocated the blocks: 1 except for
                              * graphs */
    mv_leak_kind kind;
    mv_stack_id stack;    /* stack of the site with the most bytes */
    mv_frame_id culprit;  /* frame to look at, which is part of `stack`; or MV_NO_ROW */
    const char *library;  /* library that called CUDA, in a trace of CUDA calls; otherwise NULL */
    const char *evidence; /* why it is this kind of leak, as the end of a sentence; "" if the kind
                           * is unknown */
    const char *advice;   /* one sentence with advice */
} mv_leak;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint64_t in_progress; /* part of `bytes` that comes from the unfinished step at the end */
    mv_stack_id stack;    /* stack of the site with the most bytes; MV_NO_STACK: not recorded */
} mv_retained;

/* Old live blocks, found without steps: the blocks of a line that are alive at the end and are
 * older than every freed block of that line was when it was freed. */
typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t age_events; /* age of the oldest block: number of events from its birth, or from the
                          * first event, to the end */
    mv_stack_id stack;   /* stack of the site with the most bytes; MV_NO_STACK: not recorded */
} mv_older;

/* A line that grew while the events of a bounded recording were folded, which means that it held
 * more in the last whole span of the folded time than in the middle span. Computed from counters,
 * because the events are not available. */
typedef struct {
    uint64_t bytes;    /* `to` minus `from` */
    uint64_t from, to; /* smallest number of bytes held in the middle span, and in the last whole
                        * span */
    uint64_t allocations, born, freed; /* totals for the whole folded time: number of allocations,
                                        * allocated bytes, freed bytes */
    uint64_t span_us;                  /* duration of a span */
    uint32_t spans;                    /* number of whole spans */
    uint32_t rises;    /* number of spans in which the line held more than in the previous span */
    mv_stack_id stack; /* stack with the most allocated bytes */
} mv_grown;

/* Why blocks that piled up over several steps were freed at the same time. */
typedef enum {
    MV_PILE_OF_CYCLES, /* reference cycles held them until Python's garbage collector freed them */
    MV_PILE_UNKNOWN /* the garbage collector may have freed them, or the program emptied a list */
} mv_pile_cause;

/* The evidence for the cause. The kinds of evidence that prove MV_PILE_OF_CYCLES come first. */
typedef enum {
    MV_PILE_BY_COLLECTOR, /* the garbage collector is on the stacks of the frees */
    MV_PILE_IN_PASSING,   /* they were freed on lines that run in most steps but seldom free a
                           * block */
    MV_PILE_ANYWHERE,     /* they were freed at three or more places in the program */
    MV_PILE_ONE_PLACE,    /* they were freed at one or two places in the program */
    MV_PILE_NO_PLACE      /* the stacks of the frees were not recorded */
} mv_pile_proof;

/* Blocks that pile up over several steps and are freed all at once (piles.h). They are not a leak,
 * but they are part of the peak. A block waits from the end of its step until it is freed. */
typedef struct {
    uint64_t bytes;                   /* largest number of bytes that waited at the same time */
    uint32_t blocks;                  /* number of blocks that waited then */
    uint64_t at_peak;                 /* bytes that waited at the peak of allocated memory */
    uint64_t peak;                    /* allocated bytes at that peak */
    uint32_t lines;                   /* number of lines that allocated the blocks */
    uint32_t times;                   /* number of times that the blocks were freed all at once */
    uint32_t least_steps, most_steps; /* fewest and most steps between two of these times */
    uint32_t places; /* number of places in the program where the blocks were freed */
    mv_pile_cause cause;
    mv_pile_proof proof;
    mv_stack_id stack;    /* stack of the site with the most bytes; MV_NO_STACK: not recorded */
    mv_stack_id freed_at; /* stack of one of the last frees; MV_NO_STACK: not recorded */
    const char *every; /* how often the blocks were freed: "all at once every 40 steps, 7 times" */
    const char *evidence; /* the evidence for the cause, as the end of a sentence */
    const char *advice;   /* one sentence with advice */
} mv_pile;

/* The fewest bytes allocated in the first whole step after the warm-up, and in the last whole step
 * (analyze/steps/step_floor.h). */
typedef struct {
    uint64_t first, last;
    uint32_t steps; /* number of whole steps from the first to the last; 0: none */
    bool rises;   /* the floor rises until the end (mv_floor_trend), so the verdict is not CLEAN */
    mv_floor all; /* the floor of every bin */
} mv_leak_floor;

typedef struct {
    mv_leak_verdict verdict;
    const char *why;    /* one sentence with the reason for the verdict; never NULL */
    const char *lacks;  /* what a verdict needs but the recording does not contain, in a few words:
                         * "no stacks"; "": nothing is missing */
    const char *settle; /* for UNKNOWN, what would settle the verdict; otherwise "" */
    bool may_grow; /* the verdict is UNKNOWN, but memory seems to grow. Either the floor rises over
                    * two steps or more, or a line of the program keeps so many blocks that they are
                    * either a list or a leak */
    mv_steps steps;
    uint32_t count;
    mv_leak *leaks; /* [count] leaks, sorted by bytes, largest first */
    /* Growth of driver memory for objects that are never destroyed (driver_growth.h), or NULL. It
     * is only looked for in a complete capture, on its level of CUDA calls. The verdict covers
     * leaks of both kinds. */
    const struct mv_driver_growth *driver;
    uint32_t retained_count;
    mv_retained *retained; /* [retained_count] sorted by bytes, largest first */
    uint32_t older_count;
    mv_older *older;      /* [older_count] sorted by bytes, largest first; includes leaked blocks */
    bool has_grown;       /* the recording has counters of folded events */
    uint32_t grown_count; /* number of lines that grew */
    mv_grown *grown;      /* [grown_count] sorted by bytes, largest first */
    uint32_t pile_count;
    mv_pile *piles;     /* [pile_count] sorted by at_peak, largest first */
    uint8_t *is_leaked; /* [lives.allocs.count] 1: the allocation is part of a leak */
    uint32_t *leak_of;  /* [lives.allocs.count] row of `leaks` to which the allocation belongs, plus
                         * 1; 0: it belongs to none; NULL: no leaks */
    uint64_t live_bytes;
    uint64_t leaked_bytes;
    uint64_t retained_bytes;
    uint32_t exit_event; /* event at which a captured program begins to exit; if no exit was found,
                          * the number of events. Only blocks that are alive before this event
                          * count */
    uint64_t preexisting_bytes; /* part of retained_bytes that was allocated before the first
                                 * event */
    mv_leak_floor floor;
    /* The part of the retained bytes that comes from the unfinished step at the end, not counting
     * parameters and optimizer state. */
    struct {
        uint64_t bytes;
        uint32_t blocks;
    } in_progress;
} mv_leaks;

/* Evaluates one device. All results are allocated in `arena`. Fails only when out of memory. */
mv_code mv_leaks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_leaks *out,
                      mv_err *err);

/* Runs mv_leaks_find in pieces: call mv_leak_search_begin, which returns NULL when out of memory,
 * then mv_leak_search_some until *again is false or the call fails, then mv_leak_search_end. The
 * last call releases temporary memory and accepts NULL. */
typedef struct mv_leak_search mv_leak_search;
mv_leak_search *mv_leak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_leaks *out);
mv_code mv_leak_search_some(mv_leak_search *search, bool *again, mv_err *err);
void mv_leak_search_end(mv_leak_search *search);

/* Predicts when the leaks will fill the device if they continue to grow at the same rate. */
typedef struct {
    uint64_t capacity;  /* bytes that the allocator can use; MV_NO_BYTES: unknown */
    const char *source; /* where the capacity comes from: "option", "oom", "samples"; "" if
                         * unknown */
    bool is_least;      /* a limit set for the process refused a request, so the capacity may be
                         * higher */
    uint64_t steps;     /* number of complete steps that still fit; MV_NO_BYTES: unknown, or there
                         * is no leak */
    int64_t time_us;    /* how long these steps take; MV_NO_TIME: unknown */
    uint32_t oom_event; /* the first out-of-memory event after the last block of every leak,
                         * or MV_NEVER */
} mv_leak_outlook;

/* Finds the outlook. `capacity` is the user's value; if it is MV_NO_BYTES, it is taken from an
 * out-of-memory event in the trace or from the samples in a capture. The number of steps is
 * computed from the peak of the last complete step. If memory is fragmented, it runs out sooner.
 * O(events). */
mv_code mv_leaks_outlook(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, uint64_t capacity, mv_leak_outlook *out,
                         mv_err *err);

/* Compares two mv_leak for qsort: the leak with more bytes comes first. If both have the same
 * number of bytes, the earlier leak comes first. */
int mv_leak_order(const void *a, const void *b);

/* Combines the verdicts of several devices: LEAK if one device leaks, otherwise UNKNOWN if the
 * verdict on one device is unknown. */
mv_leak_verdict mv_leak_verdict_join(mv_leak_verdict a, mv_leak_verdict b);

const char *mv_leak_verdict_name(mv_leak_verdict verdict); /* "leak" */
const char *mv_leak_kind_name(mv_leak_kind kind);          /* "autograd_graph" */

/* Writes the name of a leak, which is the label of its culprit, or of its stack if it has no
 * culprit. The name is truncated to fit. Returns `out`. */
const char *mv_leak_label(const mv_trace *trace, const uint8_t *kinds, const mv_leak *leak,
                          char *out, size_t size);
