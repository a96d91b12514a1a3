/* Repairs the tables of damaged files. Other files are never passed to this code, so it is simple
 * rather than fast. */
#include "parse/container/wire_load.h"

/* ---- lost rows --------------------------------------------------------------------------- */

static bool mark_lost(mv_load *load, mv_load_table *t)
{
    t->lost = mv_arena_push(&load->scratch, t->rows, 1);
    if (!t->lost)
        return false;
    memset(t->lost, 1, t->rows);
    for (uint32_t i = 0; i < t->chunk_count; i++)
        if (t->chunks[i].lost == MV_OK)
            memset(t->lost + t->chunks[i].head.first_row, 0, t->chunks[i].head.count);
    return true;
}

static void set_absent(mv_load_table *t, uint32_t column, uint64_t row)
{
    const mv_table_column *c = &t->layout->columns[column];

    memcpy(mv_load_value(t, column, row), &c->absent, c->size); /* little-endian */
}

static void blank_lost(mv_load_table *t)
{
    for (uint32_t c = 0; c < t->layout->column_count; c++)
        for (uint64_t row = 0; row < t->rows && !t->layout->columns[c].is_end; row++)
            if (t->lost[row])
                set_absent(t, c, row);
}

/* Removes lost rows from a table whose rows are not referenced by number, by moving later rows
 * up. */
static void drop_lost(mv_load_table *t)
{
    uint64_t kept = 0;

    for (uint32_t i = 0; i < t->chunk_count; i++) {
        const mv_wire_chunk *head = &t->chunks[i].head;
        if (t->chunks[i].lost != MV_OK)
            continue;
        for (uint32_t c = 0; c < t->layout->column_count; c++)
            memmove(mv_load_value(t, c, kept), mv_load_value(t, c, head->first_row),
                    (uint64_t)head->count * t->layout->columns[c].size);
        kept += head->count;
    }
    t->rows = kept;
    memset(t->lost, 0, kept);
}

/* ---- tables whose rows are ranges of another --------------------------------------------- */

typedef struct {
    uint64_t begin, end;
} row_range;

/* Finds the range of `row`, whose chunk is intact. Returns false if the range lies outside the
 * other table, starts before `floor` (the end of the previous range), or contains lost rows. */
static bool good_range(const mv_load_table *t, const mv_chunk *chunk, uint64_t row,
                       const mv_load_table *of, uint64_t floor, row_range *range)
{
    const uint64_t *ends = t->columns[0];

    range->begin = row == chunk->head.first_row ? chunk->begin : ends[row];
    range->end = ends[row + 1];
    if (range->begin < floor || range->begin > range->end || range->end > of->rows)
        return false;
    return range->begin == range->end ||
           !memchr(of->lost + range->begin, 1, range->end - range->begin);
}

typedef struct {
    mv_load_table *t, *of;
    uint64_t *ends;  /* the new t->columns[0] */
    uint8_t *values; /* the new of->columns[0] */
    uint64_t at;     /* number of values copied so far */
    uint64_t least;  /* minimum number of values in a row: 1 for texts, which end in NUL */
    uint64_t floor;
} rebuild;

static void rebuild_row(rebuild *r, const mv_chunk *chunk, uint64_t row)
{
    uint64_t size = r->of->layout->columns[0].size;
    row_range range;
    bool good = chunk && chunk->lost == MV_OK &&
                good_range(r->t, chunk, row, r->of, r->floor, &range) &&
                range.end - range.begin >= r->least;

    r->t->lost[row] = !good;
    if (good) {
        memcpy(r->values + r->at * size, mv_load_value(r->of, 0, range.begin),
               (range.end - range.begin) * size);
        r->at += range.end - range.begin;
        r->floor = range.end;
    } else {
        r->at += r->least;
    }
    if (r->least)
        r->values[r->at - 1] = 0;
    r->ends[row + 1] = r->at;
}

/* Copies the values of the good ranges to new columns; the ranges of all other rows become
 * empty. */
static bool rebuild_ranges(mv_load *load, uint16_t kind, uint16_t of_kind, uint64_t least)
{
    rebuild r = {.t = mv_load_find(load, kind), .of = mv_load_find(load, of_kind), .least = least};
    uint64_t row = 0;

    r.ends = mv_push_array(load->arena, uint64_t, r.t->rows + 2);
    r.values =
        mv_arena_push(load->arena, r.of->rows + r.t->rows + 1, r.of->layout->columns[0].size);
    if (!r.ends || !r.values)
        return false;
    for (uint32_t i = 0; i < r.t->chunk_count; i++) {
        const mv_chunk *chunk = &r.t->chunks[i];
        for (; row < chunk->head.first_row; row++)
            rebuild_row(&r, NULL, row);
        for (; row < chunk->head.first_row + chunk->head.count; row++)
            rebuild_row(&r, chunk, row);
    }
    for (; row < r.t->rows; row++)
        rebuild_row(&r, NULL, row);
    r.t->columns[0] = r.ends;
    r.of->columns[0] = r.values;
    r.of->rows = r.at;
    return true;
}

