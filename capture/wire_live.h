/* The bytes of a capture that is still running, or whose process was killed. Such a file is a
 * `.bin` with the kinds of chunks below. docs/internals/snapshot-format.md describes the format.
 *
 *     byte 0          mv_wire_header
 *     byte 24         FACTS chunk, up to byte 65536
 *     byte 65536      chunk
 *     ...             chunks start at multiples of MV_LIVE_CHUNK_BYTES, and their sizes are
 *                     multiples of it; zeros where no chunk has begun
 *
 * Each chunk begins with an mv_wire_chunk that is written once, when the chunk is begun
 * (MV_WIRE_UNSEALED, no codec, count 0, raw_bytes == stored_bytes, stored_hash 0, and the usual
 * hash of the header). An mv_live_head follows, and then records without gaps. The first
 * `committed` bytes of records are valid; `committed` is stored with release order after each
 * record, so that a process that dies at any time leaves only whole records. Chunks are never
 * moved, changed or removed.
 *
 * The header of a NAMES chunk contains the numbers of ids made before the chunk, so that ids after
 * a damaged chunk keep their numbers: first_row is strings | codes << 32, table_rows is frames |
 * stacks << 32, device is modules.
 *
 * Numbers in records are LEB128 varints (7 bits in each byte, lowest first; at most 10 bytes); a
 * signed number is zig-zag coded first: (n << 1) ^ (n >> 63). A string is a varint length followed
 * by that many bytes. Ids count from 0 in the order of the records that make them. An optional id
 * is written as id + 1, or as 0 for none. */
#pragma once

#include <stdbool.h>

#include "capture/wire.h"

enum {
    MV_LIVE_CHUNK_BYTES = 64 << 10,
    MV_LIVE_RECENT = 15,          /* number of recent addresses that a tag can refer to */
    MV_LIVE_NOT_RECENT = 15,      /* the tag's slot for an address written in full */
    MV_LIVE_MOST_TEXT = 64 << 10, /* longest string; longer ones are cut */
    MV_LIVE_MOST_TABLE = 1 << 20, /* longest line table; a longer one is left empty */
    MV_LIVE_SIZE_BITS = 48,       /* sizes of heap blocks fit in this many bits */
    MV_LIVE_MOST_FRAMES = 256     /* most frames in a stack; deeper stacks lose their outermost
                                   * frames */
};

#define MV_LIVE_KIND_LIST(X)                                                                 \
    X(FACTS, 256, "facts")        /* the only one is at byte 24 */                           \
    X(EVENTS, 257, "live events") /* events of a thread, or of several, one after another */ \
    X(NAMES, 258, "live names")   /* the meaning of ids in the whole process */

typedef enum {
#define MV_LIVE_KIND_ENUM(name, number, text) MV_LIVE_##name = number,
    MV_LIVE_KIND_LIST(MV_LIVE_KIND_ENUM)
#undef MV_LIVE_KIND_ENUM
} mv_live_kind;

typedef struct {
    uint64_t committed;      /* number of valid bytes of records after this struct */
    uint64_t seal;           /* XXH3_64bits of those bytes once the chunk is sealed; 0 until then */
    uint64_t first_sequence; /* EVENTS: the first record's Δsequence counts from here */
    uint64_t first_time_us; /* EVENTS: the first record's Δtime counts from here; CLOCK_MONOTONIC */
    uint32_t thread;        /* EVENTS: kernel id of the thread, up to the first THREAD record */
    uint32_t zero;
} mv_live_head;

static_assert(sizeof(mv_live_head) == 40, "bump MV_WIRE_VERSION");

/* ---- FACTS: records of two strings, key and value; the last record with a key is valid ---- */

/* Keys with a meaning for readers. All other keys are kept and shown.
 *     pid parent host rank local_rank world_size command executable cwd start_us
 *     cuda_visible_devices            its value at the first event of the process, if it is set
 *     cuda_device_order               its value at that time, if it is set
 *     monotonic_us realtime_us        the same point in time on both clocks
 *     stacks                          "none", "python", "native" or "all": what was requested
 *     stacks_off                      the reason why stacks are missing, if they are
 *     python                          "3.12.3"
 *     cpu                             "1": CPU tensors are recorded
 *     shim                            version of memviz
 *     stopped                         reason for an early end: "No space left on device"
 *     lost_nested lost_space lost_stacks lost_...    number of losses of each kind
 *     end_us                          when the process ended normally, on CLOCK_MONOTONIC */

