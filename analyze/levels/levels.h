/* Levels of memory. A level contains one kind of memory: the blocks of PyTorch's caching allocator,
 * memory from CUDA calls, pinned host memory, the whole device, or the blocks of an allocator that
 * the program registered (a heap). docs/levels.md explains how they are layered.
 *
 *     mv_level level;
 *     mv_level_read(&trace, "cuda", &level)       or another name for --level
 *     mv_level_take(arena, &trace, level, &err)      the trace of that level, in place
 *
 * A level other than MV_LEVEL_PYTORCH is made from the recorded calls (mv_api_calls). Each
 * allocation is a segment with one block that fills it, so that every analysis of a trace works:
 *
 *     gain   SEGMENT_ALLOC, ALLOC                           stack: the call's, plus one frame
 *     loss   FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *
 * The additional frame is the innermost frame. Its function is the call ("cudaMalloc"), its file is
 * the calling library, and it has no line. Its row is `origin.first_call_frame` or higher.
 *
 * The blocks of a heap are similarly made from mv_heap_calls. If the function that registered them
 * is known, it is their innermost frame, with the heap as its file.
 *
 * Sizes and times come from the calls. Memory without an address (cuMemCreate, arrays) is given an
 * address at or above MV_LEVEL_ADDRESS. */
#pragma once

#include "analyze/levels/step_marks.h"
#include "parse/model/trace.h"

#define MV_LEVEL_ADDRESS ((uint64_t)1 << 62)

typedef enum {
    MV_LEVEL_DEFAULT, /* the first of pytorch, cuda, host and the heaps that the trace contains */
    MV_LEVEL_PYTORCH, /* the original trace, from any allocator */
    MV_LEVEL_CUDA,    /* memory that calls allocated on the devices */
    MV_LEVEL_HOST,    /* pinned memory; the level has one device, number 0, which is the host */
    MV_LEVEL_ALL,     /* PyTorch's blocks, and memory that other calls allocated on the devices */
    MV_LEVEL_HEAP     /* this value plus the row of the heap's name in the strings */
} mv_level;

/* Reads the name of a level: "pytorch", "cuda", "host", "all", or the name of a heap in the trace.
 * For another tool's file, the allocator's name means MV_LEVEL_PYTORCH, and "host" is also allowed.
 * False for any other string. */
bool mv_level_read(const mv_trace *trace, const char *text, mv_level *out);

/* Returns the name of a level. For a level that may be a heap, use mv_level_name_of; its `trace`
 * must be the original trace or the trace of one of its levels. */
const char *mv_level_name(mv_level level);
const char *mv_level_name_of(const mv_trace *trace, mv_level level);

static inline mv_level mv_level_of_heap(mv_string_id name)
{
    return (mv_level)(MV_LEVEL_HEAP + name.row);
}

/* Whether the original trace contains memory of that level or, for MV_LEVEL_DEFAULT, of any
 * level. */
bool mv_level_has(const mv_trace *trace, mv_level level);

/* Returns the level for which MV_LEVEL_DEFAULT stands in an original trace. */
mv_level mv_level_default(const mv_trace *trace);

/* The levels of an original trace, as arguments for --level, in the order in which they are shown.
 * "all" is included if the trace has both PyTorch's and CUDA's level. The strings stay valid as
 * long as the trace. */
enum { MV_MOST_LEVELS = 32 };
typedef struct {
    uint32_t count;
    const char *name[MV_MOST_LEVELS];
} mv_level_list;

mv_level_list mv_levels_of(const mv_trace *trace);

/* Returns a short description of the level that has this name. */
const char *mv_level_about(const char *name);

/* Whether a trace has an allocator that reserves more than it allocates. This is PyTorch's
 * allocator, in its snapshots and in its profiler's traces. On other levels every block fills its
 * segment. */
bool mv_level_reserves(const mv_trace *trace);

/* Returns the term for memory that is held on the trace's level: "allocated" for PyTorch, "held by
 * CUDA calls". */
const char *mv_level_held(const mv_trace *trace);

/* Whether `name` is the name of the host level; false for NULL. */
bool mv_level_is_host(const char *name);

/* The name of a device of the trace: "device 0", "device 1 (CPU)", or "host" on the host level. */
#define MV_PLACE_TEXT 24
const char *mv_level_place(const mv_trace *trace, uint32_t device, char out[MV_PLACE_TEXT]);

/* Returns the message for a trace without memory of the level. */
const char *mv_level_missing_text(mv_level level);

/* Does the same as mv_level_take for the argument of --level; NULL or "" stands for
 * MV_LEVEL_DEFAULT. Also fails with MV_ABSENT and a sentence if the level does not exist or the
 * trace contains no memory of it. */
mv_code mv_level_take_named(mv_arena *arena, mv_trace *trace, const char *name, mv_err *err);

/* Converts `trace` to the trace of a level. Devices, segments and blocks are new, in the arena.
 * Frames and stacks are added after the existing ones. Annotations, samples, facts and strings are
 * unchanged. CUDA and heap calls are removed: `trace->origin.as_read` is the original trace, and
 * `trace->origin.level` is set to the level's name. O(n log n) in calls, linear in events. If the
 * level has no memory, the resulting trace has no devices. Fails only when memory (MV_NOMEM) or row
 * numbers (MV_LIMIT) run out; `trace` is then unchanged. */
mv_code mv_level_take(mv_arena *arena, mv_trace *trace, mv_level level, mv_err *err);

/* For callers that need several levels of one trace: mv_level_step_marks finds the steps that the
 * levels share, and mv_level_take_with takes a level with these steps. */
mv_code mv_level_step_marks(mv_arena *arena, const mv_trace *trace, mv_step_marks *out,
                            mv_err *err);
mv_code mv_level_take_with(mv_arena *arena, mv_trace *trace, mv_level level,
                           const mv_step_marks *marks, mv_err *err);
