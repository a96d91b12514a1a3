#include "analyze/lives/address_users.h"

#include "base/rankset.h"
#include "base/search.h"
#include "base/sort.h"

/* The latest user of every byte while the allocations are visited: ranges of ranks, each with a
 * single user. A rank is the number of a distinct address at which some block starts. */
typedef struct {
    const mv_alloc_lives *allocs;
    uint32_t count;
    uint64_t *addr;    /* [count] by rank, ascending */
    uint32_t *rank;    /* [allocs->count] */
    mv_rankset starts; /* starts of the ranges; rank 0 is always a start */
    uint32_t *user;    /* [count] user of the range that starts at this rank */
} users_sweep;

static bool rank_addresses(mv_arena *scratch, users_sweep *s)
{
    const mv_alloc_lives *a = s->allocs;
    uint32_t *order = mv_order_u64(scratch, a->addr, a->count);

    s->addr = mv_push_array(scratch, uint64_t, a->count);
    s->rank = mv_push_array(scratch, uint32_t, a->count);
    if (!order || !s->addr || !s->rank)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t addr = a->addr[order[i]];
        if (s->count == 0 || s->addr[s->count - 1] != addr)
            s->addr[s->count++] = addr;
        s->rank[order[i]] = s->count - 1;
    }
    mv_arena_drop(scratch, order);
    return true;
}

/* Returns the rank after the last rank that the block covers. */
static uint32_t end_of(const users_sweep *s, uint32_t row)
{
    uint64_t block = s->allocs->block[row], first = s->rank[row] + 1;
    uint64_t end = mv_range_end(s->allocs->addr[row], block ? block : 1);

    if (first == s->count || s->addr[first] >= end) /* true for most blocks */
        return (uint32_t)first;
    return (uint32_t)(first + mv_lower_bound_u64(s->addr + first, s->count - first, end));
}

/* Makes `row` the user of its bytes, and returns the previous user of the first of these bytes. */
static uint32_t use(users_sweep *s, uint32_t row)
{
    uint32_t low = s->rank[row], end = end_of(s, row);
    uint32_t before = s->user[mv_rankset_prev(&s->starts, low)];

    if (end < s->count && !mv_rankset_has(&s->starts, end)) {
        s->user[end] = s->user[mv_rankset_prev(&s->starts, end)];
        mv_rankset_add(&s->starts, end);
    }
    for (uint32_t at = mv_rankset_next(&s->starts, low); at < end;
         at = mv_rankset_next(&s->starts, at + 1))
        mv_rankset_drop(&s->starts, at);
    mv_rankset_add(&s->starts, low);
    s->user[low] = row;
    return before;
}

static bool begin(mv_arena *scratch, users_sweep *s)
{
    s->user = mv_push_array(scratch, uint32_t, s->count);
    if (!s->user || !mv_rankset_init(scratch, s->count, &s->starts))
        return false;
    s->user[0] = MV_NO_ROW;
    mv_rankset_add(&s->starts, 0);
    return true;
}

static bool sweep(mv_arena *scratch, users_sweep *s, mv_address_users *out)
{
    if (!rank_addresses(scratch, s) || !begin(scratch, s))
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        out->previous[i] = use(s, i);
    if (!begin(scratch, s))
        return false;
    for (uint32_t i = out->count; i-- > 0;)
        out->next[i] = use(s, i);
    return true;
}

mv_code mv_address_users_find(mv_arena *arena, const mv_lives *lives, mv_address_users *out,
                              mv_err *err)
{
    users_sweep s = {.allocs = &lives->allocs};
    uint32_t count = lives->allocs.count;
    mv_arena scratch;
    bool is_done;

    *out = (mv_address_users){.count = count,
                              .previous = mv_push_array(arena, uint32_t, count),
                              .next = mv_push_array(arena, uint32_t, count)};
    mv_arena_init(&scratch, arena->budget);
    is_done = out->previous && out->next && (count == 0 || sweep(&scratch, &s, out));
    mv_arena_release(&scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "users of addresses");
}
