#include "parse/msgpack/read_msgpack_columns.h"

/* More ordinals than any machine has devices: each costs every analysis a table of its own. */
enum { MOST_DEVICES = 4096, FIRST_ROOM = 4096 };

static_assert(MV_NO_ROW == (uint32_t)UINT64_MAX, "-1 in the file becomes MV_NO_ROW");

void mv_columns_start(mv_column_reader *r, const mv_compact_table *table, const char *name,
                      void *rows)
{
    r->table = table;
    r->name = name;
    r->rows = rows;
    memcpy(&r->base, (const char *)rows + table->count_offset, sizeof r->base);
    r->count = 0;
    r->finished = 0;
}

uint32_t mv_columns_find(const mv_column_reader *r, const char *name, uint64_t length)
{
    for (uint32_t i = 0; r->table->columns[i].name; i++)
        if (strlen(r->table->columns[i].name) == length &&
            memcmp(r->table->columns[i].name, name, length) == 0)
            return i;
    return MV_MOST_COLUMNS;
}

int mv_columns_open(mv_column_reader *r, uint32_t index, uint32_t count, uint64_t rows_of)
{
    const mv_compact_column *column = &r->table->columns[index];

    if (r->finished & (1u << index))
        return mv_msgpack_refuse(r->fault, MV_CORRUPT, "%s: column \"%s\" given twice", r->name,
                                 column->name);
    if (r->finished == 0)
        r->count = count;
    if (count != r->count)
        return mv_msgpack_refuse(r->fault, MV_CORRUPT, "%s: column \"%s\" has %u rows, others %u",
                                 r->name, column->name, count, r->count);
    if (count > UINT32_MAX - 1 - r->base)
        return mv_msgpack_refuse(r->fault, MV_LIMIT, "%s: %u rows", r->name, count);
    r->column = column;
    r->data = mv_compact_values(r->rows, column);
    r->at = r->room = r->base;
    r->end = r->base + count;
    r->cell = column->cell;
    r->bound = column->bound;
    r->last = 0;
    if (column->cell == MV_CELL_ROW)
        r->bound = rows_of;
    if (column->cell == MV_CELL_DEVICE)
        r->bound = MOST_DEVICES;
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
    grown = mv_arena_grow(r->arena, r->data, room * mv_compact_cell_bytes(r->cell));
    if (!grown)
        return mv_msgpack_refuse(r->fault, MV_NOMEM, "%s", "");
    mv_compact_set_values(r->rows, r->column, grown);
    r->data = grown;
    r->room = (uint32_t)room;
    return 0;
}

int mv_columns_refuse(mv_column_reader *r, mv_code code, const char *why)
{
    return mv_msgpack_refuse(r->fault, code, "%s: row %u of \"%s\" %s", r->name, r->at - r->base,
                             r->column->name, why);
}

int mv_columns_nil(mv_column_reader *r)
{
    if (r->at == r->room && mv_columns_grow(r) != 0)
        return -1;
    switch ((mv_cell_kind)r->cell) {
    case MV_CELL_BYTES:
        ((uint64_t *)r->data)[r->at++] = MV_NO_BYTES;
        return 0;
    case MV_CELL_TIME:
    case MV_CELL_DELTA:
        ((int64_t *)r->data)[r->at++] = MV_NO_TIME;
        return 0;
    default:
        return mv_columns_refuse(r, MV_TYPE, "is nil");
    }
}

int mv_columns_finish(mv_column_reader *r)
{
    uint32_t count = r->base + r->count;

    for (uint32_t i = 0; r->table->columns[i].name; i++)
        if (!(r->finished & (1u << i)))
            return mv_msgpack_refuse(r->fault, MV_CORRUPT, "%s: no column \"%s\"", r->name,
                                     r->table->columns[i].name);
    memcpy((char *)r->rows + r->table->count_offset, &count, sizeof count);
    return 0;
}
