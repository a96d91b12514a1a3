#include "parse/container/wire_living.h"

#include <stddef.h>

#include "base/grow.h"
#include "base/sort.h"

/* Numbers of the additional columns. They are higher than any column number that EVENTS will ever
 * have. */
enum { EVENT = 101, BLOCK = 102 };

const mv_model_table *mv_living_layout(mv_model_table *table,
                                       mv_table_column columns[MV_TABLE_COLUMNS])
{
    const mv_model_table *events = mv_table_find(MV_WIRE_EVENTS);
    uint8_t count = events->column_count;

    memcpy(columns, events->columns, count * sizeof *columns);
    columns[count] = (mv_table_column){.number = EVENT,
                                       .absent = MV_NO_ROW,
                                       .at = offsetof(mv_living_columns, event),
                                       .size = sizeof(uint32_t),
                                       .transform = MV_WIRE_DELTA};
    columns[count + 1] = (mv_table_column){.number = BLOCK,
                                           .at = offsetof(mv_living_columns, block),
                                           .size = sizeof(uint64_t),
                                           .transform = MV_WIRE_PLAIN};
    *table = (mv_model_table){.kind = MV_WIRE_LIVING,
                              .chunk_rows = MV_WIRE_CHUNK_ROWS,
                              .columns = columns,
                              .column_count = count + 2};
    return table;
}

/* ---- tracking ---------------------------------------------------------------------------- */

/* Returns true if a block or segment that ends at event `end` (MV_NO_ROW: never) is alive before
 * event `next`. */
static bool is_alive(uint32_t end, uint32_t next)
{
    return end >= next;
}

static bool is_born(uint32_t birth, uint32_t next)
{
    return birth + 1 <= next; /* UINT32_MAX: it began before the first event */
}

static uint32_t drop_ended(uint32_t *row, uint32_t count, const uint32_t *end, uint32_t next)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (is_alive(end[row[i]], next))
            row[kept++] = row[i];
    return kept;
}

static bool add_born(mv_living_now *l)
{
    const mv_spans *s = l->spans;

    for (; l->blocks.next < s->allocs && is_born(s->birth[l->blocks.next], l->next);
         l->blocks.next++)
        if (is_alive(s->completed[l->blocks.next], l->next) &&
            !mv_append(l->arena, l->blocks.row, l->blocks.count, l->blocks.capacity,
                       l->blocks.next))
            return false;
    for (; l->segments.next < s->segments; l->segments.next++) {
        uint32_t row = l->by_birth[l->segments.next];
        if (!is_born(s->segment_birth[row], l->next))
            break;
        if (is_alive(s->segment_death[row], l->next) &&
            !mv_append(l->arena, l->segments.row, l->segments.count, l->segments.capacity, row))
            return false;
    }
    return true;
}

typedef struct {
    uint32_t birth; /* event + 1; 0: it began before the first event */
    uint32_t row;
} born;

bool mv_living_init(mv_living_now *l, mv_arena *arena, const mv_events *events,
                    const mv_spans *spans)
{
    born *order = mv_push_array(arena, born, spans->segments);

    *l = (mv_living_now){.arena = arena, .events = events, .spans = spans};
    l->by_birth = mv_push_array(arena, uint32_t, spans->segments);
    if (!order || !l->by_birth)
        return false;
    for (uint32_t i = 0; i < spans->segments; i++)
        order[i] = (born){spans->segment_birth[i] + 1, i};
    mv_sort_rows(arena, order, spans->segments, MV_RISING(born, birth), MV_RISING(born, row));
    for (uint32_t i = 0; i < spans->segments; i++)
        l->by_birth[i] = order[i].row;
    return add_born(l);
}

bool mv_living_pass(mv_living_now *l, uint32_t count)
{
    l->next += count;
    l->blocks.count = drop_ended(l->blocks.row, l->blocks.count, l->spans->completed, l->next);
    l->segments.count =
        drop_ended(l->segments.row, l->segments.count, l->spans->segment_death, l->next);
    return add_born(l);
}

/* ---- the rows ---------------------------------------------------------------------------- */

typedef struct {
    uint32_t event;
    bool is_segment;
    uint32_t row;
} beginning;

/* Lists the events that began the live blocks and segments. Segments from before the first event
 * are left out, because readers infer them from their ends. */
static uint32_t list_beginnings(const mv_living_now *l, beginning *out)
{
    const mv_spans *s = l->spans;
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->segments.count; i++) {
        uint32_t row = l->segments.row[i];
        if (s->segment_birth[row] < l->next)
            out[count++] = (beginning){s->segment_birth[row], true, row};
    }
    for (uint32_t i = 0; i < l->blocks.count; i++) {
        uint32_t row = l->blocks.row[i], freed = s->freed[row];
        bool waits = freed < l->next && l->events->action[freed] == MV_ACTION_FREE_REQUESTED &&
                     l->events->addr[freed] == s->addr[row];
        out[count++] = (beginning){s->birth[row], false, row};
        if (waits)
            out[count++] = (beginning){freed, false, row};
    }
    return count;
}

static uint32_t number_of(const mv_living_now *l, uint32_t row)
{
    if (row >= l->next) /* it began before the first event */
        return row;
    return row < l->before.count ? l->before.event[row] : row - l->before.count + l->before.first;
}

static void set_row(const mv_living_now *l, const beginning *b, mv_living_columns *out, uint32_t i)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    const mv_spans *s = l->spans;

    out->event[i] = number_of(l, b->event);
    for (uint32_t k = 0; k < table->column_count; k++) {
        const mv_table_column *c = &table->columns[k];
        char *to = (char *)mv_column_of(&out->rows, c) + (uint64_t)i * c->size;
        const char *from = mv_column_of(l->events, c);
        if (b->event < l->next)
            memcpy(to, from + (uint64_t)b->event * c->size, c->size);
    }
    if (b->is_segment) {
        out->rows.addr[i] = s->segment_addr[b->row];
        out->rows.size[i] = s->segment_size[b->row];
    } else if (b->event >= l->next) {
        out->rows.addr[i] = s->addr[b->row];
        out->rows.size[i] = s->requested[b->row];
        out->rows.action[i] = MV_ACTION_ALLOC;
    }
    if (out->rows.action[i] == MV_ACTION_ALLOC)
        out->block[i] = s->block[b->row];
}

bool mv_living_columns_make(const mv_living_now *l, mv_arena *arena, mv_living_columns *out)
{
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    uint64_t most = mv_living_rows(l);
    beginning *list = mv_push_array(arena, beginning, most);
    uint32_t count;

    if (!list)
        return false;
    count = list_beginnings(l, list);
    mv_sort_rows(arena, list, count, MV_RISING(beginning, event), MV_RISING(beginning, row));
    *out = (mv_living_columns){.rows.count = count,
                               .event = mv_push_array(arena, uint32_t, count),
                               .block = mv_push_array(arena, uint64_t, count)};
    for (uint32_t k = 0; k < table->column_count; k++) {
        const mv_table_column *c = &table->columns[k];
        void *values = mv_arena_push(arena, count, c->size);
        if (!values)
            return false;
        mv_column_set(&out->rows, c, values);
    }
    if (!out->event || !out->block)
        return false;
    for (uint32_t i = 0; i < count; i++)
        set_row(l, &list[i], out, i);
    return true;
}
