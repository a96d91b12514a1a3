#include "viz/core/address.h"

#include "analyze/lives/address_ranks.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/sort.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, DIGITS = 256 };

/* A radix sort of rows by address, from the lowest byte: stable, so that rows of one address stay
 * in order. A byte that is the same in all costs one count. */
static void sort_rows(const uint64_t *addr, uint32_t **rows, uint32_t **spare, uint32_t count)
{
    for (uint32_t shift = 0; shift < 64 && count; shift += 8) {
        uint32_t start[DIGITS + 1] = {0}, *swap;

        for (uint32_t i = 0; i < count; i++)
            start[(addr[i] >> shift & 0xff) + 1]++;
        if (start[(addr[0] >> shift & 0xff) + 1] == count)
            continue;
        for (uint32_t d = 1; d <= DIGITS; d++)
            start[d] += start[d - 1];
        for (uint32_t i = 0; i < count; i++)
            (*spare)[start[addr[(*rows)[i]] >> shift & 0xff]++] = (*rows)[i];
        swap = *rows;
        *rows = *spare;
        *spare = swap;
    }
}

static uint64_t leaf(const mv_addresses *a, uint32_t at)
{
    uint32_t row = a->row[at];
    return mv_range_end(a->allocs->addr[row], a->allocs->block[row]);
}

static bool plant_tree(mv_arena *arena, mv_addresses *a)
{
    uint32_t below = a->count;

    while (a->levels == 0 ? below > 0 : below > 1) {
        uint32_t level = a->levels++, length = below / FAN + (below % FAN != 0);
        a->length[level] = length;
        a->highest[level] = mv_push_array(arena, uint64_t, length);
        if (!a->highest[level])
            return false;
        for (uint32_t i = 0; i < below; i++) {
            uint64_t *most = &a->highest[level][i >> FAN_BITS];
            uint64_t end = level ? a->highest[level - 1][i] : leaf(a, i);
            *most = end > *most ? end : *most;
        }
        below = length;
    }
    return true;
}

mv_code mv_addresses_make(mv_arena *arena, const mv_lives *lives, mv_addresses *out, mv_err *err)
{
    uint32_t count = lives->allocs.count;
    uint32_t *rows = mv_arena_grow(arena, NULL, (uint64_t)count * sizeof *rows);
    uint32_t *spare = mv_arena_grow(arena, NULL, (uint64_t)count * sizeof *spare);

    *out = (mv_addresses){.allocs = &lives->allocs, .count = count};
    if (!rows || !spare)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "addresses of %u allocations", count);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = i;
    sort_rows(lives->allocs.addr, &rows, &spare, count);
    mv_arena_drop(arena, spare);
    out->row = rows;
    if (!plant_tree(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "addresses of %u allocations", count);
    return MV_OK;
}

/* ---- asking ------------------------------------------------------------------------------- */

/* How many rows start at or below `addr`. */
static uint32_t starts_until(const mv_addresses *a, uint64_t addr)
{
    mv_bisect b = mv_bisect_over(0, a->count);

    while (mv_bisect_next(&b))
        mv_bisect_tell(&b, a->allocs->addr[a->row[b.middle]] <= addr);
    return (uint32_t)b.low;
}

typedef struct {
    mv_arena *arena;
    const mv_addresses *addresses;
    uint64_t addr;
    uint32_t limit; /* leaves below it that start at or below `addr` */
    mv_alive *out;
    uint32_t capacity;
} address_search;

/* All leaves below a node that cover the address; level 0: a leaf itself. */
static bool take_node(address_search *s, uint32_t level, uint64_t node)
{
    const mv_addresses *a = s->addresses;
    uint64_t first = node << FAN_BITS, below = level > 1 ? a->length[level - 2] : a->count;

    if (node << (FAN_BITS * level) >= s->limit)
        return true;
    if ((level ? a->highest[level - 1][node] : leaf(a, (uint32_t)node)) <= s->addr)
        return true;
    if (level == 0)
        return mv_append(s->arena, s->out->row, s->out->count, s->capacity, a->row[node]);
    for (uint64_t child = first; child < first + FAN && child < below; child++)
        if (!take_node(s, level - 1, child))
            return false;
    return true;
}

mv_code mv_addresses_at(mv_arena *arena, const mv_addresses *addresses, uint64_t addr,
                        mv_alive *out, mv_err *err)
{
    address_search s = {.arena = arena,
                        .addresses = addresses,
                        .addr = addr,
                        .limit = starts_until(addresses, addr),
                        .out = out};

    *out = (mv_alive){0};
    if (addresses->count && !take_node(&s, addresses->levels, 0))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u rows at an address", out->count);
    if (out->count)
        mv_sort_rows(arena, out->row, out->count, MV_RISING_VALUES(uint32_t));
    return MV_OK;
}
