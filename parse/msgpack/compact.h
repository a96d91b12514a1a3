/* The compact msgpack form (docs/internals/msgpack-format.md): the names of its parts and of the
 * tables in them. Columns come from the model's own table (parse/model/tables.h).
 *
 * A table is a map from column names to arrays of equal length. Row numbers are written as they
 * are in the model, "none" as -1; a size, address or time that the file did not have is nil. */
#ifndef MV_COMPACT_H
#define MV_COMPACT_H

#include "parse/model/tables.h"

#define MV_COMPACT_FORMAT  "memviz-compact"
#define MV_COMPACT_VERSION 1

/* Keys of the root map in the order in which they are written, and the tables in them. What a row
 * number points to comes before it, so that a reader can check each number as it comes. */
#define MV_SECTION_LIST(X)                                      \
    X(FORMAT, "format", 0)                                      \
    X(VERSION, "version", 0)                                    \
    X(NAMES, "names", 0)                                        \
    X(STRINGS, "strings", MV_WIRE_STRINGS)                      \
    X(FRAMES, "frames", MV_WIRE_FRAMES)                         \
    X(STACKS, "stacks", MV_WIRE_STACKS)                         \
    X(STREAMS, "streams", MV_WIRE_STREAMS)                      \
    X(POOLS, "pools", MV_WIRE_POOLS)                            \
    X(TAGS, "tags", MV_WIRE_TAGS)                               \
    X(CALLS, "calls", 0)                                        \
    X(KEYS, "keys", 0)                                          \
    X(HISTORY, "history", MV_WIRE_HISTORY)                      \
    X(BLOCKS, "blocks", MV_WIRE_BLOCKS)                         \
    X(SEGMENTS, "segments", MV_WIRE_SEGMENTS)                   \
    X(HOST_SEGMENTS, "host_segments", MV_WIRE_HOST_SEGMENTS)    \
    X(DEVICE_TRACES, "device_traces", MV_WIRE_EVENTS)           \
    X(HOST_TRACES, "host_traces", MV_WIRE_HOST_EVENTS)          \
    X(ALLOCATOR_SETTINGS, "allocator_settings", 0)              \
    X(ANNOTATIONS, "external_annotations", MV_WIRE_ANNOTATIONS) \
    X(TENSORS, "tensors", MV_WIRE_TENSORS)                      \
    X(API_CALLS, "api_calls", MV_WIRE_API_CALLS)                \
    X(HEAP_CALLS, "heap_calls", MV_WIRE_HEAP_CALLS)             \
    X(SAMPLES, "samples", MV_WIRE_SAMPLES)                      \
    X(FACTS, "facts", MV_WIRE_FACTS)                            \
    X(NOTES, "notes", 0)

typedef enum {
#define MV_SECTION_ENUM(name, text, table) MV_SECTION_##name,
    MV_SECTION_LIST(MV_SECTION_ENUM)
#undef MV_SECTION_ENUM
        MV_SECTION_COUNT
} mv_compact_section;

const char *mv_compact_section_name(mv_compact_section section);

/* The table whose rows the section has; NULL: none. */
const mv_model_table *mv_compact_table(mv_compact_section section);

/* The section that has the rows a reference names: "strings"; "calls" for calls. */
const char *mv_compact_ref_name(mv_row_ref ref);

/* The name of a column in a compact file. */
static inline const char *mv_compact_column_name(const mv_table_column *column)
{
    return column->msgpack ? column->msgpack : column->name;
}

#endif
