/* The model of one memory snapshot, which readers make from any file format.
 *
 * A snapshot consists of tables, which are stored as columns. Each kind of row number has a
 * separate type, so that a stack cannot be used as a frame. Every column is allocated in the arena
 * given to the reader, and is read-only after reading. Analyzers keep their results in separate
 * columns, instead of adding fields here.
 *
 *     mv_trace
 *      ├─ strings, frames, stacks, streams, pools, tags      interned: each content once
 *      ├─ devices[ordinal].events                            what happened, in order
 *      ├─ segments ─┐                                        the heap when the file was written
 *      │            └─ blocks ── history                     (history: PyTorch 1.13 and 2.0 only)
 *      ├─ host_segments, host_events                         pinned host memory
 *      ├─ annotations, settings
 *      ├─ tensors                                            tensors with names from the program
 *      ├─ api_calls, heap_calls, samples, facts              only in captured files
 *      └─ notes                                              oddities of the file
 *
 * Units: sizes and addresses in bytes, times in microseconds since the Unix epoch. Sources for the
 * statements about PyTorch's files: PyTorch 1.13 to 2.14, torch/csrc/cuda/Module.cpp,
 * torch/csrc/cuda/memory_snapshot.cpp, c10/cuda/CUDACachingAllocator.cpp. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"
#include "capture/wire_live.h"
#include "parse/model/kinds.h"

#define MV_NO_ROW    UINT32_MAX
#define MV_NO_STRING ((mv_string_id){MV_NO_ROW}) /* the key was missing or None */
#define MV_NO_STACK  ((mv_stack_id){MV_NO_ROW})  /* no stack was recorded (the key is missing) */
#define MV_NO_POOL   ((mv_pool_id){MV_NO_ROW})   /* the file does not contain the pool */
#define MV_NO_CALL   UINT32_MAX
#define MV_NO_TIME   INT64_MIN
#define MV_NO_BYTES  UINT64_MAX /* a size or address that the file does not contain */
#define MV_NO_LINE   (-1)

#define MV_EMPTY_STACK  ((mv_stack_id){0}) /* a stack was recorded, but has no frames */
#define MV_DEFAULT_POOL ((mv_pool_id){0})  /* (0, 0) */
#define MV_PLAIN_TAG    ((mv_tag_id){0})   /* all fields of the tag are absent */

/* ---- columns ----------------------------------------------------------------------------- */

/* The columns of a table are defined by a list of rows
 *
 *     X(T, number, name, kind, value when absent, "what it is", more ...)
 *
 * and no column is named anywhere else. The list generates the struct below it and the builder's
 * row. Through parse/model/tables.h, it also generates the formats' tables, `memviz dump`, the
 * exports, the checks in the tests and the tables in the formats' documentation.
 * docs/internals/model.md shows how to add a column.
 *
 * - The number is the column's number in the container: from 1, without gaps, never changed. A new
 *   column takes the next number, and sets `.since` so that files without the column can be read.
 * - Compact msgpack, dumps and documentation have the columns in the order of the list.
 * - Kinds are listed in parse/model/kinds.h. Sizes and addresses are in bytes, times in
 *   microseconds since the Unix epoch.
 * - The absent value is the initial value in a row of the builder, and the value of all rows if a
 *   file does not contain the column. For streams, it is replaced with the default stream.
 * - "more" sets other fields of mv_table_column, which is seldom needed. T is passed on to X. */
#define MV_COLUMN_MEMBER(T, number, name, kind, ...) mv_value_of_##kind *name; /* [count] */
#define MV_COLUMN_BIT(T, number, name, ...)          T##name = 1u << ((number)-1),

/* ---- interned tables --------------------------------------------------------------------- */

/* Strings, whose bytes are the same as in the file: usually UTF-8, but lone surrogates (from odd
 * file names) and NULs occur. A NUL follows each string and is not part of it, so string i is
 * bytes[at[i]] to bytes[at[i + 1] - 2]. `at` has count + 1 entries; the first is 0. */
#define MV_STRING_COLUMNS(X, T) \
    X(T, 1, at, END, 0, "byte after the NUL of the text", .label = "end")
#define MV_STRING_BYTE_COLUMNS(X, T) \
    X(T, 1, bytes, TEXT_BYTE, 0, "bytes of all texts, a NUL after each")
typedef struct {
    uint32_t count;
    MV_STRING_COLUMNS(MV_COLUMN_MEMBER, )
    MV_STRING_BYTE_COLUMNS(MV_COLUMN_MEMBER, )
} mv_strings;

/* Data of torch.fx about a frame in generated code (augment_with_fx_traces=True). */
#define MV_FX_COLUMNS(X, T)                                           \
    X(T, 1, op, STRING, MV_NO_ROW, "fx_node_op", .label = "")         \
    X(T, 2, name, STRING, MV_NO_ROW, "fx_node_name", .label = "")     \
    X(T, 3, target, STRING, MV_NO_ROW, "fx_node_target", .label = "") \
    X(T, 4, trace, STRING, MV_NO_ROW, "fx_original_trace", .label = "")
typedef struct {
    uint32_t count;
    MV_FX_COLUMNS(MV_COLUMN_MEMBER, )
} mv_fx;

/* Frames: each is a line of code. In the file, frames in forward_frames and cpp_frames are plain
 * text. Here this text is in `function`, and the frame has neither a file nor a line. */
