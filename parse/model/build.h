/* Builds a trace. Every reader, and every fixture in the tests, appends rows to it.
 *
 * The builder interns strings, frames, stacks, streams, pools and tags by content and appends rows
 * to the columns. The events of all devices and the host go into one staging table, and all
 * segments go into another. mv_build_finish makes the trace's tables from ranges of the staging
 * tables, so nothing is copied.
 *
 * As in a cursor, a failure is sticky. When memory or row numbers run out, `code` is set, and from
 * then on all functions return row 0. The caller checks `code` once per record or once at the
 * end. */
#pragma once

#include "base/intern.h"
#include "parse/model/tables.h"

typedef struct {
    uint32_t first;
    uint32_t count;
} mv_range;

/* A row of a table: one value for each of its columns (parse/model/trace.h). */
#define MV_ROW_MEMBER(T, number, name, kind, ...) mv_value_of_##kind name;
typedef struct {
    MV_EVENT_COLUMNS(MV_ROW_MEMBER, )
} mv_event_row;
typedef struct {
    MV_TAG_COLUMNS(MV_ROW_MEMBER, )
} mv_tag_row;
typedef struct {
    MV_FX_COLUMNS(MV_ROW_MEMBER, )
} mv_fx_row;
typedef struct {
    MV_CODE_COLUMNS(MV_ROW_MEMBER, )
    mv_fx_row fx; /* torch.fx data; if all its columns are absent, no row is added to mv_fx */
} mv_frame_row;
typedef struct {
    MV_SEGMENT_COLUMNS(MV_ROW_MEMBER, )
} mv_segment_row;
typedef struct {
    MV_BLOCK_COLUMNS(MV_ROW_MEMBER, )
} mv_block_row;
typedef struct {
    MV_HISTORY_COLUMNS(MV_ROW_MEMBER, )
} mv_history_row;
typedef struct {
    MV_ANNOTATION_COLUMNS(MV_ROW_MEMBER, )
} mv_annotation_row;
typedef struct {
    MV_SETTING_COLUMNS(MV_ROW_MEMBER, )
} mv_setting_row;
typedef struct {
    MV_TENSOR_COLUMNS(MV_ROW_MEMBER, )
} mv_tensor_row;
typedef struct {
    MV_API_CALL_COLUMNS(MV_ROW_MEMBER, )
} mv_api_call_row;
typedef struct {
    MV_HEAP_CALL_COLUMNS(MV_ROW_MEMBER, )
} mv_heap_call_row;
typedef struct {
    MV_SAMPLE_COLUMNS(MV_ROW_MEMBER, )
} mv_sample_row;
typedef struct {
    MV_FACT_COLUMNS(MV_ROW_MEMBER, )
} mv_fact_row;

/* Rows in which every column is absent. Callers copy one of them and fill in columns. A row without
 * a stream is given the default stream. */
#define MV_ROW_ABSENT(T, number, name, kind, absent, ...) .name = (mv_value_of_##kind){absent},

#define MV_EVENT_ROW      ((mv_event_row){MV_EVENT_COLUMNS(MV_ROW_ABSENT, )})
#define MV_TAG_ROW        ((mv_tag_row){MV_TAG_COLUMNS(MV_ROW_ABSENT, )})
#define MV_FX_ROW         ((mv_fx_row){MV_FX_COLUMNS(MV_ROW_ABSENT, )})
#define MV_FRAME_ROW      ((mv_frame_row){MV_CODE_COLUMNS(MV_ROW_ABSENT, ).fx = MV_FX_ROW})
#define MV_SEGMENT_ROW    ((mv_segment_row){MV_SEGMENT_COLUMNS(MV_ROW_ABSENT, )})
#define MV_BLOCK_ROW      ((mv_block_row){MV_BLOCK_COLUMNS(MV_ROW_ABSENT, )})
#define MV_HISTORY_ROW    ((mv_history_row){MV_HISTORY_COLUMNS(MV_ROW_ABSENT, )})
#define MV_ANNOTATION_ROW ((mv_annotation_row){MV_ANNOTATION_COLUMNS(MV_ROW_ABSENT, )})
#define MV_SETTING_ROW    ((mv_setting_row){MV_SETTING_COLUMNS(MV_ROW_ABSENT, )})
#define MV_TENSOR_ROW     ((mv_tensor_row){MV_TENSOR_COLUMNS(MV_ROW_ABSENT, )})
#define MV_API_CALL_ROW   ((mv_api_call_row){MV_API_CALL_COLUMNS(MV_ROW_ABSENT, )})
#define MV_HEAP_CALL_ROW  ((mv_heap_call_row){MV_HEAP_CALL_COLUMNS(MV_ROW_ABSENT, )})
#define MV_SAMPLE_ROW     ((mv_sample_row){MV_SAMPLE_COLUMNS(MV_ROW_ABSENT, )})
#define MV_FACT_ROW       ((mv_fact_row){MV_FACT_COLUMNS(MV_ROW_ABSENT, )})

