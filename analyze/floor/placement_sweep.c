#include "analyze/floor/placement_methods.h"
#include "analyze/replay/gaps.h"
#include "base/sort.h"

#define SPACE ((uint64_t)1 << 63)

typedef struct {
    mv_placement_problem *p;
    mv_gaps gaps;
    uint64_t *offset, top;
} sweep;

static void put_gap(sweep *s, uint64_t low, uint64_t high)
{
    if (low < high && !mv_gaps_add(&s->gaps, low, high - low, 0))
        s->p->out_of_memory = true;
}

/* Frees a block's bytes, and joins them with the gaps on both sides. */
static void leave(sweep *s, uint32_t row)
{
    uint64_t low = s->offset[row], size = s->p->blocks[row].size;

    mv_gaps_join(&s->gaps, &low, &size, 0);
    put_gap(s, low, low + size);
}

static void enter(sweep *s, uint32_t row)
{
    uint64_t size = s->p->blocks[row].size, low, high;
    uint32_t gap = mv_gaps_lowest(&s->gaps, size);

    if (gap == MV_NO_GAP) {
        s->top = UINT64_MAX;
        return;
    }
    low = s->gaps.gaps[gap].addr;
    high = low + s->gaps.gaps[gap].size;
    mv_gaps_drop(&s->gaps, gap);
    s->offset[row] = low;
    s->top = low + size > s->top ? low + size : s->top;
    put_gap(s, low + size, high);
}

/* Places the blocks after the anchor, at which `base` bytes are in use, up to the end of time. */
static void sweep_forward(sweep *s, uint32_t anchor, uint64_t base)
{
    const mv_placement_problem *p = s->p;
    uint32_t next = 0, last = 0;

    mv_gaps_init(&s->gaps, p->arena);
    put_gap(s, base, SPACE);
    while (last < p->count && p->blocks[p->by_death[last]].death <= anchor)
        last++;
    for (; next < p->count && !p->out_of_memory && s->top <= p->best; next++) {
        uint32_t row = p->by_birth[next], birth = p->blocks[row].birth;
        if (birth <= anchor)
            continue;
        while (p->blocks[p->by_death[last]].death <= birth)
            leave(s, p->by_death[last++]);
        enter(s, row);
    }
}

/* Places the blocks before the anchor, back to the beginning of time. In this direction, deaths act
 * as births. */
static void sweep_backward(sweep *s, uint32_t anchor, uint64_t base)
{
    const mv_placement_problem *p = s->p;
    uint32_t next = p->count, last = p->count;

    mv_gaps_init(&s->gaps, p->arena);
    put_gap(s, base, SPACE);
    while (last > 0 && p->blocks[p->by_birth[last - 1]].birth > anchor)
        last--;
    for (; next > 0 && !p->out_of_memory && s->top <= p->best; next--) {
        uint32_t row = p->by_death[next - 1], death = p->blocks[row].death;
        if (death > anchor)
            continue;
        while (p->blocks[p->by_birth[last - 1]].birth >= death)
            leave(s, p->by_birth[--last]);
        enter(s, row);
    }
}

static uint64_t key_of(const mv_placed_block *b, mv_stack_order order)
{
    switch (order) {
    case MV_STACK_OLDEST:
        return b->birth;
    case MV_STACK_LASTING:
        return UINT32_MAX - b->death;
    case MV_STACK_LONGEST:
        return UINT32_MAX - (b->death - b->birth);
    default:
        return UINT64_MAX - b->size;
    }
}

/* Stacks the blocks that are alive at the anchor. Returns the sum of their bytes. */
static uint64_t stack(sweep *s, uint32_t anchor, mv_stack_order order)
{
    const mv_placement_problem *p = s->p;
    mv_key_row *rows = mv_push_array(p->arena, mv_key_row, p->count);
    uint32_t count = 0;
    uint64_t base = 0;

    s->p->out_of_memory = s->p->out_of_memory || !rows;
    for (uint32_t i = 0; rows && i < p->count; i++) {
        const mv_placed_block *b = &p->blocks[p->by_birth[i]];
        if (b->birth <= anchor && b->death > anchor)
            rows[count++] = (mv_key_row){key_of(b, order), p->by_birth[i]};
    }
    if (rows)
        mv_sort_rows(p->arena, rows, count, MV_RISING(mv_key_row, key));
    for (uint32_t i = 0; i < count; i++) {
        s->offset[rows[i].row] = base;
        base += p->blocks[rows[i].row].size;
    }
    return base;
}

uint64_t mv_place_from(mv_placement_problem *p, uint32_t anchor, mv_stack_order order,
                       uint64_t *offset)
{
    sweep s = {.p = p, .offset = offset};
    uint64_t base = stack(&s, anchor, order);

    s.top = base;
    if (!p->out_of_memory)
        sweep_forward(&s, anchor, base);
    if (!p->out_of_memory && s.top <= p->best)
        sweep_backward(&s, anchor, base);
    return p->out_of_memory || s.top > p->best ? UINT64_MAX : s.top;
}