#define MV_CODE_COLUMNS(X, T)                                                 \
    X(T, 1, function, STRING, MV_NO_ROW, "name of the function", .label = "") \
    X(T, 2, file, STRING, MV_NO_ROW, "path of the file", .label = "")         \
    X(T, 3, line, LINE, MV_NO_LINE, "line; -1 when the code object has no lines", .label = "")
#define MV_FRAME_COLUMNS(X, T) \
    MV_CODE_COLUMNS(X, T)      \
    X(T, 4, fx, FX, MV_NO_ROW, "torch.fx's data about the line", .is_rare = true)
typedef struct {
    uint32_t count;
    MV_FRAME_COLUMNS(MV_COLUMN_MEMBER, )
} mv_frames;

/* Stacks, distinct by content. Row 0 is the empty stack. Stack i consists of frame[first[i]], which
 * is the innermost, to frame[first[i + 1] - 1]. `first` has count + 1 entries. */
#define MV_STACK_COLUMNS(X, T) \
    X(T, 1, first, END, 0, "row of the frames after the last of the stack", .label = "end")
#define MV_STACK_FRAME_COLUMNS(X, T) \
    X(T, 1, frame, FRAME, 0, "frames of all stacks, innermost first")
typedef struct {
    uint32_t count;
    MV_STACK_COLUMNS(MV_COLUMN_MEMBER, )
    MV_STACK_FRAME_COLUMNS(MV_COLUMN_MEMBER, )
} mv_stacks;

/* Raw cudaStream_t values; 0 is the default stream. XPU writes unsigned 64-bit pointers. */
#define MV_STREAM_COLUMNS(X, T) X(T, 1, value, HANDLE, MV_NO_BYTES, "the raw cudaStream_t")
typedef struct {
    uint32_t count;
    MV_STREAM_COLUMNS(MV_COLUMN_MEMBER, )
} mv_streams;

/* Memory pools. Row 0 is (0, 0), the default pool. CUDA graph captures create (n, 0);
 * graph_pool_handle() and torch.cuda.MemPool create (0, n). */
#define MV_POOL_COLUMNS(X, T)                                         \
    X(T, 1, a, HANDLE, MV_NO_BYTES, "number of a CUDA graph capture") \
    X(T, 2, b, HANDLE, MV_NO_BYTES, "number requested by a program")
typedef struct {
    uint32_t count;
    MV_POOL_COLUMNS(MV_COLUMN_MEMBER, )
} mv_pools;

/* Tags: properties that rarely vary between events. Tags are distinct by content. In row 0
 * everything is absent. */
#define MV_TAG_COLUMNS(X, T)                                                                      \
    X(T, 1, compile_context, STRING, MV_NO_ROW,                                                   \
      "since PyTorch 2.8; \"N/A\" outside compiled regions", .is_rare = true)                     \
    X(T, 2, user_metadata, STRING, MV_NO_ROW,                                                     \
      "since PyTorch 2.10; the text of an `annotate` event", .is_rare = true)                     \
    X(T, 3, internal_metadata, STRING, MV_NO_ROW, "after PyTorch 2.14", .is_rare = true)          \
    X(T, 4, category, STRING, MV_NO_ROW, "only in files that the profiler made", .is_rare = true) \
    X(T, 5, action, STRING, MV_NO_ROW, "name of the action where it is `other`", .is_rare = true, \
      .rank = -1)                                                                                 \
    X(T, 6, forward, STACK, MV_NO_ROW, "forward_frames, as text frames", .is_rare = true,         \
      .msgpack = "forward_stack")                                                                 \
    X(T, 7, cpp, STACK, MV_NO_ROW, "cpp_frames (PyTorch 2.0), as text frames", .is_rare = true,   \
      .msgpack = "cpp_stack")                                                                     \
    X(T, 8, pool, POOL, MV_NO_ROW, "pool_id, since PyTorch 2.12", .is_rare = true)                \
    X(T, 9, op, STRING, MV_NO_ROW, "operator of the event, from the profiler", .is_rare = true,   \
      .since = "0.2")                                                                             \
    X(T, 10, shapes, STRING, MV_NO_ROW, "the operator's inputs: \"[64,10] bf16\"",                \
      .is_rare = true, .since = "0.2")
typedef struct {
    uint32_t count;
    MV_TAG_COLUMNS(MV_COLUMN_MEMBER, )
} mv_tags;

/* ---- events ------------------------------------------------------------------------------ */

/* Actions of the caching allocator. Source: TraceEntry::Action, CUDACachingAllocator.h.
 *
 *                     addr            size                        stack: who called
 *   ALLOC             block start     bytes requested, unrounded  the allocating call
 *   FREE_REQUESTED    block start     the alloc's bytes           the freeing call, or the alloc's
 *   FREE_COMPLETED    block start     the alloc's bytes           as above, or a polling call
 *   SEGMENT_ALLOC     segment start   bytes of cudaMalloc         the alloc that needed it
 *   SEGMENT_FREE      segment start   bytes                       the call that caused it
 *   SEGMENT_MAP       range start     bytes mapped (expandable)   the alloc that needed it
 *   SEGMENT_UNMAP     range start     bytes unmapped (expandable) the call that caused it
 *   OOM               free bytes      the rounded request         the failing call
 *   SNAPSHOT          0               active bytes                none
 *   ANNOTATE          block start     the alloc's bytes           the annotating call
 *   OTHER             as in the file; the name is in the tag */
