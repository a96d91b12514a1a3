/* Converts values to rows, for the pickle reader and the plain msgpack reader.
 *
 * Both formats write a snapshot as nested lists and dicts. A reader feeds this machine one value at
 * a time, in the order of a stack machine: an empty container, then its items, then the instruction
 * to add the items. When a dict is full, its keys identify its type, and it becomes a row of the
 * trace. A list of frames becomes a stack, and a list of events becomes a range of rows. Nothing
 * else is kept, so the file never exists as a tree of objects:
 *
 *     stack:  {}  |  "action" "alloc"  "addr" 1234  "frames" stack 7        add the items
 *         →   event 812
 *
 * A value to which a reader may refer again (through a pickle's memo) is stored as a 32-bit
 * reference, mv_ref. Sharing therefore costs four bytes per object, and a shared list stays one
 * object (its `call`). An unreadable value may have been added by the user, alongside PyTorch's
 * keys, but this is known only when the dict around the value is full. The pickle reader therefore
 * continues with an unreadable value as OTHER, which keeps the reason for the refusal. A record, a
 * list or the root that needs the value fails with this reason, whereas under an unknown key the
 * value does no harm.
 *
 * A container may be filled only while it is fresh, which means before it is put into another
 * container or fetched again. Therefore objects cannot form cycles, and shared references cost no
 * more than their size in the file. */
#pragma once

#include "base/grow.h"
#include "parse/model/build.h"

/* All words that have a meaning somewhere in a snapshot. Keys come first, and there are at most 64
 * of them, so that a set of keys fits in one integer. Action names are in the order of
 * mv_action. */
#define MV_WORD_LIST(X)                             \
    X(ACTION, "action")                             \
    X(ADDR, "addr")                                 \
    X(SIZE, "size")                                 \
    X(STREAM, "stream")                             \
    X(TIME_US, "time_us")                           \
    X(COMPILE_CONTEXT, "compile_context")           \
    X(USER_METADATA, "user_metadata")               \
    X(FRAMES, "frames")                             \
    X(DEVICE_FREE, "device_free")                   \
    X(POOL_ID, "pool_id")                           \
    X(INTERNAL_METADATA, "internal_metadata")       \
    X(FORWARD_FRAMES, "forward_frames")             \
    X(CPP_FRAMES, "cpp_frames")                     \
    X(CATEGORY, "category")                         \
    X(OP, "op")                                     \
    X(SHAPES, "shapes")                             \
    X(NAME, "name")                                 \
    X(FILENAME, "filename")                         \
    X(LINE, "line")                                 \
    X(FX_NODE_OP, "fx_node_op")                     \
    X(FX_NODE_NAME, "fx_node_name")                 \
    X(FX_NODE_TARGET, "fx_node_target")             \
    X(FX_ORIGINAL_TRACE, "fx_original_trace")       \
    X(ADDRESS, "address")                           \
    X(REQUESTED_SIZE, "requested_size")             \
    X(STATE, "state")                               \
    X(HISTORY, "history")                           \
    X(REAL_SIZE, "real_size")                       \
    X(DEVICE, "device")                             \
    X(TOTAL_SIZE, "total_size")                     \
    X(ALLOCATED_SIZE, "allocated_size")             \
    X(ACTIVE_SIZE, "active_size")                   \
    X(SEGMENT_TYPE, "segment_type")                 \
    X(SEGMENT_POOL_ID, "segment_pool_id")           \
    X(IS_EXPANDABLE, "is_expandable")               \
    X(BLOCKS, "blocks")                             \
    X(STAGE, "stage")                               \
    X(SEGMENTS, "segments")                         \
    X(DEVICE_TRACES, "device_traces")               \
    X(ALLOCATOR_SETTINGS, "allocator_settings")     \
    X(EXTERNAL_ANNOTATIONS, "external_annotations") \
    X(HOST_SEGMENTS, "host_segments")               \
    X(HOST_TRACES, "host_traces")                   \
    X(MEMVIZ_TENSORS, "memviz_tensors")             \
    X(ROLE, "role")                                 \
    X(SLOT, "slot")                                 \
    X(SHAPE, "shape")                               \
    X(DTYPE, "dtype")                               \
    X(BYTES, "bytes")                               \
    X(ALLOC, "alloc")                               \
    X(FREE_REQUESTED, "free_requested")             \
    X(FREE_COMPLETED, "free_completed")             \
    X(SEGMENT_ALLOC, "segment_alloc")               \
    X(SEGMENT_FREE, "segment_free")                 \
    X(SEGMENT_MAP, "segment_map")                   \
    X(SEGMENT_UNMAP, "segment_unmap")               \
    X(OOM, "oom")                                   \
    X(SNAPSHOT, "snapshot")                         \
    X(ANNOTATE, "annotate")                         \
    X(ACTIVE_ALLOCATED, "active_allocated")         \
    X(ACTIVE_PENDING_FREE, "active_pending_free")   \
    X(ACTIVE_AWAITING_FREE, "active_awaiting_free") \
    X(INACTIVE, "inactive")                         \
    X(SMALL, "small")                               \
    X(LARGE, "large")                               \
    X(START, "START")                               \
    X(END, "END")                                   \
    X(MARK, "MARK")

