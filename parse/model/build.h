/* Building a trace: what every reader, and every fixture in the tests, appends to.
 *
 * The builder interns strings, frames, stacks, streams, pools and tags by content and appends
 * rows to the columns. Rows of events, blocks, segments and history go to one staging table each;
 * mv_build_finish cuts the trace's devices and host tables out of them by ranges, so nothing is
 * copied.
 *
 * It fails stickily, as a cursor does: when memory or row numbers run out, `code` is set, ids come
 * back as row 0, and whoever builds checks `code` once per record or once at the end. */
#ifndef MV_BUILD_H
#define MV_BUILD_H

#include "base/intern.h"
#include "parse/model/trace.h"

typedef struct {
    uint32_t first;
    uint32_t count;
} mv_range;

/* One event as a row; the fields are those of mv_events. */
typedef struct {
    int64_t time_us;
    uint64_t addr;
    uint64_t size;
    mv_stack_id stack;
    uint32_t call;
    mv_tag_id tag;
    mv_stream_id stream;
    uint8_t action;
} mv_event_row;

typedef struct {
    mv_string_id compile_context;
    mv_string_id user_metadata;
    mv_string_id internal_metadata;
    mv_string_id category;
    mv_string_id action;
    mv_stack_id forward;
    mv_stack_id cpp;
    mv_pool_id pool;
} mv_tag_row;

typedef struct {
    mv_string_id function;
    mv_string_id file;
    int64_t line;
    mv_string_id fx_op, fx_name, fx_target, fx_trace; /* all MV_NO_STRING: no row in mv_fx */
} mv_frame_row;

typedef struct {
    int32_t device;
    uint64_t address, total_size, allocated, active, requested;
    mv_stream_id stream;
    mv_pool_id pool;
    mv_stack_id stack;
    uint32_t call;
    mv_stack_id forward;
    mv_range blocks;
    uint8_t kind;
    uint8_t is_expandable;
} mv_segment_row;

typedef struct {
    uint64_t address, size, requested;
    mv_stack_id stack;
    uint32_t call;
    mv_stack_id forward;
    mv_range history;
    uint8_t state;
} mv_block_row;

typedef struct {
    uint64_t addr, real_size;
    mv_stack_id stack;
    uint32_t call;
    mv_stack_id cpp;
} mv_history_row;

typedef struct {
    mv_string_id name;
    int64_t time_us;
    int32_t device;
    uint8_t stage;
} mv_annotation_row;

typedef struct {
    mv_string_id parent, key;
    uint8_t kind;
    int64_t integer;
    double real;
    mv_string_id text;
} mv_setting_row;

typedef struct {
    int64_t time_us;
    uint64_t addr, size, handle;
    mv_stack_id stack;
    mv_string_id api, library;
    int32_t device, result;
    uint32_t event;
    uint8_t action;
} mv_api_call_row;

typedef struct {
    int64_t time_us;
    uint64_t used, total, process;
    int32_t device;
} mv_sample_row;

/* Rows whose every optional field is absent: start from these. A stream that is not given
 * becomes the default stream. */
#define MV_TAG_ROW                                                                      \
    ((mv_tag_row){MV_NO_STRING, MV_NO_STRING, MV_NO_STRING, MV_NO_STRING, MV_NO_STRING, \
                  MV_NO_STACK, MV_NO_STACK, MV_NO_POOL})
#define MV_EVENT_ROW                       \
    ((mv_event_row){.time_us = MV_NO_TIME, \
                    .addr = MV_NO_BYTES,   \
                    .stack = MV_NO_STACK,  \
                    .call = MV_NO_CALL,    \
                    .stream = {MV_NO_ROW}, \
                    .action = MV_ACTION_OTHER})
#define MV_FRAME_ROW                                                                    \
    ((mv_frame_row){MV_NO_STRING, MV_NO_STRING, MV_NO_LINE, MV_NO_STRING, MV_NO_STRING, \
                    MV_NO_STRING, MV_NO_STRING})
#define MV_SEGMENT_ROW                          \
    ((mv_segment_row){.address = MV_NO_BYTES,   \
                      .requested = MV_NO_BYTES, \
                      .stream = {MV_NO_ROW},    \
                      .pool = MV_NO_POOL,       \
                      .stack = MV_NO_STACK,     \
                      .call = MV_NO_CALL,       \
                      .forward = MV_NO_STACK,   \
                      .kind = MV_SEGMENT_UNKNOWN})
