/* Why requests for memory failed on one device: each out-of-memory event of its trace and, in
 * captured files, each call that the device refused and no later call replaced.
 *
 * All figures are those at the moment of the failure, when the allocator had already released what
 * it could. docs/oom.md has the rules. */
#ifndef MV_OOM_H
#define MV_OOM_H

#include "analyze/heap/pins.h"
#include "analyze/leaks/leaks.h"
#include "analyze/lives/position.h"
#include "analyze/oom/forecast.h"
#include "analyze/oom/oom_change.h"

/* The cause, named by the remedy. */
#define MV_OOM_VERDICT_LIST(X)                                                                   \
    X(CAPACITY, "capacity")             /* less use, or more memory */                           \
    X(FRAGMENTATION, "fragmentation")   /* enough bytes are free for it, but in pieces */        \
    X(STREAM_OR_POOL, "stream_or_pool") /* enough, but some belong to another pool or stream */  \
    X(PENDING_FREE, "pending_free")     /* enough, but freed too late */                         \
    X(OUTSIDE, "outside_pytorch")       /* others use the device's memory */                     \
    X(OTHERS, "outside")                /* the same, in the file of a program without PyTorch */ \
    X(UNKNOWN, "unknown")               /* the file does not show the reason */

typedef enum {
#define MV_OOM_VERDICT_ENUM(name, text) MV_OOM_##name,
    MV_OOM_VERDICT_LIST(MV_OOM_VERDICT_ENUM) MV_OOM_VERDICT_COUNT
} mv_oom_verdict;

/* Why a hole that is large enough did not serve the request. */
typedef enum {
    MV_HOLE_NONE,       /* there is none */
    MV_HOLE_LATE,       /* a free completed while the request waited for streams */
    MV_HOLE_UNCUT,      /* max_split_size_mb does not let it be used */
    MV_HOLE_OTHER_POOL, /* the file does not name the request's pool: it was not the default one */
    MV_HOLE_UNEXPLAINED
} mv_oom_hole;

/* The source of the device's size. */
typedef enum {
    MV_TOTAL_UNKNOWN,
    MV_TOTAL_GUESSED, /* the smallest GPU that could hold the bytes seen */
    MV_TOTAL_SAMPLED  /* the device reported it (captured files) */
} mv_total_source;

/* The evidence that decided between capacity and a cause that joining the holes would remove. */
/* The limit that refused the request. */
typedef enum {
    MV_REFUSED_UNKNOWN, /* the memory left on the device is unknown */
    MV_REFUSED_DEVICE,  /* it had less left than the segment takes */
    MV_REFUSED_LIMIT    /* it had room for the segment */
} mv_oom_refuser;

typedef enum {
    MV_OOM_BY_FIGURES,  /* the bytes at the moment: there was no other question */
    MV_OOM_BY_FORECAST, /* the requests that the step would still have made */
    MV_OOM_BY_REPLAY,   /* without the suspected cause the request fails, too */
    MV_OOM_BY_GROWTH    /* the memory that would remain, compared with the rise of the need */
} mv_oom_decider;

/* The outcome of the replay with expandable segments when it continues as forecast. */
typedef enum {
    MV_COURSE_UNTRIED,
    MV_COURSE_FAILS, /* a request after the one that failed was refused */
    MV_COURSE_ENDS   /* all were served, to where the forecast ends */
} mv_oom_course;

/* The needs of the run after the request, and the available memory. */
typedef struct {
    uint64_t limit;       /* bytes that PyTorch could reserve: the middle between */
    uint64_t limit_least; /* the most that it did reserve, and */
    uint64_t limit_most;  /* what was refused; all three are equal when the device was full */
    int64_t
        margin; /* bytes of `limit` that would remain, or be missing if negative, if all holes of
                 * the request's pool, on any stream, were one, and the request was served */
    int64_t margin_least, margin_most; /* the same of `limit_least` and `limit_most` */
    uint64_t most;                     /* the most ever allocated, with the request */
    uint64_t rise; /* by how much `most` rose over the second half of the events so far; if the
                    * trace does not begin with the run, beyond what was reserved before it */
    mv_forecast forecast; /* its `peak` is 0 when there is none */
    const char
        *basis;  /* where the forecast comes from: "step 3 of 7, times 1.25"; NULL without one */
    bool tried;  /* replayed up to the request, with expandable segments, within `limit`: */
    bool serves; /* the request was served, and so was all that had been served before it */
    bool surely; /* within `limit_least`, too */
    const char *conf;       /* these settings, complete */
    uint64_t would_reserve; /* the most that was reserved then */
    uint64_t spare;         /* the rest of `limit` with the request served */
    uint64_t sure_spare;    /* the rest of `limit_least`, when `surely` */
    mv_oom_course course;   /* of the forecast, where the request was served */
    bool joined;        /* replayed as if all were of one pool and one stream, within `limit`: */
    bool joined_serves; /* the request was served */
    bool joined_surely; /* within `limit_least`, too */
    bool has_stepped;   /* a step had ended by then: the trace shows one, an optimizer's range has
                         * ended, or the heap that the trace begins with has an optimizer's state */
    bool is_clean;      /* up to the moment, nothing leaked over whole steps that were compared */
    bool has_leak;      /* at the moment, leaks held at least the missing bytes: */
    mv_leak leak;       /* the largest */
    uint64_t leaked;    /* by all leaks at the moment */
} mv_oom_outlook;

