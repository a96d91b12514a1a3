
#include "analyze/floor/near_blocks.h"
#include "analyze/lives/block_size.h"
#include "base/search.h"

typedef struct {
    mv_placement_problem *p;
    mv_near near;
    uint64_t *offset;
    uint32_t *evictions; /* [count] how often each block was moved out of the way */
    uint32_t *queue;     /* ring buffer of the blocks that are not placed */
    uint32_t first, waiting;
    uint64_t *end_sums, *sums; /* for the near blocks: their ends in ascending order, and
                                * cumulative costs */
    mv_key_row *by_end, *spare;
    uint64_t chance;
    bool by_root; /* costs are proportional to the square root of a block's size */
} repair;

static bool init(repair *r)
{
    uint64_t count = r->p->count;
    mv_arena *arena = r->p->arena;

    r->evictions = mv_push_array(arena, uint32_t, count);
    r->queue = mv_push_array(arena, uint32_t, count);
    r->end_sums = mv_push_array(arena, uint64_t, count + 1);
    r->sums = mv_push_array(arena, uint64_t, count + 1);
    r->by_end = mv_push_array(arena, mv_key_row, count);
    r->spare = mv_push_array(arena, mv_key_row, count);
    return r->evictions && r->queue && r->end_sums && r->sums && r->by_end && r->spare &&
           mv_near_init(&r->near, r->p);
}

static void wait_for_place(repair *r, uint32_t row)
{
    r->queue[(r->first + r->waiting++) % r->p->count] = row;
}

/* Returns the cost of moving a block out of the way. The cost rises with each move, so that the
 * search does not run in circles. Large blocks are harder to place again. How much harder depends
 * on the trace, so the cost uses either sizes or their square roots. */
static uint64_t cost_of(const repair *r, uint32_t row)
{
    uint64_t weight = 1 + (uint64_t)r->evictions[row];
    uint64_t units = 1 + (r->p->blocks[row].size >> 9), root = 1;

    if (!r->by_root)
        return weight * units;
    while (root * root < units)
        root *= 2;
    return weight * root;
}

static void sum_costs(repair *r)
{
    const mv_near *n = &r->near;

    for (uint32_t i = 0; i < n->count; i++)
        r->by_end[i] =
            (mv_key_row){n->rows[i].key + r->p->blocks[n->rows[i].row].size, n->rows[i].row};
    mv_sort_key_rows(r->by_end, r->spare, n->count);
    r->sums[0] = r->end_sums[0] = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        r->sums[i + 1] = r->sums[i] + cost_of(r, n->rows[i].row);
        r->end_sums[i + 1] = r->end_sums[i] + cost_of(r, r->by_end[i].row);
    }
}

/* Returns the total cost of the rows with keys below `key` or, if `inclusive`, of those with keys
 * up to `key`. */
static uint64_t sum_until(const mv_key_row *rows, const uint64_t *sums, uint32_t count,
                          uint64_t key, bool inclusive)
{
    mv_bisect b = mv_bisect_over(0, count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, rows[b.middle].key < key || (inclusive && rows[b.middle].key == key));
    return sums[b.low];
}

/* Returns the cost of all blocks in [low, high), which is the cost of the blocks that begin below
 * `high` minus the cost of the blocks that end at or below `low`. */
static uint64_t cost_at(const repair *r, uint64_t low, uint64_t high)
{
    return sum_until(r->near.rows, r->sums, r->near.count, high, false) -
           sum_until(r->by_end, r->end_sums, r->near.count, low, true);
}

static uint64_t draw(repair *r)
{
    r->chance ^= r->chance << 13;
    r->chance ^= r->chance >> 7;
    r->chance ^= r->chance << 17;
    return r->chance;
}

typedef struct {
    uint64_t cost, at;
    uint32_t ties;
} choice;

static void consider(repair *r, uint64_t at, uint64_t size, choice *best)
{
    uint64_t cost = cost_at(r, at, at + size);

    if (cost > best->cost)
        return;
    best->ties = cost < best->cost ? 1 : best->ties + 1;
    best->cost = cost;
    if (draw(r) % best->ties == 0)
        best->at = at;
}

