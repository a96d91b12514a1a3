/* The tables and columns of the model as data, made from the lists in parse/model/trace.h. The
 * builder, the container, compact msgpack, `memviz dump`, the exports and the tests use them, so
 * that none of them lists the columns itself. */
#ifndef MV_TABLES_H
#define MV_TABLES_H

#include "parse/model/trace.h"

enum { MV_TABLE_COLUMNS = 32 }; /* most columns of a table, because column sets are 32-bit */

typedef struct {
    const char *name;
    const char *what;    /* description, for docs: "who called; none: no stack was kept" */
    const char *msgpack; /* its name in compact msgpack, if different */
    const char *label;   /* its name in dumps, if different; "": only the value is written */
    const char *since;   /* the release that added it, "0.2"; files of older releases do not contain
                          * the column. NULL: all releases have it */
    uint64_t absent;     /* the value that means "unknown" */
    uint16_t at;         /* offset of the column's pointer in the table's struct */
    uint16_t row_at;     /* offset of the value in the builder's row, for tables with row structs */
    uint16_t of;         /* FIRST: kind of the table with the rows [first, first + count) */
    uint8_t number;      /* mv_wire_column.column: 1 + the position in mv_model_table.columns */
    uint8_t kind;        /* mv_kind, which determines the next six members */
    uint8_t form;        /* mv_form */
    uint8_t size;        /* bytes of a value: 1, 4 or 8 */
    uint8_t transform;   /* mv_wire_transform */
    uint8_t ref;         /* mv_row_ref */
    uint8_t limit;       /* MV_REF_CODE: number of codes */
    bool is_end;         /* the model's column has one more entry: a leading 0 */
    int8_t rank;         /* position in a line of a dump: lower ones come first */
    bool is_rare;        /* omitted from dumps if none, and from all exports */
    bool is_unlisted;    /* omitted from exports */
    bool is_unshown;     /* dumps format it specially */
} mv_table_column;

typedef struct {
    uint16_t kind;     /* mv_wire_kind */
    bool keeps_places; /* rows are referenced by number: lost rows stay, as unknown ones */
    uint8_t column_count;
    uint32_t chunk_rows; /* rows per chunk in the container */
    uint16_t at;         /* offset of the table's struct in mv_trace; of `devices` for EVENTS */
    uint16_t ends;       /* kind of the table whose first column has, for each of its rows, the end
                          * of a range of rows here (counted in 64 bits); 0: none */
    const mv_table_column *columns; /* by number */
    const uint8_t *order;           /* [column_count] positions in `columns`, in text order */
} mv_model_table;

extern const mv_model_table mv_tables[]; /* ends with kind 0; in file order */

const mv_model_table *mv_table_find(uint16_t kind); /* NULL: no rows, or unknown */
const char *mv_wire_kind_name(uint16_t kind);       /* "stack frames"; "?" if unknown */

/* The kind of table that `ref` refers to; 0 for none. */
uint16_t mv_ref_kind(mv_row_ref ref);

/* The number of rows that a reference may use; for MV_REF_CALL, the number of calls. */
uint64_t mv_ref_rows(const mv_trace *trace, mv_row_ref ref);

/* For tables whose rows own a range of rows in another table: the positions of the columns with the
 * first row and the number of rows, and the other table's kind. Kind 0 for other tables. */
typedef struct {
    uint16_t kind;
    uint8_t first, count;
} mv_child_range;

mv_child_range mv_table_child(const mv_model_table *table);

/* Whether the next range lies in a table with `rows` rows. Together, all ranges may have at most as
 * many rows as the table (*taken so far); otherwise loops over them could take longer than the
 * file's size justifies. */
static inline bool mv_child_take(uint64_t *taken, uint64_t rows, uint32_t first, uint32_t count)
{
    bool fits = (uint64_t)first + count <= rows && *taken + count <= rows;

    *taken += fits ? count : 0;
    return fits;
}

/* Number of copies of the table in a trace: one per device for EVENTS, one for the others. */
uint32_t mv_table_times(const mv_trace *trace, const mv_model_table *table);

/* The struct in the trace with the table's columns, such as mv_events for EVENTS of `device`. Every
 * such struct begins with `count`. */
const void *mv_table_of(const mv_trace *trace, const mv_model_table *table, uint32_t device);

uint64_t mv_table_rows(const mv_trace *trace, const mv_model_table *table, uint32_t device);

/* The pointer of a column in the table's struct. */
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

/* The column's first value (after the leading 0 of an `is_end` column). */
const void *mv_table_values(const mv_trace *trace, const mv_model_table *table, uint32_t device,
                            const mv_table_column *column);

/* Copies a table's struct, with space for `more` rows of zeros. False when out of memory. Not for
 * tables of ranges (is_end). */
bool mv_table_copy(mv_arena *arena, const mv_model_table *table, const void *rows, uint64_t more,
                   void *out);

/* Makes a struct for the rows [first, first + count) of a table, without copying values. */
void mv_table_cut(const mv_model_table *table, const void *rows, uint32_t first, uint32_t count,
                  void *out);

#endif
