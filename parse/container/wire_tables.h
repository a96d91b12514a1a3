/* Which column of the model is which column of the container: one row here for each, read by the
 * writer, the reader and its checks alike. Adding a column to the model means adding a row in
 * wire_tables.c and in docs/snapshot-format.md. */
#ifndef MV_WIRE_TABLES_H
#define MV_WIRE_TABLES_H

#include "capture/wire.h"
#include "parse/model/trace.h"

enum { MV_TABLE_COLUMNS = 16 }; /* most columns of a table */

/* What a column's numbers point at. */
typedef enum {
    MV_REF_NONE,
    MV_REF_STRING,
    MV_REF_FX,
    MV_REF_STACK,
    MV_REF_POOL,
    MV_REF_CALL, /* up to here MV_NO_ROW is allowed */
    MV_REF_FRAME,
    MV_REF_STREAM,
    MV_REF_TAG,
    MV_REF_ENUM, /* smaller than `limit` */
    MV_REF_COUNT
} mv_ref;

typedef struct {
    uint16_t number; /* mv_wire_column.column, from 1 */
    uint8_t size;    /* bytes of a value: 1, 4 or 8 */
    uint8_t transform;
    uint8_t ref;     /* mv_ref */
    uint8_t limit;   /* MV_REF_ENUM: number of values */
    bool is_end;     /* ends of ranges: the model's column has one entry more, a 0 ahead */
    uint16_t at;     /* offset of the column's pointer in the table's struct */
    uint64_t absent; /* the value that says "unknown" */
} mv_table_column;

typedef struct {
    uint16_t kind;     /* mv_wire_kind */
    bool keeps_places; /* others name its rows by number: lost rows stay, as unknown ones */
    uint8_t column_count;
    uint32_t chunk_rows; /* rows that the writer puts in a chunk */
    const mv_table_column *columns;
} mv_table;

extern const mv_table mv_tables[]; /* ends with kind 0; the order of a file */

const mv_table *mv_table_find(uint16_t kind); /* NULL: holds no rows, or not known */
const char *mv_wire_kind_name(uint16_t kind); /* "stack frames"; "?" when not known */

/* The table that `ref` points into, as a kind; 0 for none. */
uint16_t mv_ref_kind(mv_ref ref);

static inline bool mv_ref_may_be_none(uint8_t ref)
{
    return ref <= MV_REF_CALL;
}

/* Tables whose rows own a range of rows of another: columns (counted from 0) with the first row and
 * the number of rows, and the other table's kind; kind 0 for tables that own none. */
typedef struct {
    uint16_t kind;
    uint8_t first, count;
} mv_child_range;

mv_child_range mv_table_child(const mv_table *table);

/* The struct in the trace that holds the table's columns: mv_events for EVENTS of `device`. */
const void *mv_table_of(const mv_trace *trace, const mv_table *table, uint32_t device);

uint64_t mv_table_rows(const mv_trace *trace, const mv_table *table, uint32_t device);

/* The column's first value (behind the leading 0 of an `is_end` column). */
const void *mv_table_values(const mv_trace *trace, const mv_table *table, uint32_t device,
                            const mv_table_column *column);

#endif
