/* The reasons why requests for memory failed on one device: each out-of-memory event of its trace
 * and, in captured files, each call that the device refused and no later call replaced.
 *
 * All figures are for the moment of the failure, when the allocator had already released what it
 * could. docs/oom.md has the rules. */
#ifndef MV_OOM_H
#define MV_OOM_H

#include "analyze/heap/pins.h"
#include "analyze/leaks/leaks.h"
#include "analyze/lives/position.h"
#include "analyze/oom/forecast.h"
#include "analyze/oom/oom_change.h"

/* The cause, named by the remedy. */
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

/* Why a sufficiently large hole did not serve the request. */
typedef enum {
    MV_HOLE_NONE,       /* there is no such hole */
    MV_HOLE_LATE,       /* a free completed while the request waited for streams */
    MV_HOLE_UNCUT,      /* max_split_size_mb prevents splitting it */
    MV_HOLE_OTHER_POOL, /* the file does not contain the request's pool, which was not the
                         * default pool */
    MV_HOLE_UNEXPLAINED
} mv_oom_hole;

/* The source of the device's size. */
typedef enum {
    MV_TOTAL_UNKNOWN,
    MV_TOTAL_GUESSED, /* the smallest GPU that could hold the bytes seen */
    MV_TOTAL_SAMPLED  /* the device reported it (captured files) */
} mv_total_source;

/* The limit that refused the request. */
typedef enum {
    MV_REFUSED_UNKNOWN, /* the memory left on the device is unknown */
    MV_REFUSED_DEVICE,  /* less memory was left than the segment needs */
    MV_REFUSED_LIMIT    /* the device had room for the segment */
} mv_oom_refuser;

/* The evidence that decided between capacity and a cause that joining the holes would remove. */
typedef enum {
    MV_OOM_BY_FIGURES,  /* figures at the moment, which leave no other cause */
    MV_OOM_BY_FORECAST, /* the remaining requests of the step */
    MV_OOM_BY_REPLAY,   /* replay without the suspected cause: the request still fails */
    MV_OOM_BY_GROWTH    /* memory that would remain, compared with the growth in need */
} mv_oom_decider;

/* The outcome of the replay with expandable segments, continued with the forecast. */
typedef enum {
    MV_COURSE_UNTRIED,
    MV_COURSE_FAILS, /* a request after the failed one was refused */
    MV_COURSE_ENDS   /* all requests of the forecast were served */
} mv_oom_course;

/* The needs of the run after the request, and the available memory. */
typedef struct {
    uint64_t limit;       /* bytes that PyTorch could reserve: the middle between */
    uint64_t limit_least; /* the most that it did reserve, and */
    uint64_t limit_most;  /* the bytes refused; all three are equal if the device was full */
    /* Bytes of `limit` that would remain (negative: be missing) after the request if all holes of
     * its pool, on any stream, were one. */
    int64_t margin;
    int64_t margin_least, margin_most; /* the same for `limit_least` and `limit_most` */
    uint64_t most;                     /* most bytes ever allocated, including the request */
    uint64_t rise; /* increase of `most` over the second half of the events so far; if the trace
                    * does not begin with the run, only the part beyond what was reserved before
                    * the trace */
    mv_forecast forecast; /* `peak` is 0 if there is no forecast */
    /* Source of the forecast: "step 3 of 7, times 1.25"; NULL without a forecast. */
    const char *basis;
    bool tried;       /* replayed up to the request with expandable segments within `limit`: */
    bool serves;      /* the request was served, as were all requests that had been served before */
    bool surely;      /* also within `limit_least` */
    const char *conf; /* the complete settings of this replay */
    uint64_t would_reserve; /* most bytes reserved in this replay */
    uint64_t spare;         /* rest of `limit` after the request */
    uint64_t sure_spare;    /* rest of `limit_least`, if `surely` */
    mv_oom_course course;   /* of the forecast, if the request was served */
    bool joined;        /* replayed with one pool and one stream for everything, within `limit`: */
    bool joined_serves; /* the request was served */
    bool joined_surely; /* also within `limit_least` */
    bool has_stepped;   /* a step had ended before: the trace shows a step, an optimizer's range has
                         * ended, or the heap before the trace contains optimizer state */
    bool is_clean;      /* no leak up to the moment, over whole steps that were compared */
    bool has_leak;      /* leaks held at least the missing bytes at the moment: */
    mv_leak leak;       /* the largest */
    uint64_t leaked;    /* bytes held by all leaks at the moment */
} mv_oom_outlook;

