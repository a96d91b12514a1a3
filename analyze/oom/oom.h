/* Explains why requests for memory failed on one device. A failure is an out-of-memory event of the
 * device's trace or, in captured files, a call that the device refused and that no later call
 * replaced.
 *
 * All figures refer to the time of the failure, when the allocator had already released everything
 * that it could. docs/oom.md contains the rules. */
#pragma once

#include "analyze/heap/pins.h"
#include "analyze/leaks/leaks.h"
#include "analyze/lives/position.h"
#include "analyze/oom/forecast.h"
#include "analyze/oom/oom_change.h"

/* The cause of a failure, named after its remedy. */
#define MV_OOM_VERDICT_LIST(X)                                                                     \
    X(CAPACITY, "capacity")             /* use less, or get more memory */                         \
    X(FRAGMENTATION, "fragmentation")   /* enough is free in its pool and stream, but in pieces */ \
    X(STREAM_OR_POOL, "stream_or_pool") /* enough is free, but some in another pool or stream */   \
    X(PENDING_FREE, "pending_free")     /* enough was freed, but too late */                       \
    X(OUTSIDE, "outside_pytorch")       /* others use the device's memory */                       \
    X(OTHERS, "outside")                /* like OUTSIDE, for a program without PyTorch */          \
    X(UNKNOWN, "unknown")               /* the file does not show the reason */

typedef enum {
#define MV_OOM_VERDICT_ENUM(name, text) MV_OOM_##name,
    MV_OOM_VERDICT_LIST(MV_OOM_VERDICT_ENUM) MV_OOM_VERDICT_COUNT
} mv_oom_verdict;

/* Why a hole that was large enough did not serve the request. */
typedef enum {
    MV_HOLE_NONE,       /* there is no hole that is large enough */
    MV_HOLE_LATE,       /* a free completed while the request waited for streams */
    MV_HOLE_UNCUT,      /* max_split_size_mb forbids splitting the hole */
    MV_HOLE_OTHER_POOL, /* the request came from a pool other than the default pool, and the file
                         * does not say which */
    MV_HOLE_UNEXPLAINED
} mv_oom_hole;

/* The source of the device's size. */
typedef enum {
    MV_TOTAL_UNKNOWN,
    MV_TOTAL_GUESSED, /* the size of the smallest GPU that could hold the bytes seen in the trace */
    MV_TOTAL_SAMPLED  /* the device reported it (captured files) */
} mv_total_source;

/* Which limit refused the request. */
typedef enum {
    MV_REFUSED_UNKNOWN, /* the memory left on the device is unknown */
    MV_REFUSED_DEVICE,  /* the device had less memory left than the segment needs */
    MV_REFUSED_LIMIT    /* the device had room for the segment */
} mv_oom_refuser;

/* The evidence that decided between capacity and a cause that would disappear if all holes were
 * joined. */
typedef enum {
    MV_OOM_BY_FIGURES,  /* the figures at the time of the failure, which rule out every other
                         * cause */
    MV_OOM_BY_FORECAST, /* the forecast of the step's remaining requests */
    MV_OOM_BY_REPLAY,   /* a replay without the suspected cause, in which the request still fails */
    MV_OOM_BY_GROWTH    /* the memory that would remain after the request, compared with the growth
                         * in need */
} mv_oom_decider;

/* The outcome of the replay with expandable segments, continued with the requests of the
 * forecast. */
typedef enum {
    MV_COURSE_UNTRIED,
    MV_COURSE_FAILS, /* a request after the failed one was refused */
    MV_COURSE_ENDS   /* all requests of the forecast were served */
} mv_oom_course;