typedef enum {
#define MV_WORD_ENUM(name, text) MV_WORD_##name,
    MV_WORD_LIST(MV_WORD_ENUM) MV_WORD_COUNT,
    MV_WORD_KEYS = MV_WORD_BYTES + 1
} mv_word;

/* The kind of a value. Kinds below MV_VALUE_BOXED fit a reference: their `bits` are below 2^28. */
typedef enum {
    MV_VALUE_UNSET,      /* no value: used for an empty memo entry */
    MV_VALUE_OPEN,       /* an undecided container, only in references; bits: its position on the
                          * stack */
    MV_VALUE_WORD,       /* bits: mv_word */
    MV_VALUE_STRING,     /* bits: mv_string_id */
    MV_VALUE_FRAME,      /* bits: mv_frame_id */
    MV_VALUE_STACK,      /* bits: call; its stack is in mv_machine.stack_of_call */
    MV_VALUE_EVENT,      /* bits: row of the builder's events */
    MV_VALUE_BLOCK,      /* bits: row */
    MV_VALUE_SEGMENT,    /* bits: row */
    MV_VALUE_HISTORY,    /* bits: row */
    MV_VALUE_ANNOTATION, /* bits: row */
    MV_VALUE_TENSOR,     /* bits: row */
    MV_VALUE_POOL,       /* bits: mv_pool_id: a pair of integers */
    MV_VALUE_EMPTY,      /* an empty list or dict that is no longer fresh */
    MV_VALUE_OTHER,      /* a value without a meaning in a snapshot; bits: row of the machine's
                          * refusals + 1, or 0 if the value was not refused */
    MV_VALUE_BOXED,      /* a value that does not fit a reference, only in references; bits: row of
                          * mv_machine.boxes */
    MV_VALUE_DICT = 16,  /* fresh and empty */
    MV_VALUE_LIST,       /* fresh and empty */
    MV_VALUE_INT,        /* bits: int64_t */
    MV_VALUE_UINT,       /* bits: uint64_t of 2^63 or more */
    MV_VALUE_FLOAT,      /* bits: double */
    MV_VALUE_BOOL,       /* bits: 0 or 1 */
    MV_VALUE_NONE,       /* None or nil */
    MV_VALUE_ROWS,       /* a list of rows of the kind `rows_of`; bits: count << 32 | first */
    MV_VALUE_TABLE,      /* a dict that is not a row; bits: chain */
    MV_VALUE_CHAIN       /* a list of anything; bits: chain */
} mv_value_kind;

#define MV_NO_SLOT  UINT32_MAX
#define MV_REF_BITS 28
#define MV_REF_MASK ((1u << MV_REF_BITS) - 1)

typedef struct {
    uint8_t kind;    /* mv_value_kind */
    uint8_t fresh;   /* the container may still be filled */
    uint8_t rows_of; /* MV_VALUE_ROWS: kind of the rows; fresh MV_VALUE_OTHER: MV_VALUE_LIST, _DICT,
                      * or MV_VALUE_UNSET for a set */
    uint32_t slot;   /* memo entry that refers to this fresh container, or MV_NO_SLOT */
    uint64_t bits;
} mv_value;

typedef uint32_t mv_ref; /* a reference: kind << MV_REF_BITS | bits */

/* An item of a container that does not become a row: a dict's key and value, or a list's value. */
typedef struct {
    mv_value key;
    mv_value value;
    uint32_t next; /* row + 1 of the next link; 0: last */
} mv_link;

typedef struct {
    uint32_t first, last; /* first and last link, as row + 1 */
    uint32_t count;
    uint32_t why; /* used if the chain contains rows that are not in the order in which they were
                   * made: the reason why this order may be refused, as row of the machine's
                   * refusals + 1; else 0 */
} mv_chain;

/* Why PyTorch cannot have written a value. */
typedef struct {
    mv_code code;
    uint64_t offset; /* position in the input */
    const char *detail;
} mv_refusal;

/* A set of rows, with one bit for each row. */
typedef struct {
    uint64_t *words;
    uint64_t capacity;
} mv_row_set;

enum { MV_SHORT_CACHE = 512, MV_LEAST_MARKS = 1024 };

/* A recently seen string of up to 8 bytes, and its value. */
typedef struct {
    uint64_t bytes;
    uint32_t length; /* length of the string + 1; 0: the entry is empty */
    mv_ref ref;
} mv_short_string;

