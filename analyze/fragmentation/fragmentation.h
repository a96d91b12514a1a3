/* Fragmentation of one device at a moment: reserved memory that is not in use, how it is split up,
 * the blocks that pin it, why each segment was added, and what to do about it.
 *
 *     reserved = allocated + pending + free + unexplained       in total, and for each domain
 *     free     = stranded + whole        stranded: holes in segments that are in use
 *                                        whole: could be returned to the device
 *
 * The verdict compares the memory taken from the device with the most that the run ever needed at
 * once. If the difference is usual, it checks whether most unallocated memory was freed but waits
 * for a stream. docs/fragmentation.md has the rules and their reasons. */
#ifndef MV_FRAGMENTATION_H
#define MV_FRAGMENTATION_H

#include "analyze/heap/pins.h"
#include "analyze/heap/segment_growth.h"
#include "analyze/heap/waiting.h"
#include "analyze/replay/setting_trials.h"
#include "analyze/totals/moment.h"

typedef struct {
    uint32_t domain;
    uint8_t kind; /* mv_segment_kind */
    mv_pool_id pool;
    mv_stream_id stream;
    mv_heap_sums bytes;
    uint64_t whole;
    uint64_t largest; /* the largest hole */
} mv_domain_report;

/* One piece of advice. Settings are only advised if they were replayed and save memory: `saves` is
 * the figure of whatif. */
typedef struct {
    const char *setting; /* complete PYTORCH_CUDA_ALLOC_CONF; NULL: change the program instead */
    const char *call;    /* a call that the program should make; "": none */
    const char *text;    /* one or two sentences */
    uint64_t bytes;      /* bytes concerned; for settings, equal to `saves` */
    bool is_replayed;
    int64_t saves;     /* reduction of the peak of reserved memory; only set if replayed */
    mv_stack_id stack; /* stack of the line to change; MV_NO_STACK: not about a line */
} mv_advice;

#define MV_MOST_ADVICE 8

typedef struct {
    mv_moment at;
    bool chosen;         /* the moment is the default: the one that shows most */
    bool fragmented;     /* the verdict */
    bool is_known;       /* the verdict is certain: nothing before the trace could change it */
    bool over_plain;     /* at the moment, reserved exceeds 3/2 of allocated */
    bool is_unseen;      /* each block of the level fills its segment: no verdict is possible */
    bool waits;          /* the verdict is "waiting": most unallocated memory waits for a stream */
    const char *answer;  /* "fragmented", "waiting", "ok", "ok (history incomplete)", "unknown on
                          * this level" */
    const char *figures; /* "1.37 GiB reserved, 0.98 GiB needed"; "at least 0.98 GiB" unless the
                          * history is complete */
    const char *why;     /* one sentence; never NULL */
    mv_heap_sums bytes;  /* sums at the moment */
    uint64_t whole, stranded, largest;
    mv_demand demand;   /* demand of the whole run */
    uint64_t failed;    /* the segment that the device refused at the moment; usually 0 */
    uint64_t base;      /* the need: demand.needed or, if the past is unknown and this is more, the
                         * bytes reserved before the first event */
    uint64_t beyond;    /* bytes taken at the moment beyond `base`, or 0 */
    uint64_t allowed;   /* the highest usual value of `beyond` */
    mv_waiting waiting; /* code that freed the pending blocks */
    uint32_t domain_count;
    mv_domain_report *domains; /* [domain_count] domains that hold memory */
    mv_heap_map map;
    mv_pins pins;
    mv_segment_growths growths; /* rows with most segment bytes first */
    bool is_replayed;           /* settings were tried: `tried` of them */
    uint32_t tried;
    mv_trust trust;           /* trust in these replays */
    const char *trust_why;    /* one sentence; NULL without replays */
    const char *not_replayed; /* why something was not replayed although there are settings to try;
                        * or NULL */
    /* The best setting that serves the failed requests but reserves no less; or NULL. */
    const char *meets;
    uint64_t spare;          /* bytes of the limit left with that setting */
    bool ran_out_of_memory;  /* no setting would have let the run continue: there was too little
                              * memory for the failed requests */
    const char *trials_note; /* a result of the trials that is not advice, or "" */
    const char *trust_note;  /* how certain the advised settings are; "" if exact, or if none
                              * is advised */
    uint32_t advice_count;
    mv_advice advice[MV_MOST_ADVICE];
} mv_fragmentation;

typedef struct {
    const mv_moment *at;               /* NULL: the moment within `window` that shows most */
    mv_window window;                  /* may end after the end of the trace */
    bool no_advice;                    /* only the diagnosis: nothing is replayed */
    const mv_segment_growths *growths; /* growths of that window, which must be open-ended;
                                        * NULL: computed here. The result has their rows in
                                        * another order */
} mv_fragmentation_opts;

/* O(n log n). All results are in `arena`. Fails only when memory or row numbers run out. */
mv_code mv_fragmentation_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_sites *sites, mv_fragmentation_opts opts,
                              mv_fragmentation *out, mv_err *err);

/* "fragmented", "waiting", "ok" */
const char *mv_fragmentation_verdict_name(const mv_fragmentation *found);

#endif