typedef struct {
    mv_arena *arena; /* owns every column */
    mv_trace *trace; /* the trace under construction; always readable, but without the rows in the
                      * staging tables */
    mv_code code;    /* MV_OK, or the first failure: MV_NOMEM or MV_LIMIT */

    mv_intern strings, frames, stacks, streams, pools, tags, facts;
    uint32_t last_stream; /* the row that mv_build_stream returned last */
    uint64_t string_bytes_capacity;
    uint64_t stack_frames_capacity;
    uint32_t capacity[MV_WIRE_KINDS]; /* capacity in rows, by mv_wire_kind */
    mv_events events;                 /* staging table of the events of all devices and the host */
    mv_segments segments;             /* staging */
} mv_build;

/* Empties `trace` and creates the rows that every trace has (empty stack, default pool, plain tag).
 * Interning tables come from `arena` too and are released by mv_build_finish. */
void mv_build_init(mv_build *b, mv_arena *arena, mv_trace *trace);

/* Makes `to` a copy of `from`, which builds the copy `trace` in `arena`. If it shares the events of
 * `from`, none may be added to it, and those of `from` must stay in place. Sets to->code to MV_NOMEM
 * when out of memory. */
void mv_build_clone(mv_build *to, mv_arena *arena, mv_trace *trace, const mv_build *from,
                    bool shares_events);

/* Makes room for more events in new memory, and leaves the old columns to their users. The second
 * function releases such columns. */
bool mv_build_move_events(mv_build *b);
void mv_build_drop_events(mv_arena *arena, const mv_events *events);

mv_string_id mv_build_string(mv_build *b, const char *text, uint64_t length);
mv_frame_id mv_build_frame(mv_build *b, const mv_frame_row *row);
mv_stack_id mv_build_stack(mv_build *b, const mv_frame_id *frames, uint32_t count);
mv_stream_id mv_build_stream(mv_build *b, uint64_t value);
mv_pool_id mv_build_pool(mv_build *b, uint64_t capture, uint64_t asked);
mv_tag_id mv_build_tag(mv_build *b, const mv_tag_row *row);

/* Append a row, and return its row number in the table or the staging table. */
uint32_t mv_build_event(mv_build *b, const mv_event_row *row);
uint32_t mv_build_segment(mv_build *b, const mv_segment_row *row);
uint32_t mv_build_block(mv_build *b, const mv_block_row *row);
uint32_t mv_build_history(mv_build *b, const mv_history_row *row);
uint32_t mv_build_annotation(mv_build *b, const mv_annotation_row *row);
uint32_t mv_build_setting(mv_build *b, const mv_setting_row *row);
uint32_t mv_build_tensor(mv_build *b, const mv_tensor_row *row);
uint32_t mv_build_api_call(mv_build *b, const mv_api_call_row *row);
uint32_t mv_build_heap_call(mv_build *b, const mv_heap_call_row *row);
uint32_t mv_build_sample(mv_build *b, const mv_sample_row *row);

/* Appends a copy of an existing row. `kind` is the mv_wire_kind of a table. */
uint32_t mv_build_copy(mv_build *b, uint16_t kind, uint32_t row);

/* Adds a fact, or sets the value of the existing fact with this key. */
uint32_t mv_build_fact(mv_build *b, mv_string_id key, mv_string_id value);

/* Returns the struct of columns to which a table's rows are appended, for readers that fill whole
 * columns. EVENTS and HOST_EVENTS share b->events, SEGMENTS and HOST_SEGMENTS b->segments. */
void *mv_build_rows(mv_build *b, const mv_model_table *table);

/* Counts a note about odd input. `format` describes its first occurrence. */
void mv_build_note(mv_build *b, mv_note_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct {
    const mv_range *devices; /* [device_count] each device's rows of b->events */
    uint32_t device_count;
    mv_range host_events;   /* rows of b->events */
    mv_range segments;      /* rows of b->segments */
    mv_range host_segments; /* rows of b->segments */
} mv_build_ranges;

/* Makes a trace independent of its format. Computes block addresses that are missing from the file,
 * and drops lost or duplicate settings and torch.fx rows without strings. Adds notes for checks
 * that need no analysis (whether blocks fill their segment, and whether times are in order). Only
 * readers that fill b->trace themselves call this. Sets b->code to MV_NOMEM when out of memory. */
void mv_build_settle(mv_build *b);

/* Makes the trace's tables from ranges of the staging tables, and settles the trace. Fails with
 * MV_NOMEM or MV_LIMIT. */
mv_code mv_build_finish(mv_build *b, const mv_build_ranges *ranges, mv_err *err);
