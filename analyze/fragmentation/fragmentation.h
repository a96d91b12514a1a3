/* Examines the fragmentation of one device at one moment. Reports how much reserved memory is not
 * in use, how this memory is split up, which blocks pin it, why each segment was added, and what to
 * do about it.
 *
 *     reserved = allocated + pending + free + unexplained       in total, and for each domain
 *     free     = stranded + whole        stranded: holes in segments that are in use
 *                                        whole: could be returned to the device
 *
 * The verdict compares the memory taken from the device with the most memory that the run ever
 * needed at once. If the difference is normal, the verdict also depends on whether most unallocated
 * memory was freed but waits for a stream. docs/fragmentation.md has the rules and their
 * reasons. */
#pragma once

#include "analyze/heap/pins.h"
#include "analyze/heap/segment_growth.h"
#include "analyze/heap/waiting.h"
#include "analyze/replay/setting_trials.h"
#include "analyze/totals/moment.h"

typedef struct {
    uint8_t kind; /* mv_segment_kind */
    mv_pool_id pool;
    mv_stream_id stream;
    mv_heap_sums bytes;
    uint64_t whole;
    uint64_t largest; /* size of the largest hole in bytes */
} mv_domain_report;

/* One piece of advice. A setting is advised only if it was replayed and saves memory; `saves` is
 * then the number that whatif shows. */
typedef struct {
    const char *setting; /* the complete PYTORCH_CUDA_ALLOC_CONF; NULL: change the program
                          * instead */
    const char *call;    /* call that the program should make, or "" if there is none */
    const char *text;    /* the advice in one or two sentences */
    uint64_t bytes;      /* number of bytes that the advice concerns; for settings, equal to
                          * `saves` */
    bool is_replayed;
    int64_t saves;     /* how far the peak of reserved memory falls; set only if replayed */
    mv_stack_id stack; /* stack of the line to change; MV_NO_STACK: the advice does not name a
                        * line */
} mv_advice;

#define MV_MOST_ADVICE 8

typedef struct {
    mv_moment at;
    bool chosen;        /* no moment was given, so the moment at which memory was highest was
                          * chosen */
    bool fragmented;    /* the verdict is that memory is fragmented */
    bool is_known;      /* the verdict is certain, because no event before the trace could change
                          * it */
    bool over_plain;    /* at the given moment, reserved memory exceeds 3/2 of allocated memory */
    bool is_unseen;     /* each block of the level fills its segment, so no verdict is possible */
    bool is_idle;       /* no moment was given, and after the last event most of the reserved memory
                          * is not in use */
    bool waits;         /* the verdict is "waiting", because most unallocated memory waits for a
                          * stream */
    const char *answer; /* the verdict: "fragmented", "waiting", "ok", "ok (history
                          * incomplete)", "unknown on this level" */
    const char *figures; /* figures behind the verdict: "1.37 GiB reserved, 0.98 GiB needed", or
                          * "at least 0.98 GiB" if the history is incomplete */
    const char *why;     /* the reason for the verdict as one sentence; never NULL */
    mv_heap_sums bytes;  /* bytes of the whole heap at the given moment */
    uint64_t whole, stranded, largest;
    mv_demand demand;   /* memory that the whole run needed */
    uint64_t failed;    /* size of the segment that the device refused at the given moment; usually
                         * 0 */
    uint64_t base;      /* bytes needed: demand.needed or, if the past is unknown and this number
                         * is larger, the bytes reserved before the first event */
    uint64_t beyond;    /* bytes taken at the given moment beyond `base`; 0: none */
    uint64_t allowed;   /* highest value of `beyond` that still counts as normal */
    mv_waiting waiting; /* which code freed the pending blocks */
    uint32_t domain_count;
    mv_domain_report *domains; /* [domain_count] domains that hold memory */
    mv_heap_map map;
    mv_pins pins;
    mv_segment_growths growths; /* growths of segments, sorted by segment bytes, largest first */
    bool is_replayed;           /* whether settings were tried */
    uint32_t tried;
    mv_trust trust;           /* how far these replays can be trusted */
    const char *trust_why;    /* one sentence that explains `trust`; NULL without replays */
    const char *not_replayed; /* why nothing was replayed although there are settings to try; or
                               * NULL */
    /* The best setting that serves the failed requests but does not reserve less memory, or
     * NULL. */
    const char *meets;
    uint64_t spare;          /* bytes of the limit that are left with this setting */
    bool ran_out_of_memory;  /* there was too little memory for the failed requests, so no
                              * setting would have let the run continue */
    const char *trials_note; /* a result of the trials that is not a piece of advice, or "" */
    const char *trust_note;  /* how certain the results of the advised settings are; "" if they
                              * are exact or no setting is advised */
    uint32_t advice_count;
    mv_advice advice[MV_MOST_ADVICE];
} mv_fragmentation;

typedef struct {
    const mv_moment *at;               /* moment to examine; NULL: the moment within `window` at
                                        * which memory was highest */
    mv_window window;                  /* events to examine; may end after the end of the trace */
    bool no_advice;                    /* replay nothing, and only make a diagnosis */
    const mv_segment_growths *growths; /* growths of this window, which must be open-ended; NULL:
                                        * computed by mv_fragmentation_find. The result contains
                                        * these rows in a different order */
} mv_fragmentation_opts;

/* Examines the fragmentation. O(n log n). All results are in `arena`. Fails only when memory or row
 * numbers run out. */
mv_code mv_fragmentation_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              const mv_sites *sites, mv_fragmentation_opts opts,
                              mv_fragmentation *out, mv_err *err);

/* Returns the verdict as a word: "fragmented", "waiting", "ok". */
const char *mv_fragmentation_verdict_name(const mv_fragmentation *found);
