/* The model: one memory snapshot, whatever file it came from.
 *
 * Tables of columns. A row number is a type of its own, so that a stack never passes for a frame.
 * Every column lives in the arena that was given to the reader and is read-only afterwards:
 * analyzers add side columns of their own rather than fields here.
 *
 *     mv_trace
 *      ├─ strings, frames, stacks, streams, pools, tags      interned: each content once
 *      ├─ devices[ordinal].events                            what happened, in order
 *      ├─ segments ─┐                                        the heap when the file was written
 *      │            └─ blocks ── history                     (history: PyTorch 1.13 and 2.0 only)
 *      ├─ host_segments, host_events                         pinned host memory
 *      ├─ annotations, settings
 *      ├─ api_calls, samples, facts                          captured files alone
 *      └─ notes                                              what was odd in the file
 *
 * Units: sizes and addresses in bytes, times in microseconds since the Unix epoch.
 * The facts about PyTorch's files come from PyTorch 1.13 to 2.14: torch/csrc/cuda/Module.cpp,
 * torch/csrc/cuda/memory_snapshot.cpp, c10/cuda/CUDACachingAllocator.cpp. */
#ifndef MV_TRACE_H
#define MV_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"
#include "capture/wire_live.h"

/* ---- row numbers ------------------------------------------------------------------------- */

typedef struct {
    uint32_t row;
} mv_string_id;
typedef struct {
    uint32_t row;
} mv_frame_id;
typedef struct {
    uint32_t row;
} mv_stack_id;
typedef struct {
    uint32_t row;
} mv_stream_id;
typedef struct {
    uint32_t row;
} mv_pool_id;
typedef struct {
    uint32_t row;
} mv_tag_id;

#define MV_NO_ROW    UINT32_MAX
#define MV_NO_STRING ((mv_string_id){MV_NO_ROW}) /* the key was absent (or None) */
#define MV_NO_STACK  ((mv_stack_id){MV_NO_ROW})  /* no stack was kept: the key was absent */
#define MV_NO_POOL   ((mv_pool_id){MV_NO_ROW})   /* the file does not say which pool */
#define MV_NO_CALL   UINT32_MAX
#define MV_NO_TIME   INT64_MIN
#define MV_NO_BYTES  UINT64_MAX /* a size or address that the file does not give */
#define MV_NO_LINE   (-1)

#define MV_EMPTY_STACK  ((mv_stack_id){0}) /* present, without frames */
#define MV_DEFAULT_POOL ((mv_pool_id){0})  /* (0, 0) */
#define MV_PLAIN_TAG    ((mv_tag_id){0})   /* every tag field absent */

/* ---- interned tables --------------------------------------------------------------------- */

/* Bytes as the file had them: usually UTF-8, but lone surrogates (from odd file names) and NULs
 * occur. A NUL follows each text, and is not counted. */
typedef struct {
    uint32_t count;
    uint64_t *at; /* [count + 1] start in `bytes`; text i is at[i+1] - at[i] - 1 bytes long */
    char *bytes;  /* [at[count]] */
} mv_strings;

/* One line of somebody's code. Frames of forward_frames and cpp_frames, which are plain text in
 * the file, have that text as `function`, MV_NO_STRING as `file` and MV_NO_LINE as `line`. */
typedef struct {
    uint32_t count;
    mv_string_id *function; /* [count] */
    mv_string_id *file;     /* [count] */
    int64_t *line;          /* [count] MV_NO_LINE when the code object has no lines */
    uint32_t *fx;           /* [count] row in mv_fx, or MV_NO_ROW */
} mv_frames;

/* What torch.fx knows of a frame in generated code (augment_with_fx_traces=True). */
typedef struct {
    uint32_t count;
    mv_string_id *op;     /* [count] fx_node_op */
    mv_string_id *name;   /* [count] fx_node_name */
    mv_string_id *target; /* [count] fx_node_target */
    mv_string_id *trace;  /* [count] fx_original_trace */
} mv_fx;

/* Stacks, distinct by content. Row 0 is the empty stack. Innermost frame first. */
typedef struct {
    uint32_t count;
    uint64_t *first;    /* [count + 1] stack i is frame[first[i]] to frame[first[i+1] - 1] */
    mv_frame_id *frame; /* [first[count]] */
} mv_stacks;

