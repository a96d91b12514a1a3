#include "parse/msgpack/read_msgpack_columns.h"

enum { FIRST_ROOM = 4096 };

static_assert(MV_NO_ROW == (uint32_t)UINT64_MAX, "-1 in the file becomes MV_NO_ROW");

static const char *name_of(const mv_table_column *column)
{
    return column->msgpack ? column->msgpack : column->name;
}

void mv_columns_start(mv_column_reader *r, const mv_model_table *table, const char *name,
                      void *rows)
{
    r->table = table;
    r->name = name;
    r->rows = rows;
    r->base = *(const uint32_t *)rows; /* all tables begin with `count` */
    r->count = 0;
    r->finished = 0;
}

uint32_t mv_columns_find(const mv_model_table *table, const char *name, uint64_t length)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        const char *own = name_of(&table->columns[i]);
        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return i;
    }
    return MV_TABLE_COLUMNS;
}

int mv_columns_open(mv_column_reader *r, uint32_t index, uint32_t count, uint64_t rows_of)
{
    const mv_table_column *column = &r->table->columns[index];

    if (r->finished & (1u << index))
        return mv_msgpack_refuse(r->fault, MV_CORRUPT, "%s: column \"%s\" given twice", r->name,
                                 name_of(column));
    if (r->finished == 0)
        r->count = count;
    if (count != r->count)
        return mv_msgpack_refuse(r->fault, MV_CORRUPT, "%s: column \"%s\" has %u rows, others %u",
                                 r->name, name_of(column), count, r->count);
    if (count > UINT32_MAX - 1 - r->base)
        return mv_msgpack_refuse(r->fault, MV_LIMIT, "%s: %u rows", r->name, count);
    r->column = column;
    r->data = mv_column_of(r->rows, column);
    r->at = r->room = r->base;
    r->end = r->base + count;
    r->form = column->form;
    r->bound = column->limit;
    r->last = 0;
    if (column->form == MV_FORM_ROW)
        r->bound = rows_of;
    r->finished |= 1u << index;
    return 0;
}

int mv_columns_grow(mv_column_reader *r)
{
    uint64_t more = r->at - r->base;
    uint64_t room;
    void *grown;

    if (more < FIRST_ROOM)
        more = FIRST_ROOM;
    room = r->at + more < r->end ? r->at + more : r->end;
    grown = mv_arena_grow(r->arena, r->data, room * r->column->size);
    if (!grown)
        return mv_msgpack_refuse(r->fault, MV_NOMEM, "%s", "");
    mv_column_set(r->rows, r->column, grown);
    r->data = grown;
    r->room = (uint32_t)room;
    return 0;
}

int mv_columns_refuse(mv_column_reader *r, mv_code code, const char *why)
{
    return mv_msgpack_refuse(r->fault, code, "%s: row %u of \"%s\" %s", r->name, r->at - r->base,
                             name_of(r->column), why);
}

int mv_columns_nil(mv_column_reader *r)
{
    if (r->at == r->room && mv_columns_grow(r) != 0)
        return -1;
    switch ((mv_form)r->form) {
    case MV_FORM_BYTES:
        ((uint64_t *)r->data)[r->at++] = MV_NO_BYTES;
        return 0;
    case MV_FORM_TIME:
    case MV_FORM_DELTA:
        ((int64_t *)r->data)[r->at++] = MV_NO_TIME;
        return 0;
    default:
        return mv_columns_refuse(r, MV_TYPE, "is nil");
    }
}

/* Fills a column that did not exist when the file was written. */
static int fill_absent(mv_column_reader *r, uint32_t index)
{
    const mv_table_column *column = &r->table->columns[index];

    if (!column->since)
        return mv_msgpack_refuse(r->fault, MV_CORRUPT, "%s: no column \"%s\"", r->name,
                                 name_of(column));
    if (mv_columns_open(r, index, r->count, 0) != 0)
        return -1;
    for (; r->at < r->end; r->at++) {
        if (r->at == r->room && mv_columns_grow(r) != 0)
            return -1;
        memcpy((char *)r->data + (uint64_t)r->at * column->size, &column->absent, column->size);
    }
    return 0;
}

int mv_columns_finish(mv_column_reader *r)
{
    for (uint32_t i = 0; i < r->table->column_count; i++) {
        uint32_t index = r->table->order[i];
        if (!(r->finished & (1u << index)) && fill_absent(r, index) != 0)
            return -1;
    }
    *(uint32_t *)r->rows = r->base + r->count;
    return 0;
}