#define MV_ACTION_LIST(X)               \
    X(ALLOC, "alloc")                   \
    X(FREE_REQUESTED, "free_requested") \
    X(FREE_COMPLETED, "free_completed") \
    X(SEGMENT_ALLOC, "segment_alloc")   \
    X(SEGMENT_FREE, "segment_free")     \
    X(SEGMENT_MAP, "segment_map")       \
    X(SEGMENT_UNMAP, "segment_unmap")   \
    X(OOM, "oom")                       \
    X(SNAPSHOT, "snapshot")             \
    X(ANNOTATE, "annotate")             \
    X(OTHER, "other")

typedef enum {
#define MV_ACTION_ENUM(name, text) MV_ACTION_##name,
    MV_ACTION_LIST(MV_ACTION_ENUM) MV_ACTION_COUNT
} mv_action;

/* The events of one device, in the order in which its allocator acted. The allocator holds a lock
 * while it acts, so the order is reliable. An event is identified by its position in this list,
 * counted from 0. Each event takes 41 bytes.
 *
 * `call` identifies the stack object. Two events with the same `call` either came from the same
 * allocator call (a segment_alloc and the alloc that needed it, or the events of one
 * empty_cache()), or are the alloc and frees of one block. Events with equal stacks but different
 * values of `call` came from different calls. Calls are numbered in file order over the whole file;
 * formats without this identity (plain msgpack) give every event its own call. */
#define MV_EVENT_COLUMNS(X, T)                                                                  \
    X(T, 8, action, ACTION, MV_ACTION_OTHER, "what happened", .label = "")                      \
    X(T, 2, addr, ADDRESS, MV_NO_BYTES,                                                         \
      "start of the block or segment; of an `oom`, the device's "                               \
      "free bytes")                                                                             \
    X(T, 3, size, BYTES, 0, "bytes: of a block as requested, or of a segment")                  \
    X(T, 7, stream, STREAM, MV_NO_ROW, "stream of the block or segment")                        \
    X(T, 1, time_us, EVENT_TIME, MV_NO_TIME,                                                    \
      "time; none before PyTorch 2.2. Equal neighbours are common", .msgpack = "time_delta_us", \
      .label = "time")                                                                          \
    X(T, 4, stack, STACK, MV_NO_ROW, "stack of the call; none: it was not kept")                \
    X(T, 5, call, CALL, MV_NO_ROW,                                                              \
      "equal numbers: the same allocator call; none when the stack is none or empty",           \
      .is_unlisted = true)                                                                      \
    X(T, 6, tag, TAG, 0, "properties that rarely vary between events", .is_unlisted = true)
typedef struct {
    uint32_t count;
    MV_EVENT_COLUMNS(MV_COLUMN_MEMBER, )
    const struct mv_packed_times *packed_times; /* instead of `time_us`, if that was left out
                                                 * (parse/model/event_times.h) */
} mv_events;

/* Sets of these columns: MV_EVENT_action, MV_EVENT_addr, and so on. */
enum { MV_EVENT_COLUMNS(MV_COLUMN_BIT, MV_EVENT_) };

typedef struct {
    mv_events events;
} mv_device;

/* ---- the heap when the file was written -------------------------------------------------- */

#define MV_SEGMENT_KIND_LIST(X) \
    X(LARGE, "large")           \
    X(SMALL, "small")           \
    X(UNKNOWN, "unknown")

typedef enum {
#define MV_SEGMENT_KIND_ENUM(name, text) MV_SEGMENT_##name,
    MV_SEGMENT_KIND_LIST(MV_SEGMENT_KIND_ENUM)
} mv_segment_kind;

/* Segments, which are the regions that the allocator has reserved: the result of one cudaMalloc, or
 * one contiguous mapped range of an expandable segment. Segments are in file order (PyTorch sorts
 * them by device, then by address). The sums are copied from the file, so that an audit can compare
 * them. The blocks of a segment cover it without gaps, in address order. */
#define MV_SEGMENT_COLUMNS(X, T)                                                                   \
    X(T, 1, device, DEVICE, 0, "ordinal; -1: host memory")                                         \
    X(T, 2, address, ADDRESS, MV_NO_BYTES, "start; none in files that the profiler made",          \
      .label = "addr")                                                                             \
    X(T, 3, total_size, BYTES, 0, "bytes of the segment", .label = "size")                         \
    X(T, 4, allocated, BYTES, 0, "allocated_size, as the file has it",                             \
      .msgpack = "allocated_size")                                                                 \
    X(T, 5, active, BYTES, 0, "active_size, as the file has it", .msgpack = "active_size")         \
    X(T, 6, requested, BYTES, MV_NO_BYTES,                                                         \
      "requested_size, as the file has it; none before PyTorch 2.0", .msgpack = "requested_size")  \
    X(T, 7, stream, STREAM, MV_NO_ROW, "stream")                                                   \
    X(T, 14, kind, SEGMENT_KIND, MV_SEGMENT_UNKNOWN,                                               \
      "which of the two pools owns it, whatever its size", .msgpack = "segment_type", .label = "", \
      .rank = -1)                                                                                  \
    X(T, 8, pool, POOL, MV_NO_ROW, "memory pool; none before PyTorch 2.1",                         \
      .msgpack = "segment_pool")                                                                   \
    X(T, 15, is_expandable, FLAG, 0, "1: it can grow (expandable_segments)",                       \
      .label = "expandable", .rank = -1)                                                           \
    X(T, 9, stack, STACK, MV_NO_ROW, "stack of the call that made it")                             \
    X(T, 10, call, CALL, MV_NO_ROW, "as in events")                                                \
    X(T, 11, forward, STACK, MV_NO_ROW, "forward_frames, as text frames",                          \
      .msgpack = "forward_stack", .is_rare = true)                                                 \
    X(T, 12, first_block, FIRST, 0, "row of its first block", .of = MV_WIRE_BLOCKS)                \
    X(T, 13, blocks, COUNT, 0, "number of its blocks")
