/* The compact msgpack form (docs/msgpack-format.md): its names and its tables of columns. Writer
 * and reader both go by what stands here, so a column is added in one place.
 *
 * A table is a map from column names to arrays of equal length. Row numbers are written as they
 * are in the model, "none" as -1; a size, address or time that the file did not have is nil. */
#ifndef MV_COMPACT_H
#define MV_COMPACT_H

#include "parse/model/trace.h"

#define MV_COMPACT_FORMAT  "memviz-compact"
#define MV_COMPACT_VERSION 1

/* Keys of the root map in the order in which they are written. What a row number points to stands
 * before it, so that a reader can check each number as it comes. */
#define MV_SECTION_LIST(X)                      \
    X(FORMAT, "format")                         \
    X(VERSION, "version")                       \
    X(NAMES, "names")                           \
    X(STRINGS, "strings")                       \
    X(FRAMES, "frames")                         \
    X(STACKS, "stacks")                         \
    X(STREAMS, "streams")                       \
    X(POOLS, "pools")                           \
    X(TAGS, "tags")                             \
    X(CALLS, "calls")                           \
    X(KEYS, "keys")                             \
    X(HISTORY, "history")                       \
    X(BLOCKS, "blocks")                         \
    X(SEGMENTS, "segments")                     \
    X(HOST_SEGMENTS, "host_segments")           \
    X(DEVICE_TRACES, "device_traces")           \
    X(HOST_TRACES, "host_traces")               \
    X(ALLOCATOR_SETTINGS, "allocator_settings") \
    X(ANNOTATIONS, "external_annotations")      \
    X(API_CALLS, "api_calls")                   \
    X(SAMPLES, "samples")                       \
    X(FACTS, "facts")                           \
    X(NOTES, "notes")

typedef enum {
#define MV_SECTION_ENUM(name, text) MV_SECTION_##name,
    MV_SECTION_LIST(MV_SECTION_ENUM)
#undef MV_SECTION_ENUM
        MV_SECTION_COUNT
} mv_compact_section;

/* How a column's numbers stand in memory and in the file. */
typedef enum {
    MV_CELL_BYTES,  /* uint64_t; MV_NO_BYTES is nil */
    MV_CELL_TIME,   /* int64_t; MV_NO_TIME is nil */
    MV_CELL_DELTA,  /* int64_t, written as the difference (modulo 2^64) to the last time before it
                     * that was there, 0 at first; MV_NO_TIME is nil */
    MV_CELL_DEVICE, /* int32_t, -1 or more */
    MV_CELL_INT,    /* int32_t */
    MV_CELL_CODE,   /* uint8_t below `bound` */
    MV_CELL_COUNT,  /* uint32_t */
    MV_CELL_ROW     /* uint32_t below the count of table `bound`; MV_NO_ROW is -1 if `optional` */
} mv_cell_kind;

typedef struct {
    const char *name;
    uint16_t offset; /* of the column's pointer in its table */
    uint8_t cell;    /* mv_cell_kind */
    uint8_t bound;   /* CODE: first code that is none; ROW: mv_compact_section of the table */
    uint8_t optional;
} mv_compact_column;

typedef struct {
    const mv_compact_column *columns; /* ends with a NULL name */
    uint16_t count_offset;            /* of `count` in the table */
} mv_compact_table;

extern const mv_compact_table mv_compact_events, mv_compact_segments, mv_compact_blocks,
    mv_compact_history, mv_compact_annotations, mv_compact_api_calls, mv_compact_samples,
    mv_compact_facts;

enum { MV_MOST_COLUMNS = 16 };

/* The column's values in `table`, and putting others there. */
static inline void *mv_compact_values(const void *table, const mv_compact_column *column)
{
    void *data;
    memcpy(&data, (const char *)table + column->offset, sizeof data);
    return data;
}

static inline void mv_compact_set_values(void *table, const mv_compact_column *column, void *data)
{
    memcpy((char *)table + column->offset, &data, sizeof data);
}

uint64_t mv_compact_cell_bytes(mv_cell_kind cell); /* size in memory: 1, 4 or 8 */

const char *mv_compact_section_name(mv_compact_section section);

/* Fields of a tag, by their names in the file: a string, a stack or a pool. */
typedef struct {
    const char *name;
    uint16_t offset; /* in mv_tags, of the column's pointer */
    uint16_t field;  /* in mv_tag_row */
    uint8_t of;      /* mv_compact_section of the table that it points to */
} mv_compact_tag_field;

extern const mv_compact_tag_field mv_compact_tag_fields[]; /* ends with a NULL name */

#endif