/* Raw cudaStream_t values; 0 is the default stream. XPU writes unsigned 64-bit pointers. */
typedef struct {
    uint32_t count;
    uint64_t *value; /* [count] */
} mv_streams;

/* Memory pools. Row 0 is (0, 0), the default pool; (n, 0) is made by a CUDA graph capture,
 * (0, n) by graph_pool_handle() or torch.cuda.MemPool. */
typedef struct {
    uint32_t count;
    uint64_t *a; /* [count] */
    uint64_t *b; /* [count] */
} mv_pools;

/* The seldom-varying rest of an event, distinct by content. Row 0 has everything absent. */
typedef struct {
    uint32_t count;
    mv_string_id *compile_context;   /* [count] since 2.8; "N/A" outside compiled regions */
    mv_string_id *user_metadata;     /* [count] since 2.10; the text of an `annotate` event */
    mv_string_id *internal_metadata; /* [count] after 2.14 */
    mv_string_id *category;          /* [count] profiler-made files only */
    mv_string_id *action;            /* [count] the action's name where it is MV_ACTION_OTHER */
    mv_stack_id *forward;            /* [count] forward_frames, as text frames */
    mv_stack_id *cpp;                /* [count] cpp_frames (2.0), as text frames */
    mv_pool_id *pool;                /* [count] pool_id, since 2.12 */
} mv_tags;

/* ---- events ------------------------------------------------------------------------------ */

/* What the caching allocator did. Source: TraceEntry::Action, CUDACachingAllocator.h.
 *
 *                     addr            size                        stack: who called
 *   ALLOC             block start     bytes requested, unrounded  the allocating call
 *   FREE_REQUESTED    block start     the alloc's bytes           the freeing call, or the alloc's
 *   FREE_COMPLETED    block start     the alloc's bytes           likewise, or whoever polled
 *   SEGMENT_ALLOC     segment start   bytes of cudaMalloc         the alloc that needed it
 *   SEGMENT_FREE      segment start   bytes                       who caused the release
 *   SEGMENT_MAP       range start     bytes mapped (expandable)   the alloc that needed it
 *   SEGMENT_UNMAP     range start     bytes unmapped (expandable) who caused the release
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
    MV_ACTION_LIST(MV_ACTION_ENUM)
#undef MV_ACTION_ENUM
        MV_ACTION_COUNT
} mv_action;

/* The trace of one device, in the order in which its allocator acted (one lock, so the order is
 * true). An event is named by its position here, from 0. 41 bytes an event.
 *
 * `call` is the identity of the stack object: two events with the same call came from the same
 * allocator call (a segment_alloc and the alloc that needed it, the events of one empty_cache())
 * or are the alloc and frees of one block. Equal stacks with different calls are different calls.
 * Calls are numbered in file order over the whole file; formats that cannot tell (plain msgpack)
 * give every event a call of its own. */
typedef struct {
    uint32_t count;
    int64_t *time_us;     /* [count] MV_NO_TIME before PyTorch 2.2; equal neighbours are common */
    uint64_t *addr;       /* [count] MV_NO_BYTES when absent */
    uint64_t *size;       /* [count] */
    mv_stack_id *stack;   /* [count] MV_NO_STACK when none was kept */
    uint32_t *call;       /* [count] MV_NO_CALL when there is no stack, or it is empty */
    mv_tag_id *tag;       /* [count] */
    mv_stream_id *stream; /* [count] */
    uint8_t *action;      /* [count] mv_action */
} mv_events;

typedef struct {
    mv_events events;
} mv_device;

/* ---- the heap when the file was written -------------------------------------------------- */

typedef enum { MV_SEGMENT_LARGE, MV_SEGMENT_SMALL, MV_SEGMENT_UNKNOWN } mv_segment_kind;

/* Regions that the allocator holds: one cudaMalloc each, or one contiguous mapped range of an
 * expandable segment. In file order (PyTorch sorts by device, then address).
 * Its own sums are kept as the file has them, so that an audit can compare. */
