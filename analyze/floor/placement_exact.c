#include <string.h>

#include "analyze/floor/placement_methods.h"

/* Exhaustive search. In a best placement, every block can be moved down until it lies on another
 * block that is alive at the same time, or at address 0. So it is enough to place blocks from the
 * bottom up, each on top of earlier blocks whose lives overlap the block's own life, in all orders
 * in which the offsets never decrease. A branch of the search ends when, at some time, the
 * remaining blocks cannot all fit below the best top so far. */
#define MOST_BLOCKS 64

typedef struct {
    mv_placement_problem *p;
    uint32_t count;
    bool meets[MOST_BLOCKS][MOST_BLOCKS]; /* whether the lives of two blocks overlap */
    uint64_t offset[MOST_BLOCKS], best_offset[MOST_BLOCKS];
    bool is_placed[MOST_BLOCKS];
    uint64_t top, best, steps;
    bool gave_up;
} search;

/* Whether the unplaced blocks would exceed the best top at the birth of some block. Only births are
 * tested, because loads are highest at births. */
static bool is_hopeless(const search *s, const uint64_t *least)
{
    for (uint32_t t = 0; t < s->count; t++) {
        uint32_t time = s->p->blocks[t].birth;
        uint64_t load = 0, base = UINT64_MAX;
        for (uint32_t i = 0; i < s->count; i++) {
            const mv_placed_block *b = &s->p->blocks[i];
            if (s->is_placed[i] || b->birth > time || b->death <= time)
                continue;
            load += b->size;
            base = least[i] < base ? least[i] : base;
        }
        if (load && base + load >= s->best)
            return true;
    }
    return false;
}

static bool is_same(const mv_placed_block *a, const mv_placed_block *b)
{
    return a->birth == b->birth && a->death == b->death && a->size == b->size;
}

/* Whether an unplaced block with the same life and size comes first. */
static bool is_twin(const search *s, uint32_t row)
{
    for (uint32_t i = 0; i < row; i++)
        if (!s->is_placed[i] && is_same(&s->p->blocks[i], &s->p->blocks[row]))
            return true;
    return false;
}

static void descend(search *s, uint32_t placed, uint64_t lowest)
{
    uint64_t least[MOST_BLOCKS], before = s->top;

    if (placed == s->count) {
        s->best = s->top;
        memcpy(s->best_offset, s->offset, sizeof s->offset);
        return;
    }
    if (s->steps == 0) {
        s->gave_up = true;
        return;
    }
    s->steps--;
    for (uint32_t i = 0; i < s->count; i++) {
        least[i] = lowest;
        for (uint32_t j = 0; j < s->count && !s->is_placed[i]; j++)
            if (s->is_placed[j] && s->meets[i][j] && s->offset[j] + s->p->blocks[j].size > least[i])
                least[i] = s->offset[j] + s->p->blocks[j].size;
    }
    if (is_hopeless(s, least))
        return;
    for (uint32_t i = 0; i < s->count && !s->gave_up && s->best > s->p->enough; i++) {
        uint64_t end = least[i] + s->p->blocks[i].size;
        if (s->is_placed[i] || end >= s->best || is_twin(s, i))
            continue;
        s->is_placed[i] = true;
        s->offset[i] = least[i];
        s->top = end > before ? end : before;
        descend(s, placed + 1, least[i]);
        s->is_placed[i] = false;
        s->top = before;
    }
}

uint64_t mv_place_exactly(mv_placement_problem *p, uint64_t steps, uint64_t *offset, bool *is_best)
{
    search s = {.p = p, .count = p->count, .best = p->best};

    *is_best = false;
    if (p->count > MOST_BLOCKS)
        return UINT64_MAX;
    s.steps = steps / (1 + (uint64_t)p->count * p->count); /* each step looks at all pairs of
                                                            * blocks */
    for (uint32_t i = 0; i < p->count; i++)
        for (uint32_t j = 0; j < p->count; j++)
            s.meets[i][j] =
                p->blocks[i].birth < p->blocks[j].death && p->blocks[j].birth < p->blocks[i].death;
    descend(&s, 0, 0);
    *is_best = !s.gave_up;
    if (s.best == p->best)
        return UINT64_MAX;
    memcpy(offset, s.best_offset, p->count * sizeof *offset);
    return s.best;
}
