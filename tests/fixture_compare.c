/* Whether two traces are the same. The list of columns is the container's (parse/wire_tables.h). */
#include "parse/wire_tables.h"
#include "tests/fixture.h"

#include <criterion/criterion.h>

static bool same_bytes(const void *a, const void *b, uint64_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static const char *note_difference(const mv_trace *a, const mv_trace *b)
{
    for (mv_note_code i = 0; i < MV_NOTE_COUNT; i++)
        if (a->notes[i].count != b->notes[i].count ||
            strcmp(a->notes[i].first, b->notes[i].first) != 0)
            return mv_note_name(i);
    return NULL;
}

static bool same_table(const mv_trace *a, const mv_trace *b, const mv_table *table, uint32_t device)
{
    uint64_t rows = mv_table_rows(a, table, device);

    if (rows != mv_table_rows(b, table, device))
        return false;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const mv_table_column *column = &table->columns[i];
        if (rows > 0 && !same_bytes(mv_table_values(a, table, device, column),
                                    mv_table_values(b, table, device, column), rows * column->size))
            return false;
    }
    return true;
}

const char *mvt_difference(const mv_trace *a, const mv_trace *b)
{
    if (a->calls != b->calls || a->device_count != b->device_count)
        return "totals";
    for (const mv_table *table = mv_tables; table->kind; table++) {
        uint32_t times = table->kind == MV_WIRE_EVENTS ? a->device_count : 1;
        for (uint32_t device = 0; device < times; device++)
            if (!same_table(a, b, table, device))
                return mv_wire_kind_name(table->kind);
    }
    return note_difference(a, b);
}

/* ---- by content -------------------------------------------------------------------------- */

typedef struct {
    const mv_trace *a, *b;
    uint32_t *stack_of; /* [a->stacks.count] the stack of b that is known to be the same, + 1 */
    uint32_t *tag_of;   /* [a->tags.count] likewise */
} pairing;

static bool same_string(const pairing *p, mv_string_id a, mv_string_id b)
{
    mv_span x = mv_string_span(p->a, a), y = mv_string_span(p->b, b);

    return (a.row == MV_NO_ROW) == (b.row == MV_NO_ROW) && x.length == y.length &&
           same_bytes(x.data, y.data, x.length);
}

static bool same_frame(const pairing *p, mv_frame_id a, mv_frame_id b)
{
    const mv_frames *f = &p->a->frames, *g = &p->b->frames;
    const mv_fx *x = &p->a->fx, *y = &p->b->fx;
    uint32_t i = f->fx[a.row], j = g->fx[b.row];

    if (!same_string(p, f->function[a.row], g->function[b.row]) ||
        !same_string(p, f->file[a.row], g->file[b.row]) || f->line[a.row] != g->line[b.row])
        return false;
    if (i == MV_NO_ROW || j == MV_NO_ROW)
        return i == j;
    return same_string(p, x->op[i], y->op[j]) && same_string(p, x->name[i], y->name[j]) &&
           same_string(p, x->target[i], y->target[j]) && same_string(p, x->trace[i], y->trace[j]);
}

static bool same_stack(const pairing *p, mv_stack_id a, mv_stack_id b)
{
    const mv_frame_id *x, *y;
    uint32_t count, other;

    if (a.row == MV_NO_ROW || b.row == MV_NO_ROW)
        return a.row == b.row;
    if (p->stack_of[a.row] == b.row + 1)
        return true;
    x = mv_stack_frames(p->a, a, &count);
    y = mv_stack_frames(p->b, b, &other);
    if (count != other)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!same_frame(p, x[i], y[i]))
            return false;
    p->stack_of[a.row] = b.row + 1;
    return true;
}

static bool same_pool(const pairing *p, mv_pool_id a, mv_pool_id b)
{
    if (a.row == MV_NO_ROW || b.row == MV_NO_ROW)
        return a.row == b.row;
    return p->a->pools.a[a.row] == p->b->pools.a[b.row] &&
           p->a->pools.b[a.row] == p->b->pools.b[b.row];
}

static bool same_tag(const pairing *p, uint32_t a, uint32_t b)
{
    const mv_tags *x = &p->a->tags, *y = &p->b->tags;

    if (p->tag_of[a] == b + 1)
        return true;
    if (!same_string(p, x->compile_context[a], y->compile_context[b]) ||
        !same_string(p, x->user_metadata[a], y->user_metadata[b]) ||
        !same_string(p, x->internal_metadata[a], y->internal_metadata[b]) ||
        !same_string(p, x->category[a], y->category[b]) ||
        !same_string(p, x->action[a], y->action[b]) ||
        !same_stack(p, x->forward[a], y->forward[b]) || !same_stack(p, x->cpp[a], y->cpp[b]) ||
        !same_pool(p, x->pool[a], y->pool[b]))
        return false;
    p->tag_of[a] = b + 1;
    return true;
}

static bool same_row(const pairing *p, mv_ref ref, uint32_t a, uint32_t b)
{
    switch (ref) {
    case MV_REF_CALL:
        return true;
    case MV_REF_STRING:
        return same_string(p, (mv_string_id){a}, (mv_string_id){b});
    case MV_REF_STACK:
        return same_stack(p, (mv_stack_id){a}, (mv_stack_id){b});
    case MV_REF_POOL:
        return same_pool(p, (mv_pool_id){a}, (mv_pool_id){b});
    case MV_REF_STREAM:
        return p->a->streams.value[a] == p->b->streams.value[b];
    case MV_REF_TAG:
        return same_tag(p, a, b);
    default:
        return false;
    }
}

static bool same_column(const pairing *p, const mv_table *table, uint32_t device,
                        const mv_table_column *column)
{
    const void *a = mv_table_values(p->a, table, device, column);
    const void *b = mv_table_values(p->b, table, device, column);
    uint64_t rows = mv_table_rows(p->a, table, device);

    if (column->ref == MV_REF_NONE || column->ref == MV_REF_ENUM)
        return same_bytes(a, b, rows * column->size);
    for (uint64_t i = 0; i < rows; i++)
        if (!same_row(p, column->ref, ((const uint32_t *)a)[i], ((const uint32_t *)b)[i]))
            return false;
    return true;
}

const char *mvt_content_difference(mv_arena *arena, const mv_trace *a, const mv_trace *b)
{
    pairing p = {.a = a, .b = b};

    p.stack_of = mv_push_array(arena, uint32_t, a->stacks.count);
    p.tag_of = mv_push_array(arena, uint32_t, a->tags.count);
    cr_assert(p.stack_of && p.tag_of);
    if (a->device_count != b->device_count)
        return "devices";
    for (const mv_table *table = mv_table_find(MV_WIRE_EVENTS); table->kind; table++) {
        uint32_t times = table->kind == MV_WIRE_EVENTS ? a->device_count : 1;
        for (uint32_t device = 0; device < times; device++) {
            if (mv_table_rows(a, table, device) != mv_table_rows(b, table, device))
                return mv_wire_kind_name(table->kind);
            for (uint32_t i = 0; i < table->column_count; i++)
                if (!same_column(&p, table, device, &table->columns[i]))
                    return mv_wire_kind_name(table->kind);
        }
    }
    return NULL;
}
