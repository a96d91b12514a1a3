#include "parse/container/wire_tables.h"

#include <stddef.h>

enum { ROWS = 1 << 16, BYTES = 1 << 20 };

#define NO_ROW           MV_NO_ROW
#define AT(table, field) .size = sizeof *((table *)0)->field, .at = offsetof(table, field)

/* A plain number; a row number of another table; one of a few. */
#define NUMBER(n, table, field, how, unknown)                                                    \
    {                                                                                            \
        .number = n, .transform = MV_WIRE_##how, .absent = (uint64_t)(unknown), AT(table, field) \
    }
#define ROW(n, table, field, to)                                            \
    {                                                                       \
        .number = n, .transform = MV_WIRE_PLAIN, .ref = MV_REF_##to,        \
        .absent = MV_REF_##to <= MV_REF_CALL ? NO_ROW : 0, AT(table, field) \
    }
#define CALL(n, table, field)                                                              \
    {                                                                                      \
        .number = n, .transform = MV_WIRE_CALLS, .ref = MV_REF_CALL, .absent = MV_NO_CALL, \
        AT(table, field)                                                                   \
    }
#define ENUM(n, table, field, count, unknown)                                                    \
    {                                                                                            \
        .number = n, .ref = MV_REF_ENUM, .limit = (count), .absent = (unknown), AT(table, field) \
    }
#define END(n, table, field)                                                      \
    {                                                                             \
        .number = n, .transform = MV_WIRE_DELTA, .is_end = true, AT(table, field) \
    }

static const mv_table_column string_columns[] = {END(1, mv_strings, at)};
static const mv_table_column string_byte_columns[] = {NUMBER(1, mv_strings, bytes, PLAIN, 0)};
static const mv_table_column frame_columns[] = {
    ROW(1, mv_frames, function, STRING),
    ROW(2, mv_frames, file, STRING),
    NUMBER(3, mv_frames, line, PLAIN, MV_NO_LINE),
    ROW(4, mv_frames, fx, FX),
};
static const mv_table_column fx_columns[] = {
    ROW(1, mv_fx, op, STRING),
    ROW(2, mv_fx, name, STRING),
    ROW(3, mv_fx, target, STRING),
    ROW(4, mv_fx, trace, STRING),
};
static const mv_table_column stack_columns[] = {END(1, mv_stacks, first)};
static const mv_table_column stack_frame_columns[] = {ROW(1, mv_stacks, frame, FRAME)};
static const mv_table_column stream_columns[] = {
    NUMBER(1, mv_streams, value, PLAIN, MV_NO_BYTES),
};
static const mv_table_column pool_columns[] = {
    NUMBER(1, mv_pools, a, PLAIN, MV_NO_BYTES),
    NUMBER(2, mv_pools, b, PLAIN, MV_NO_BYTES),
};
static const mv_table_column tag_columns[] = {
    ROW(1, mv_tags, compile_context, STRING),
    ROW(2, mv_tags, user_metadata, STRING),
    ROW(3, mv_tags, internal_metadata, STRING),
    ROW(4, mv_tags, category, STRING),
    ROW(5, mv_tags, action, STRING),
    ROW(6, mv_tags, forward, STACK),
    ROW(7, mv_tags, cpp, STACK),
    ROW(8, mv_tags, pool, POOL),
};
static const mv_table_column event_columns[] = {
    NUMBER(1, mv_events, time_us, DELTA, MV_NO_TIME),
    NUMBER(2, mv_events, addr, PLAIN, MV_NO_BYTES),
    NUMBER(3, mv_events, size, PLAIN, 0),
    ROW(4, mv_events, stack, STACK),
    CALL(5, mv_events, call),
    ROW(6, mv_events, tag, TAG),
    ROW(7, mv_events, stream, STREAM),
    ENUM(8, mv_events, action, MV_ACTION_COUNT, MV_ACTION_OTHER),
};
static const mv_table_column segment_columns[] = {
    NUMBER(1, mv_segments, device, PLAIN, 0),
    NUMBER(2, mv_segments, address, PLAIN, MV_NO_BYTES),
    NUMBER(3, mv_segments, total_size, PLAIN, 0),
    NUMBER(4, mv_segments, allocated, PLAIN, 0),
    NUMBER(5, mv_segments, active, PLAIN, 0),
    NUMBER(6, mv_segments, requested, PLAIN, MV_NO_BYTES),
    ROW(7, mv_segments, stream, STREAM),
    ROW(8, mv_segments, pool, POOL),
    ROW(9, mv_segments, stack, STACK),
    CALL(10, mv_segments, call),
    ROW(11, mv_segments, forward, STACK),
    NUMBER(12, mv_segments, first_block, DELTA, 0),
    NUMBER(13, mv_segments, blocks, PLAIN, 0),
    ENUM(14, mv_segments, kind, MV_SEGMENT_UNKNOWN + 1, MV_SEGMENT_UNKNOWN),
    ENUM(15, mv_segments, is_expandable, 2, 0),
};
static const mv_table_column block_columns[] = {
    NUMBER(1, mv_blocks, address, DELTA, MV_NO_BYTES),
    NUMBER(2, mv_blocks, size, PLAIN, 0),
    NUMBER(3, mv_blocks, requested, PLAIN, MV_NO_BYTES),
    ROW(4, mv_blocks, stack, STACK),
    CALL(5, mv_blocks, call),
    ROW(6, mv_blocks, forward, STACK),
    NUMBER(7, mv_blocks, first_history, DELTA, 0),
    NUMBER(8, mv_blocks, histories, PLAIN, 0),
    ENUM(9, mv_blocks, state, MV_BLOCK_UNKNOWN + 1, MV_BLOCK_UNKNOWN),
};
static const mv_table_column history_columns[] = {
    NUMBER(1, mv_history, addr, PLAIN, MV_NO_BYTES),
    NUMBER(2, mv_history, real_size, PLAIN, 0),
    ROW(3, mv_history, stack, STACK),
    CALL(4, mv_history, call),
    ROW(5, mv_history, cpp, STACK),
};
static const mv_table_column annotation_columns[] = {
    ROW(1, mv_annotations, name, STRING),
    NUMBER(2, mv_annotations, time_us, DELTA, MV_NO_TIME),
    NUMBER(3, mv_annotations, device, PLAIN, 0),
    ENUM(4, mv_annotations, stage, MV_STAGE_MARK + 1, MV_STAGE_OTHER),
};
static const mv_table_column setting_columns[] = {
    ROW(1, mv_settings, parent, STRING),
    ROW(2, mv_settings, key, STRING),
    ENUM(3, mv_settings, kind, MV_SETTING_NONE + 1, MV_SETTING_NONE),
    NUMBER(4, mv_settings, integer, PLAIN, 0),
    NUMBER(5, mv_settings, real, PLAIN, 0),
    ROW(6, mv_settings, text, STRING),
};
static const mv_table_column api_call_columns[] = {
    NUMBER(1, mv_api_calls, time_us, DELTA, MV_NO_TIME),
    NUMBER(2, mv_api_calls, addr, PLAIN, MV_NO_BYTES),
    NUMBER(3, mv_api_calls, size, PLAIN, 0),
    NUMBER(4, mv_api_calls, handle, PLAIN, 0),
    ROW(5, mv_api_calls, stack, STACK),
    ROW(6, mv_api_calls, api, STRING),
    ROW(7, mv_api_calls, library, STRING),
    NUMBER(8, mv_api_calls, device, PLAIN, -1),
    NUMBER(9, mv_api_calls, result, PLAIN, 0),
    NUMBER(10, mv_api_calls, event, DELTA, 0),
    ENUM(11, mv_api_calls, action, MV_API_ACTION_COUNT, 0),
};
static const mv_table_column sample_columns[] = {
    NUMBER(1, mv_samples, time_us, DELTA, MV_NO_TIME),
    NUMBER(2, mv_samples, used, PLAIN, 0),
    NUMBER(3, mv_samples, total, PLAIN, 0),
    NUMBER(4, mv_samples, process, PLAIN, MV_NO_BYTES),
    NUMBER(5, mv_samples, device, PLAIN, -1),
};
static const mv_table_column fact_columns[] = {
    ROW(1, mv_facts, key, STRING),
    ROW(2, mv_facts, value, STRING),
};