typedef struct {
    uint32_t event;    /* the oom event; for a refused call, the number of events before it */
    uint32_t number;   /* number of the failure on the device for --at: oom#NUMBER; 0: none */
    uint32_t api_call; /* row of trace->api_calls; MV_NO_ROW: an oom event */
    int64_t time_us;
    mv_stack_id stack;
    uint64_t requested;   /* rounded */
    uint64_t segment;     /* bytes that the request needed from the device */
    uint64_t device_free; /* MV_NO_BYTES: unknown */
    mv_oom_refuser refused_by;
    mv_heap_sums bytes;
    uint64_t usable;       /* free in the request's own pool and stream */
    uint64_t joinable;     /* free in its pool, large and small, on any stream */
    uint64_t largest_hole; /* in the bytes of `usable` */
    mv_oom_hole hole;      /* why `largest_hole` did not serve the request */
    uint64_t total;        /* bytes of the device; 0: unknown */
    mv_total_source total_source;
    uint64_t outside; /* bytes of the device outside PyTorch's allocator; 0: unknown */
    mv_oom_outlook outlook;
    mv_oom_verdict suspect; /* the cause if only the request itself is considered */
    mv_oom_verdict verdict; /* the cause. UNKNOWN also if the trace does not show whether the
                             * suspect is the cause; `suspect` then differs */
    mv_oom_decider decided_by;
    const char *why;    /* one sentence */
    const char *advice; /* one or two sentences */
    bool detailed;      /* the fields below are set */
    mv_pins pins;       /* blocks that pin the free memory of the request's pool and stream */
    uint32_t holder_count;
    mv_pin *holders; /* [holder_count] lines that hold memory, most bytes first; `stranded` is 0 */
    mv_oom_change change;
    const char *enough; /* a sufficient change: "would have fitted with ..."; or "" */
} mv_oom;

/* The event before the moment of a failure, or MV_BEFORE. */
static inline uint32_t mv_oom_moment(const mv_oom *oom)
{
    return oom->api_call == MV_NO_ROW ? oom->event : oom->event - 1;
}

/* The name of failure `number`, from 1, for --at: "oom", "oom#2". */
#define MV_OOM_AT_TEXT 16
const char *mv_oom_at_text(char text[MV_OOM_AT_TEXT], uint32_t number);

/* Details cost more on larger heaps, so only the first failures have them. Replays, forecasts and
 * leaks cost more on longer traces. They are limited to the first failures, then to as many as need
 * this many events in total, and to the last failure; all replays together take at most
 * mv_replay_most_work. So the time is linear in the trace for any number of failed requests. */
#define MV_MOST_OOM_DETAILS        64
#define MV_MOST_OOM_TRIALS         8
#define MV_MOST_OOM_EVENTS(events) (((uint64_t)1 << 19) + ((uint64_t)(events) << 6))

typedef struct {
    uint32_t count;
    mv_oom *ooms; /* [count] the failures within the window, in order of events */
    /* Requests that succeeded only after cached memory had been released. */
    uint32_t retries;
    uint64_t released; /* bytes released for these requests */
    /* How often garbage_collection_threshold released memory, and how many bytes. */
    uint32_t collections;
    uint64_t collected;
    uint32_t untried; /* failures that were not forecast or replayed: see MV_MOST_OOM_EVENTS */
    /* One sentence each, without a full stop; "" if nothing applies. */
    bool is_known;          /* the events are complete, or a request failed */
    const char *verdict;    /* "3 requests failed"; never "" */
    const char *why;        /* why none failed, or why that is unknown */
    const char *retried;    /* about `retries` */
    const char *collecting; /* why none failed, or why this is unknown */
    const char *unlooked;   /* about `untried` */
} mv_ooms;

/* O(n log n) for each of the first failures. All results are in `arena`. Fails only when memory or
 * row numbers run out. */
mv_code mv_ooms_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err);

/* Only the last failure, without details. O(n log n). */
mv_code mv_oom_last_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_window window, mv_oom *out, bool *found,
                         mv_err *err);

/* The last failure that shows a limit, or NULL. */
const mv_oom_outlook *mv_ooms_last_limit(const mv_ooms *ooms);

const char *mv_oom_verdict_name(mv_oom_verdict verdict); /* "capacity" */
const char *mv_oom_refuser_name(mv_oom_refuser refuser); /* "device", "limit", "unknown" */

/* The memory of common GPUs, as the driver reports it: the smallest size of at least `bytes`,
 * or 0. */
uint64_t mv_oom_likely_total(uint64_t bytes);

#endif
