/* Reads XLA's profile, which is an XSpace of planes, lines and events (xplane.proto of
 * github.com/openxla/xla). docs/other-files.md describes the result.
 *
 *     planes.c       reads a plane's event and statistic names
 *     lines.c        reads a line's steps, and its memory events, whose stacks are the events
 *                    around them
 *     read_xplane.c  converts all memory events, in order of time, to a trace */
#pragma once

#include "parse/tools/block_log.h"
#include "parse/tools/protobuf.h"

enum { SPACE_PLANE = 1, SPACE_ERROR, SPACE_WARNING, SPACE_HOST };
enum { PLANE_NAME = 2, PLANE_LINE, PLANE_EVENT_NAME, PLANE_STAT_NAME, PLANE_STAT };

/* Statistics that memviz uses: X(ROLE, name in the file). */
#define MV_XSTAT_LIST(X)            \
    X(ALLOCATOR, "allocator_name")  \
    X(TOTAL, "bytes_allocated")     \
    X(AVAILABLE, "bytes_available") \
    X(RESERVED, "bytes_reserved")   \
    X(PEAK, "peak_bytes_in_use")    \
    X(REQUESTED, "requested_bytes") \
    X(BYTES, "allocation_bytes")    \
    X(ADDRESS, "addr")              \
    X(OPERATION, "tf_op")           \
    X(REGION, "region_type")        \
    X(DATA_TYPE, "data_type")       \
    X(SHAPE, "shape")               \
    X(STEP, "step_num")             \
    X(PROCESS, "process_id")        \
    X(JAX_VERSION, "jax_version")   \
    X(START_TIME, "profile_start_time")

typedef enum {
#define MV_XSTAT_ENUM(role, name) MV_XSTAT_##role,
    MV_XSTAT_LIST(MV_XSTAT_ENUM) MV_XSTAT_COUNT
} mv_xstat_role;

/* The known statistics of an event or a plane. */
typedef struct {
    bool has[MV_XSTAT_COUNT];
    uint64_t number[MV_XSTAT_COUNT]; /* bits of the value, even if it is signed */
    mv_span text[MV_XSTAT_COUNT];    /* text of the value; empty for numbers */
} mv_xstats;

typedef enum { MV_XEVENT_RANGE, MV_XEVENT_ALLOC, MV_XEVENT_FREE } mv_xevent_kind;

typedef struct {
    mv_span name;
    uint8_t kind; /* mv_xevent_kind */
    bool has_frame;
    mv_frame_id frame;
} mv_xevent_name;

typedef struct {
    mv_span name;
    uint8_t role; /* role of the statistic (mv_xstat_role); MV_XSTAT_COUNT: none */
} mv_xstat_name;

typedef struct {
    mv_arena *arena;
    mv_map event_of, stat_of; /* row of each id in the file */
    mv_xevent_name *events;
    mv_xstat_name *stats;
    uint32_t event_count, event_capacity, stat_count, stat_capacity;
    mv_xstats own; /* statistics of the plane itself */
    bool has_memory;
} mv_xplane;

/* An event of an allocator. */
typedef struct {
    int64_t time_ns;
    uint32_t ps;        /* picoseconds within the nanosecond, used only to order events */
    uint32_t list;      /* list of the block log (MV_BLOCK_LOG_HOST or device) */
    uint32_t allocator; /* allocator, as row of mv_xlines.allocators */
    bool is_alloc, has_total;
    uint64_t addr, requested, bytes;
    uint64_t total, peak, limit; /* the allocator's totals after the event */
    mv_stack_id stack;
} mv_xmemory;

typedef struct {
    mv_string_id name;
    uint32_t list;
    uint32_t plane; /* the plane that contains the allocator's events */
} mv_xallocator;

typedef struct {
    int64_t time_us;
    mv_string_id name;
    uint8_t stage;
} mv_xstep;

/* Data common to all lines. */
typedef struct {
    mv_build *build;
    mv_arena *arena;
    int64_t start_ns; /* start of the profile; 0: unknown */
    mv_xmemory *memory;
    uint64_t memory_count, memory_capacity;
    mv_xstep *steps;
    uint64_t step_count, step_capacity;
    mv_xallocator *allocators;
    uint32_t allocator_count, allocator_capacity;
    uint32_t plane;   /* number of the current plane */
    bool are_several; /* two planes have events of one allocator, so the file contains several
                       * profiles */
} mv_xlines;

/* Return MV_OK, MV_CORRUPT if the bytes are invalid, or MV_NOMEM. */
mv_code mv_xplane_read(mv_arena *arena, mv_span plane, mv_xplane *out);
mv_code mv_xline_read(mv_xlines *lines, mv_xplane *plane, mv_span line);

/* Adds a statistic to the statistics of its event or plane. */
mv_code mv_xstat_read(const mv_xplane *plane, mv_span stat, mv_xstats *out);
