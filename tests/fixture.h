/* Traces written in code, for tests.
 *
 *     mvt_trace *t = mvt_new();
 *     mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "step:a.py:7;main:a.py:20");
 *     mvt_free(t, .addr = 0x1000);
 *     const mv_trace *trace = mvt_done(t);
 *     ...
 *     mvt_drop(t);
 *
 * Every helper aborts the test when memory is out. Times advance by 10 microseconds an event
 * unless `.time_us` is given. A stack is "function:file:line" frames, innermost first, joined by
 * ';'; none when NULL. */
#ifndef MV_FIXTURE_H
#define MV_FIXTURE_H

#include "parse/build.h"
#include "parse/readers.h"

typedef struct mvt_trace mvt_trace;

typedef struct {
    uint32_t device;
    int64_t time_us; /* 0: 10 after the last event */
    uint64_t addr;
    uint64_t bytes;
    uint64_t stream;
    const char *stack;
    const char *metadata; /* user_metadata */
} mvt_event_args;

mvt_trace *mvt_new(void);
mv_arena *mvt_arena(mvt_trace *t); /* the trace's own; whatever is pushed there goes with it */

/* Frees and annotations take bytes, stream and stack that are not given from the alloc. */
void mvt_event(mvt_trace *t, mv_action action, mvt_event_args args);
#define mvt_alloc(t, ...) mvt_event((t), MV_ACTION_ALLOC, (mvt_event_args){__VA_ARGS__})
#define mvt_segment_alloc(t, ...) \
    mvt_event((t), MV_ACTION_SEGMENT_ALLOC, (mvt_event_args){__VA_ARGS__})
#define mvt_oom(t, ...) mvt_event((t), MV_ACTION_OOM, (mvt_event_args){__VA_ARGS__})

/* free_requested and free_completed in one; bytes and stack 0: those of the alloc. */
#define mvt_free(t, ...) mvt_free_both((t), (mvt_event_args){__VA_ARGS__})
void mvt_free_both(mvt_trace *t, mvt_event_args args);

typedef struct {
    uint32_t device;
    uint64_t addr, bytes;
    uint64_t stream;
    uint64_t pool_a, pool_b;
    bool small, expandable;
    const char *stack;
} mvt_segment_args;

typedef struct {
    uint64_t bytes, requested; /* requested 0: as bytes */
    mv_block_state state;
    const char *stack;
} mvt_block_args;

/* A final segment, then its blocks in address order; its sums come from the blocks. */
#define mvt_segment(t, ...) mvt_segment_row((t), (mvt_segment_args){__VA_ARGS__})
#define mvt_block(t, ...)   mvt_block_row((t), (mvt_block_args){__VA_ARGS__})
void mvt_segment_row(mvt_trace *t, mvt_segment_args args);
void mvt_block_row(mvt_trace *t, mvt_block_args args);

/* The heap that the events lead to, as segments and blocks; instead of mvt_segment calls.
 * Supposes allocs inside segment_alloc ranges and blocks rounded up to 512 bytes. */
void mvt_final_heap(mvt_trace *t);

/* time_us 0: 10 after the last event or annotation. */
void mvt_annotate(mvt_trace *t, const char *name, bool start, int64_t time_us);
void mvt_mark(mvt_trace *t, const char *name, int64_t time_us);
void mvt_setting_int(mvt_trace *t, const char *key, int64_t value);
void mvt_setting_text(mvt_trace *t, const char *key, const char *value);

/* Ends building; the trace lives until mvt_drop. */
const mv_trace *mvt_done(mvt_trace *t);
void mvt_drop(mvt_trace *t);

/* A bit of everything in a dozen rows; and two devices, streams, pools and block states. */
mvt_trace *mvt_small(void);
mvt_trace *mvt_two_devices(void);

/* The same trace as bytes of each format that is written: owned by `t`. `pickle` writes as
 * CPython does (protocol 4, memoised) or as PyTorch's C++ writer does (protocol 2). */
mv_span mvt_snapshot_bytes(mvt_trace *t);
mv_span mvt_compact_bytes(mvt_trace *t);
mv_span mvt_plain_bytes(mvt_trace *t);
mv_span mvt_pickle_bytes(mvt_trace *t, bool cpp_writer);

/* The pickle in a page, as PyTorch's _memory_viz writes it. */
mv_span mvt_page_bytes(mvt_trace *t);

/* Likewise of any trace, into `arena`. */
mv_span mvt_snapshot_of(mv_arena *arena, const mv_trace *trace);
mv_span mvt_compact_of(mv_arena *arena, const mv_trace *trace);
mv_span mvt_plain_of(mv_arena *arena, const mv_trace *trace);
mv_span mvt_pickle_of(mv_arena *arena, const mv_trace *trace, bool cpp_writer);

mv_span mvt_page_of(mv_arena *arena, mv_span pickle);

/* A real snapshot of testdata/snapshots by name ("gpt_train"), read into `arena`; fails the test
 * when it cannot be read. */
void mvt_load(mv_arena *arena, const char *name, mv_trace *out);

/* A whole file; fails the test when it is not there. */
mv_span mvt_file(mv_arena *arena, const char *path);

/* Calls `check` with every snapshot of testdata/snapshots, each read into `arena`, which is
 * released in between. */
void mvt_each_snapshot(mv_arena *arena, void (*check)(const mv_trace *trace, const char *name));

/* A trace in which every optional field is there once and absent once, and the notes too. */
void mvt_full_trace(mv_arena *arena, mv_trace *out);

/* The first table in which two traces differ, row numbers and notes included; NULL when they are
 * the same. */
const char *mvt_difference(const mv_trace *a, const mv_trace *b);

/* Likewise, but interned rows may be numbered otherwise, and calls and notes are not compared. */
const char *mvt_content_difference(mv_arena *arena, const mv_trace *a, const mv_trace *b);

#endif
