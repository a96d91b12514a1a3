/* Levels of memory: blocks of PyTorch's caching allocator, what calls of CUDA got, pinned memory of
 * the host, the whole device, or the blocks of an allocator that the program told of (a heap).
 * docs/levels.md explains how they lie on one another.
 *
 *     mv_level level;
 *     mv_level_read(&trace, "cuda", &level)          and other texts of --level
 *     mv_level_take(arena, &trace, level, &err)      the trace of that level, in place
 *
 * A level other than MV_LEVEL_PYTORCH is made from the recorded calls (mv_api_calls). Each
 * allocation is a segment with one block that fills it, so that every analysis of a trace works:
 *
 *     gain   SEGMENT_ALLOC, ALLOC                           stack: the call's, with one frame more
 *     loss   FREE_REQUESTED, FREE_COMPLETED, SEGMENT_FREE
 *
 * The additional frame is the innermost: its function is the call ("cudaMalloc"), its file the
 * library that made it, without a line. Frames from `origin.first_call_frame` on are such.
 *
 * The blocks of a heap are made from mv_heap_calls in the same way. Their innermost frame is the
 * function that told of them, and its file the heap, where that function is known.
 *
 * Sizes and times are those of the calls. Memory without an address of its own (cuMemCreate,
 * arrays) has one from MV_LEVEL_ADDRESS on. */
#ifndef MV_LEVELS_H
#define MV_LEVELS_H

#include "analyze/levels/beat.h"
#include "parse/model/trace.h"

#define MV_LEVEL_ADDRESS ((uint64_t)1 << 62)

typedef enum {
    MV_LEVEL_DEFAULT, /* the first of pytorch, cuda, host and the heaps that the trace has */
    MV_LEVEL_PYTORCH, /* the trace as it was read, of whatever allocator */
    MV_LEVEL_CUDA,    /* what calls got from the devices */
    MV_LEVEL_HOST,    /* pinned memory; one device, number 0, which is the host */
    MV_LEVEL_ALL,     /* PyTorch's blocks, and what calls of others got from the devices */
    MV_LEVEL_HEAP     /* and above: MV_LEVEL_HEAP + the row of a heap's name in the strings */
} mv_level;

/* "pytorch", "cuda", "host", "all", or the name of a heap of the trace; of a file of another tool
 * the allocator's name for MV_LEVEL_PYTORCH, or "host". False for other texts. */
bool mv_level_read(const mv_trace *trace, const char *text, mv_level *out);

/* The name of a level; of one that may be a heap of the trace, as it was read or later. */
const char *mv_level_name(mv_level level);
const char *mv_level_name_of(const mv_trace *trace, mv_level level);

static inline mv_level mv_level_of_heap(mv_string_id name)
{
    return (mv_level)(MV_LEVEL_HEAP + name.row);
}

/* Whether the trace, as it was read, has memory of that level. MV_LEVEL_DEFAULT: of any. */
bool mv_level_has(const mv_trace *trace, mv_level level);

/* The level that MV_LEVEL_DEFAULT means for a trace as it was read. */
mv_level mv_level_default(const mv_trace *trace);

/* The levels that a trace, as it was read, has, by their texts of --level, in the order of a list.
 * "all" is one if it is more than another of them. Texts live as long as the trace. */
enum { MV_MOST_LEVELS = 32 };
typedef struct {
    uint32_t count;
    const char *name[MV_MOST_LEVELS];
} mv_level_list;

mv_level_list mv_levels_of(const mv_trace *trace);

/* What a level of that name is about, in a few words. */
const char *mv_level_about(const char *name);

/* Whether a trace has an allocator that reserves more than it gives out: PyTorch's, in its
 * snapshots and in its profiler's traces. On the other levels every block fills its segment. */
bool mv_level_reserves(const mv_trace *trace);

/* The noun for what is held at the trace's level: "allocated" by PyTorch, "held by calls of CUDA"
 */
const char *mv_level_held(const mv_trace *trace);

/* Whether that is the name of the host's level; NULL: no. */
bool mv_level_is_host(const char *name);

/* What a device of the trace is called: "device 0", "device 1 (CPU)", or "host" on that level. */
#define MV_PLACE_TEXT 24
const char *mv_level_place(const mv_trace *trace, uint32_t device, char out[MV_PLACE_TEXT]);

/* What is said of a trace that has nothing of the level. */
const char *mv_level_lack(mv_level level);

/* mv_level_take by its text of --level; NULL or "": MV_LEVEL_DEFAULT. Fails with MV_ABSENT and a
 * sentence, too: there is no such level, or the trace has nothing of it. */
mv_code mv_level_take_named(mv_arena *arena, mv_trace *trace, const char *name, mv_err *err);

/* Makes `trace` that of a level: devices, segments and blocks are new ones in the arena; frames and
 * stacks grow, and keep their numbers; annotations, samples, facts and texts stay. It has no calls
 * of CUDA or of heaps any more: `trace->origin.as_read` is what it was before, and
 * `trace->origin.level` becomes the level's name. O(n log n) in calls, linear in events. A trace
 * without the level is left without devices. Fails only when memory (MV_NOMEM) or row numbers
 * (MV_LIMIT) run out; the trace is unchanged then. */
mv_code mv_level_take(mv_arena *arena, mv_trace *trace, mv_level level, mv_err *err);

/* For several levels of one trace: the steps that all of them have, found once, and mv_level_take
 * with them. */
mv_code mv_level_beat(mv_arena *arena, const mv_trace *trace, mv_beat *out, mv_err *err);
mv_code mv_level_take_with(mv_arena *arena, mv_trace *trace, mv_level level, const mv_beat *beat,
                           mv_err *err);

#endif