typedef struct {
    uint32_t count;
    MV_SEGMENT_COLUMNS(MV_COLUMN_MEMBER, )
} mv_segments;

/* ALLOCATED: the block is in use. PENDING_FREE: the block was freed, but a stream may still use
 * it. */
#define MV_BLOCK_STATE_LIST(X)             \
    X(INACTIVE, "inactive")                \
    X(ALLOCATED, "active_allocated")       \
    X(PENDING_FREE, "active_pending_free") \
    X(UNKNOWN, "unknown")

typedef enum {
#define MV_BLOCK_STATE_ENUM(name, text) MV_BLOCK_##name,
    MV_BLOCK_STATE_LIST(MV_BLOCK_STATE_ENUM)
} mv_block_state;

#define MV_BLOCK_COLUMNS(X, T)                                                                 \
    X(T, 1, address, RISING_ADDRESS, MV_NO_BYTES,                                              \
      "start; computed where the file has none (before PyTorch 2.1)", .label = "addr")         \
    X(T, 2, size, BYTES, 0,                                                                    \
      "bytes occupied: requested, rounded, with the remainder that was not split off")         \
    X(T, 3, requested, BYTES, MV_NO_BYTES, "requested bytes; meaningless for inactive blocks", \
      .msgpack = "requested_size")                                                             \
    X(T, 9, state, BLOCK_STATE, MV_BLOCK_UNKNOWN,                                              \
      "allocated: handed out; pending free: freed, a stream may still use it", .label = "",    \
      .rank = -1)                                                                              \
    X(T, 4, stack, STACK, MV_NO_ROW, "stack of the allocation")                                \
    X(T, 5, call, CALL, MV_NO_ROW, "as in events", .is_unlisted = true)                        \
    X(T, 6, forward, STACK, MV_NO_ROW, "forward_frames, as text frames",                       \
      .msgpack = "forward_stack", .is_rare = true)                                             \
    X(T, 7, first_history, FIRST, 0, "row of its newest history", .of = MV_WIRE_HISTORY)       \
    X(T, 8, histories, COUNT, 0, "number of its history rows, newest first")
typedef struct {
    uint32_t count;
    MV_BLOCK_COLUMNS(MV_COLUMN_MEMBER, )
} mv_blocks;

/* Earlier allocations in a block's bytes, which only PyTorch 1.13 and 2.0 record. */
#define MV_HISTORY_COLUMNS(X, T)                                                         \
    X(T, 1, addr, ADDRESS, MV_NO_BYTES, "start of the block at the time")                \
    X(T, 2, real_size, BYTES, 0, "bytes requested", .label = "size")                     \
    X(T, 3, stack, STACK, MV_NO_ROW, "stack of the allocation")                          \
    X(T, 4, call, CALL, MV_NO_ROW, "as in events")                                       \
    X(T, 5, cpp, STACK, MV_NO_ROW, "cpp_frames, as text frames", .msgpack = "cpp_stack", \
      .is_rare = true)
typedef struct {
    uint32_t count;
    MV_HISTORY_COLUMNS(MV_COLUMN_MEMBER, )
} mv_history;

/* ---- the rest ---------------------------------------------------------------------------- */

/* START and END are the ends of a range. MARK is a single point in time: memviz_mark() and
 * nvtxMark() in captured files. */
#define MV_STAGE_LIST(X) \
    X(START, "START")    \
    X(END, "END")        \
    X(OTHER, "other")    \
    X(MARK, "MARK")

typedef enum {
#define MV_STAGE_ENUM(name, text) MV_STAGE_##name,
    MV_STAGE_LIST(MV_STAGE_ENUM)
} mv_stage;

/* Annotations, in file order: beginnings and ends of record_function ranges (in captures, of NVTX
 * and memviz_push() ranges), and marks. */
#define MV_ANNOTATION_COLUMNS(X, T)                                                         \
    X(T, 1, name, STRING, MV_NO_ROW, "name of the range or mark", .label = "", .rank = 1)   \
    X(T, 4, stage, STAGE, MV_STAGE_OTHER, "which end of the range, or a mark", .label = "", \
      .rank = -1)                                                                           \
    X(T, 3, device, DEVICE, 0, "current device of the thread that made it; -1: not known")  \
    X(T, 2, time_us, TIME, MV_NO_TIME, "time", .label = "time")
typedef struct {
    uint32_t count;
    MV_ANNOTATION_COLUMNS(MV_COLUMN_MEMBER, )
} mv_annotations;

#define MV_SETTING_KIND_LIST(X) \
    X(INT, "integer")           \
    X(FLOAT, "float")           \
    X(BOOL, "bool")             \
    X(TEXT, "text")             \
    X(NONE, "None")

typedef enum {
#define MV_SETTING_KIND_ENUM(name, text) MV_SETTING_##name,
    MV_SETTING_KIND_LIST(MV_SETTING_KIND_ENUM)
} mv_setting_kind;

/* allocator_settings at the time of the snapshot, in file order. Text formats write a setting as
 * PyTorch does, as a key and a value. */
