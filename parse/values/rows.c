#include "parse/values/records.h"

/* Gets the rows of lists. Rows are made in file order, so a list of rows is a range, and a list
 * within a record comes after the lists in earlier records. The root's lists may be different. If a
 * list that the user added came first, such as a list of the largest events, the rows were made in
 * the order of that list, and PyTorch's list only refers to them. */

static const char expected[] = "a list of its records";

/* Returns the kind of table for rows in the root's lists; 0 for other kinds of rows. */
static uint16_t table_of(mv_value_kind rows_of)
{
    static const uint16_t tables[] = {[MV_VALUE_EVENT] = MV_WIRE_EVENTS,
                                      [MV_VALUE_SEGMENT] = MV_WIRE_SEGMENTS,
                                      [MV_VALUE_ANNOTATION] = MV_WIRE_ANNOTATIONS,
                                      [MV_VALUE_TENSOR] = MV_WIRE_TENSORS};

    return (size_t)rows_of < sizeof tables / sizeof *tables ? tables[rows_of] : 0;
}

static uint32_t rows_made(mv_machine *m, uint16_t kind)
{
    return *(const uint32_t *)mv_build_rows(&m->build, mv_table_find(kind)); /* every table begins
                                                                              * with `count` */
}

/* Marks a row as taken. Returns false if the row is already in a list. */
static bool mark(mv_row_set *taken, uint64_t row)
{
    uint64_t *word = &taken->words[row >> 6], bit = (uint64_t)1 << (row & 63);
    bool is_first = !(*word & bit);

    *word |= bit;
    return is_first;
}

static bool is_shared(mv_machine *m, mv_word key)
{
    return mv_machine_fail(
        m, MV_CORRUPT,
        "\"%s\" shares records with another list; put a list of your own after PyTorch's keys",
        mv_word_text(key));
}

/* Copies rows that are not in file order to the end of their table, in the order of the list. There
 * is at most one copy per row, because a row cannot be in two lists. */
static bool take_links(mv_machine *m, mv_word key, mv_value_kind rows_of, const mv_value *v,
                       mv_range *out)
{
    mv_chain chain = m->chains[v->bits];
    uint16_t kind = table_of(rows_of);

    for (uint32_t at = chain.first; at; at = m->links[at - 1].next) {
        const mv_value *row = &m->links[at - 1].value;
        if (row->kind != rows_of || !mark(&m->taken[rows_of], row->bits))
            return mv_record_wrong_type(m, key, v, expected);
    }
    *out = (mv_range){rows_made(m, kind), chain.count};
    for (uint32_t at = chain.first; at; at = m->links[at - 1].next)
        mv_build_copy(&m->build, kind, (uint32_t)m->links[at - 1].value.bits);
    m->copied[rows_of] += chain.count;
    return mv_machine_built(m);
}

static bool take_range(mv_machine *m, mv_word key, mv_value_kind rows_of, mv_range range)
{
    for (uint32_t i = 0; i < range.count; i++)
        if (!mark(&m->taken[rows_of], (uint64_t)range.first + i))
            return is_shared(m, key);
    return true;
}

bool mv_record_rows(mv_machine *m, mv_word key, mv_value_kind rows_of, const mv_value *v,
                    mv_range *out)
{
    uint16_t kind = table_of(rows_of);
    mv_row_set *taken = &m->taken[rows_of];

    if (v->kind == MV_VALUE_EMPTY) {
        *out = (mv_range){0, 0};
        return true;
    }
    if (kind && !mv_room_for(m->scratch, taken->words, ((uint64_t)rows_made(m, kind) >> 6) + 1,
                             taken->capacity))
        return mv_machine_full(m, 0);
    if (kind && v->kind == MV_VALUE_CHAIN)
        return take_links(m, key, rows_of, v, out);
    if (v->kind == MV_VALUE_CHAIN && m->chains[v->bits].why)
        return is_shared(m, key);
    if (v->kind != MV_VALUE_ROWS || v->rows_of != rows_of)
        return mv_record_wrong_type(m, key, v, expected);
    *out = (mv_range){(uint32_t)v->bits, (uint32_t)(v->bits >> 32)};
    if (kind)
        return take_range(m, key, rows_of, *out);
    if (out->first < m->listed[rows_of])
        return is_shared(m, key);
    m->listed[rows_of] = out->first + out->count;
    return true;
}