/* Marks with a special meaning: they begin and end a pause, in which only blocks that outlive the
 * pause are recorded (memviz_pause in memviz.h). */
#define MV_MARK_PAUSE  "memviz_pause"
#define MV_MARK_RESUME "memviz_resume"

/* ---- NAMES ---- */

/* The first byte of a record; the fields follow as varints or texts. */
/* clang-format off */
#define MV_LIVE_NAME_LIST(X)                                                                    \
    X(STRING, 1) /* text. Makes a string id */                                                  \
    X(CODE, 2)   /* a Python code object: string id of the file, string id of the qualified     \
                  * name, first line, Python version as major << 8 | minor, text: the           \
                  * interpreter's line table (co_lnotab up to 3.9, co_linetable later). Makes a \
                  * code id */                                                                  \
    X(MODULE, 3) /* a loaded ELF file: string id of its path, text: build id (raw bytes, may be \
                  * empty), load bias, first address, end address. Makes a module id. A file    \
                  * that is loaded again at another address is another module */                \
    X(PYTHON, 4) /* a frame: code id, offset of the instruction in the bytecode in bytes.       \
                  * Makes a frame id */                                                         \
    X(NATIVE, 5) /* a frame: module id + 1 (0: in none), return address minus the load bias     \
                  * (unchanged without a module). Makes a frame id */                           \
    X(WORDS, 6)  /* a frame that is only a text: string id. "thread pt_autograd_0". Makes a     \
                  * frame id */                                                                 \
    X(STACK, 7)  /* a stack: stack id + 1 of its caller (0: none), frame id of its innermost    \
                  * frame. Makes a stack id */                                                  \
    X(THREAD, 8) /* a thread's name: kernel id, string id; a later one replaces an earlier */

typedef enum {
#define MV_LIVE_NAME_ENUM(name, number) MV_LIVE_NAME_##name = number,
    MV_LIVE_NAME_LIST(MV_LIVE_NAME_ENUM)
#undef MV_LIVE_NAME_ENUM
} mv_live_name;

/* ---- EVENTS ---- */

/* The first byte of a record contains its class in the low four bits, and the slot of its address
 * in the high four. Two varints follow: Δsequence, and Δtime in microseconds, both relative to the
 * previous record of the chunk. Then come the fields.
 *
 * An *address* field is empty if the slot refers to one of the last MV_LIVE_RECENT addresses that
 * this chunk has written in full. Otherwise it is a varint n made from d, the signed difference
 * from the address that was last written in full (from 0 for the first address): n = zigzag(d >> 9)
 * << 1 | 1 when d is a multiple of 512, else zigzag(d) << 1. Addresses that are written in full
 * take the slots in turn, starting at 0. Records without an address have slot 15.
 *
 * A *size* is written as size / 512 << 1 if it is a multiple of 512, else as size << 1 | 1.
 *
 * The process has one sequence without gaps: a missing number is a lost event. The
 * numbers order the events of all threads: a free takes its number and its time before its memory
 * can be allocated again, and an alloc takes them after the memory was allocated. */
#define MV_LIVE_EVENT_LIST(X)                                                                      \
    X(DEVICE, 1) /* signed device type, signed index (of c10::Device), for later BLOCK, FREE and   \
                  * OOM records in this chunk. Takes no sequence number: its Δsequence is 0 */     \
    X(BLOCK, 2)  /* the framework allocated a block: address, size, stack id + 1 */                \
    X(FREE, 3)   /* the framework freed a block: address, size */                                  \
    X(TOTALS, 4) /* the framework's own running totals after the previous event, written when      \
                  * they differ from the sum of its events, or when reserved changed: allocated,   \
                  * reserved. Takes no sequence number */                                          \
    X(OOM, 5)    /* the framework ran out of memory: request, allocated, reserved, stack id + 1 */ \
    X(CALL, 6)   /* a CUDA call that concerns memory: address, mv_api_action, size, handle, string \
                  * id + 1 of the API's name, string id + 1 of the calling library's path, signed  \
                  * device, signed result, stack id + 1 */                                         \
    X(MARK, 7)   /* memviz_mark, nvtxMark: string id */                                            \
    X(PUSH, 8)   /* a range begins on this thread: string id */                                    \
    X(POP, 9)    /* the innermost open range of this thread ends */                                \
    X(BEGIN, 10) /* a range that may end on another thread begins: its number, string id */        \
    X(END, 11)   /* such a range ends: its number */                                               \
    X(HEAP, 14)  /* a call about a block of a registered allocator: address, mv_heap_action, size, \
                  * string id + 1 of the heap's name (0: the heap with this address), string id +  \
                  * 1 of the calling library's path, signed device, stack id + 1 */                \
    X(LAUNCHES,                                                                                    \
      13)         /* number of kernels and graphs that the process had launched at the last CALL   \
                   * of this chunk, if it has increased. If a launch function of the runtime calls \
                   * the driver's, the launch may count twice. Takes no sequence number */         \
    X(COUNT, 15)  /* another count at the last CALL: its kind (mv_live_count), the number. Takes   \
                   * no sequence number */                                                         \
    X(THREAD, 12) /* the thread of the records so far has ended; later records are from the thread \
                   * with this kernel id, and begin without a DEVICE. Takes no sequence number:    \
                   * its Δsequence is 0 */