#define MV_SETTING_COLUMNS(X, T)                                                                   \
    X(T, 1, parent, STRING, MV_NO_ROW,                                                             \
      "key of the nested table (roundup_power2_divisions); none: not nested", .is_unshown = true)  \
    X(T, 2, key, STRING, MV_NO_ROW, "name of the setting", .is_unshown = true)                     \
    X(T, 3, kind, SETTING_KIND, MV_SETTING_NONE, "which column has the value", .is_unshown = true) \
    X(T, 4, integer, INTEGER, 0, "value of an integer or bool", .is_unshown = true)                \
    X(T, 5, real, REAL, 0, "value of a float: the bits of a double", .is_unshown = true)           \
    X(T, 6, text, STRING, MV_NO_ROW, "value of a text", .is_unshown = true)
typedef struct {
    uint32_t count;
    MV_SETTING_COLUMNS(MV_COLUMN_MEMBER, )
} mv_settings;

/* Calls of the CUDA runtime and driver that concern memory, by PyTorch and by all other callers.
 * There is one row per call, in the order in which memory was allocated and freed. A call that
 * makes other calls is listed once, under the name that the program called. Calls of PyTorch's
 * allocator are also among its device's events, as segment_alloc and similar actions. Only captured
 * files contain this table. */
#define MV_API_CALL_COLUMNS(X, T)                                                                  \
    X(T, 11, action, API_ACTION, 0, "what the call does (mv_api_action)", .label = "", .rank = -1, \
      .is_unlisted = true)                                                                         \
    X(T, 6, api, STRING, MV_NO_ROW, "name of the function: \"cudaMalloc\"", .label = "",           \
      .rank = -1)                                                                                  \
    X(T, 7, library, STRING, MV_NO_ROW, "path of the library that called; none: not known",        \
      .rank = 2)                                                                                   \
    X(T, 8, device, DEVICE, -1, "ordinal; -1: not known")                                          \
    X(T, 9, result, RESULT, 0, "0: success; else the cudaError_t or CUresult")                     \
    X(T, 2, addr, ADDRESS, MV_NO_BYTES, "address of the memory")                                   \
    X(T, 3, size, BYTES, 0, "bytes; 0 for frees and where it is not known")                        \
    X(T, 4, handle, HANDLE, 0, "handle of an allocation, array or pool; 0: none")                  \
    X(T, 1, time_us, TIME, MV_NO_TIME, "time", .label = "time")                                    \
    X(T, 5, stack, STACK, MV_NO_ROW, "stack of the call", .rank = 1)                               \
    X(T, 10, event, EVENT, 0, "events of `device` before it; 0 when `device` is -1")               \
    X(T, 12, launches, RISING, 0, "kernels and graphs that the process had launched",              \
      .since = "0.2")                                                                              \
    X(T, 13, waits, RISING, 0, "how often the program had waited for a device, or read from one",  \
      .since = "0.2")
typedef struct {
    uint32_t count;
    MV_API_CALL_COLUMNS(MV_COLUMN_MEMBER, )
} mv_api_calls;

/* Calls that report blocks of allocators registered through memviz.h or NVTX's memory extension
 * (docs/heaps.md), such as CuPy's or the program's own. They are in the order in which memory was
 * allocated and freed, as the program reported it, so addresses may be freed twice or never. Only
 * captured files contain this table. */
#define MV_HEAP_CALL_COLUMNS(X, T)                                                               \
    X(T, 7, action, HEAP_ACTION, 0, "what the call does (mv_heap_action)", .label = "",          \
      .rank = -1)                                                                                \
    X(T, 4, heap, STRING, MV_NO_ROW, "name of the heap; none: the one that has the address",     \
      .label = "", .rank = -1)                                                                   \
    X(T, 8, library, STRING, MV_NO_ROW, "path of the library that reported it; none: not known", \
      .rank = 2)                                                                                 \
    X(T, 6, device, DEVICE, -1, "ordinal; -1: not known")                                        \
    X(T, 2, addr, ADDRESS, MV_NO_BYTES, "address of the block")                                  \
    X(T, 3, size, BYTES, 0, "bytes; 0 for frees and resets")                                     \
    X(T, 1, time_us, TIME, MV_NO_TIME, "time", .label = "time")                                  \
    X(T, 5, stack, STACK, MV_NO_ROW, "stack of the call", .rank = 1)
typedef struct {
    uint32_t count;
    MV_HEAP_CALL_COLUMNS(MV_COLUMN_MEMBER, )
} mv_heap_calls;

/* Samples of how much of a device's memory is in use during the run, as NVML reports it from
 * outside the process. The times of a device's samples never decrease. */
#define MV_SAMPLE_COLUMNS(X, T)                                                         \
    X(T, 5, device, DEVICE, -1, "ordinal as the process counts (CUDA_VISIBLE_DEVICES)") \
    X(T, 1, time_us, TIME, MV_NO_TIME, "time", .label = "time")                         \
    X(T, 2, used, BYTES, 0, "bytes of the device in use, by all processes")             \
    X(T, 3, total, BYTES, 0, "bytes that the device has")                               \
    X(T, 4, process, BYTES, MV_NO_BYTES, "bytes that this process uses; none: not known")
typedef struct {
    uint32_t count;
    MV_SAMPLE_COLUMNS(MV_COLUMN_MEMBER, )
} mv_samples;

/* Facts about a capture and its process, each with a key such as "pid", "command", "rank", "stacks"
 * or "lost_space" (capture/wire_live.h lists them), and facts in files of other tools
 * (docs/other-files.md). Each key occurs once. */
#define MV_FACT_COLUMNS(X, T)                                        \
    X(T, 1, key, STRING, MV_NO_ROW, "name of the fact", .label = "") \
    X(T, 2, value, STRING, MV_NO_ROW, "its value, as a text", .label = "")
