/* Finds out why the allocator took more memory from the device. Lists each segment that was added
 * although there was enough free memory for the request, with the reason, and finds the peaks of
 * the memory needed and of the memory taken.
 *
 * `free`, `usable` and `largest` are the values just before the segment was added. */
#pragma once

#include "analyze/heap/heap.h"
#include "analyze/lives/position.h"

/* Reasons for adding a segment. The first reason that applies is chosen. docs/fragmentation.md
 * explains them. */
#define MV_GROWTH_REASON_LIST(X)         \
    X(SPLIT_LIMIT, "split limit")        \
    X(PENDING, "pending frees")          \
    X(NO_HOLE, "no hole large enough")   \
    X(STREAM, "other stream")            \
    X(POOL, "other pool")                \
    X(SMALL, "small pool")               \
    X(LARGE, "large pool")               \
    X(SCATTERED, "scattered over pools") \
    X(UNKNOWN, "unknown")

typedef enum {
#define MV_GROWTH_REASON_ENUM(name, text) MV_REASON_##name,
    MV_GROWTH_REASON_LIST(MV_GROWTH_REASON_ENUM) MV_REASON_COUNT
} mv_growth_reason;

typedef struct {
    uint32_t event; /* segment_alloc or segment_map event */
    uint32_t domain;
    uint64_t segment_bytes;
    uint64_t request; /* bytes requested, rounded */
    uint64_t free;    /* bytes in holes, in all domains */
    uint64_t usable;  /* bytes of `free` in the request's own domain */
    uint64_t largest; /* size of the largest hole in the request's own domain */
    mv_growth_reason reason;
    mv_stack_id stack; /* stack of the request */
} mv_segment_growth;

/* Peaks of the memory needed and of the memory taken, over the whole trace. An out-of-memory event
 * counts as if it had succeeded, so its request counts as needed, and its segment as taken. */
typedef struct {
    uint64_t needed;       /* largest number of bytes in use (allocated or pending) at once */
    uint64_t allocated;    /* largest number of bytes allocated at once, which would be the need if
                           * no free had to wait for a stream */
    uint64_t taken;        /* largest number of bytes reserved at once within the window */
    uint32_t taken_event;  /* event after which the segment's request is served, or MV_BEFORE */
    uint64_t failed;       /* the part of `taken` that was refused: the size of the segment of an
                           * out-of-memory event, which is then taken_event; otherwise 0 */
    uint64_t before;       /* bytes reserved before the first event */
    uint64_t reserved;     /* largest number of bytes reserved at once */
    uint64_t end_reserved; /* bytes reserved after the last event */
    uint64_t end_active;   /* bytes allocated or pending then */
} mv_demand;

typedef struct {
    uint32_t count;
    mv_segment_growth *rows; /* [count] segments added within the window, in order of events */
    uint64_t bytes[MV_REASON_COUNT]; /* sum of segment_bytes for each reason */
    uint32_t segments[MV_REASON_COUNT];
    mv_demand demand;
} mv_segment_growths;

/* Finds the added segments and the peaks, in pieces. Call mv_growth_search_begin, then
 * mv_growth_search_some with a number of events until it returns false, then mv_growth_search_end.
 * The last call is always necessary, and accepts NULL. The rows and the search are allocated in
 * `arena`, and temporary memory is taken from its budget. O(n log n). mv_growth_search_begin returns
 * NULL when memory or row numbers run out. */
typedef struct mv_growth_search mv_growth_search;
mv_growth_search *mv_growth_search_begin(mv_arena *arena, const mv_trace *trace,
                                         const mv_lives *lives, mv_window window,
                                         mv_segment_growths *out, mv_err *err);
bool mv_growth_search_some(mv_growth_search *search, uint32_t events);
void mv_growth_search_end(mv_growth_search *search);

/* Returns the heap of a search, at the moment after `event`, which is faster than to make another
 * one. Returns NULL if the heap has passed this moment. The search can then only be ended. */
mv_heap *mv_growth_search_heap(mv_growth_search *search, uint32_t event);

/* Returns the size of the segment that is added for a rounded request if no hole fits:
 * get_alloc_size(), PyTorch CUDACachingAllocator.cpp. */
uint64_t mv_segment_size_for(uint64_t rounded);

const char *mv_growth_reason_name(mv_growth_reason reason); /* "no hole large enough" */