#define COLUMNS(list) .columns = list, .column_count = sizeof list / sizeof *list

const mv_table mv_tables[] = {
    {MV_WIRE_STRINGS, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(string_columns)},
    {MV_WIRE_STRING_BYTES, .keeps_places = true, .chunk_rows = BYTES, COLUMNS(string_byte_columns)},
    {MV_WIRE_FRAMES, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(frame_columns)},
    {MV_WIRE_FX, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(fx_columns)},
    {MV_WIRE_STACKS, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(stack_columns)},
    {MV_WIRE_STACK_FRAMES, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(stack_frame_columns)},
    {MV_WIRE_STREAMS, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(stream_columns)},
    {MV_WIRE_POOLS, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(pool_columns)},
    {MV_WIRE_TAGS, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(tag_columns)},
    {MV_WIRE_EVENTS, .chunk_rows = ROWS, COLUMNS(event_columns)},
    {MV_WIRE_HOST_EVENTS, .chunk_rows = ROWS, COLUMNS(event_columns)},
    {MV_WIRE_SEGMENTS, .chunk_rows = ROWS, COLUMNS(segment_columns)},
    {MV_WIRE_HOST_SEGMENTS, .chunk_rows = ROWS, COLUMNS(segment_columns)},
    {MV_WIRE_BLOCKS, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(block_columns)},
    {MV_WIRE_HISTORY, .keeps_places = true, .chunk_rows = ROWS, COLUMNS(history_columns)},
    {MV_WIRE_ANNOTATIONS, .chunk_rows = ROWS, COLUMNS(annotation_columns)},
    {MV_WIRE_SETTINGS, .chunk_rows = ROWS, COLUMNS(setting_columns)},
    {MV_WIRE_API_CALLS, .chunk_rows = ROWS, COLUMNS(api_call_columns)},
    {MV_WIRE_SAMPLES, .chunk_rows = ROWS, COLUMNS(sample_columns)},
    {MV_WIRE_FACTS, .chunk_rows = ROWS, COLUMNS(fact_columns)},
    {0},
};