typedef struct {
    uint32_t count;
    MV_FACT_COLUMNS(MV_COLUMN_MEMBER, )
} mv_facts;

#define MV_TENSOR_ROLE_LIST(X)            \
    X(PARAMETER, "parameter")             \
    X(GRADIENT, "gradient")               \
    X(BUFFER, "buffer")                   \
    X(OPTIMIZER_STATE, "optimizer_state") \
    X(NAMED, "tensor")

typedef enum {
#define MV_TENSOR_ROLE_ENUM(name, text) MV_TENSOR_##name,
    MV_TENSOR_ROLE_LIST(MV_TENSOR_ROLE_ENUM)
#undef MV_TENSOR_ROLE_ENUM
} mv_tensor_role;

/* Tensors with a name that were alive when the file was written: memviz.record(names=) stores the
 * tensors of modules and optimizers, and memviz.name() stores any tensor (docs/python.md). Several
 * tensors may share bytes, as views do. The role NAMED means that the program named the tensor, but
 * its purpose is unknown. */
#define MV_TENSOR_COLUMNS(X, T)                                                            \
    X(T, 1, name, STRING, MV_NO_ROW,                                                       \
      "name: \"layers.7.mlp.up_proj.weight\"; of a gradient or a "                         \
      "state that of the parameter",                                                       \
      .label = "", .rank = 1)                                                              \
    X(T, 2, role, TENSOR_ROLE, MV_TENSOR_NAMED, "what it is for", .label = "", .rank = -1) \
    X(T, 3, slot, STRING, MV_NO_ROW, "of an optimizer's state: \"AdamW exp_avg\"",         \
      .is_rare = true)                                                                     \
    X(T, 4, shape, STRING, MV_NO_ROW, "\"[4096,11008]\"", .label = "", .rank = 2)          \
    X(T, 5, dtype, STRING, MV_NO_ROW, "\"bf16\"", .label = "", .rank = 3)                  \
    X(T, 6, device, DEVICE, 0, "ordinal")                                                  \
    X(T, 7, address, ADDRESS, MV_NO_BYTES, "of its first byte", .label = "addr")           \
    X(T, 8, bytes, BYTES, 0, "from its first byte to its last", .label = "size")
typedef struct {
    uint32_t count;
    MV_TENSOR_COLUMNS(MV_COLUMN_MEMBER, )
} mv_tensors;

/* Notes about input that is odd but readable. Such input is counted, never dropped silently, and
 * `memviz info` shows the counts. */
#define MV_NOTE_LIST(X)                                                                        \
    X(UNKNOWN_KEY, "unknown_key", "keys that memviz does not know; their values were skipped") \
    X(UNKNOWN_ACTION, "unknown_action", "events whose action memviz does not know; kept")      \
    X(UNKNOWN_STATE, "unknown_state", "blocks or segments in a state memviz does not know")    \
    X(DUPLICATE_KEY, "duplicate_key", "keys given twice; the last one counts")                 \
    X(UNSORTED_TIME, "unsorted_time", "events with an earlier time than the previous event")   \
    X(UNTILED, "untiled_segment", "segments that their blocks do not fill exactly")            \
    X(LOOSE, "loose_record", "records outside the lists that memviz reads; left out")          \
    X(TRAILING, "trailing_bytes", "bytes after the end of the data")                           \
    X(DAMAGED, "damaged_chunk", "damaged parts of the file that were skipped")                 \
    X(LOST, "lost_events", "events that the capture could not record")                         \
    X(LIST_ROOT, "list_root", "the file is a bare list of segments, without events")           \
    X(FILE_NOTE, "file_note", "remarks that the file's writer left")                           \
    X(THINNED, "thinned", "events left out: of blocks that held little, or lived in a pause")  \
    X(LOST_EVENTS, "damaged_events", "places where events are damaged or missing")             \
    X(LOST_CALLS, "damaged_calls", "tables of CUDA calls with lost rows")                      \
    X(LOST_SAMPLES, "damaged_samples", "tables of samples with lost rows")                     \
    X(LOST_FACTS, "damaged_facts", "tables of facts with lost rows")                           \
    X(UNDER_WAY, "under_way", "calls that were under way when the recording was last written") \
    X(NO_HEAP, "no_final_heap", "the file has no key \"segments\": no final heap")

typedef enum {
#define MV_NOTE_ENUM(name, code, text) MV_NOTE_##name,
    MV_NOTE_LIST(MV_NOTE_ENUM) MV_NOTE_COUNT
} mv_note_code;

/* Returns true if readers derive this note from the data. Such notes are skipped when a file
 * contains them. */
static inline bool mv_note_is_found(mv_note_code code)
{
    return code == MV_NOTE_UNSORTED_TIME || code == MV_NOTE_UNTILED;
}

typedef struct {
    uint64_t count;
    char first[96]; /* description of the first occurrence: "key 'foo' at byte 1234" */
} mv_note;

/* Keys of PyTorch's dict that show which release wrote it. They are kept because the model itself
 * does not show whether a key was present but empty. 0: unknown, as in files written by older
 * releases of memviz. These numbers are stored in files. */
typedef enum {
    MV_KEYS_KNOWN = 1,
    MV_KEY_SETTINGS = 2,      /* allocator_settings */
    MV_KEY_ANNOTATIONS = 4,   /* external_annotations */
    MV_KEY_HOST = 8,          /* host_segments, host_traces */
    MV_KEY_BLOCK_ADDRESS = 16 /* address of a block */
} mv_key;

