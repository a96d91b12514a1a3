#include "analyze/heap/waiting.h"

#include "analyze/lives/alive.h"
#include "base/sort.h"

typedef struct {
    const mv_lives *lives;
    const mv_sites *sites;
    uint32_t *line_of; /* [2 * groups] row of lines + 1, first by the group of the free, then by the
                        * group of the allocation */
    mv_waiting *out;
} waiting_search;

static void add_block(waiting_search *w, uint32_t row)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    mv_stack_id stack = mv_alloc_freeing_stack(w->lives, row);
    bool is_free = stack.row != MV_NO_STACK.row;
    uint32_t group, *at;
    mv_waiting_line *line;

    if (!is_free)
        stack = a->stack[row];
    group = w->sites->group[mv_site_of(w->sites, stack)];
    at = &w->line_of[2 * (uint64_t)group + !is_free];
    if (*at == 0) {
        *at = ++w->out->count;
        w->out->lines[*at - 1] =
            (mv_waiting_line){.is_free = is_free, .stack = stack, .group = group};
    }
    line = &w->out->lines[*at - 1];
    line->bytes += a->block[row];
    line->blocks++;
    if (a->block[row] > line->largest) {
        line->largest = a->block[row];
        line->stack = stack;
    }
    w->out->bytes += a->block[row];
    w->out->blocks++;
}

static bool is_waiting(const mv_lives *lives, uint32_t row, uint32_t event)
{
    return mv_alloc_is_active(lives, row, event) && !mv_alloc_is_allocated(lives, row, event);
}

mv_code mv_waiting_find(mv_arena *arena, const mv_lives *lives, const mv_sites *sites,
                        uint32_t event, mv_waiting *out, mv_err *err)
{
    waiting_search w = {.lives = lives, .sites = sites, .out = out};
    uint32_t rows = lives->allocs.count, count = 0;
    mv_arena scratch;
    bool made;

    *out = (mv_waiting){0};
    for (uint32_t i = 0; i < rows; i++)
        count += is_waiting(lives, i, event);
    mv_arena_init(&scratch, arena->budget);
    w.line_of = mv_push_array(&scratch, uint32_t, 2 * (uint64_t)sites->groups);
    out->lines = mv_push_array(arena, mv_waiting_line, count);
    made = w.line_of && out->lines;
    for (uint32_t i = 0; made && count > 0 && i < rows; i++)
        if (is_waiting(lives, i, event))
            add_block(&w, i);
    if (made)
        mv_sort_rows(&scratch, out->lines, out->count, MV_FALLING(mv_waiting_line, bytes),
                     MV_RISING(mv_waiting_line, group));
    mv_arena_release(&scratch);
    return made ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "blocks that wait for a stream");
}
