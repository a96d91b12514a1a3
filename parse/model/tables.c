#include "parse/model/tables.h"

#include "parse/model/build.h"

enum { ROWS = 1 << 16, BYTES = 1 << 20 };

/* ---- columns ----------------------------------------------------------------------------- */

/* Properties of the kinds, as constants: FORM_STACK, REF_STACK, ... */
#define FORM(kind, type, form, ref, limit, transform)      FORM_##kind = MV_FORM_##form,
#define REF(kind, type, form, ref, limit, transform)       REF_##kind = MV_REF_##ref,
#define LIMIT(kind, type, form, ref, limit, transform)     LIMIT_##kind = limit,
#define TRANSFORM(kind, type, form, ref, limit, transform) TRANSFORM_##kind = MV_WIRE_##transform,
enum { MV_KIND_LIST(FORM) };
enum { MV_KIND_LIST(REF) };
enum { MV_KIND_LIST(LIMIT) };
enum { MV_KIND_LIST(TRANSFORM) };

/* A required row number cannot be none, so values that are missing from the file become row 0. */
#define ABSENT(kind, absent_value) \
    ((int)REF_##kind > MV_REF_CALL && (int)REF_##kind < MV_REF_CODE ? 0 : (uint64_t)(absent_value))

#define COLUMN(T, number_, name_, kind_, absent_, what_, ...)  \
    [(number_)-1] = {.number = number_,                        \
                     .name = #name_,                           \
                     .kind = MV_KIND_##kind_,                  \
                     .absent = ABSENT(kind_, absent_),         \
                     .what = what_,                            \
                     .at = offsetof(T##_table, name_),         \
                     .row_at = offsetof(T##_row, name_),       \
                     .form = FORM_##kind_,                     \
                     .size = sizeof(mv_value_of_##kind_),      \
                     .transform = TRANSFORM_##kind_,           \
                     .ref = REF_##kind_,                       \
                     .limit = LIMIT_##kind_,                   \
                     .is_end = MV_KIND_##kind_ == MV_KIND_END, \
                     __VA_ARGS__},
#define POSITION(T, number_, ...) (number_) - 1,

#define COLUMNS(T, table, row, list)                                              \
    typedef table T##_table;                                                      \
    typedef row T##_row;                                                          \
    static const mv_table_column T##_columns[] = {list(COLUMN, T)};               \
    static const uint8_t T##_order[] = {list(POSITION, T)};                       \
    static_assert(sizeof T##_columns / sizeof *T##_columns == sizeof T##_order && \
                      sizeof T##_order <= MV_TABLE_COLUMNS,                       \
                  "numbers of columns are from 1, without gaps");

COLUMNS(string, mv_strings, mv_strings, MV_STRING_COLUMNS)
COLUMNS(string_byte, mv_strings, mv_strings, MV_STRING_BYTE_COLUMNS)
COLUMNS(frame, mv_frames, mv_frame_row, MV_FRAME_COLUMNS)
COLUMNS(fx, mv_fx, mv_fx_row, MV_FX_COLUMNS)
COLUMNS(stack, mv_stacks, mv_stacks, MV_STACK_COLUMNS)
COLUMNS(stack_frame, mv_stacks, mv_stacks, MV_STACK_FRAME_COLUMNS)
COLUMNS(stream, mv_streams, mv_streams, MV_STREAM_COLUMNS)
COLUMNS(pool, mv_pools, mv_pools, MV_POOL_COLUMNS)
COLUMNS(tag, mv_tags, mv_tag_row, MV_TAG_COLUMNS)
COLUMNS(event, mv_events, mv_event_row, MV_EVENT_COLUMNS)
COLUMNS(segment, mv_segments, mv_segment_row, MV_SEGMENT_COLUMNS)
COLUMNS(block, mv_blocks, mv_block_row, MV_BLOCK_COLUMNS)
COLUMNS(history, mv_history, mv_history_row, MV_HISTORY_COLUMNS)
COLUMNS(annotation, mv_annotations, mv_annotation_row, MV_ANNOTATION_COLUMNS)
COLUMNS(setting, mv_settings, mv_setting_row, MV_SETTING_COLUMNS)
COLUMNS(api_call, mv_api_calls, mv_api_call_row, MV_API_CALL_COLUMNS)
COLUMNS(sample, mv_samples, mv_sample_row, MV_SAMPLE_COLUMNS)
COLUMNS(fact, mv_facts, mv_fact_row, MV_FACT_COLUMNS)
COLUMNS(tensor, mv_tensors, mv_tensor_row, MV_TENSOR_COLUMNS)
COLUMNS(heap_call, mv_heap_calls, mv_heap_call_row, MV_HEAP_CALL_COLUMNS)

/* ---- tables ------------------------------------------------------------------------------ */

#define TABLE(kind_, member, T, most, ...)                                   \
    [MV_WIRE_##kind_ - MV_WIRE_STRINGS] = {.kind = MV_WIRE_##kind_,          \
                                           .at = offsetof(mv_trace, member), \
                                           .columns = T##_columns,           \
                                           .column_count = sizeof T##_order, \
                                           .order = T##_order,               \
                                           .chunk_rows = (most),             \
                                           __VA_ARGS__}

const mv_model_table mv_tables[] = {
    TABLE(STRINGS, strings, string, ROWS, .keeps_places = true),
    TABLE(STRING_BYTES, strings, string_byte, BYTES, .keeps_places = true, .ends = MV_WIRE_STRINGS),
    TABLE(FRAMES, frames, frame, ROWS, .keeps_places = true),
    TABLE(FX, fx, fx, ROWS, .keeps_places = true),
    TABLE(STACKS, stacks, stack, ROWS, .keeps_places = true),
    TABLE(STACK_FRAMES, stacks, stack_frame, ROWS, .keeps_places = true, .ends = MV_WIRE_STACKS),
    TABLE(STREAMS, streams, stream, ROWS, .keeps_places = true),
    TABLE(POOLS, pools, pool, ROWS, .keeps_places = true),
    TABLE(TAGS, tags, tag, ROWS, .keeps_places = true),
    TABLE(EVENTS, devices, event, ROWS),
    TABLE(HOST_EVENTS, host_events, event, ROWS),
    TABLE(SEGMENTS, segments, segment, ROWS),
    TABLE(HOST_SEGMENTS, host_segments, segment, ROWS),
    TABLE(BLOCKS, blocks, block, ROWS, .keeps_places = true),
    TABLE(HISTORY, history, history, ROWS, .keeps_places = true),
    TABLE(ANNOTATIONS, annotations, annotation, ROWS),
    TABLE(SETTINGS, settings, setting, ROWS),
    TABLE(API_CALLS, api_calls, api_call, ROWS),
    TABLE(SAMPLES, samples, sample, ROWS),
    TABLE(FACTS, facts, fact, ROWS),
    TABLE(HEAP_CALLS, heap_calls, heap_call, ROWS),
    TABLE(TENSORS, tensors, tensor, ROWS),
    {0},
};

/* Files contain these numbers. */
static_assert(MV_ACTION_ALLOC == 0 && MV_ACTION_OOM == 7 && MV_ACTION_OTHER == 10 &&
                  MV_ACTION_COUNT == 11,
              "bump MV_WIRE_VERSION");
static_assert(MV_SEGMENT_UNKNOWN == 2 && MV_BLOCK_UNKNOWN == 3 && MV_STAGE_MARK == 3 &&
                  MV_SETTING_NONE == 4 && MV_API_ALLOC == 1 && MV_API_ACTION_COUNT == 33 &&
                  MV_HEAP_ACTION_COUNT == 5 && MV_TENSOR_NAMED == 4,
              "bump MV_WIRE_VERSION");

const mv_model_table *mv_table_find(uint16_t kind)
{
    if (kind < MV_WIRE_STRINGS || kind >= MV_WIRE_KINDS)
        return NULL;
    return &mv_tables[kind - MV_WIRE_STRINGS];
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

uint16_t mv_ref_kind(mv_row_ref ref)
{
    static const uint16_t kinds[MV_REF_COUNT] = {
        [MV_REF_STRING] = MV_WIRE_STRINGS, [MV_REF_FX] = MV_WIRE_FX,
        [MV_REF_STACK] = MV_WIRE_STACKS,   [MV_REF_POOL] = MV_WIRE_POOLS,
        [MV_REF_FRAME] = MV_WIRE_FRAMES,   [MV_REF_STREAM] = MV_WIRE_STREAMS,
        [MV_REF_TAG] = MV_WIRE_TAGS,
    };
    return kinds[ref];
}

uint64_t mv_ref_rows(const mv_trace *trace, mv_row_ref ref)
{
    if (ref == MV_REF_CALL)
        return trace->calls;
    return mv_ref_kind(ref) ? mv_table_rows(trace, mv_table_find(mv_ref_kind(ref)), 0) : 0;
}

mv_child_range mv_table_child(const mv_model_table *table)
{
    mv_child_range child = {0};

    for (uint8_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].kind == MV_KIND_FIRST) {
            child.kind = table->columns[i].of;
            child.first = i;
        } else if (table->columns[i].kind == MV_KIND_COUNT) {
            child.count = i;
        }
    }
    return child;
}

/* ---- table rows -------------------------------------------------------------------------- */

uint32_t mv_table_times(const mv_trace *trace, const mv_model_table *table)
{
    return table->kind == MV_WIRE_EVENTS ? trace->device_count : 1;
}

const void *mv_table_of(const mv_trace *trace, const mv_model_table *table, uint32_t device)
{
    if (table->kind == MV_WIRE_EVENTS)
        return &trace->devices[device].events;
    return (const char *)trace + table->at;
}

uint64_t mv_table_rows(const mv_trace *trace, const mv_model_table *table, uint32_t device)
{
    const void *rows = mv_table_of(trace, table, device);
    uint32_t count = *(const uint32_t *)rows;
    const uint64_t *ends;

    if (!table->ends || count == 0)
        return count;
    ends = mv_column_of(rows, mv_table_find(table->ends)->columns);
    return ends[count];
}

bool mv_table_copy(mv_arena *arena, const mv_model_table *table, const void *rows, uint64_t more,
                   void *out)
{
    uint32_t count;

    memcpy(&count, rows, sizeof count);
    memcpy(out, &count, sizeof count);
    for (uint8_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        void *from = mv_column_of(rows, column);
        void *values = mv_arena_push(arena, count + more, column->size);
        if (!values)
            return false;
        if (count)
            memcpy(values, from, (size_t)count * column->size);
        mv_column_set(out, column, values);
    }
    return true;
}

void mv_table_cut(const mv_model_table *table, const void *rows, uint32_t first, uint32_t count,
                  void *out)
{
    *(uint32_t *)out = count;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        char *values = mv_column_of(rows, column);
        mv_column_set(out, column, count ? values + (uint64_t)first * column->size : NULL);
    }
}