typedef enum {
    MV_FORMAT_NONE,
    MV_FORMAT_PICKLE,
    MV_FORMAT_MSGPACK, /* msgpack with the same plain dict as in a pickle */
    MV_FORMAT_COMPACT, /* msgpack with stack tables */
    MV_FORMAT_BIN,
    MV_FORMAT_RMM,    /* RMM's log, CSV */
    MV_FORMAT_XPLANE, /* XLA's profile */
    MV_FORMAT_PPROF,  /* JAX's device memory profile */
    MV_FORMAT_KINETO  /* a torch.profiler trace */
} mv_format;

/* Origin of the trace. `convert` does not preserve it. */
typedef struct {
    mv_format format;
    uint8_t pickle_protocol;   /* protocol of the pickle; 0: not a pickle */
    bool is_page;              /* the pickle was inside an HTML page of _memory_viz */
    uint64_t file_bytes;       /* size of the stored file; MV_NO_BYTES for a pipe */
    uint64_t data_bytes;       /* size after decompression */
    const char *compression;   /* "none", "gzip", "zstd" */
    const char *level;         /* name of the level to which the events belong (analyze/levels);
                                * NULL: the file's own level */
    bool is_heap;              /* the level is a registered heap */
    uint32_t first_call_frame; /* only in traces of a level: first frame that is a CUDA call, or a
                                * call of a heap; all later frames are calls too */
    const struct mv_trace *as_read; /* only in traces of a level: the trace from which the level was
                                     * made */
} mv_origin;

typedef struct mv_trace {
    mv_strings strings;
    mv_frames frames;
    mv_fx fx;
    mv_stacks stacks;
    mv_streams streams;
    mv_pools pools;
    mv_tags tags;

    uint32_t device_count;           /* number of lists in device_traces; each has the number of
                                      * its device; 0: none */
    mv_device *devices;              /* [device_count] */
    const struct mv_digest *digests; /* [device_count] digest of all events of each device, if the
                                      * reader left out some events; else NULL. In this case the
                                      * events have no columns (mv_read_opts.digest_suffices),
                                      * unless a part was read. See `living` */
    uint32_t *const *versions;       /* [device_count][events.count] the version of each event
                                      * (parse/model/versions.h), only if a part without live rows
                                      * was read (mv_read_opts.part); else NULL */
    const struct mv_living *living;  /* [device_count] only if a part was read
                                      * (parse/model/living.h), in which case row numbers are not
                                      * event numbers; else NULL */
    uint32_t calls;                  /* number of calls; calls are numbered from 0 */

    mv_segments segments;
    mv_blocks blocks; /* blocks in segments and in host_segments */
    mv_history history;
    mv_segments host_segments;
    mv_events host_events; /* in recorded order; several threads wrote them */

    mv_annotations annotations;
    mv_settings settings;
    mv_tensors tensors;

    mv_api_calls api_calls;
    mv_heap_calls heap_calls;
    mv_samples samples;
    mv_facts facts;

    uint32_t keys; /* set of mv_key: the keys that the dict contained */
    mv_origin origin;
    mv_note notes[MV_NOTE_COUNT];
} mv_trace;

/* ---- reading the model ------------------------------------------------------------------- */

/* Returns the bytes of a string, which are NUL-terminated; "" for MV_NO_STRING. */
static inline mv_span mv_string_span(const mv_trace *trace, mv_string_id id)
{
    const mv_strings *s = &trace->strings;

    if (id.row >= s->count)
        return (mv_span){(const uint8_t *)"", 0};
    return (mv_span){(const uint8_t *)s->bytes + s->at[id.row],
                     s->at[id.row + 1] - s->at[id.row] - 1};
}

static inline const char *mv_string_text(const mv_trace *trace, mv_string_id id)
{
    return (const char *)mv_string_span(trace, id).data;
}

/* Returns the address of a stack's innermost frame, and sets *count to the number of frames.
 * Returns NULL, with count 0, if the stack has no frames or is MV_NO_STACK. */
static inline const mv_frame_id *mv_stack_frames(const mv_trace *trace, mv_stack_id id,
                                                 uint32_t *count)
{
    const mv_stacks *s = &trace->stacks;

    if (id.row >= s->count) {
        *count = 0;
        return NULL;
    }
    *count = (uint32_t)(s->first[id.row + 1] - s->first[id.row]);
    return *count ? s->frame + s->first[id.row] : NULL; /* without any frames, s->frame is NULL */
}

/* Returns the trace that was read from the file, with all CUDA calls, regardless of the level of
 * `trace`. */
static inline const mv_trace *mv_trace_as_read(const mv_trace *trace)
{
    return trace->origin.as_read ? trace->origin.as_read : trace;
}

/* Returns true if a frame stands for a library's CUDA call. Such frames exist only in traces of a
 * level (analyze/levels). */
static inline bool mv_frame_is_call(const mv_trace *trace, mv_frame_id frame)
{
    return trace->origin.level && frame.row >= trace->origin.first_call_frame &&
           frame.row < trace->frames.count;
}

/* Writes a pool's id, "(0, 0)", or "(unknown pool)" if the file does not contain it. Returns
 * `out`. */
#define MV_POOL_TEXT 48
const char *mv_pool_text(const mv_trace *trace, mv_pool_id pool, char out[MV_POOL_TEXT]);

const char *mv_action_name(mv_action action); /* "free_requested" */
/* Returns the name of an event's action. For MV_ACTION_OTHER, the name is taken from the file;
 * "other" if the file has no name either. */