/* ---- references to lost rows ------------------------------------------------------------- */

/* Returns the replacement for a reference to a lost row: none, the plain tag, or one row at the end
 * of the table that all references to lost rows share. */
static uint32_t unknown_row(mv_load *load, mv_row_ref ref, mv_load_table *to)
{
    if (mv_ref_may_be_none(ref))
        return MV_NO_ROW;
    if (ref == MV_REF_TAG)
        return 0;
    if (load->unknown[ref] == 0) {
        for (uint32_t c = 0; c < to->layout->column_count; c++)
            set_absent(to, c, to->rows);
        load->unknown[ref] = ++to->rows;
    }
    return load->unknown[ref] - 1;
}

static void repair_ids(mv_load *load, mv_load_table *t, uint32_t column)
{
    mv_row_ref ref = (mv_row_ref)t->layout->columns[column].ref;
    mv_load_table *to = mv_load_find(load, mv_ref_kind(ref));
    uint32_t *ids = t->columns[column];
    bool may_be_none = mv_ref_may_be_none(ref);

    for (uint64_t i = 0; i < t->rows; i++) {
        bool known = ids[i] < to->rows && (!may_be_none || !to->lost[ids[i]]);
        if (!known && !(may_be_none && ids[i] == MV_NO_ROW))
            ids[i] = unknown_row(load, ref, to);
    }
}

/* If the TRACE chunk is lost, determines the number of calls from the calls that occur in the
 * events. */
static void repair_calls(mv_load *load, mv_load_table *t, uint32_t column)
{
    uint32_t *calls = t->columns[column];

    for (uint64_t i = 0; i < t->rows; i++) {
        if (calls[i] == MV_NO_CALL || calls[i] < load->totals.calls)
            continue;
        if (load->has_totals)
            calls[i] = MV_NO_CALL;
        else
            load->totals.calls = calls[i] + 1;
    }
}

static void repair_column(mv_load *load, mv_load_table *t, uint32_t column)
{
    const mv_table_column *c = &t->layout->columns[column];

    if (c->ref == MV_REF_CALL) {
        repair_calls(load, t, column);
    } else if (c->ref == MV_REF_CODE) {
        for (uint64_t i = 0; i < t->rows; i++)
            if (*mv_load_value(t, column, i) >= c->limit)
                set_absent(t, column, i);
    } else if (c->ref != MV_REF_NONE) {
        repair_ids(load, t, column);
    } else if (c->form == MV_FORM_DEVICE) {
        for (uint64_t i = 0; i < t->rows; i++)
            if (!mv_is_ordinal(*(const int32_t *)(const void *)mv_load_value(t, column, i)))
                set_absent(t, column, i);
    }
}

/* Makes ranges outside their table empty. */
static void repair_ranges(uint32_t *first, uint32_t *count, uint64_t rows, uint64_t of_rows,
                          uint64_t *taken)
{
    for (uint64_t i = 0; i < rows; i++)
        if (!mv_child_take(taken, of_rows, first[i], count[i]))
            first[i] = count[i] = 0;
}

static void repair_child_ranges(mv_load *load)
{
    uint64_t taken[MV_WIRE_KINDS] = {0};

    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        mv_child_range child = mv_table_child(t->layout);
        if (child.kind)
            repair_ranges(t->columns[child.first], t->columns[child.count], t->rows,
                          mv_load_find(load, child.kind)->rows, &taken[child.kind]);
    }
}

mv_code mv_rows_repair(mv_load *load, mv_err *err)
{
    mv_load_table *pools = mv_load_find(load, MV_WIRE_POOLS);
    bool fine = true;

    for (uint32_t i = 0; i < load->table_count; i++) {
        mv_load_table *t = &load->tables[i];
        if (!mark_lost(load, t))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "repairing a damaged file");
        if (t->layout->keeps_places)
            blank_lost(t);
        else
            drop_lost(t);
    }
    fine = rebuild_ranges(load, MV_WIRE_STRINGS, MV_WIRE_STRING_BYTES, 1) &&
           rebuild_ranges(load, MV_WIRE_STACKS, MV_WIRE_STACK_FRAMES, 0);
    if (!fine)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "repairing a damaged file");
    /* Row 0 of these tables is known even if the file has lost it. */
    mv_load_find(load, MV_WIRE_STACKS)->lost[0] = 0;
    if (pools->lost[0]) {
        memset(pools->columns[0], 0, sizeof(uint64_t));
        memset(pools->columns[1], 0, sizeof(uint64_t));
        pools->lost[0] = 0;
    }
    for (uint32_t i = 0; i < load->table_count; i++)
        for (uint32_t c = 0; c < load->tables[i].layout->column_count; c++)
            repair_column(load, &load->tables[i], c);
    repair_child_ranges(load);
    return MV_OK;
}