/* The run's need after the request, compared with the available memory. */
typedef struct {
    uint64_t limit;       /* bytes that PyTorch could reserve, estimated as the middle between
                           * limit_least and limit_most */
    uint64_t limit_least; /* lower bound of `limit`: largest number of bytes that PyTorch did
                           * reserve */
    uint64_t limit_most;  /* upper bound of `limit`: the level that was refused. All three are equal
                           * if the device was full */
    /* Bytes of `limit` that would remain after the request (or be missing, if negative) if all
     * holes of its pool, on any stream, were a single hole. */
    int64_t margin;
    int64_t margin_least, margin_most; /* the margin computed with `limit_least` and `limit_most` */
    uint64_t most;                     /* largest number of bytes ever allocated, including the
                                        * request */
    uint64_t rise; /* increase of `most` over the second half of the events so far; if the trace
                    * does not begin with the run, only the increase above the bytes reserved before
                    * the trace */
    uint64_t rise_before; /* the part of `rise` without the request */
    mv_forecast forecast; /* forecast of the unfinished step; its `peak` is 0 if there is no
                           * forecast */
    /* How the forecast was made: "step 3 of 7, times 1.25"; NULL without a forecast. */
    const char *basis;
    bool tried;  /* a replay with expandable segments within `limit` was run up to the request */
    bool serves; /* this replay served the request, and all requests that had been served before */
    bool surely; /* a replay within `limit_least` served them, too */
    const char *conf;       /* the complete settings of this replay */
    uint64_t would_reserve; /* largest number of bytes reserved in this replay */
    uint64_t spare;         /* bytes of `limit` that are left after the request in this replay */
    uint64_t sure_spare;    /* bytes of `limit_least` that are left after the request; only if
                             * `surely` */
    mv_oom_course course;   /* outcome of the forecast in this replay; only if the request was
                             * served */
    bool joined;        /* a replay with one pool and one stream for everything, within `limit`, was
                         * run up to the request */
    bool joined_serves; /* this replay served the request */
    bool joined_surely; /* a replay within `limit_least` served it, too */
    bool has_stepped;   /* a step had ended before the failure: the trace shows a step, an
                         * optimizer's range has ended, or the heap before the trace contains
                         * optimizer state */
    bool is_clean;      /* there was no leak up to the failure, as judged from whole steps that were
                         * compared */
    bool has_leak;      /* at the failure, leaks held at least the missing bytes */
    mv_leak leak;       /* the largest of these leaks; only if `has_leak` */
    uint64_t leaked;    /* bytes that all leaks held at the failure */
} mv_oom_outlook;

typedef struct {
    uint32_t event;  /* event of the failure; for a refused call, the number of events before the
                        * call */
    uint32_t number; /* number of the failure on the device, from 1, for --at oom#NUMBER; 0: none */
    uint32_t api_call; /* row of trace->api_calls; MV_NO_ROW: the failure is an oom event */
    int64_t time_us;
    mv_stack_id stack;
    uint64_t requested;   /* bytes requested, rounded */
    uint64_t segment;     /* bytes that the allocator needed from the device for the request */
    uint64_t device_free; /* free bytes of the device; MV_NO_BYTES: unknown */
    mv_oom_refuser refused_by;
    mv_heap_sums bytes;
    uint64_t usable;       /* free bytes in the request's own pool and stream */
    uint64_t joinable;     /* free bytes in the request's pool, for small and large requests, on any
                            * stream */
    uint64_t largest_hole; /* largest hole that is part of `usable` */
    uint64_t unused;       /* bytes of the default pool that could have been returned to the device;
                            * set only if the verdict is STREAM_OR_POOL */
    mv_oom_hole hole;      /* why `largest_hole` did not serve the request */
    uint64_t total;        /* bytes of the device; 0: unknown */
    mv_total_source total_source;
    uint64_t outside; /* bytes of the device used outside PyTorch's allocator; 0: unknown */
    mv_oom_outlook outlook;
    mv_oom_verdict suspect; /* the cause if nothing but the request itself is considered */
    bool waits_elsewhere; /* the suspect is PENDING_FREE, but of memory that belongs to other pools
                             * or streams; PyTorch waits for such memory, except during the capture
                             * of a CUDA graph */
    mv_oom_verdict verdict; /* the cause. It is UNKNOWN if the trace does not show any cause, and
                             * also if it does not show whether the suspect is the cause; `suspect`
                             * then differs */
    mv_oom_decider decided_by;
    const char *why;    /* one sentence with the reason */
    const char *advice; /* one or two sentences with advice */
    bool detailed;      /* the fields below are set */
    mv_pins pins;       /* blocks that pin free memory in the request's pool and stream */
    uint32_t holder_count;
    mv_pin *holders; /* [holder_count] lines that hold memory, sorted by bytes, largest first; in
                      * these rows, `stranded` is 0 */
    mv_oom_change change;
    const char *enough; /* a change that would have been sufficient: "would have fitted with ...";
                         * or "" */
} mv_oom;

