/* Records events for hooks: the core of libmemviz_capture.so.
 *
 *     hooks.def ─► device hooks ─┐                    ┌─► stacks ──► names ─┐
 *     framework hooks ───────────┼─► recorder (here) ─┤                     ├─► live file
 *     marks, NVTX ───────────────┘                    └─► events ───────────┘
 *
 * The program must run as if without the shim. Nothing here allocates from the heap, prints, raises
 * or handles a signal, changes errno, calls CUDA, takes the GIL, or waits while it holds a lock.
 * Everything is safe from the first instruction of the process to the last, on every thread, in a
 * forked child and in a signal handler: an event that cannot be recorded is counted, and one that
 * cannot be counted is ignored.
 *
 * A hook looks like this:
 *
 *     mv_rec_visit visit;
 *     if (!mv_rec_enter(&visit))
 *         return real(...);                      recording is off, or this is inside a hook
 *     moment = mv_rec_now();                     a free: before the real call
 *     result = real(...);
 *     mv_rec_call(&(mv_rec_api){...});           an alloc: no moment, taken now
 *     mv_rec_leave(&visit); */
#ifndef MV_CAPTURE_RECORD_RECORDER_H
#define MV_CAPTURE_RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/wire_live.h"

/* In the frame of a hook while the thread is in it. */
typedef struct {
    uintptr_t mark;
} mv_rec_visit;

/* True if this thread may record: the recording is on (the first event turns it on) and the thread
 * is in no other hook. `visit` is in the hook's own frame: it identifies a hook that the thread has
 * left by a jump or an exception. Then mv_rec_leave must follow. False costs two loads and a
 * branch. A call inside a hook is part of that hook's call, and does not count as lost. None of the
 * functions here changes errno. */
bool mv_rec_enter(mv_rec_visit *visit);
void mv_rec_leave(mv_rec_visit *visit);

/* Before the program installs a system-call filter, and after that has failed. The reserve for the
 * recording is made first; under a strict filter even the time cannot be read, so the recording
 * ends. False: there was a filter before. */
bool mv_rec_confine(bool is_strict);
void mv_rec_unconfine(void);

/* The next number in the order of events, never 0, and the time: both rise together, so they are
 * taken together. A number that is taken must be used: a gap counts as a lost event. */
typedef struct {
    uint64_t sequence, time_us; /* CLOCK_MONOTONIC */
} mv_rec_moment;

mv_rec_moment mv_rec_now(void);

/* One call of the CUDA runtime or driver. `caller` is the return address of the hook: it names the
 * library, and the native stack starts there. */
typedef struct {
    const char *api; /* static storage */
    const void *caller;
    mv_rec_moment moment; /* sequence 0: now */
    uint64_t addr, size, handle;
    int32_t device; /* -1: unknown */
    int32_t result;
    mv_api_action action;
} mv_rec_api;

void mv_rec_call(const mv_rec_api *call);

/* Before a call that ends a context: its memory in use is sampled first (sampler.h). */
void mv_rec_context_ends(void);

/* A call about a block of a heap. `heap` is its name, in static storage; NULL: the heap that has
 * the address. Impossible sizes (2^48 and more) are counted as lost. */
typedef struct {
    const char *heap;
    const void *caller; /* names the library that reported it */
    uint64_t addr, size;
    int32_t device; /* -1: unknown */
    mv_heap_action action;
} mv_rec_heap_call;

void mv_rec_heap(const mv_rec_heap_call *call);

/* One launch of a kernel or a graph: counted, whether the recording is on or not. */
void mv_rec_launch(void);

/* A call that waits for the device, or copies, from code at `caller`. Counted (clock.h) unless one
 * of CUDA's own libraries calls, which do so whenever they make something. */
typedef enum {
    MV_NO_WAIT,
    MV_WAITS,            /* for the device or an event */
    MV_WAITS_FOR_STREAM, /* counts unless the last thing that happened is an upload: it is part of
                          * one from memory that is not pinned */
    MV_READS_BACK,       /* a copy from the device to the host */
    MV_UPLOADS           /* a copy from the host to the device: never counts */
} mv_wait;

void mv_rec_wait(const void *caller, mv_wait what);

/* The arguments of c10::reportMemoryUsageToProfiler. size > 0: an allocation; < 0: a free. The
 * totals are those after the event; MV_REC_NO_TOTAL when the caller's version gives none. */
#define MV_REC_NO_TOTAL UINT64_MAX
typedef struct {
    uint64_t addr;
    int64_t size;
    uint64_t allocated, reserved;
    int8_t device_type, device;
} mv_rec_block_event;

void mv_rec_block(const mv_rec_block_event *event);

/* c10::reportOutOfMemoryToProfiler: addr 0, the requested size. */
void mv_rec_oom(const mv_rec_block_event *event);

/* Marks and ranges. `text` is cut at MV_LIVE_MOST_TEXT; NULL counts as "". kind: MARK, PUSH, POP,
 * BEGIN or END; `number` is the range's number, for BEGIN and END. */
void mv_rec_mark(mv_live_event kind, const char *text, uint64_t number);

/* The open ranges of NVTX's named domains on this thread; deeper ones are counted but not recorded.
 * Call it only inside a hook. */
enum { MV_REC_OPEN_RANGES = 64 };
typedef struct {
    uint32_t count, deeper;
    struct {
        const char *domain;
        uint64_t number;
    } at[MV_REC_OPEN_RANGES];
} mv_open_ranges;

mv_open_ranges *mv_rec_open_ranges(void);

/* At the program's end: records the live blocks that are not in the file yet (overrun.h). */
void mv_rec_end(void);

/* Whether CPU tensors are recorded (--cpu). */
bool mv_rec_wants_cpu(void);

#endif