typedef struct {
    uint32_t event;    /* the oom event; for a refused call, the number of events before it */
    uint32_t number;   /* its number on the device for --at: oom#NUMBER; 0: none */
    uint32_t api_call; /* row of trace->api_calls; MV_NO_ROW: an oom event */
    int64_t time_us;
    mv_stack_id stack;
    uint64_t requested;   /* rounded */
    uint64_t segment;     /* bytes that it needed from the device */
    uint64_t device_free; /* MV_NO_BYTES: not known */
    mv_oom_refuser refused_by;
    mv_heap_sums bytes;
    uint64_t usable;       /* free in the request's own pool and stream */
    uint64_t joinable;     /* free in its pool, large and small, whatever the stream */
    uint64_t largest_hole; /* among these */
    mv_oom_hole hole;      /* why `largest_hole` did not serve the request */
    uint64_t total;        /* bytes of the device; 0: unknown */
    mv_total_source total_source;
    uint64_t
        outside; /* bytes of the device that are not reserved by PyTorch's allocator; 0: unknown */
    mv_oom_outlook outlook;
    mv_oom_verdict suspect; /* the cause if only the request itself counts */
    mv_oom_verdict verdict; /* UNKNOWN also if the trace does not show whether the suspect is the
                             * cause; the suspect then differs from it */
    mv_oom_decider decided_by;
    const char *why;    /* one sentence */
    const char *advice; /* one sentence or two */
    bool detailed;      /* the following fields are filled */
    mv_pins pins;       /* who pins the free memory of the request's pool and stream */
    uint32_t holder_count;
    mv_pin *holders; /* [holder_count] who holds memory, most bytes first; `stranded` is 0 */
    mv_oom_change change;
    const char *enough; /* a sufficient change: "would have fitted with ..."; "" */
} mv_oom;

/* The event before the moment of a failure; MV_BEFORE: there is none. */
static inline uint32_t mv_oom_moment(const mv_oom *oom)
{
    return oom->api_call == MV_NO_ROW ? oom->event : oom->event - 1;
}

/* How --at names failure `number`, from 1: "oom", "oom#2". */
#define MV_OOM_AT_TEXT 16
const char *mv_oom_at_text(char text[MV_OOM_AT_TEXT], uint32_t number);

/* The cost of the details grows with the heap, so only the first failures have them. The cost of
 * replays, forecasts and leaks grows with the trace. They are limited to the first failures, then
 * to as many as need this many events in all, and to the last one; all replays together take no
 * more than mv_replay_most_work. So the time is linear in the trace for any number of failed
 * requests. */
#define MV_MOST_OOM_DETAILS        64
#define MV_MOST_OOM_TRIALS         8
#define MV_MOST_OOM_EVENTS(events) (((uint64_t)1 << 19) + ((uint64_t)(events) << 6))

typedef struct {
    uint32_t count;
    mv_oom *ooms; /* [count] the failures within the window, in order of events */
    /* Requests that were served only after cached memory had been released. */
    uint32_t retries;
    uint64_t released; /* bytes released for these */
    /* How often garbage_collection_threshold released memory, and how many bytes. */
    uint32_t collections;
    uint64_t collected;
    uint32_t untried; /* failures that were not forecast or replayed: see MV_MOST_OOM_EVENTS */
    /* One sentence each, without a full stop; "" when nothing applies. */
    bool is_known;          /* the events are complete, or a request failed */
    const char *verdict;    /* "3 requests failed"; never "" */
    const char *why;        /* why none failed, or why that is unknown */
    const char *retried;    /* about `retries` */
    const char *collecting; /* about `collections` */
    const char *unlooked;   /* about `untried` */
} mv_ooms;

/* O(n log n) for each of the first failures. Everything lives in `arena`. Fails only when memory or
 * rows run out. */
mv_code mv_ooms_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err);

/* The last failure alone, without details. O(n log n). */
mv_code mv_oom_last_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         const mv_sites *sites, mv_window window, mv_oom *out, bool *found,
                         mv_err *err);

/* The last failure that shows a limit; NULL: none does. */
const mv_oom_outlook *mv_ooms_last_limit(const mv_ooms *ooms);

const char *mv_oom_verdict_name(mv_oom_verdict verdict); /* "capacity" */
const char *mv_oom_refuser_name(mv_oom_refuser refuser); /* "device", "limit", "unknown" */

/* The memory of common GPUs, as the driver reports it: the smallest with at least `bytes`; 0: there
 * is none. */
uint64_t mv_oom_likely_total(uint64_t bytes);

#endif
