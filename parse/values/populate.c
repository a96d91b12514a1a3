#include "parse/values/populate.h"

#include "base/pages.h"

/* Shorter ranges are not worth a system call, and lists that grow slowly are populated for longer. */
enum { LEAST = 64 << 10, AHEAD = 256 << 10, BLOCKS_AHEAD = 4 };

static bool is_zero(const char *bytes, uint64_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Adds the rows of a list that are about to be written to a block's ranges. Nothing is written for
 * values of zero, as in most columns of streams. */
static void add(mv_populate *p, unsigned block, mv_populated *list, void *rows, uint64_t count,
                uint64_t capacity, uint64_t size)
{
    uint64_t added = count - list->count, more = BLOCKS_AHEAD * added, from, to;

    list->count = count;
    if (added == 0 || is_zero((const char *)rows + (count - 1) * size, size))
        return;
    more = more > AHEAD / size ? more : AHEAD / size;
    from = list->until > count ? list->until : count;
    to = count + more < capacity ? count + more : capacity;
    if (to < from + LEAST / size)
        return;
    list->until = to;
    p->ranges[block][p->range_count[block]++] =
        (mv_populate_range){(char *)rows + from * size, (to - from) * size};
}

void mv_populate_prepare(void *user, unsigned block)
{
    mv_populate *p = user;
    const mv_machine *m = p->m;
    const mv_model_table *table = mv_table_find(MV_WIRE_EVENTS);
    mv_populated *list = p->lists;

    p->range_count[block] = 0;
    if (m->scratch->budget->pool) /* memory is rarely fresh */
        return;
    add(p, block, list++, m->memo, m->memo_count, m->memo_capacity, sizeof *m->memo);
    add(p, block, list++, m->stack_of_call, m->calls, m->call_capacity, sizeof *m->stack_of_call);
    for (uint32_t i = 0; i < table->column_count && list < p->lists + MV_POPULATED; i++)
        add(p, block, list++, mv_column_of(&m->build.events, &table->columns[i]),
            m->build.events.count, m->build.capacity[MV_WIRE_EVENTS], table->columns[i].size);
}

void mv_populate_work(void *user, unsigned block)
{
    const mv_populate *p = user;

    for (uint32_t i = 0; i < p->range_count[block]; i++)
        mv_pages_take(p->ranges[block][i].at, p->ranges[block][i].bytes);
}