typedef struct {
    uint32_t count;
    int32_t *device;        /* [count] ordinal; -1 in host_segments */
    uint64_t *address;      /* [count] MV_NO_BYTES in profiler-made files */
    uint64_t *total_size;   /* [count] */
    uint64_t *allocated;    /* [count] the file's allocated_size */
    uint64_t *active;       /* [count] the file's active_size */
    uint64_t *requested;    /* [count] the file's requested_size; MV_NO_BYTES before 2.0 */
    mv_stream_id *stream;   /* [count] */
    mv_pool_id *pool;       /* [count] MV_NO_POOL before 2.1 */
    mv_stack_id *stack;     /* [count] who made the segment */
    uint32_t *call;         /* [count] as in mv_events */
    mv_stack_id *forward;   /* [count] forward_frames */
    uint32_t *first_block;  /* [count] blocks[first_block] to blocks[first_block + blocks - 1] */
    uint32_t *blocks;       /* [count] number of blocks; they tile the segment in address order */
    uint8_t *kind;          /* [count] mv_segment_kind: which pool owns it, not its size */
    uint8_t *is_expandable; /* [count] 0 or 1 */
} mv_segments;

typedef enum {
    MV_BLOCK_INACTIVE,     /* free, in its pool */
    MV_BLOCK_ALLOCATED,    /* active_allocated: handed out */
    MV_BLOCK_PENDING_FREE, /* active_pending_free: freed, but a stream may still use it */
    MV_BLOCK_UNKNOWN
} mv_block_state;

typedef struct {
    uint32_t count;
    uint64_t *address; /* [count] computed from the segment where the file has none (before 2.1) */
    uint64_t *size;    /* [count] bytes occupied, after rounding and unsplit slack */
    uint64_t *requested;  /* [count] bytes asked for. Stale, hence meaningless, on inactive blocks.
                           * MV_NO_BYTES when absent */
    mv_stack_id *stack;   /* [count] */
    uint32_t *call;       /* [count] */
    mv_stack_id *forward; /* [count] */
    uint32_t *first_history; /* [count] rows of mv_history, newest first */
    uint32_t *histories;     /* [count] */
    uint8_t *state;          /* [count] mv_block_state */
} mv_blocks;

/* Earlier users of a block's bytes, from PyTorch 1.13 and 2.0 alone. */
typedef struct {
    uint32_t count;
    uint64_t *addr;      /* [count] */
    uint64_t *real_size; /* [count] bytes requested */
    mv_stack_id *stack;  /* [count] */
    uint32_t *call;      /* [count] */
    mv_stack_id *cpp;    /* [count] */
} mv_history;

/* ---- the rest ---------------------------------------------------------------------------- */

/* MARK is a moment, not an end of a range: memviz_mark() and nvtxMark() in captured files. */
typedef enum { MV_STAGE_START, MV_STAGE_END, MV_STAGE_OTHER, MV_STAGE_MARK } mv_stage;

/* Ends of record_function ranges (captures: of NVTX and memviz_push() ranges), and marks, in file
 * order. */
typedef struct {
    uint32_t count;
    mv_string_id *name; /* [count] */
    int64_t *time_us;   /* [count] */
    int32_t *device;    /* [count] current device of the thread that made it; -1: not known */
    uint8_t *stage;     /* [count] mv_stage */
} mv_annotations;

typedef enum {
    MV_SETTING_INT,
    MV_SETTING_FLOAT,
    MV_SETTING_BOOL,
    MV_SETTING_TEXT,
    MV_SETTING_NONE
} mv_setting_kind;

/* allocator_settings when the file was written, in file order. `parent` is MV_NO_STRING for a
 * setting of its own and the outer key for an entry of a nested table
 * (roundup_power2_divisions). */
typedef struct {
    uint32_t count;
    mv_string_id *parent; /* [count] */
    mv_string_id *key;    /* [count] */
    uint8_t *kind;        /* [count] mv_setting_kind */
    int64_t *integer;     /* [count] INT and BOOL */
    double *real;         /* [count] FLOAT */
    mv_string_id *text;   /* [count] TEXT */
} mv_settings;

/* What was asked of the CUDA runtime and driver, by whomever: one row a call, in the order in which
 * memory changed hands. A call that other calls make inside of them stands once, under the name
 * that the program called. What PyTorch's allocator does here is also in its device's events, as
 * segment_alloc and the like. Captured files alone. */