typedef enum {
#define MV_LIVE_EVENT_ENUM(name, number) MV_LIVE_EVENT_##name = number,
    MV_LIVE_EVENT_LIST(MV_LIVE_EVENT_ENUM)
#undef MV_LIVE_EVENT_ENUM
} mv_live_event;

/* Readers skip unknown kinds of counts. */
typedef enum {
    MV_LIVE_COUNT_WAITS = 1 /* how often the program waited for the device, a stream or an event,
                             * or copied from the device to the host. Waits of CUDA's own libraries
                             * do not count, nor do waits for a stream right after an upload */
} mv_live_count;

/* Effect of a call on a block of a heap (memviz_alloc, NVTX's memory extension). Frees, resizes and
 * resets are numbered before the memory can be reused. */
#define MV_HEAP_ACTION_LIST(X)                              \
    X(ALLOC, 1, "alloc")   /* address, size */              \
    X(FREE, 2, "free")     /* address */                    \
    X(RESIZE, 3, "resize") /* address, new size */          \
    X(RESET, 4, "reset")   /* frees every block of the heap */

typedef enum {
#define MV_HEAP_ACTION_ENUM(name, number, text) MV_HEAP_##name = number,
    MV_HEAP_ACTION_LIST(MV_HEAP_ACTION_ENUM)
#undef MV_HEAP_ACTION_ENUM
        MV_HEAP_ACTION_COUNT
} mv_heap_action;

/* Returns true if records of this kind belong to the event before them, whose number they share. */
static inline bool mv_live_is_beside(mv_live_event kind)
{
    return kind == MV_LIVE_EVENT_TOTALS || kind == MV_LIVE_EVENT_LAUNCHES ||
           kind == MV_LIVE_EVENT_COUNT;
}

/* Effect of a CUDA runtime or driver call on memory. `address` and `handle` are those of the API; 0
 * if there is none. The result is a cudaError_t or CUresult, which is 0 for success.
 *
 * A row contains all properties of its action:
 *
 *     number, text   in files
 *     way            GETS: the call is numbered when it has returned, and has a stack. GIVES: the
 *                    call is numbered before it is made, because another thread may allocate the
 *                    memory again before the call returns; it has no stack, because the address or
 *                    handle identifies the memory
 *     key            what identifies the memory until it is freed (mv_api_key)
 *     memory         kind of memory that an action with GETS allocates (mv_api_memory) */
