#include "parse/msgpack/compact.h"

#include "parse/model/build.h"

#define COLUMN(table, column, name, cell, bound, optional)   \
    {                                                        \
        name, offsetof(table, column), cell, bound, optional \
    }
#define BYTES(table, column, name)       COLUMN(table, column, name, MV_CELL_BYTES, 0, 0)
#define COUNT(table, column, name)       COLUMN(table, column, name, MV_CELL_COUNT, 0, 0)
#define DEVICE(table, column, name)      COLUMN(table, column, name, MV_CELL_DEVICE, 0, 0)
#define CODE(table, column, name, bound) COLUMN(table, column, name, MV_CELL_CODE, bound, 0)
#define ROW(table, column, name, of)     COLUMN(table, column, name, MV_CELL_ROW, MV_SECTION_##of, 0)
#define ROW_OR_NONE(table, column, name, of) \
    COLUMN(table, column, name, MV_CELL_ROW, MV_SECTION_##of, 1)

static const mv_compact_column event_columns[] = {
    CODE(mv_events, action, "action", MV_ACTION_COUNT),
    BYTES(mv_events, addr, "addr"),
    BYTES(mv_events, size, "size"),
    ROW(mv_events, stream, "stream", STREAMS),
    COLUMN(mv_events, time_us, "time_delta_us", MV_CELL_DELTA, 0, 0),
    ROW_OR_NONE(mv_events, stack, "stack", STACKS),
    ROW_OR_NONE(mv_events, call, "call", CALLS),
    ROW(mv_events, tag, "tag", TAGS),
    {0},
};

static const mv_compact_column segment_columns[] = {
    DEVICE(mv_segments, device, "device"),
    BYTES(mv_segments, address, "address"),
    BYTES(mv_segments, total_size, "total_size"),
    BYTES(mv_segments, allocated, "allocated_size"),
    BYTES(mv_segments, active, "active_size"),
    BYTES(mv_segments, requested, "requested_size"),
    ROW(mv_segments, stream, "stream", STREAMS),
    CODE(mv_segments, kind, "segment_type", MV_SEGMENT_UNKNOWN + 1),
    ROW_OR_NONE(mv_segments, pool, "segment_pool", POOLS),
    CODE(mv_segments, is_expandable, "is_expandable", 2),
    ROW_OR_NONE(mv_segments, stack, "stack", STACKS),
    ROW_OR_NONE(mv_segments, call, "call", CALLS),
    ROW_OR_NONE(mv_segments, forward, "forward_stack", STACKS),
    COUNT(mv_segments, first_block, "first_block"),
    COUNT(mv_segments, blocks, "blocks"),
    {0},
};

static const mv_compact_column block_columns[] = {
    BYTES(mv_blocks, address, "address"),
    BYTES(mv_blocks, size, "size"),
    BYTES(mv_blocks, requested, "requested_size"),
    CODE(mv_blocks, state, "state", MV_BLOCK_UNKNOWN + 1),
    ROW_OR_NONE(mv_blocks, stack, "stack", STACKS),
    ROW_OR_NONE(mv_blocks, call, "call", CALLS),
    ROW_OR_NONE(mv_blocks, forward, "forward_stack", STACKS),
    COUNT(mv_blocks, first_history, "first_history"),
    COUNT(mv_blocks, histories, "histories"),
    {0},
};

static const mv_compact_column history_columns[] = {
    BYTES(mv_history, addr, "addr"),
    BYTES(mv_history, real_size, "real_size"),
    ROW_OR_NONE(mv_history, stack, "stack", STACKS),
    ROW_OR_NONE(mv_history, call, "call", CALLS),
    ROW_OR_NONE(mv_history, cpp, "cpp_stack", STACKS),
    {0},
};

static const mv_compact_column annotation_columns[] = {
    ROW_OR_NONE(mv_annotations, name, "name", STRINGS),
    CODE(mv_annotations, stage, "stage", MV_STAGE_MARK + 1),
    DEVICE(mv_annotations, device, "device"),
    COLUMN(mv_annotations, time_us, "time_us", MV_CELL_TIME, 0, 0),
    {0},
};

static const mv_compact_column api_call_columns[] = {
    CODE(mv_api_calls, action, "action", MV_API_ACTION_COUNT),
    ROW_OR_NONE(mv_api_calls, api, "api", STRINGS),
    ROW_OR_NONE(mv_api_calls, library, "library", STRINGS),
    DEVICE(mv_api_calls, device, "device"),
    COLUMN(mv_api_calls, result, "result", MV_CELL_INT, 0, 0),
    BYTES(mv_api_calls, addr, "addr"),
    BYTES(mv_api_calls, size, "size"),
    BYTES(mv_api_calls, handle, "handle"),
    COLUMN(mv_api_calls, time_us, "time_us", MV_CELL_TIME, 0, 0),
    ROW_OR_NONE(mv_api_calls, stack, "stack", STACKS),
    COUNT(mv_api_calls, event, "event"),
    {0},
};

static const mv_compact_column sample_columns[] = {
    DEVICE(mv_samples, device, "device"),
    COLUMN(mv_samples, time_us, "time_us", MV_CELL_TIME, 0, 0),
    BYTES(mv_samples, used, "used"),
    BYTES(mv_samples, total, "total"),
    BYTES(mv_samples, process, "process"),
    {0},
};

static const mv_compact_column fact_columns[] = {
    ROW_OR_NONE(mv_facts, key, "key", STRINGS),
    ROW_OR_NONE(mv_facts, value, "value", STRINGS),
    {0},
};

const mv_compact_table mv_compact_events = {event_columns, offsetof(mv_events, count)};
const mv_compact_table mv_compact_segments = {segment_columns, offsetof(mv_segments, count)};
const mv_compact_table mv_compact_blocks = {block_columns, offsetof(mv_blocks, count)};
const mv_compact_table mv_compact_history = {history_columns, offsetof(mv_history, count)};
const mv_compact_table mv_compact_annotations = {annotation_columns,
                                                 offsetof(mv_annotations, count)};
const mv_compact_table mv_compact_api_calls = {api_call_columns, offsetof(mv_api_calls, count)};
const mv_compact_table mv_compact_samples = {sample_columns, offsetof(mv_samples, count)};
const mv_compact_table mv_compact_facts = {fact_columns, offsetof(mv_facts, count)};

#define TAG_FIELD(field, name, of)                                                   \
    {                                                                                \
        name, offsetof(mv_tags, field), offsetof(mv_tag_row, field), MV_SECTION_##of \
    }

const mv_compact_tag_field mv_compact_tag_fields[] = {
    TAG_FIELD(compile_context, "compile_context", STRINGS),
    TAG_FIELD(user_metadata, "user_metadata", STRINGS),
    TAG_FIELD(internal_metadata, "internal_metadata", STRINGS),
    TAG_FIELD(category, "category", STRINGS),
    TAG_FIELD(action, "action", STRINGS),
    TAG_FIELD(forward, "forward_stack", STACKS),
    TAG_FIELD(cpp, "cpp_stack", STACKS),
    TAG_FIELD(pool, "pool", POOLS),
    {0},
};

uint64_t mv_compact_cell_bytes(mv_cell_kind cell)
{
    switch (cell) {
    case MV_CELL_CODE:
        return 1;
    case MV_CELL_DEVICE:
    case MV_CELL_INT:
    case MV_CELL_COUNT:
    case MV_CELL_ROW:
        return 4;
    default:
        return 8;
    }
}

const char *mv_compact_section_name(mv_compact_section section)
{
    static const char *const names[MV_SECTION_COUNT] = {
#define MV_SECTION_NAME(name, text) text,
        MV_SECTION_LIST(MV_SECTION_NAME)
#undef MV_SECTION_NAME
    };
    return section < MV_SECTION_COUNT ? names[section] : "?";
}