/* Places a block below `limit` where moving other blocks out of its way costs the least. */
static void settle(repair *r, uint32_t row, uint64_t limit)
{
    const mv_placed_block *b = &r->p->blocks[row];
    uint64_t last = limit - b->size;
    choice best = {UINT64_MAX, 0, 0};

    mv_near_find(&r->near, b, r->offset);
    r->near.steps += 8 * (uint64_t)r->near.count;
    sum_costs(r);
    consider(r, 0, b->size, &best);
    consider(r, last, b->size, &best);
    for (uint32_t i = 0; i < r->near.count; i++) {
        if (r->by_end[i].key <= last)
            consider(r, r->by_end[i].key, b->size, &best);
        if (r->near.rows[i].key >= b->size && r->near.rows[i].key - b->size <= last)
            consider(r, r->near.rows[i].key - b->size, b->size, &best);
    }
    for (uint32_t i = 0; i < r->near.count; i++) {
        uint32_t other = r->near.rows[i].row;
        if (r->offset[other] < best.at + b->size &&
            r->offset[other] + r->p->blocks[other].size > best.at) {
            mv_near_drop(&r->near, other);
            r->evictions[other]++;
            wait_for_place(r, other);
        }
    }
    r->offset[row] = best.at;
    mv_near_add(&r->near, row);
}

static bool repair_below(repair *r, uint64_t limit, uint64_t steps)
{
    const mv_placement_problem *p = r->p;
    uint64_t most = r->near.steps + steps;

    r->first = r->waiting = 0;
    memset(r->near.last, 0, 2 * (uint64_t)r->near.leaves * sizeof *r->near.last);
    memset(r->evictions, 0, p->count * sizeof *r->evictions);
    for (uint32_t i = 0; i < p->count; i++) {
        if (r->offset[i] + p->blocks[i].size > limit)
            wait_for_place(r, i);
        else
            mv_near_add(&r->near, i);
    }
    while (r->waiting > 0 && r->near.steps < most) {
        uint32_t row = r->queue[r->first];
        r->first = (r->first + 1) % p->count;
        r->waiting--;
        settle(r, row, limit);
    }
    return r->waiting == 0;
}

static uint64_t top_of(const repair *r)
{
    uint64_t top = 0;

    for (uint32_t i = 0; i < r->p->count; i++) {
        uint64_t end = r->offset[i] + r->p->blocks[i].size;
        top = end > top ? end : top;
    }
    return top;
}

/* Returns half of a distance, rounded down to a multiple of the unit of block sizes, so that every
 * address remains a multiple of this unit. */
static uint64_t middle_of(uint64_t distance)
{
    uint64_t half = distance / 2;

    return half > MV_MIN_BLOCK ? half - half % MV_MIN_BLOCK : half;
}

uint64_t mv_place_by_repair(mv_placement_problem *p, uint64_t steps, uint64_t *offset)
{
    uint64_t low = p->enough, high = p->best;
    uint64_t *found = mv_push_array(p->arena, uint64_t, p->count);
    repair r = {.p = p, .chance = 0x9e3779b97f4a7c15};

    r.offset = mv_push_array(p->arena, uint64_t, p->count);
    p->out_of_memory = !found || !r.offset || !init(&r);
    if (!p->out_of_memory)
        memcpy(found, offset, p->count * sizeof *found);
    for (uint64_t limit = low, part = steps / 4; !p->out_of_memory && part > steps / 128;) {
        bool is_below = false;
        for (uint32_t way = 0; way < 2 && !is_below; way++) {
            memcpy(r.offset, found, p->count * sizeof *found);
            r.by_root = way;
            is_below = repair_below(&r, limit, part);
        }
        if (is_below) {
            high = top_of(&r);
            memcpy(found, r.offset, p->count * sizeof *found);
        } else {
            low = limit;
        }
        if (high <= p->enough)
            break;
        part -= part / 3;
        limit = low + middle_of(high - low);
    }
    if (!p->out_of_memory && high < p->best)
        memcpy(offset, found, p->count * sizeof *found);
    return high < p->best ? high : UINT64_MAX;
}