#define MV_API_ACTION_LIST(X)                                                                      \
    X(ALLOC, 1, "alloc", GETS, ADDR, DEVICE)             /* device memory: address, size */        \
    X(FREE, 2, "free", GIVES, ADDR, NONE)                /* address */                             \
    X(ALLOC_ASYNC, 3, "alloc_async", GETS, ADDR, DEVICE) /* from a memory pool; handle: the pool   \
                                                          * if the call names one */               \
    X(FREE_ASYNC, 4, "free_async", GIVES, ADDR, NONE)                                              \
    X(ALLOC_MANAGED, 5, "alloc_managed", GETS, ADDR, DEVICE) /* unified memory */                  \
    X(ALLOC_ARRAY, 6, "alloc_array", GETS, ARRAY, DEVICE)    /* handle: the array; size: an        \
                                                              * estimate, 0 when unknown */        \
    X(FREE_ARRAY, 7, "free_array", GIVES, ARRAY, NONE)                                             \
    X(ALLOC_HOST, 8, "alloc_host", GETS, ADDR, HOST) /* pinned host memory */                      \
    X(FREE_HOST, 9, "free_host", GIVES, ADDR, NONE)                                                \
    X(REGISTER, 10, "register", GETS, ADDR, HOST) /* pins the program's host memory */             \
    X(UNREGISTER, 11, "unregister", GIVES, ADDR, NONE)                                             \
    X(RESERVE, 12, "reserve", GETS, NOTHING, NONE) /* addresses without memory */                  \
    X(UNRESERVE, 13, "unreserve", GIVES, NOTHING, NONE)                                            \
    X(CREATE, 14, "create", GETS, HANDLE, DEVICE)  /* physical memory: handle, size */             \
    X(RELEASE, 15, "release", GIVES, HANDLE, NONE) /* drops one reference to a handle */           \
    X(RETAIN, 16, "retain", GETS, REFERENCE, NONE) /* adds one: handle, address */                 \
    X(IMPORT, 17, "import", GETS, HANDLE, FOREIGN) /* a handle to another process's memory */      \
    X(MAP, 18, "map", GETS, MAPPING, NONE)         /* handle at address, size */                   \
    X(UNMAP, 19, "unmap", GIVES, MAPPING, NONE)    /* address, size */                             \
    X(OPEN, 20, "open", GETS, ADDR, FOREIGN)       /* another process's memory (IPC) at address */ \
    X(CLOSE, 21, "close", GIVES, ADDR, NONE)                                                       \
    X(POOL_CREATE, 22, "pool_create", GETS, NOTHING, NONE) /* handle */                            \
    X(POOL_DESTROY, 23, "pool_destroy", GIVES, NOTHING, NONE)                                      \
    X(POOL_TRIM, 24, "pool_trim", GIVES, NOTHING, NONE) /* size: bytes to keep */                  \
    X(CONTEXT_CREATE, 25, "context_create", GETS, CONTEXT, NONE)                                   \
    X(CONTEXT_DESTROY, 26, "context_destroy", GIVES, CONTEXT, NONE) /* frees all memory allocated  \
                                                                     * in it */                    \
    X(LOAD, 27, "load", GETS, NOTHING, NONE) /* code: a module, a library or, at its first launch, \
                                              * a kernel; handle */                                \
    X(UNLOAD, 28, "unload", GIVES, NOTHING, NONE)                                                  \
    X(GRAPH_ALLOC, 29, "graph_alloc", GETS, NOTHING, NONE) /* a graph node that allocates */       \
    X(GRAPH_TRIM, 30, "graph_trim", GIVES, NOTHING, NONE)                                          \
    X(OBJECT_CREATE, 31, "object_create", GETS, NOTHING, NONE) /* an executable graph, a stream:   \
                                                                * handle. The driver allocates     \
                                                                * memory for it by itself */       \
    X(OBJECT_DESTROY, 32, "object_destroy", GIVES, NOTHING, NONE)
/* clang-format on */

typedef enum {
#define MV_API_ENUM(name, number, ...) MV_API_##name = number,
    MV_API_ACTION_LIST(MV_API_ENUM)
#undef MV_API_ENUM
        MV_API_ACTION_COUNT
} mv_api_action;

typedef enum { MV_API_GETS, MV_API_GIVES } mv_api_way;

typedef enum {
    MV_API_BY_NOTHING,   /* the call allocates no memory */
    MV_API_BY_ADDR,      /* memory at an address */
    MV_API_BY_ARRAY,     /* an array, by handle */
    MV_API_BY_HANDLE,    /* physical memory: a handle's first reference, or one reference less */
    MV_API_BY_REFERENCE, /* one more reference to a handle */
    MV_API_BY_MAPPING,   /* a mapping of a handle's memory, by address */
    MV_API_BY_CONTEXT    /* a context, by handle */
} mv_api_key;

typedef enum {
    MV_API_MAKES_NONE,
    MV_API_MAKES_DEVICE, /* device memory */
    MV_API_MAKES_HOST,
    MV_API_MAKES_FOREIGN /* another process's memory */
} mv_api_memory;

/* Returns true if the action frees memory; false for unknown actions. */
static inline bool mv_api_gives(mv_api_action action)
{
#define MV_API_GIVES_BIT(name, number, text, way, ...) | (uint64_t)MV_API_##way << (number)
    static const uint64_t gives = 0 MV_API_ACTION_LIST(MV_API_GIVES_BIT);
#undef MV_API_GIVES_BIT
    static_assert(MV_API_ACTION_COUNT <= 8 * sizeof gives, "one bit for each action");
    return action < MV_API_ACTION_COUNT && (gives >> action & 1);
}
