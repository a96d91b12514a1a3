/* Memory that grows step by step and is never freed, and the other memory alive at the end.
 *
 * Every allocation that is alive when the trace ends belongs to exactly one row, so
 *
 *     sum of leaks.bytes + sum of retained.bytes = live_bytes
 *
 * All figures are allocated bytes: the sizes of blocks, as torch.cuda.memory_allocated() counts
 * them. A leaked loss of 4 bytes is therefore a leak of 512. Blocks from before the first event are
 * part of `retained`. Blocks that were freed but wait for a stream are not allocated, so they are
 * in neither list.
 *
 * A site is a stack without its native frames. A row of the report combines the sites that pass
 * through the same lines of the user's and other packages' code, or that belong to one kept
 * autograd graph. docs/leaks.md explains the rules and the numbers. */
#ifndef MV_LEAKS_H
#define MV_LEAKS_H

#include "analyze/steps/step_floor.h"

typedef enum {
    MV_VERDICT_UNKNOWN, /* the trace does not show it: `why` is the reason, `settle` what
                         * to record */
    MV_VERDICT_CLEAN,
    MV_VERDICT_LEAK
} mv_leak_verdict;

/* The cause of a leak. docs/leaks.md lists the evidence for each cause. */
#define MV_LEAK_KIND_LIST(X)                                                                     \
    X(UNKNOWN, "unknown")                                                                        \
    X(GRAPH, "autograd_graph")      /* results kept with their graph; backward passes run */     \
    X(NO_GRAD, "no_grad")           /* like GRAPH, but no backward pass runs */                  \
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
    uint64_t own_threads;    /* part of `bytes` from the library's own threads (own_threads.h) */
    uint64_t bytes_per_step; /* mean over the complete steps, rounded to the nearest byte */
    uint32_t first_event;    /* birth of the first leaked block */
    uint32_t last_event;     /* birth of the last leaked block */
    double confidence;       /* 0.5 to 1; see docs/leaks.md */
    uint32_t lines;          /* number of lines of user code that allocated the blocks: 1, except
                     * for graphs */
    mv_leak_kind kind;
    mv_stack_id stack;    /* stack of the site with the most bytes */
    mv_frame_id culprit;  /* the frame to look at: part of `stack`, or MV_NO_ROW */
    const char *library;  /* library that called CUDA, in a trace of CUDA calls; otherwise NULL */
    const char *evidence; /* end of a sentence: why it is this kind; "" if unknown */
    const char *advice;   /* one sentence */
} mv_leak;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint64_t in_progress; /* part of `bytes` from the unfinished step at the end */
    mv_stack_id stack;    /* stack of the site with the most bytes; MV_NO_STACK: not recorded */
} mv_retained;

/* Old live blocks, without regard to steps: a line's blocks that are alive at the end and older
 * than any block that the line freed was when freed. */
typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    uint32_t age_events; /* age of the oldest block: events from its birth, or the first event, to
                          * the end */
    mv_stack_id stack;   /* stack of the site with the most bytes; MV_NO_STACK: not recorded */
} mv_older;

/* A line that grew while the events of a bounded recording were folded: it held more in the last
 * whole span of the folded time than in the middle one. Computed from counters, without events. */
typedef struct {
    uint64_t bytes;                    /* to - from */
    uint64_t from, to;                 /* fewest bytes held in the middle and in the last
                                        * whole span */
    uint64_t allocations, born, freed; /* for the whole folded time; `born` and `freed` in bytes */
    uint64_t span_us;                  /* the length of a span */
    uint32_t spans;                    /* number of whole spans */
    uint32_t rises;                    /* spans in which the line held more than in the
                                        * span before */
    mv_stack_id stack;                 /* the stack with most of the allocated bytes */
} mv_grown;

/* Why blocks that piled up over several steps were freed at one moment. */
typedef enum {
    MV_PILE_OF_CYCLES, /* Python's garbage collector freed them: reference cycles held them */
    MV_PILE_UNKNOWN    /* the garbage collector, or a list that is emptied */
} mv_pile_cause;

/* The evidence for the cause; the kinds that show MV_PILE_OF_CYCLES come first. */
typedef enum {
    MV_PILE_BY_COLLECTOR, /* the collector is on the stacks of the frees */
    MV_PILE_IN_PASSING,   /* lines freed them that run in most steps but free blocks in few */
    MV_PILE_ANYWHERE,     /* they were freed at three or more places of the program */
    MV_PILE_ONE_PLACE,    /* they were freed at one or two places */
    MV_PILE_NO_PLACE      /* the stacks of the frees were not recorded */
} mv_pile_proof;

/* Blocks that pile up over several steps and are freed all at once (piles.h): not a leak, but part
 * of the peak. A block waits from the end of its step to its free. */
typedef struct {
    uint64_t bytes;                   /* most bytes that waited at one moment */
    uint32_t blocks;                  /* blocks waiting at that moment */
    uint64_t at_peak;                 /* bytes waiting at the peak of allocated memory, */
    uint64_t peak;                    /* and the height of that peak */
    uint32_t lines;                   /* number of lines that allocated them */
    uint32_t times;                   /* number of times that they were freed at once */
    uint32_t least_steps, most_steps; /* steps between two of these times */
    uint32_t places;                  /* number of places where they were freed */
    mv_pile_cause cause;
    mv_pile_proof proof;
    mv_stack_id stack;    /* stack of the site with the most bytes; MV_NO_STACK: not recorded */
    mv_stack_id freed_at; /* stack of one of the last frees; MV_NO_STACK: not recorded */
    const char *every;    /* "all at once every 40 steps, 7 times" */
    const char *evidence; /* end of a sentence: the evidence for the cause */
    const char *advice;   /* one sentence */
} mv_pile;

