/* Fills tables from the columns of a compact msgpack file, one number at a time. Columns grow as
 * numbers arrive, because a length in the file cannot be trusted. */
#pragma once

#include "parse/model/tables.h"
#include "parse/msgpack/read_msgpack.h"

typedef struct {
    mv_arena *arena; /* owns the columns */
    mv_msgpack_fault *fault;

    const mv_model_table *table;
    const char *name;  /* name of the table, for messages */
    void *rows;        /* the table's struct; new rows are appended */
    uint32_t base;     /* number of rows that the table had before */
    uint32_t count;    /* number of rows in the file, which is the length of the first column */
    uint32_t finished; /* set of filled columns */

    /* the column that is being filled */
    const mv_table_column *column;
    void *data;     /* the column's values, starting at row 0 of the table */
    uint32_t at;    /* row that is filled next */
    uint32_t end;   /* row after the last row of this column */
    uint32_t room;  /* capacity of `data` in rows */
    uint8_t form;   /* mv_form */
    uint64_t bound; /* CODE, ROW: smallest number that is out of range */
    uint64_t last;  /* DELTA: the last time in the column that was not nil */
} mv_column_reader;

/* Starts a table. The table's columns may come in any order. */
void mv_columns_start(mv_column_reader *r, const mv_model_table *table, const char *name,
                      void *rows);

/* Returns the position of the column with this name; MV_TABLE_COLUMNS if there is none. */
uint32_t mv_columns_find(const mv_model_table *table, const char *name, uint64_t length);

/* Begins the array of column `index`. `rows_of` is the number of rows in the table to which the
 * column's row numbers refer. This function and the functions below return 0, or -1 after setting
 * the fault. */
int mv_columns_open(mv_column_reader *r, uint32_t index, uint32_t count, uint64_t rows_of);

/* Ends the table. Columns added by releases newer than the file may be missing; all others must be
 * present. */
int mv_columns_finish(mv_column_reader *r);

int mv_columns_nil(mv_column_reader *r);
int mv_columns_grow(mv_column_reader *r);
int mv_columns_refuse(mv_column_reader *r, mv_code code, const char *why);

/* Adds the next number. A negative number is given as its two's complement. */
static inline int mv_columns_number(mv_column_reader *r, bool negative, uint64_t bits)
{
    if (r->at == r->room && mv_columns_grow(r) != 0)
        return -1;
    switch ((mv_form)r->form) {
    case MV_FORM_BYTES:
        if (negative)
            return mv_columns_refuse(r, MV_RANGE, "is negative");
        ((uint64_t *)r->data)[r->at++] = bits;
        return 0;
    case MV_FORM_DELTA:
        r->last += bits;
        ((int64_t *)r->data)[r->at++] = (int64_t)r->last;
        return 0;
    case MV_FORM_TIME:
        if (!negative && bits > INT64_MAX)
            return mv_columns_refuse(r, MV_RANGE, "is too large");
        ((int64_t *)r->data)[r->at++] = (int64_t)bits;
        return 0;
    case MV_FORM_CODE:
        if (bits >= r->bound)
            return mv_columns_refuse(r, MV_RANGE, "is not a known code");
        ((uint8_t *)r->data)[r->at++] = (uint8_t)bits;
        return 0;
    case MV_FORM_ROW:
        if (bits >= r->bound &&
            !(mv_ref_may_be_none(r->column->ref) && negative && bits == UINT64_MAX))
            return mv_columns_refuse(r, MV_RANGE, "is not a row of its table");
        ((uint32_t *)r->data)[r->at++] = (uint32_t)bits;
        return 0;
    case MV_FORM_COUNT:
        if (bits > UINT32_MAX)
            return mv_columns_refuse(r, MV_RANGE, "is not a row count");
        ((uint32_t *)r->data)[r->at++] = (uint32_t)bits;
        return 0;
    case MV_FORM_INT:
        if (bits + ((uint64_t)1 << 31) > UINT32_MAX)
            return mv_columns_refuse(r, MV_RANGE, "is too large");
        ((int32_t *)r->data)[r->at++] = (int32_t)bits;
        return 0;
    case MV_FORM_DEVICE:
        if (!mv_is_ordinal((int64_t)bits))
            return mv_columns_refuse(r, MV_RANGE, "is not a device ordinal");
        ((int32_t *)r->data)[r->at++] = (int32_t)bits;
        return 0;
    case MV_FORM_NONE:
        break;
    }
    return -1;
}