typedef struct {
    mv_build build;
    mv_arena *scratch;
    mv_code code;       /* MV_OK until a failure, after which all calls do nothing */
    char detail[160];   /* reason for the failure */
    uint64_t failed_at; /* byte of the input at which the failure occurred; MV_NO_OFFSET: the
                         * reader's position */

    uint64_t (*offset)(const void *reader); /* returns the reader's position in the input */
    const void *reader;
    mv_refusal *refusals;
    uint32_t refusal_count, refusal_capacity;

    mv_value *stack;
    uint64_t depth;    /* number of values on the stack */
    uint64_t capacity; /* capacity of `stack` */
    uint64_t *marks;   /* [mark_count] stack depths at the marks */
    uint32_t mark_count;

    mv_ref *memo;
    uint64_t memo_count; /* number of entries; entries with higher numbers are not set */
    uint64_t memo_capacity;
    uint64_t overwrites; /* number of times that an entry was set again, which invalidates caches
                          * made from its old value */
    mv_value *boxes;
    uint32_t box_count, box_capacity;

    mv_stack_id *stack_of_call; /* [calls] */
    uint32_t calls, call_capacity;
    mv_frame_id *frames; /* buffer for interning one stack */
    uint64_t frame_capacity;

    mv_link *links;
    uint32_t link_count, link_capacity;
    mv_chain *chains;
    uint32_t chain_count, chain_capacity;

    /* One more than the last row of each mv_value_kind that is in a list within a record; the next
     * such list must begin at or after this row. A record may be in only one list, or else a small
     * file could describe a huge heap by sharing a list. */
    uint32_t listed[MV_VALUE_TENSOR + 1];
    mv_row_set taken[MV_VALUE_TENSOR + 1]; /* rows of each mv_value_kind that are in one of the
                                            * root's lists */
    uint64_t copied[MV_VALUE_TENSOR + 1];  /* number of rows that were copied to put them in
                                            * order */

    mv_intern words;
    mv_string_id word_string[MV_WORD_COUNT]; /* string of each word; MV_NO_STRING until the word is
                                              * used as data */
    mv_short_string *short_strings;          /* [MV_SHORT_CACHE] */
    mv_tag_row last_tag;                     /* tag of the last event, and the tag's row */
    mv_tag_id last_tag_id;
} mv_machine;

/* Rows go to `out` with memory from `arena`; everything else comes from `scratch`, which the
 * caller releases after mv_machine_finish. The caller sets `offset` and `reader`. */
void mv_machine_init(mv_machine *m, mv_arena *arena, mv_arena *scratch, mv_trace *out);

/* Fails the machine, unless it has failed before. Always returns false. */
bool mv_machine_fail(mv_machine *m, mv_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- pushing ----------------------------------------------------------------------------- */

bool mv_machine_grow_stack(mv_machine *m);

static inline bool mv_machine_push(mv_machine *m, mv_value value)
{
    if (m->depth == m->capacity && !mv_machine_grow_stack(m))
        return false;
    m->stack[m->depth++] = value;
    return true;
}

static inline mv_value mv_value_of(mv_value_kind kind, uint64_t bits)
{
    return (mv_value){.kind = (uint8_t)kind, .slot = MV_NO_SLOT, .bits = bits};
}

/* Makes an empty container that is still to be filled: MV_VALUE_DICT or MV_VALUE_LIST. */
static inline mv_value mv_value_fresh(mv_value_kind kind)
{
    return (mv_value){.kind = (uint8_t)kind, .fresh = 1, .slot = MV_NO_SLOT};
}

/* Makes the value of a string: a word, or an interned string. */
mv_value mv_machine_string(mv_machine *m, const char *text, uint64_t length);

/* Pushes a value that is refused wherever it is needed. */
bool mv_machine_push_refused(mv_machine *m, mv_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- filling ----------------------------------------------------------------------------- */

/* Adds stack[from] and all values above it to the container below them, and pops them. For a dict,
 * keys and values alternate. `from` is at least 1 and at most `depth`. */
bool mv_machine_set_items(mv_machine *m, uint64_t from);
bool mv_machine_append_items(mv_machine *m, uint64_t from);

/* Refuses the dict below stack[from] wherever it is needed, because one of its keys is not a
 * string. For readers that detect this before the items are added. */
bool mv_machine_refuse_dict(mv_machine *m, uint64_t from);

/* Replaces stack[from] and all values above it with a tuple of these values. */
bool mv_machine_make_tuple(mv_machine *m, uint64_t from);

/* Push a set, and add items to it. Sets are refused wherever they are needed. */
bool mv_machine_push_set(mv_machine *m);
bool mv_machine_add_items(mv_machine *m, uint64_t from);
bool mv_machine_make_frozen_set(mv_machine *m, uint64_t from);

/* ---- memo -------------------------------------------------------------------------------- */

/* Stores the value on top of the stack as entry `slot` of the memo. */
bool mv_machine_put(mv_machine *m, uint64_t slot);

bool mv_machine_get_slow(mv_machine *m, uint64_t slot);

/* Pushes the value of entry `slot` of the memo. */
static inline bool mv_machine_get(mv_machine *m, uint64_t slot)
{
    mv_ref ref = slot < m->memo_count ? m->memo[slot] : 0;
    mv_value_kind kind = ref >> MV_REF_BITS;

    if (kind < MV_VALUE_WORD || kind >= MV_VALUE_BOXED)
        return mv_machine_get_slow(m, slot);
    return mv_machine_push(m, mv_value_of(kind, ref & MV_REF_MASK));
}

/* ---- the end ----------------------------------------------------------------------------- */

/* Makes the trace from the snapshot, which must be the only value on the stack. `out` is then
 * complete, except for `origin`. */
mv_code mv_machine_finish(mv_machine *m, mv_err *err);
