/* Fragmentation of one device at a moment: how much memory is reserved beyond what is in use, in
 * which shape it is free, who pins it, why each segment was added, and what to do about it.
 *
 *     reserved = allocated + pending + free + unexplained       in all, and for each domain
 *     free     = stranded + whole        stranded: holes in segments that are in use
 *                                        whole: could be given back to the device
 *
 * The verdict compares what was taken from the device with what the run ever needed at once:
 * docs/fragmentation.md has the rule, and why. */
#ifndef MV_FRAGMENTATION_H
#define MV_FRAGMENTATION_H

#include "analyze/heap/pins.h"
#include "analyze/heap/segment_growth.h"
#include "analyze/replay/setting_trials.h"
#include "analyze/totals/moment.h"

typedef struct {
    uint32_t domain;
    uint8_t kind; /* mv_segment_kind */
    mv_pool_id pool;
    mv_stream_id stream;
    mv_heap_sums bytes;
    uint64_t whole;
    uint64_t largest; /* hole */
} mv_domain_report;

/* What to do. A setting was replayed, and gains: `saves` is what whatif says of it. */
typedef struct {
    const char *setting; /* complete PYTORCH_CUDA_ALLOC_CONF; NULL: the program is to change */
    const char *call;    /* that the program is to make; "": none */
    const char *text;    /* one sentence, or two */
    uint64_t bytes;      /* that it is about; of settings: saves */
    bool is_replayed;
    int64_t saves;     /* of the peak of reserved memory; meaningful when replayed */
    mv_stack_id stack; /* of the line to change; MV_NO_STACK: it is about no line */
} mv_advice;

#define MV_MOST_ADVICE 8

typedef struct {
    mv_moment at;
    bool chosen;        /* nobody asked for a moment: this one is the most telling */
    bool fragmented;    /* the verdict */
    bool is_known;      /* the verdict is: what was before the trace could not change it */
    bool over_plain;    /* reserved > 3/2 of allocated at the moment */
    const char *why;    /* one sentence; never NULL */
    mv_heap_sums bytes; /* at the moment */
    uint64_t whole, stranded, largest;
    mv_demand demand; /* of the run */
    uint64_t failed;  /* segment that the device refused at the moment; mostly 0 */
    uint64_t beyond;  /* taken at the moment beyond what the run needed; 0: nothing */
    uint32_t domain_count;
    mv_domain_report *domains; /* [domain_count] those that hold something */
    mv_heap_map map;
    mv_pins pins;
    mv_segment_growths growths; /* rows: most segment bytes first */
    bool is_replayed;           /* settings were tried: `tried` of them */
    uint32_t tried;
    mv_trust trust;           /* of these replays */
    const char *trust_why;    /* one sentence; NULL without replays */
    const char *not_replayed; /* why there is something to try that was not; NULL */
    const char *meets; /* the best setting that meets the requests that failed, but reserves no
                        * less; NULL */
    uint64_t spare;    /* of the limit, with that */
    bool lacks_memory; /* no setting would have carried the run on: the requests that failed lacked
                        * memory (analyze/oom/last_failure.h) */
    uint32_t advice_count;
    mv_advice advice[MV_MOST_ADVICE];
} mv_fragmentation;

typedef struct {
    const mv_moment *at; /* NULL: the most telling moment within `window` */
    mv_window window;    /* its end may lie after that of the trace */
    bool no_advice;      /* the diagnosis alone: nothing is replayed */
} mv_fragmentation_opts;

/* O(n log n). Everything returned lives in `arena`. Fails only for want of memory or rows. */
mv_code mv_fragmentation_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_sites *sites, mv_fragmentation_opts opts,
                              mv_fragmentation *out, mv_err *err);

#endif