/* These numbers are in files. */
static_assert(MV_ACTION_ALLOC == 0 && MV_ACTION_OOM == 7 && MV_ACTION_OTHER == 10 &&
                  MV_ACTION_COUNT == 11,
              "bump MV_WIRE_VERSION");
static_assert(MV_SEGMENT_UNKNOWN == 2 && MV_BLOCK_UNKNOWN == 3 && MV_STAGE_MARK == 3 &&
                  MV_SETTING_NONE == 4 && MV_API_ALLOC == 1 && MV_API_ACTION_COUNT == 31,
              "bump MV_WIRE_VERSION");

const mv_table *mv_table_find(uint16_t kind)
{
    for (const mv_table *t = mv_tables; t->kind; t++)
        if (t->kind == kind)
            return t;
    return NULL;
}

const char *mv_wire_kind_name(uint16_t kind)
{
    switch (kind) {
#define NAME(name, number, text) \
    case number:                 \
        return text;
        MV_WIRE_KIND_LIST(NAME)
#undef NAME
    default:
        return "?";
    }
}

uint16_t mv_ref_kind(mv_ref ref)
{
    static const uint16_t kinds[MV_REF_COUNT] = {
        [MV_REF_STRING] = MV_WIRE_STRINGS, [MV_REF_FX] = MV_WIRE_FX,
        [MV_REF_STACK] = MV_WIRE_STACKS,   [MV_REF_POOL] = MV_WIRE_POOLS,
        [MV_REF_FRAME] = MV_WIRE_FRAMES,   [MV_REF_STREAM] = MV_WIRE_STREAMS,
        [MV_REF_TAG] = MV_WIRE_TAGS,
    };
    return kinds[ref];
}

mv_child_range mv_table_child(const mv_table *table)
{
    switch (table->kind) {
    case MV_WIRE_SEGMENTS:
    case MV_WIRE_HOST_SEGMENTS:
        return (mv_child_range){MV_WIRE_BLOCKS, .first = 11, .count = 12};
    case MV_WIRE_BLOCKS:
        return (mv_child_range){MV_WIRE_HISTORY, .first = 6, .count = 7};
    default:
        return (mv_child_range){0};
    }
}

const void *mv_table_of(const mv_trace *trace, const mv_table *table, uint32_t device)
{
    switch (table->kind) {
    case MV_WIRE_STRINGS:
    case MV_WIRE_STRING_BYTES:
        return &trace->strings;
    case MV_WIRE_FRAMES:
        return &trace->frames;
    case MV_WIRE_FX:
        return &trace->fx;
    case MV_WIRE_STACKS:
    case MV_WIRE_STACK_FRAMES:
        return &trace->stacks;
    case MV_WIRE_STREAMS:
        return &trace->streams;
    case MV_WIRE_POOLS:
        return &trace->pools;
    case MV_WIRE_TAGS:
        return &trace->tags;
    case MV_WIRE_EVENTS:
        return &trace->devices[device].events;
    case MV_WIRE_HOST_EVENTS:
        return &trace->host_events;
    case MV_WIRE_SEGMENTS:
        return &trace->segments;
    case MV_WIRE_HOST_SEGMENTS:
        return &trace->host_segments;
    case MV_WIRE_BLOCKS:
        return &trace->blocks;
    case MV_WIRE_HISTORY:
        return &trace->history;
    case MV_WIRE_ANNOTATIONS:
        return &trace->annotations;
    case MV_WIRE_SETTINGS:
        return &trace->settings;
    case MV_WIRE_API_CALLS:
        return &trace->api_calls;
    case MV_WIRE_SAMPLES:
        return &trace->samples;
    default:
        return &trace->facts;
    }
}

uint64_t mv_table_rows(const mv_trace *trace, const mv_table *table, uint32_t device)
{
    const mv_strings *strings = &trace->strings;
    const mv_stacks *stacks = &trace->stacks;

    if (table->kind == MV_WIRE_STRING_BYTES)
        return strings->count ? strings->at[strings->count] : 0;
    if (table->kind == MV_WIRE_STACK_FRAMES)
        return stacks->count ? stacks->first[stacks->count] : 0;
    return *(const uint32_t *)mv_table_of(trace, table, device); /* all begin with `count` */
}

const void *mv_table_values(const mv_trace *trace, const mv_table *table, uint32_t device,
                            const mv_table_column *column)
{
    const char *values;

    memcpy(&values, (const char *)mv_table_of(trace, table, device) + column->at, sizeof values);
    return column->is_end ? values + column->size : values;
}