typedef struct {
    uint32_t count;
    int64_t *time_us;      /* [count] */
    uint64_t *addr;        /* [count] MV_NO_BYTES: none */
    uint64_t *size;        /* [count] bytes; 0 for frees and where it is not known */
    uint64_t *handle;      /* [count] of an allocation, array or pool; 0: none */
    mv_stack_id *stack;    /* [count] */
    mv_string_id *api;     /* [count] "cudaMalloc" */
    mv_string_id *library; /* [count] path of the library that called; MV_NO_STRING: not known */
    int32_t *device;       /* [count] ordinal; -1: not known */
    int32_t *result;       /* [count] 0: success; else the cudaError_t or CUresult */
    uint32_t *event;       /* [count] events of `device` ahead of it; 0 when device is -1 */
    uint8_t *action;       /* [count] mv_api_action */
} mv_api_calls;

/* What the device itself said of its memory while the program ran: NVML, asked from outside. */
typedef struct {
    uint32_t count;
    int64_t *time_us;  /* [count] non-decreasing for each device */
    uint64_t *used;    /* [count] bytes of the device in use, by all processes */
    uint64_t *total;   /* [count] bytes that the device has */
    uint64_t *process; /* [count] bytes that this process uses; MV_NO_BYTES: not known */
    int32_t *device;   /* [count] ordinal as the process counts (CUDA_VISIBLE_DEVICES) */
} mv_samples;

/* What a capture says of itself and its process, by key: "pid", "command", "rank", "stacks",
 * "lost_space" (capture/wire_live.h lists them). Each key once. */
typedef struct {
    uint32_t count;
    mv_string_id *key;   /* [count] */
    mv_string_id *value; /* [count] */
} mv_facts;

/* Odd but readable input is counted, never dropped silently; `memviz info` shows it. */
#define MV_NOTE_LIST(X)                                                                        \
    X(UNKNOWN_KEY, "unknown_key", "keys that memviz does not know; their values were skipped") \
    X(UNKNOWN_ACTION, "unknown_action", "events whose action memviz does not know; kept")      \
    X(UNKNOWN_STATE, "unknown_state", "blocks or segments in a state memviz does not know")    \
    X(DUPLICATE_KEY, "duplicate_key", "keys given twice; the last one counts")                 \
    X(UNSORTED_TIME, "unsorted_time", "events whose time is before that of the event ahead")   \
    X(UNTILED, "untiled_segment", "segments that their blocks do not fill exactly")            \
    X(LOOSE, "loose_record", "records that stand in no list memviz reads; left out")           \
    X(TRAILING, "trailing_bytes", "bytes after the end of the data")                           \
    X(DAMAGED, "damaged_chunk", "damaged parts of the file that were skipped")                 \
    X(LOST, "lost_events", "events that the capture could not record")                         \
    X(LIST_ROOT, "list_root", "the file is a bare list of segments, without events")           \
    X(FILE_NOTE, "file_note", "remarks that the file's writer left")

typedef enum {
#define MV_NOTE_ENUM(name, code, text) MV_NOTE_##name,
    MV_NOTE_LIST(MV_NOTE_ENUM)
#undef MV_NOTE_ENUM
        MV_NOTE_COUNT
} mv_note_code;

typedef struct {
    uint64_t count;
    char first[96]; /* the first occurrence: "key 'foo' at byte 1234" */
} mv_note;

/* Keys of PyTorch's dict that say which release wrote it, though nothing stands in them or the
 * model has their values anyway. 0: not known, as in files of older memviz. These numbers are in
 * files. */
typedef enum {
    MV_KEYS_KNOWN = 1,
    MV_KEY_SETTINGS = 2,      /* allocator_settings */
    MV_KEY_ANNOTATIONS = 4,   /* external_annotations */
    MV_KEY_HOST = 8,          /* host_segments or host_traces */
    MV_KEY_BLOCK_ADDRESS = 16 /* the address of a block */
} mv_key;

typedef enum {
    MV_FORMAT_NONE,
    MV_FORMAT_PICKLE,
    MV_FORMAT_MSGPACK, /* the plain dict of the pickle */
    MV_FORMAT_COMPACT, /* msgpack with stack tables */
    MV_FORMAT_BIN
} mv_format;

