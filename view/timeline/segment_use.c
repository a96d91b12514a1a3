#include "view/timeline/segment_use.h"

#include "base/search.h"
#include "base/sort.h"

typedef struct {
    const mv_index *allocs, *segments;
    uint32_t *by_addr; /* [segments] ranks sorted by address, then by birth */
    uint32_t *rank_of; /* [rows of lives->segments] rank of each row */
    uint64_t *used;    /* [segments] bytes in use at the current event of the sweep */
} use_state;

/* ---- the segments of an allocation -------------------------------------------------------- */

/* Returns the segment that begins at an address and exists after an event; MV_NO_ROW: there is
 * none. */
static uint32_t segment_at(const use_state *u, uint64_t addr, uint32_t event)
{
    const mv_alloc_lives *s = &u->segments->lives->allocs;
    mv_bisect b = mv_bisect_over(0, u->segments->count);
    uint32_t low;

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, s->addr[u->by_addr[b.middle]] < addr);
    for (low = (uint32_t)b.low; low < u->segments->count && s->addr[u->by_addr[low]] == addr; low++)
        if (mv_index_is_alive(u->segments, u->by_addr[low], event))
            return u->by_addr[low];
    return MV_NO_ROW;
}

/* Adds the bytes of an allocation to its segments, or subtracts them. In expandable segments, a
 * block may span several separately mapped ranges. */
static void account(use_state *u, uint32_t alloc, bool is_end)
{
    const mv_alloc_lives *a = &u->allocs->lives->allocs, *s = &u->segments->lives->allocs;
    uint64_t left = u->allocs->bytes[alloc], at = a->addr[alloc];
    uint32_t rank;

    if (a->segment[alloc] >= u->segments->count)
        return;
    rank = u->rank_of[a->segment[alloc]];
    while (rank != MV_NO_ROW && left > 0) {
        uint64_t room = s->addr[rank] + s->block[rank] - at;
        uint64_t part = left < room ? left : room;
        if (at < s->addr[rank] || room > s->block[rank])
            return;
        u->used[rank] += is_end ? -part : part;
        left -= part;
        at += part;
        rank = left > 0 ? segment_at(u, at, a->birth[alloc]) : MV_NO_ROW;
    }
}

static bool open_state(mv_arena *scratch, const mv_index *allocs, const mv_index *segments,
                       use_state *u)
{
    uint32_t count = segments->count;

    *u = (use_state){.allocs = allocs, .segments = segments};
    u->by_addr = mv_order_u64(scratch, segments->lives->allocs.addr, count);
    u->rank_of = mv_push_array(scratch, uint32_t, count);
    u->used = mv_push_array(scratch, uint64_t, count);
    if (!u->by_addr || !u->rank_of || !u->used)
        return false;
    for (uint32_t i = 0; i < count; i++)
        u->rank_of[segments->lives->allocs.segment[i]] = i;
    return true;
}

/* ---- samples ------------------------------------------------------------------------------ */

static void take_sample(const use_state *u, uint32_t event, uint8_t *level)
{
    const mv_index *s = u->segments;
    uint32_t born = mv_index_born(s, event);

    for (uint32_t r = mv_index_next(s, 0, born, event); r < born;
         r = mv_index_next(s, r + 1, born, event)) {
        level[r] = (uint8_t)(1 + mv_fullness_level(u->used[r], s->bytes[r]));
    }
}

static void begin_at(use_state *u, uint32_t event)
{
    uint32_t born = mv_index_born(u->allocs, event);

    for (uint32_t r = mv_index_next(u->allocs, 0, born, event); r < born;
         r = mv_index_next(u->allocs, r + 1, born, event))
        if (mv_index_is_alive(u->allocs, r, event))
            account(u, r, false);
}

static void sample_all(use_state *u, mv_segment_use *use)
{
    uint32_t first = (uint32_t)use->ask.first, ranks = u->segments->count, done = 0;
    uint32_t start = first > 0 ? first - 1 : MV_BEFORE;
    uint64_t length = use->ask.end - use->ask.first;
    mv_index_walk walk = mv_index_walk_from(u->allocs, first, (uint32_t)use->ask.end);
    bool has_next;

    begin_at(u, start);
    use->event[done] = start;
    take_sample(u, start, use->level);
    has_next = mv_index_walk_next(&walk);
    for (done = 1; done < use->count; done++) {
        uint32_t event = first + (uint32_t)(length * done / (use->count - 1)) - 1;
        for (; has_next && walk.event <= event; has_next = mv_index_walk_next(&walk))
            account(u, walk.rank, walk.is_end);
        use->event[done] = event;
        take_sample(u, event, use->level + (uint64_t)done * ranks);
    }
}

void *mv_segment_use_find(mv_arena *arena, void *context, const void *ask)
{
    mv_segment_use *use = mv_push_struct(arena, mv_segment_use);
    uint64_t most, length;
    mv_arena scratch;
    use_state u;

    (void)context;
    if (!use)
        return NULL;
    memcpy(&use->ask, ask, sizeof use->ask);
    length = use->ask.end - use->ask.first;
    most = MV_USE_CELLS / ((uint64_t)use->ask.segments->count + 1);
    most = most > MV_USE_SAMPLES ? MV_USE_SAMPLES : most < 2 ? 2 : most;
    use->count = (uint32_t)(length + 1 < most ? length + 1 : most);
    use->event = mv_push_array(arena, uint32_t, use->count);
    use->level = mv_push_array(arena, uint8_t, (uint64_t)use->count * use->ask.segments->count);
    mv_arena_init(&scratch, arena->budget);
    if (!use->event || !use->level || !open_state(&scratch, use->ask.allocs, use->ask.segments, &u))
        use = NULL;
    else
        sample_all(&u, use);
    mv_arena_release(&scratch);
    return use;
}

const uint8_t *mv_segment_use_at(const mv_segment_use *use, uint32_t event)
{
    /* Events are ascending, starting with the second one; the first may be MV_BEFORE. */
    uint64_t at =
        event == MV_BEFORE ? 0 : mv_upper_bound_u32(use->event + 1, use->count - 1, event);

    return use->level + at * use->ask.segments->count;
}

uint64_t mv_segment_used(const mv_index *allocs, const mv_index *segments, uint32_t rank,
                         uint32_t event)
{
    const mv_alloc_lives *a = &allocs->lives->allocs, *s = &segments->lives->allocs;
    uint64_t from = s->addr[rank], to = from + s->block[rank], used = 0;
    uint32_t born = mv_index_born(allocs, event);

    for (uint32_t r = mv_index_next(allocs, 0, born, event); r < born;
         r = mv_index_next(allocs, r + 1, born, event)) {
        uint64_t begin = a->addr[r], end = begin + allocs->bytes[r];
        if (!mv_index_is_alive(allocs, r, event))
            continue;
        begin = begin > from ? begin : from;
        end = end < to ? end : to;
        used += end > begin ? end - begin : 0;
    }
    return used;
}