#define MV_BLOCK_ROW                          \
    ((mv_block_row){.address = MV_NO_BYTES,   \
                    .requested = MV_NO_BYTES, \
                    .stack = MV_NO_STACK,     \
                    .call = MV_NO_CALL,       \
                    .forward = MV_NO_STACK,   \
                    .state = MV_BLOCK_UNKNOWN})
#define MV_API_CALL_ROW                         \
    ((mv_api_call_row){.time_us = MV_NO_TIME,   \
                       .addr = MV_NO_BYTES,     \
                       .stack = MV_NO_STACK,    \
                       .api = MV_NO_STRING,     \
                       .library = MV_NO_STRING, \
                       .device = -1})
#define MV_SAMPLE_ROW ((mv_sample_row){.time_us = MV_NO_TIME, .process = MV_NO_BYTES, .device = -1})

typedef struct {
    mv_arena *arena; /* owns every column */
    mv_trace *trace; /* being filled; valid to read at any time but for the staging tables */
    mv_code code;    /* MV_OK, MV_NOMEM or MV_LIMIT: sticky */

    mv_intern strings, frames, stacks, streams, pools, tags, facts;
    uint32_t last_stream; /* row that mv_build_stream gave last */
    uint64_t string_bytes_capacity;
    uint64_t stack_frames_capacity;
    uint32_t capacity_of_strings, capacity_of_frames, capacity_of_fx, capacity_of_stacks;
    uint32_t capacity_of_streams, capacity_of_pools, capacity_of_tags;
    uint32_t capacity_of_events, capacity_of_segments, capacity_of_blocks, capacity_of_history;
    uint32_t capacity_of_annotations, capacity_of_settings;
    uint32_t capacity_of_api_calls, capacity_of_samples, capacity_of_facts;
    mv_events events;     /* staging of all devices and the host */
    mv_segments segments; /* staging */
} mv_build;

/* Empties `trace` and makes the rows that are always there (empty stack, default pool, plain
 * tag). Interning tables come from `arena` too and are given back by mv_build_finish. */
void mv_build_init(mv_build *b, mv_arena *arena, mv_trace *trace);

mv_string_id mv_build_string(mv_build *b, const char *text, uint64_t length);
mv_frame_id mv_build_frame(mv_build *b, const mv_frame_row *row);
mv_stack_id mv_build_stack(mv_build *b, const mv_frame_id *frames, uint32_t count);
mv_stream_id mv_build_stream(mv_build *b, uint64_t value);
mv_pool_id mv_build_pool(mv_build *b, uint64_t a, uint64_t b_);
mv_tag_id mv_build_tag(mv_build *b, const mv_tag_row *row);

/* Append a row; its position in the staging table comes back. */
uint32_t mv_build_event(mv_build *b, const mv_event_row *row);
uint32_t mv_build_segment(mv_build *b, const mv_segment_row *row);
uint32_t mv_build_block(mv_build *b, const mv_block_row *row);
uint32_t mv_build_history(mv_build *b, const mv_history_row *row);
uint32_t mv_build_annotation(mv_build *b, const mv_annotation_row *row);
uint32_t mv_build_setting(mv_build *b, const mv_setting_row *row);
uint32_t mv_build_api_call(mv_build *b, const mv_api_call_row *row);
uint32_t mv_build_sample(mv_build *b, const mv_sample_row *row);

/* Keeps each key once: a fact that is there already gets the new value. */
uint32_t mv_build_fact(mv_build *b, mv_string_id key, mv_string_id value);

/* Makes room for `more` events at once, for readers that fill whole columns: the columns of
 * b->events are then valid to b->events.count + more; the reader raises `count` itself. */
bool mv_build_reserve_events(mv_build *b, uint64_t more);

/* Counts an oddity; `format` describes the first one. */
void mv_build_note(mv_build *b, mv_note_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct {
    const mv_range *devices; /* [device_count] rows of b->events */
    uint32_t device_count;
    mv_range host_events;   /* rows of b->events */
    mv_range segments;      /* rows of b->segments */
    mv_range host_segments; /* rows of b->segments */
} mv_build_ranges;

/* Cuts the staging tables, computes block addresses that the file left out, checks what can be
 * checked without analysis (tiling, time order) into the notes. Fails with MV_NOMEM or MV_LIMIT. */
mv_code mv_build_finish(mv_build *b, const mv_build_ranges *ranges, mv_err *err);

#endif
