#include "analyze/diff/line_pairs.h"

#include "analyze/diff/pairs.h"

/* Functions with more possible pairs of lines than this are joined only by the expected shift. */
#define MOST_CELLS (1u << 18)
/* This many cells fit into a small chunk of the arena, which can be rewound. */
#define FEW_CELLS 4096u

#define NO_JOINT UINT32_MAX

/* The best way to join the first i lines of one side with the first j lines of the other. */
typedef struct {
    uint32_t weight; /* similarity of the joined lines; more is better */
    uint32_t jumps;  /* number of jumps; fewer is better if weights are equal */
    uint32_t last;   /* cell of the last joined pair, or NO_JOINT */
    uint32_t before; /* for a joined pair: cell of the previous joined pair */
} cell;

typedef struct {
    mv_function_lines *a, *b;
    int64_t expected;
    cell *cells; /* [(a.count + 1) * (b.count + 1)] */
} alignment;

static uint32_t similarity(mv_callees x, mv_callees y)
{
    uint32_t both = (uint32_t)__builtin_popcountll(x & y);
    uint32_t all = (uint32_t)__builtin_popcountll(x | y);

    if (x == y)
        return 2;
    return 2 * both >= all;
}

static int64_t shift_of(const alignment *al, uint32_t i, uint32_t j)
{
    return (int64_t)((uint64_t)al->b->line[j] - (uint64_t)al->a->line[i]);
}

/* Returns the penalty for joining lines i and j after the pair `last`. It is 0 if both lines moved
 * by the same distance, and small if lines between them were added or removed. It is larger if
 * added or removed lines do not explain the distance, or contradict it. */
static uint32_t jump(const alignment *al, uint32_t last, uint32_t i, uint32_t j)
{
    uint32_t width = al->b->count + 1;
    int64_t shift = shift_of(al, i, j), before = al->expected;
    int64_t added = (int64_t)j - (int64_t)i;

    if (last != NO_JOINT) {
        uint32_t last_i = last / width - 1, last_j = last % width - 1;
        before = shift_of(al, last_i, last_j);
        added -= (int64_t)last_j - (int64_t)last_i;
    }
    if (shift == before)
        return added != 0;
    if (added == 0)
        return 2;
    return (shift > before) == (added > 0) ? 1 : 3;
}

static bool is_better(const cell *x, const cell *than)
{
    if (x->weight != than->weight)
        return x->weight > than->weight;
    return x->jumps < than->jumps;
}

/* Fills the cells. With `any`, the lines' callees are ignored. */
static void fill_cells(alignment *al, bool any)
{
    uint32_t width = al->b->count + 1;

    for (uint32_t j = 0; j < width; j++)
        al->cells[j] = (cell){.last = NO_JOINT};
    for (uint32_t i = 1; i <= al->a->count; i++) {
        al->cells[i * width] = (cell){.last = NO_JOINT};
        for (uint32_t j = 1; j < width; j++) {
            uint32_t at = i * width + j;
            const cell *corner = &al->cells[at - width - 1];
            uint32_t weight = any ? 1 : similarity(al->a->calls[i - 1], al->b->calls[j - 1]);
            cell best = al->cells[at - width];
            cell joined = {corner->weight + weight,
                           corner->jumps + jump(al, corner->last, i - 1, j - 1), at, corner->last};
            if (is_better(&al->cells[at - 1], &best))
                best = al->cells[at - 1];
            al->cells[at] = weight && is_better(&joined, &best) ? joined : best;
        }
    }
}

static void join_best(alignment *al)
{
    uint32_t width = al->b->count + 1;

    for (uint32_t at = al->cells[(uint64_t)width * (al->a->count + 1) - 1].last; at != NO_JOINT;
         at = al->cells[at].before) {
        al->a->partner[at / width - 1] = at % width - 1;
        al->b->partner[at % width - 1] = at / width - 1;
    }
}

static void join_expected(alignment *al)
{
    uint32_t j = 0;

    for (uint32_t i = 0; i < al->a->count; i++) {
        int64_t wanted = (int64_t)((uint64_t)al->a->line[i] + (uint64_t)al->expected);
        while (j < al->b->count && al->b->line[j] < wanted)
            j++;
        if (j == al->b->count || al->b->line[j] != wanted)
            continue;
        al->a->partner[i] = j;
        al->b->partner[j++] = i;
    }
}

/* Joins the lines of gaps that are equally long on both sides. */
static void join_gaps(alignment *al)
{
    uint32_t i = 0, j = 0;

    while (i < al->a->count || j < al->b->count) {
        uint32_t a = i, b = j;
        while (a < al->a->count && al->a->partner[a] == MV_NO_PARTNER)
            a++;
        while (b < al->b->count && al->b->partner[b] == MV_NO_PARTNER)
            b++;
        for (uint32_t k = 0; a - i == b - j && k < a - i; k++) {
            al->a->partner[i + k] = j + k;
            al->b->partner[j + k] = i + k;
        }
        i = a + 1;
        j = b + 1;
    }
}

/* Compares the sides by content, so that ties do not depend on the order of the sides. */
static bool comes_first(const mv_function_lines *x, const mv_function_lines *y)
{
    if (x->count != y->count)
        return x->count < y->count;
    for (uint32_t i = 0; i < x->count; i++)
        if (x->line[i] != y->line[i])
            return x->line[i] < y->line[i];
    for (uint32_t i = 0; i < x->count; i++)
        if (x->calls[i] != y->calls[i])
            return x->calls[i] < y->calls[i];
    return true;
}

static bool join_all(mv_arena *scratch, alignment *al)
{
    uint64_t cells = ((uint64_t)al->a->count + 1) * ((uint64_t)al->b->count + 1);

    if (cells > MOST_CELLS) {
        join_expected(al);
    } else {
        al->cells = mv_push_array(scratch, cell, cells);
        if (!al->cells)
            return false;
        fill_cells(al, false);
        if (al->cells[cells - 1].last == NO_JOINT)
            fill_cells(al, true);
        join_best(al);
    }
    join_gaps(al);
    return true;
}

static int64_t negative(int64_t value)
{
    return (int64_t)(0 - (uint64_t)value);
}

static bool pair_in(mv_arena *scratch, mv_function_lines *before, mv_function_lines *after,
                    int64_t *expected)
{
    bool exchanged = !comes_first(before, after);
    alignment al = {.a = exchanged ? after : before,
                    .b = exchanged ? before : after,
                    .expected = exchanged ? negative(*expected) : *expected};

    for (uint32_t i = 0; i < before->count; i++)
        before->partner[i] = MV_NO_PARTNER;
    for (uint32_t i = 0; i < after->count; i++)
        after->partner[i] = MV_NO_PARTNER;
    if (!join_all(scratch, &al))
        return false;
    for (uint32_t i = 0; i < before->count; i++)
        if (before->partner[i] != MV_NO_PARTNER)
            *expected =
                (int64_t)((uint64_t)after->line[before->partner[i]] - (uint64_t)before->line[i]);
    return true;
}

bool mv_lines_pair(mv_arena *scratch, mv_function_lines *before, mv_function_lines *after,
                   int64_t *expected)
{
    mv_arena_mark here = mv_arena_here(scratch);
    mv_arena own;
    bool paired;

    if ((uint64_t)before->count * after->count <= FEW_CELLS) {
        paired = pair_in(scratch, before, after, expected);
        mv_arena_rewind(scratch, here);
        return paired;
    }
    mv_arena_init(&own, scratch->budget);
    paired = pair_in(&own, before, after, expected);
    mv_arena_release(&own);
    return paired;
}
