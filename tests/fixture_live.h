/* Live files written in code, by the text of capture/wire_live.h alone: nothing is shared with the
 * shim or the reader.
 *
 *     mvt_live *l = mvt_live_new(arena);
 *     mvt_live_block(l, .addr = 0x1000, .size = 512, .stack = mvt_live_stack(l, "f:a.py:7"));
 *     mvt_live_free(l, .addr = 0x1000, .size = 512);
 *     mv_span file = mvt_live_bytes(l);
 */
#ifndef MV_FIXTURE_LIVE_H
#define MV_FIXTURE_LIVE_H

#include "tests/fixture.h"

typedef struct mvt_live mvt_live;

/* Ids are id + 1, so that 0 is none; so are those that the functions below give. */
typedef struct {
    uint32_t thread;
    uint64_t sequence; /* 0: the next one */
    uint64_t time_us;  /* 0: 10 after the last */
    bool cpu;
    uint32_t device;
    uint64_t addr, size, handle, number;
    uint64_t allocated, reserved;
    uint32_t stack, text, library;
    mv_api_action action;
    int32_t result;
} mvt_live_args;

mvt_live *mvt_live_new(mv_arena *arena);
void mvt_live_fact(mvt_live *l, const char *key, const char *value);
uint32_t mvt_live_string(mvt_live *l, const char *text);

/* "function:file:line" frames of Python, innermost first; a frame without ':' is WORDS, one that
 * begins with '@' ("@/lib/libc.so+4096") NATIVE. */
uint32_t mvt_live_stack(mvt_live *l, const char *frames);

void mvt_live_event(mvt_live *l, mv_live_event kind, mvt_live_args args);
#define mvt_live_block(l, ...) \
    mvt_live_event((l), MV_LIVE_EVENT_BLOCK, (mvt_live_args){__VA_ARGS__})
#define mvt_live_free(l, ...) mvt_live_event((l), MV_LIVE_EVENT_FREE, (mvt_live_args){__VA_ARGS__})
#define mvt_live_call(l, ...) mvt_live_event((l), MV_LIVE_EVENT_CALL, (mvt_live_args){__VA_ARGS__})

/* `thread`, which has recorded something, has ended, and the thread of the kernel's id `follower`
 * goes on in its chunk: from now on it is what `.thread` means here. */
void mvt_live_follow(mvt_live *l, uint32_t thread, uint32_t follower);

/* Ends the chunk that a thread is filling, so that the next event begins another; thread 0: that
 * of the names. A sealed one has its hash. */
void mvt_live_next_chunk(mvt_live *l, uint32_t thread, bool sealed);

/* The file so far. */
mv_span mvt_live_bytes(mvt_live *l);

/* What the shim would have written while the trace's devices did what they did: blocks of rounded
 * sizes, the allocator's own calls, ranges of annotations. */
mv_span mvt_live_of(mv_arena *arena, const mv_trace *trace);

#endif
