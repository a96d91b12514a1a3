
#include "analyze/floor/near_blocks.h"
#include "base/search.h"

/* Returns the lowest address at which `size` bytes are free between the near blocks. With
 * `best_fit`, returns the start of the smallest gap that is large enough. */
static uint64_t find_gap(const mv_near *s, uint64_t size, bool best_fit)
{
    uint64_t at = 0, best = UINT64_MAX, best_size = UINT64_MAX;

    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t low = s->rows[i].key, end = low + s->p->blocks[s->rows[i].row].size;
        if (low > at && low - at >= size && low - at < best_size) {
            if (!best_fit)
                return at;
            best = at;
            best_size = low - at;
        }
        at = end > at ? end : at;
    }
    return best == UINT64_MAX ? at : best;
}

static uint64_t place_all(mv_near *s, const uint32_t *rows, bool best_fit, uint64_t most,
                          uint64_t *offset)
{
    const mv_placement_problem *p = s->p;
    uint64_t top = 0;

    memset(s->last, 0, 2 * (uint64_t)s->leaves * sizeof *s->last);
    for (uint32_t i = 0; i < p->count; i++) {
        const mv_placed_block *b = &p->blocks[rows[i]];
        mv_near_find(s, b, offset);
        offset[rows[i]] = find_gap(s, b->size, best_fit);
        top = offset[rows[i]] + b->size > top ? offset[rows[i]] + b->size : top;
        if (s->steps > most)
            return UINT64_MAX;
        mv_near_add(s, rows[i]);
    }
    return top;
}

#define ROUNDS 300

typedef struct {
    uint64_t top;
    uint64_t *offset; /* [count] offsets of the placement with this top */
    uint64_t *trial;  /* [count] */
} priority_best;

typedef enum { BY_LOAD, BY_AREA, BY_SIZE, BY_LIFE, ORDERS } block_order;

static uint64_t weight_of(const mv_placed_block *b, block_order order)
{
    uint64_t life = b->death - b->birth;

    if (order == BY_SIZE)
        return b->size;
    if (order == BY_LIFE)
        return life;
    return b->size > UINT64_MAX / life ? UINT64_MAX : b->size * life;
}

/* Finds the highest load during each block's life: [count], in order of birth. Loads are highest
 * directly after births, so a tree over births finds them. */
static bool find_loads(const mv_near *s, mv_key_row *keys)
{
    const mv_placement_problem *p = s->p;
    uint32_t leaves = s->leaves, last = 0;
    uint64_t *most = mv_push_array(p->arena, uint64_t, 2 * (uint64_t)leaves), now = 0;

    for (uint32_t i = 0; most && i < p->count; i++) {
        const mv_placed_block *b = &p->blocks[p->by_birth[i]];
        for (; p->blocks[p->by_death[last]].death <= b->birth; last++)
            now -= p->blocks[p->by_death[last]].size;
        most[leaves + i] = now += b->size;
    }
    for (uint32_t i = leaves - 1; most && i > 0; i--)
        most[i] = most[2 * i] > most[2 * i + 1] ? most[2 * i] : most[2 * i + 1];
    for (uint32_t i = 0; most && i < p->count; i++) {
        uint32_t death = p->blocks[p->by_birth[i]].death;
        uint64_t load = 0;
        mv_bisect b = mv_bisect_over(i, p->count);
        while (mv_bisect_next(&b))
            mv_bisect_narrow(&b, p->blocks[p->by_birth[b.middle]].birth < death);
        for (uint32_t low = leaves + i, high = leaves + (uint32_t)b.low; low < high;
             low /= 2, high /= 2) {
            if (low & 1) {
                load = most[low] > load ? most[low] : load;
                low++;
            }
            if (high & 1) {
                high--;
                load = most[high] > load ? most[high] : load;
            }
        }
        keys[i] = (mv_key_row){load, p->by_birth[i]};
    }
    return most != NULL;
}

static void order_rows(const mv_near *s, block_order order, mv_key_row *keys, uint32_t *rows)
{
    const mv_placement_problem *p = s->p;

    for (uint32_t i = 0; i < p->count; i++)
        keys[i] =
            (mv_key_row){weight_of(&p->blocks[p->by_birth[i]], order == BY_LOAD ? BY_AREA : order),
                         p->by_birth[i]};
    if (order == BY_LOAD)
        find_loads(s, keys);
    mv_sort_rows(p->arena, keys, p->count, MV_FALLING(mv_key_row, key));
    for (uint32_t i = 0; i < p->count; i++)
        rows[i] = keys[i].row;
}

/* Moves the blocks that end above `enough` to the front, and otherwise keeps the order. */
static void promote(const mv_placement_problem *p, const uint64_t *offset, uint32_t *rows,
                    uint32_t *spare)
{
    uint32_t front = 0, rest = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t row = rows[i];
        if (offset[row] + p->blocks[row].size > p->enough)
            spare[front++] = row;
        else
            rows[rest++] = row;
    }
    memmove(rows + front, rows, rest * sizeof *rows);
    memcpy(rows, spare, front * sizeof *rows);
}

/* Places the blocks in the order of `rows`. While steps remain, this is repeated with the blocks
 * that ended too high placed first. */
static void try_order(mv_near *s, uint32_t *rows, uint32_t *spare, bool best_fit, uint64_t most,
                      uint64_t all, priority_best *best)
{
    const mv_placement_problem *p = s->p;

    for (uint32_t round = 0; round < ROUNDS && best->top > p->enough; round++) {
        uint64_t top = place_all(s, rows, best_fit, round ? most : all, best->trial);
        if (top == UINT64_MAX)
            return;
        if (top < best->top) {
            best->top = top;
            memcpy(best->offset, best->trial, p->count * sizeof *best->offset);
        }
        promote(p, best->trial, rows, spare);
    }
}

uint64_t mv_place_by_priority(mv_placement_problem *p, uint64_t steps, uint64_t *offset)
{
    priority_best best = {.top = UINT64_MAX, .offset = offset};
    uint32_t *rows = mv_push_array(p->arena, uint32_t, p->count);
    uint32_t *spare = mv_push_array(p->arena, uint32_t, p->count);
    mv_key_row *keys = mv_push_array(p->arena, mv_key_row, p->count);
    mv_near s;

    best.trial = mv_push_array(p->arena, uint64_t, p->count);
    p->out_of_memory = !rows || !spare || !keys || !best.trial || !mv_near_init(&s, p);
    for (uint32_t i = 0; !p->out_of_memory && i < 2 * ORDERS && s.steps < steps; i++) {
        uint64_t share = (steps - s.steps) / (2 * ORDERS - i);
        order_rows(&s, i / 2, keys, rows);
        try_order(&s, rows, spare, i % 2, s.steps + share, steps, &best);
    }
    return best.top;
}
