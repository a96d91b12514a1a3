/* Records events for hooks: the core of libmemviz_capture.so.
 *
 *     hooks.def ─► device hooks ─┐                    ┌─► stacks ──► names ─┐
 *     framework hooks ───────────┼─► recorder (here) ─┤                     ├─► live file
 *     marks, NVTX ───────────────┘                    └─► events ───────────┘
 *
 * The program must run as it does without the shim. Nothing here allocates from the heap, prints,
 * raises or handles a signal, changes errno, calls CUDA, takes the GIL, or waits while it holds a
 * lock. All functions can be called at any time, from the first instruction of the process to the
 * last, on every thread, in a forked child and in a signal handler. An event that cannot be
 * recorded is counted, and an event that cannot even be counted is ignored.
 *
 * A typical hook:
 *
 *     mv_rec_visit visit;
 *     if (!mv_rec_enter(&visit))
 *         return real(...);                      recording is off, or this thread is inside a hook
 *     moment = mv_rec_now();                     for a free: before the real call
 *     result = real(...);
 *     mv_rec_call(&(mv_rec_api){...});           for an alloc: no moment, so it is taken now
 *     mv_rec_leave(&visit); */
#pragma once

#include "capture/wire_live.h"

/* A variable in the frame of a hook, which exists while the thread is in the hook. */
typedef struct {
    uintptr_t mark;
} mv_rec_visit;

/* Returns true if this thread may record, which means that the recording is on (the first event
 * turns it on) and the thread is in no other hook. After true, mv_rec_leave must be called. `visit`
 * must be a variable of the hook, so that its address shows later whether the thread has left the
 * hook by a jump or an exception. Returning false costs two loads and a branch. A call inside a
 * hook is part of that hook's call, and does not count as lost. The functions here do not change
 * errno. */
bool mv_rec_enter(mv_rec_visit *visit);
void mv_rec_leave(mv_rec_visit *visit);

/* mv_rec_confine is called before the program installs a system-call filter, and mv_rec_unconfine
 * after the installation has failed. mv_rec_confine reserves memory and file space for the
 * recording. Under a strict filter even the time cannot be read, so the recording ends. Returns
 * false if there already was a filter. */
bool mv_rec_confine(bool is_strict);
void mv_rec_unconfine(void);

/* The number of an event, which is never 0, and its time. Number and time increase together, so
 * mv_rec_now takes them together. A number must be used once it is taken, because a gap counts as a
 * lost event. */
typedef struct {
    uint64_t sequence, time_us; /* CLOCK_MONOTONIC */
} mv_rec_moment;

mv_rec_moment mv_rec_now(void);

/* One call of the CUDA runtime or driver. `caller` is the hook's return address, which identifies
 * the calling library and is where the native stack starts. */
typedef struct {
    const char *api; /* name of the function, in static storage */
    const void *caller;
    mv_rec_moment moment; /* number and time of the call; sequence 0: they are taken now */
    uint64_t addr, size, handle;
    int32_t device; /* -1: unknown */
    int32_t result;
    mv_api_action action;
} mv_rec_api;

void mv_rec_call(const mv_rec_api *call);

/* Called before a call that ends a context, so that the launcher can still sample the context's
 * memory (sampler.h). */
void mv_rec_context_ends(void);

/* A call about a block of a heap. `heap` is the heap's name, in static storage; NULL: the heap that
 * contains the address. Calls with impossible sizes (2^48 and more) are counted as lost. */
typedef struct {
    const char *heap;
    const void *caller; /* return address in the reporting library */
    uint64_t addr, size;
    int32_t device; /* -1: unknown */
    mv_heap_action action;
} mv_rec_heap_call;

void mv_rec_heap(const mv_rec_heap_call *call);

/* Counts a launch of a kernel or a graph, even while the recording is off. */
void mv_rec_launch(void);

/* Counts a call from code at `caller` that waits for the device, or copies data (clock.h). Calls
 * from CUDA's own libraries are not counted, because those libraries wait whenever they create
 * something. */
typedef enum {
    MV_NO_WAIT,
    MV_WAITS,            /* a wait for the device or an event */
    MV_WAITS_FOR_STREAM, /* a wait for a stream; not counted right after an upload, because
                          * uploading from memory that is not pinned includes a wait for the
                          * stream */
    MV_READS_BACK,       /* a copy from the device to the host */
    MV_UPLOADS           /* a copy from the host to the device; not counted */
} mv_wait;

void mv_rec_wait(const void *caller, mv_wait what);

/* The arguments of a call of c10::reportMemoryUsageToProfiler. The size is positive for an
 * allocation and negative for a free. `allocated` and `reserved` are the totals after the event;
 * MV_REC_NO_TOTAL if the caller's version of PyTorch does not pass them. */
#define MV_REC_NO_TOTAL UINT64_MAX
typedef struct {
    uint64_t addr;
    int64_t size;
    uint64_t allocated, reserved;
    int8_t device_type, device;
} mv_rec_block_event;

void mv_rec_block(const mv_rec_block_event *event);

/* Records a call of c10::reportOutOfMemoryToProfiler: `addr` is 0, and `size` is the requested
 * size. */
void mv_rec_oom(const mv_rec_block_event *event);

/* Records a mark, or the beginning or end of a range. `kind` is MARK, PUSH, POP, BEGIN or END.
 * `text` is cut at MV_LIVE_MOST_TEXT; NULL counts as "". For BEGIN and END, `number` is the range's
 * number. */
void mv_rec_mark(mv_live_event kind, const char *text, uint64_t number);

/* The open ranges of NVTX's named domains on this thread; ranges nested deeper than
 * MV_REC_OPEN_RANGES are counted but not recorded. Call mv_rec_open_ranges only inside a hook. */
enum { MV_REC_OPEN_RANGES = 64 };
typedef struct {
    uint32_t count, deeper;
    struct {
        const char *domain;
        uint64_t number;
    } at[MV_REC_OPEN_RANGES];
} mv_open_ranges;

mv_open_ranges *mv_rec_open_ranges(void);

/* Called at the program's end: records the live blocks that are not in the file yet (overrun.h). */
void mv_rec_end(void);

/* Returns true if CPU tensors are recorded (--cpu). */
bool mv_rec_wants_cpu(void);