/* Where the trace came from. Not part of what `convert` keeps. */
typedef struct {
    mv_format format;
    uint8_t pickle_protocol; /* 0 when not a pickle */
    bool is_page;            /* inside an HTML page of _memory_viz */
    uint64_t file_bytes;     /* as stored; MV_NO_BYTES on a pipe */
    uint64_t data_bytes;     /* after decompression */
    const char *compression; /* "none", "gzip", "zstd" */
} mv_origin;

typedef struct {
    mv_strings strings;
    mv_frames frames;
    mv_fx fx;
    mv_stacks stacks;
    mv_streams streams;
    mv_pools pools;
    mv_tags tags;

    uint32_t device_count; /* lists in device_traces: index = ordinal; 0 when it is empty */
    mv_device *devices;    /* [device_count] */
    uint32_t calls;        /* calls are numbered from 0 to here */

    mv_segments segments;
    mv_blocks blocks; /* of segments and of host_segments */
    mv_history history;
    mv_segments host_segments;
    mv_events host_events; /* several threads wrote these: order is as recorded */

    mv_annotations annotations;
    mv_settings settings;

    mv_api_calls api_calls;
    mv_samples samples;
    mv_facts facts;

    uint32_t keys; /* of mv_key: what the dict spelled */
    mv_origin origin;
    mv_note notes[MV_NOTE_COUNT];
} mv_trace;

/* ---- reading the model ------------------------------------------------------------------- */

/* The text of a string; "" for MV_NO_STRING. NUL-terminated. */
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

/* Frames of a stack: pointer to the innermost, and their number in *count; NULL and 0 where there
 * are none, as for MV_NO_STACK. */
static inline const mv_frame_id *mv_stack_frames(const mv_trace *trace, mv_stack_id id,
                                                 uint32_t *count)
{
    const mv_stacks *s = &trace->stacks;

    if (id.row >= s->count) {
        *count = 0;
        return NULL;
    }
    *count = (uint32_t)(s->first[id.row + 1] - s->first[id.row]);
    return *count ? s->frame + s->first[id.row] : NULL; /* without any, `frame` is NULL */
}

const char *mv_action_name(mv_action action); /* "free_requested" */
const char *mv_event_action(const mv_trace *trace, const mv_events *events, uint32_t event);
const char *mv_block_state_name(mv_block_state state);  /* "active_allocated" */
const char *mv_segment_kind_name(mv_segment_kind kind); /* "small" */
const char *mv_api_action_name(mv_api_action action);   /* "alloc_async"; "?" when not known */
const char *mv_format_name(mv_format format);           /* "pickle", "msgpack", "bin" */
const char *mv_note_name(mv_note_code code);            /* "unknown_key" */
const char *mv_note_text(mv_note_code code);

/* One more than the largest ordinal that occurs, as a trace list or as a segment's device. */
uint32_t mv_trace_devices(const mv_trace *trace);

/* The events of a device; an empty set for an ordinal without a trace. */
mv_events mv_trace_events(const mv_trace *trace, uint32_t device);

/* The first API call whose `event` lies behind the events of its device, from row `from` on, or
 * MV_NO_ROW. Readers make sure that there is none. */
uint32_t mv_api_call_beyond(const mv_trace *trace, uint32_t from);

/* The value of a fact; NULL when the file does not have it. */
const char *mv_fact_find(const mv_trace *trace, const char *key);

/* Whether the trace was captured by memviz. Then the sizes of block events are those of blocks,
 * rounded by the allocator; what was asked for, the stream and the pool are not known, and a free
 * is known when it is asked for, not when it is completed: both events stand together. */
bool mv_trace_is_captured(const mv_trace *trace);

/* A setting by its key (of the top level: parent == NULL); its row, or MV_NO_ROW. */
uint32_t mv_setting_find(const mv_trace *trace, const char *parent, const char *key);

/* Whether the dict that the trace was made from had a key; where that is not known, whether
 * something would stand in it. */
bool mv_trace_had_key(const mv_trace *trace, mv_key key);

/* Whether a number or flag of the top level is there and above 0. */
bool mv_setting_is_on(const mv_trace *trace, const char *key);

#endif