/* The fewest bytes allocated in the first whole step after the warm-up and in the last whole
 * step (analyze/steps/step_floor.h). */
typedef struct {
    uint64_t first, last;
    uint32_t steps; /* whole steps from the first to the last; 0: none */
    bool rises;     /* the floor rises to the end (mv_floor_trend): the verdict is not CLEAN */
    mv_floor all;   /* the floor of all steps */
} mv_leak_floor;

typedef struct {
    mv_leak_verdict verdict;
    const char *why;    /* one sentence: the reason for the verdict; never NULL */
    const char *lacks;  /* what the recording needs for a verdict but does not contain, in few
                         * words: "no stacks"; "": nothing */
    const char *settle; /* what would settle an UNKNOWN verdict; "" otherwise */
    bool may_grow; /* UNKNOWN, but it looks like growth: the floor rises over two steps or more, or
                    * a line of the program keeps as many blocks as a list or a leak */
    mv_steps steps;
    uint32_t count;
    mv_leak *leaks; /* [count] most bytes first */
    /* Driver memory of objects that are never destroyed (driver_growth.h), or NULL. Only searched
     * for in a whole capture on its level of CUDA calls. The verdict covers both. */
    const struct mv_driver_growth *driver;
    uint32_t retained_count;
    mv_retained *retained; /* [retained_count] most bytes first */
    uint32_t older_count;
    mv_older *older;      /* [older_count] most bytes first; leaked blocks, too */
    bool has_grown;       /* counters of folded events exist */
    uint32_t grown_count; /* lines that grew */
    mv_grown *grown;      /* [grown_count] most bytes first */
    uint32_t pile_count;
    mv_pile *piles;     /* [pile_count] most bytes at the peak first */
    uint8_t *is_leaked; /* [lives.allocs.count] 1: the allocation is part of a leak */
    uint32_t *leak_of;  /* [lives.allocs.count] row of `leaks`, or MV_NO_ROW; NULL: no leaks */
    uint64_t live_bytes;
    uint64_t leaked_bytes;
    uint64_t retained_bytes;
    uint32_t exit_event; /* event at which a captured program starts to exit: blocks alive before it
                          * count. The number of events if no exit was found */
    uint64_t preexisting_bytes; /* part of retained_bytes from before the first event */
    mv_leak_floor floor;
    /* Part of the retained bytes that comes from the unfinished step at the end, without parameters
     * and optimizer state. */
    struct {
        uint64_t bytes;
        uint32_t blocks;
    } in_progress;
} mv_leaks;

/* Evaluates one device. All results are in `arena`. Fails only when out of memory. */
mv_code mv_leaks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_leaks *out,
                      mv_err *err);

/* mv_leaks_find in pieces: begin (NULL when out of memory), then mv_leak_search_some until *again
 * is false or the call fails. `end` releases temporary memory; NULL is allowed. */
typedef struct mv_leak_search mv_leak_search;
mv_leak_search *mv_leak_search_begin(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                                     mv_leaks *out);
mv_code mv_leak_search_some(mv_leak_search *search, bool *again, mv_err *err);
void mv_leak_search_end(mv_leak_search *search);

/* When the leaks will fill the device if they continue at the same rate. */
typedef struct {
    uint64_t capacity;  /* bytes that the allocator can use; MV_NO_BYTES: unknown */
    const char *source; /* source of the capacity: "option", "oom", "samples"; "" if unknown */
    bool is_least;      /* a limit of the process refused a request: the capacity may be higher */
    uint64_t steps;     /* complete steps that still fit; MV_NO_BYTES: unknown, or no leak */
    int64_t time_us;    /* duration of these steps; MV_NO_TIME: unknown */
    uint32_t oom_event; /* the first out-of-memory event after the last block of every leak,
                         * or MV_NEVER */
} mv_leak_outlook;

/* `capacity` comes from the user; if it is MV_NO_BYTES, an oom event of the trace or the samples of
 * a capture provide it. The peak of the last complete step decides; fragmentation makes memory run
 * out sooner. O(events). */
mv_code mv_leaks_outlook(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_leaks *leaks, uint64_t capacity, mv_leak_outlook *out,
                         mv_err *err);

/* Compares two mv_leak for qsort: most bytes first, then the earlier leak first. */
int mv_leak_order(const void *a, const void *b);

/* The verdict for several devices: a leak if one of them leaks, otherwise unknown if one of them
 * is unknown. */
mv_leak_verdict mv_leak_verdict_join(mv_leak_verdict a, mv_leak_verdict b);

const char *mv_leak_verdict_name(mv_leak_verdict verdict); /* "leak" */
const char *mv_leak_kind_name(mv_leak_kind kind);          /* "autograd_graph" */

/* The name of a leak: the label of its culprit, or of its stack if it has no culprit. Cut to fit;
 * returns `out`. */
const char *mv_leak_label(const mv_trace *trace, const uint8_t *kinds, const mv_leak *leak,
                          char *out, size_t size);

#endif
