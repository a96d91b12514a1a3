/* The tables and columns of the model as data, made from the lists in parse/model/trace.h. The
 * builder, the container, compact msgpack, `memviz dump`, the exports and the tests use these
 * tables, so that none of them lists the columns itself. */
#pragma once

#include "parse/model/trace.h"

enum {
    MV_TABLE_COLUMNS = 32
}; /* largest number of columns in a table; sets of columns have 32
                                 * bits */

typedef struct {
    const char *name;
    const char *what;    /* description, for docs: "who called; none: no stack was kept" */
    const char *msgpack; /* name of the column in compact msgpack, if different */
    const char *label;   /* name of the column in dumps, if different; "": only the value is
                          * written */
    const char *since;   /* the release that added the column, "0.2"; files of older releases do not
                          * contain it. NULL: files of all releases contain the column */
    uint64_t absent;     /* the value that means "unknown" */
    uint16_t at;         /* offset of the column's pointer in the table's struct */
    uint16_t row_at;     /* offset of the value in the builder's row, for tables with row structs */
    uint16_t of;         /* FIRST: kind of the table that contains the rows [first, first +
                          * count) */
    uint8_t number;      /* number of the column (mv_wire_column.column), which is 1 + its position
                          * in mv_model_table.columns */
    uint8_t kind;        /* mv_kind, which determines the next six members */
    uint8_t form;        /* mv_form */
    uint8_t size;        /* bytes of a value: 1, 4 or 8 */
    uint8_t transform;   /* mv_wire_transform */
    uint8_t ref;         /* mv_row_ref */
    uint8_t limit;       /* number of codes, if `ref` is MV_REF_CODE */
    bool is_end;         /* the column in the model has one additional entry: a leading 0 */
    int8_t rank;         /* position in a line of a dump; columns with lower ranks come first */
    bool is_rare;        /* omitted from dumps if the value is none, and from all exports */
    bool is_unlisted;    /* omitted from all exports */
    bool is_unshown;     /* dumps format the column in a special way */
} mv_table_column;

typedef struct {
    uint16_t kind;     /* mv_wire_kind */
    bool keeps_places; /* rows are referenced by number, so lost rows are kept, with unknown
                        * values */
    uint8_t column_count;
    uint32_t chunk_rows; /* rows per chunk in the container */
    uint16_t at;         /* offset of the table's struct in mv_trace; for EVENTS, offset of
                          * `devices` */
    uint16_t ends;       /* kind of the table whose first column contains the end of a range of rows
                          * of this table, whose rows are then counted in 64 bits; 0: none */
    const mv_table_column *columns; /* sorted by number */
    const uint8_t *order;           /* [column_count] positions in `columns`, in text order */
} mv_model_table;

extern const mv_model_table mv_tables[]; /* all tables in file order, ending with kind 0 */

const mv_model_table *mv_table_find(uint16_t kind); /* NULL if the kind is unknown, or has no
                                                     * table */
const char *mv_wire_kind_name(uint16_t kind);       /* "stack frames"; "?" if unknown */

/* Returns the kind of the table to which `ref` refers; 0 for none. */
uint16_t mv_ref_kind(mv_row_ref ref);

/* Returns the number of rows to which a reference may refer; for MV_REF_CALL, the number of
 * calls. */
uint64_t mv_ref_rows(const mv_trace *trace, mv_row_ref ref);

/* For a table whose rows each own a range of rows in another table: the other table's kind, and the
 * positions of the columns that contain the first row and the number of rows. For all other tables
 * the kind is 0. */
typedef struct {
    uint16_t kind;
    uint8_t first, count;
} mv_child_range;

mv_child_range mv_table_child(const mv_model_table *table);

/* Returns true if the next range lies in a table with `rows` rows. All ranges together may have at
 * most as many rows as the table, because loops over the ranges could otherwise take longer than
 * the size of the file justifies. *taken is the number of rows so far. */
static inline bool mv_child_take(uint64_t *taken, uint64_t rows, uint32_t first, uint32_t count)
{
    bool fits = (uint64_t)first + count <= rows && *taken + count <= rows;

    *taken += fits ? count : 0;
    return fits;
}

/* Returns the number of tables of this kind in a trace: one per device for EVENTS, one for all
 * other kinds. */
uint32_t mv_table_times(const mv_trace *trace, const mv_model_table *table);

/* Returns the struct in the trace that contains the table's columns, such as mv_events for the
 * EVENTS of `device`. Every struct of columns begins with `count`. */
const void *mv_table_of(const mv_trace *trace, const mv_model_table *table, uint32_t device);

uint64_t mv_table_rows(const mv_trace *trace, const mv_model_table *table, uint32_t device);

/* Returns a column's pointer in the table's struct. */
static inline void *mv_column_of(const void *rows, const mv_table_column *column)
{
    void *values = NULL;

    if (rows)
        memcpy(&values, (const char *)rows + column->at, sizeof values);
    return values;
}

static inline void mv_column_set(void *rows, const mv_table_column *column, void *values)
{
    memcpy((char *)rows + column->at, &values, sizeof values);
}

/* Copies a table, with space for `more` additional rows, which are zero. Returns false when out of
 * memory. Cannot be used for tables of ranges (is_end). */
bool mv_table_copy(mv_arena *arena, const mv_model_table *table, const void *rows, uint64_t more,
                   void *out);

/* Makes a struct for the rows [first, first + count) of a table, without copying values. */
void mv_table_cut(const mv_model_table *table, const void *rows, uint32_t first, uint32_t count,
                  void *out);
