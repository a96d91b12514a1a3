#include "viz/core/hit_test.h"

/* Keeps the largest rows by bytes. Among equally large rows, the first one stays first. */
static void remember(const mv_index *x, mv_hit *hit, uint32_t rank)
{
    uint32_t at = MV_HIT_LARGEST;

    while (at > 0 &&
           (hit->largest[at - 1] == MV_NO_ROW || x->bytes[hit->largest[at - 1]] < x->bytes[rank]))
        at--;
    if (at == MV_HIT_LARGEST)
        return;
    for (uint32_t i = MV_HIT_LARGEST - 1; i > at; i--)
        hit->largest[i] = hit->largest[i - 1];
    hit->largest[at] = rank;
}

mv_hit mv_hit_find(mv_column_stack *stack, mv_instant instant, uint64_t byte, uint64_t low,
                   uint64_t high)
{
    mv_hit hit = {.rank = MV_NO_ROW, .largest = {MV_NO_ROW, MV_NO_ROW, MV_NO_ROW}};
    mv_run run;

    mv_column_stack_move(stack, instant);
    if (mv_column_stack_find(stack, byte, &run) && !run.is_open) {
        hit.rank = run.rank;
        hit.offset = run.offset;
        hit.bytes = run.bytes;
    }
    for (bool is_there = mv_column_stack_find(stack, low, &run); is_there && run.offset < high;
         is_there = mv_column_stack_next(stack, &run))
        if (!run.is_open) {
            hit.sharing++;
            remember(stack->index, &hit, run.rank);
        }
    return hit;
}