const char *mv_event_action(const mv_trace *trace, const mv_events *events, uint32_t event);
const char *mv_block_state_name(mv_block_state state);  /* "active_allocated" */
const char *mv_segment_kind_name(mv_segment_kind kind); /* "small" */
const char *mv_stage_name(mv_stage stage);              /* "START" */
const char *mv_tensor_role_name(mv_tensor_role role);   /* "optimizer_state" */

/* Returns the name of a code in a column of this kind; "0" or "1" for flags. */
const char *mv_kind_code_name(mv_kind kind, uint8_t code);

const char *mv_format_name(mv_format format); /* "pickle", "msgpack", "bin", "rmm" */
const char *mv_note_name(mv_note_code code);  /* "unknown_key" */
const char *mv_note_text(mv_note_code code);

/* Sets the description of a note's first occurrence, cut to fit, without control characters. */
void mv_note_describe(mv_note *note, const char *text, uint64_t length);

/* Returns the number of devices, which is one more than the largest ordinal of any event list or
 * segment. */
uint32_t mv_trace_devices(const mv_trace *trace);

/* Returns the events of a device; no events for an ordinal without a trace. */
mv_events mv_trace_events(const mv_trace *trace, uint32_t device);

/* Returns the first API call, at or after row `from`, whose `event` exceeds the number of events of
 * its device; MV_NO_ROW if there is none. Readers ensure that there is no such call. */
uint32_t mv_api_call_beyond(const mv_trace *trace, uint32_t from);

/* Returns the value of a fact; NULL if the file does not contain it. */
const char *mv_fact_find(const mv_trace *trace, const char *key);

/* Returns true if memviz captured the trace. In captures, block events have the sizes of blocks, as
 * rounded by the allocator; requested sizes, streams and pools are unknown. A free is recorded when
 * it is requested, not when it completes, so free_requested and free_completed are always
 * neighbours. */
bool mv_trace_is_captured(const mv_trace *trace);

/* Like mv_trace_is_captured, but also true if the facts that would show it were lost to damage. */
bool mv_trace_may_be_captured(const mv_trace *trace);

/* Returns true if the file contains no final heap at all; an empty heap does not count as missing.
 * If the heap is missing, the blocks alive at the end are derived from the events, and the heap
 * before the events is unknown. */
static inline bool mv_trace_is_missing_heap(const mv_trace *trace)
{
    return trace->notes[MV_NOTE_NO_HEAP].count > 0 && trace->segments.count == 0;
}

/* Returns the allocator in another tool's file: "rmm", "xla", "jax" (docs/other-files.md), or
 * "pytorch" for a trace of PyTorch's profiler (docs/kineto.md). In traces from such files, each
 * block fills a separate segment. Returns NULL for PyTorch's snapshots and for captures. */
#define MV_FACT_ALLOCATOR "allocator"
const char *mv_trace_allocator(const mv_trace *trace);

/* Returns true if the file does not contain its allocator's reserved bytes. Then reserved and
 * allocated are equal in the model. Of the other tools, only PyTorch's profiler writes reserved
 * bytes. */
bool mv_trace_is_missing_reserved(const mv_trace *trace);

/* Facts in an XLA file for each device; the device's number follows the key. The first fact is the
 * largest number of bytes that the device's allocator had allocated at once. The second fact
 * repeats the value if that peak was before the first event. */
#define MV_FACT_PEAK        "peak_"
#define MV_FACT_PEAK_BEFORE "peak_before_"

/* Fact in another tool's file: the number of points at which missing events may have ended any of
 * several blocks, so that it is uncertain which blocks remained alive to the end. */
#define MV_FACT_UNSURE "unsure_ends"

/* Facts in JAX's profile: the number of buffers, if the model has one block for all buffers of a
 * sample; the number of executables; and the number of executables of unknown size. */
#define MV_FACT_BUFFERS             "buffers"
#define MV_FACT_EXECUTABLES         "executables"
#define MV_FACT_UNSIZED_EXECUTABLES "executables_without_size"
/* Returns the first CPU device; all later devices are CPU devices too. */
#define MV_FACT_CPU_DEVICE "cpu_device"

/* Fact in a capture: PyTorch's allocator ran without a cache, so each of its CUDA calls is one
 * block. */
#define MV_FACT_NO_CACHING "no_caching"

/* Returns the number in a fact about a device. Returns 0 if there is no such fact, and in traces of
 * a level other than the file's own (analyze/levels). */
uint64_t mv_fact_of_device(const mv_trace *trace, const char *key, uint32_t device);

/* File names for frames that are not lines of a file. In traces of "xla": functions compiled by
 * JAX, and operations of TensorFlow. In traces of "jax": compiled programs, at the inner end of
 * their stacks. In traces of "rmm": threads, and sizes of requests. */
#define MV_JIT_FILE        "<jit>"
#define MV_OP_FILE         "<op>"
#define MV_EXECUTABLE_FILE "<executable>"
#define MV_THREAD_FILE     "<thread>"
#define MV_SIZE_FILE       "<size>"

/* Returns the row of the setting with this key, or MV_NO_ROW. If `parent` is NULL, the setting is
 * at the top level. */
uint32_t mv_setting_find(const mv_trace *trace, const char *parent, const char *key);

/* Returns true if the dict in the file had a key. If this is unknown, returns true if the key has a
 * value. */
bool mv_trace_had_key(const mv_trace *trace, mv_key key);

/* Returns true if the top level has a number or flag with this key that is above 0. */
bool mv_setting_is_on(const mv_trace *trace, const char *key);