/* Returns the event before the moment of a failure, or MV_BEFORE. */
static inline uint32_t mv_oom_moment(const mv_oom *oom)
{
    return oom->api_call == MV_NO_ROW ? oom->event : oom->event - 1;
}

/* Returns the bytes of `limit` that are not reserved. Whole pages of expandable segments may exceed a
 * limit. */
static inline uint64_t mv_oom_unreserved(const mv_oom *oom, uint64_t limit)
{
    return limit > oom->bytes.reserved ? limit - oom->bytes.reserved : 0;
}

/* Writes the name of failure `number`, counted from 1, for --at: "oom", "oom#2". */
#define MV_OOM_AT_TEXT 16
const char *mv_oom_at_text(char text[MV_OOM_AT_TEXT], uint32_t number);

/* Limits on the work. Details cost more on larger heaps, so they are limited to the first failures.
 * Replays, forecasts and leaks cost more on longer traces. They are limited to the first failures,
 * to further failures that together need at most this many events, and to the last failure. All
 * replays together take at most mv_replay_most_work steps. Therefore, the time is linear in the
 * size of the trace, regardless of how many requests failed. */
#define MV_MOST_OOM_DETAILS        64
#define MV_MOST_OOM_TRIALS         8
#define MV_MOST_OOM_EVENTS(events) (((uint64_t)1 << 19) + ((uint64_t)(events) << 6))

typedef struct {
    uint32_t count;
    mv_oom *ooms; /* [count] the failures within the window, in order of events */
    /* Number of requests that succeeded only after cached memory had been released. */
    uint32_t retries;
    uint64_t released; /* bytes that were released for these requests */
    /* How many times garbage_collection_threshold released memory, and how many bytes it
     * released. */
    uint32_t collections;
    uint64_t collected;
    uint32_t untried; /* number of failures that were not forecast or replayed
                       * (MV_MOST_OOM_EVENTS) */
    /* The following sentences have no full stop; a sentence is "" if it does not apply. */
    bool is_known;          /* the events are complete, or a request failed */
    const char *verdict;    /* "3 requests failed"; never "" */
    const char *why;        /* why no request failed, or why it is unknown whether one failed */
    const char *retried;    /* sentence about `retries` */
    const char *collecting; /* sentence about `collections` */
    const char *unlooked;   /* sentence about `untried` */
} mv_ooms;

/* Finds and explains all failures. All results are allocated in `arena`. O(n log n) for each of the
 * first failures. Fails only when memory or row numbers run out. */
mv_code mv_ooms_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err);

/* Explains only the last failure, without details. Sets *found to true if there is one. O(n log
 * n). */
mv_code mv_oom_last_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_window window, mv_oom *out, bool *found,
                         mv_err *err);

/* Returns the outlook of the last failure that shows a limit, or NULL. */
const mv_oom_outlook *mv_ooms_last_limit(const mv_ooms *ooms);

const char *mv_oom_verdict_name(mv_oom_verdict verdict); /* "capacity" */
const char *mv_oom_refuser_name(mv_oom_refuser refuser); /* "device", "limit", "unknown" */

/* Returns the smallest memory size of common GPUs, as reported by the driver, that is at least
 * `bytes`; 0 if there is none. */
uint64_t mv_oom_likely_total(uint64_t bytes);
