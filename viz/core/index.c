#include "viz/core/index.h"

#include "base/grow.h"
#include "base/search.h"
#include "base/sort.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS };

/* ---- making ------------------------------------------------------------------------------- */

bool mv_index_is_ever_alive(const mv_index *x, uint32_t rank)
{
    if (rank >= x->preexisting)
        return x->end[rank] > x->birth[rank];
    return x->measure != MV_INDEX_ALLOCATED || !x->lives->alloc_of ||
           !mv_alloc_was_pending(x->lives, rank);
}

static bool is_reported(const mv_index *x, uint32_t rank, uint32_t event)
{
    return x->lives->alloc_of && x->lives->alloc_of[event] == rank;
}

/* Marks where rows begin and end. Returns the number of ends that are not in alloc_of. */
static uint32_t mark_changes(mv_index *x)
{
    uint32_t odd = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        uint32_t end = x->end[r];
        if (!mv_index_is_ever_alive(x, r))
            continue;
        if (r >= x->preexisting)
            mv_bitmap_set(&x->changes, x->birth[r]);
        if (end >= x->events)
            continue;
        mv_bitmap_set(&x->changes, end);
        if (is_reported(x, r, end))
            mv_bitmap_set(&x->ends, end);
        else
            odd++;
    }
    return odd;
}

static bool list_odd(mv_arena *arena, mv_index *x, uint32_t count)
{
    x->odd = mv_push_array(arena, mv_index_end, count);
    if (!x->odd)
        return false;
    for (uint32_t r = 0; r < x->count && x->odd_count < count; r++) {
        uint32_t end = x->end[r];
        if (end < x->events && !is_reported(x, r, end) && mv_index_is_ever_alive(x, r))
            x->odd[x->odd_count++] = (mv_index_end){end, r};
    }
    mv_sort_rows(arena, x->odd, x->odd_count, MV_RISING(mv_index_end, event)); /* the rows are
                                                                                  already sorted by
                                                                                  rank */
    return true;
}

static void fill_level(mv_index *x, uint32_t level)
{
    const uint32_t *end = level ? x->latest_end[level - 1] : x->end;
    const uint64_t *bytes = level ? x->most_bytes[level - 1] : x->bytes;
    uint32_t below = level ? x->length[level - 1] : x->count;

    for (uint32_t node = 0; node < x->length[level]; node++) {
        uint64_t first = (uint64_t)node * FAN, last = first + FAN < below ? first + FAN : below;
        uint32_t latest = 0;
        uint64_t most = 0;
        for (uint64_t i = first; i < last; i++) {
            latest = end[i] > latest ? end[i] : latest;
            most = bytes[i] > most ? bytes[i] : most;
        }
        x->latest_end[level][node] = latest;
        x->most_bytes[level][node] = most;
    }
}

static bool plant_trees(mv_arena *arena, mv_index *x)
{
    uint32_t length = x->count;

    while (x->levels == 0 ? length > 0 : length > 1) {
        uint32_t level = x->levels++;
        length = length / FAN + (length % FAN != 0);
        x->length[level] = length;
        x->latest_end[level] = mv_push_array(arena, uint32_t, length);
        x->most_bytes[level] = mv_push_array(arena, uint64_t, length);
        if (!x->latest_end[level] || !x->most_bytes[level])
            return false;
        fill_level(x, level);
    }
    return true;
}

mv_code mv_index_make(mv_arena *arena, const mv_lives *lives, mv_index_measure measure,
                      mv_index *out, mv_err *err)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t odd;

    *out = (mv_index){.lives = lives,
                      .measure = measure,
                      .count = a->count,
                      .events = lives->events.count,
                      .preexisting = a->preexisting,
                      .bytes = measure == MV_INDEX_REQUESTED ? a->requested : a->block,
                      .birth = a->birth,
                      .end = measure == MV_INDEX_ALLOCATED ? a->freed : a->completed};
    if (!mv_bitmap_init(arena, out->events, &out->changes) ||
        !mv_bitmap_init(arena, out->events, &out->ends))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "index of %u events", out->events);
    odd = mark_changes(out);
    mv_bitmap_tally(&out->changes);
    if (!list_odd(arena, out, odd) || !plant_trees(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "index of %u allocations", out->count);
    return MV_OK;
}

/* ---- asking ------------------------------------------------------------------------------- */

uint32_t mv_index_born(const mv_index *x, uint32_t event)
{
    uint32_t first = x->preexisting;

    if (event == MV_BEFORE)
        return first;
    return first + (uint32_t)mv_upper_bound_u32(x->birth + first, x->count - first, event);
}

bool mv_index_is_alive(const mv_index *x, uint32_t rank, uint32_t event)
{
    return mv_alive_spans(x->birth[rank], x->end[rank], event) &&
           (event != MV_BEFORE || mv_index_is_ever_alive(x, rank));
}

typedef enum { BY_END, BY_BYTES } tree;

/* Whether a leaf, or any leaf below a node, is at least `least`. */
static inline bool leaf_has(const mv_index *x, tree t, uint32_t rank, uint64_t least)
{
    return (t == BY_END ? x->end[rank] : x->bytes[rank]) >= least;
}

static inline bool node_has(const mv_index *x, tree t, uint32_t level, uint32_t node,
                            uint64_t least)
{
    return (t == BY_END ? x->latest_end[level][node] : x->most_bytes[level][node]) >= least;
}

/* Returns the first group of leaves with a match, at or after group `node`. If there is none,
 * returns at least count / FAN, rounded up. Climbs while whole subtrees have no match, and then
 * descends to the first match. */
static inline uint64_t next_group(const mv_index *x, tree t, uint32_t node, uint64_t least)
{
    uint32_t level = 0;

    for (;;) {
        uint64_t last = ((uint64_t)node | (FAN - 1)) + 1;
        if (last > x->length[level])
            last = x->length[level];
        while (node < last && !node_has(x, t, level, node, least))
            node++;
        if (node < last)
            break;
        if (node >= x->length[level])
            return UINT64_MAX;
        node >>= FAN_BITS;
        level++;
    }
    while (level-- > 0)
        for (node <<= FAN_BITS; !node_has(x, t, level, node, least);)
            node++;
    return node;
}

static inline uint32_t next_in(const mv_index *x, tree t, uint32_t from, uint32_t limit,
                               uint64_t least)
{
    while (from < limit) {
        uint64_t group, last = ((uint64_t)from | (FAN - 1)) + 1;
        for (last = last < limit ? last : limit; from < last; from++)
            if (leaf_has(x, t, from, least))
                return from;
        if (from >= limit)
            break;
        group = next_group(x, t, from >> FAN_BITS, least);
        if (group >= limit >> FAN_BITS && group * FAN >= limit)
            break;
        from = (uint32_t)group << FAN_BITS;
    }
    return limit;
}

uint32_t mv_index_next(const mv_index *x, uint32_t from, uint32_t limit, uint32_t event)
{
    if (event != MV_BEFORE)
        return next_in(x, BY_END, from, limit, (uint64_t)event + 1);
    while (from < limit && !mv_index_is_ever_alive(x, from))
        from++;
    return from < limit ? from : limit;
}

uint32_t mv_index_next_large(const mv_index *x, uint32_t from, uint32_t limit, uint64_t bytes)
{
    return next_in(x, BY_BYTES, from, limit, bytes);
}

uint64_t mv_index_bytes(const mv_index *x, uint32_t limit, uint32_t event)
{
    uint32_t born = mv_index_born(x, event);
    uint64_t sum = 0;

    if (limit > born)
        limit = born;
    for (uint32_t r = mv_index_next(x, 0, limit, event); r < limit;
         r = mv_index_next(x, r + 1, limit, event))
        sum += x->bytes[r];
    return sum;
}

/* ---- lists of rows ------------------------------------------------------------------------ */

/* Lists the rows of [first, limit) that end after `event`, except rows that are never alive. */
static mv_code list(mv_arena *arena, const mv_index *x, uint32_t first, uint32_t limit,
                    uint32_t event, mv_alive *out, mv_err *err)
{
    uint32_t capacity = 0;

    *out = (mv_alive){0};
    for (uint32_t r = mv_index_next(x, first, limit, event); r < limit;
         r = mv_index_next(x, r + 1, limit, event)) {
        if (r >= x->preexisting && x->end[r] <= x->birth[r])
            continue;
        if (!mv_append(arena, out->row, out->count, capacity, r))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u living rows", out->count);
    }
    return MV_OK;
}

mv_code mv_index_alive(mv_arena *arena, const mv_index *x, uint32_t event, mv_alive *out,
                       mv_err *err)
{
    return list(arena, x, 0, mv_index_born(x, event), event, out, err);
}

mv_code mv_index_held(mv_arena *arena, const mv_index *x, uint32_t from, uint32_t to, mv_alive *out,
                      mv_err *err)
{
    return list(arena, x, mv_index_born(x, from), mv_index_born(x, to), to, out, err);
}

/* ---- walking ------------------------------------------------------------------------------ */

/* Returns the first odd end at or after an event. */
static uint32_t first_odd(const mv_index *x, uint32_t event)
{
    mv_bisect b = mv_bisect_over(0, x->odd_count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, x->odd[b.middle].event < event);
    return (uint32_t)b.low;
}

uint32_t mv_index_next_end(const mv_index *x, uint32_t event, uint32_t *state)
{
    if (*state == 0) {
        *state = 1 + first_odd(x, event);
        if (mv_bitmap_has(&x->ends, event))
            return x->lives->alloc_of[event];
    }
    if (*state - 1 >= x->odd_count || x->odd[*state - 1].event != event)
        return MV_NO_ROW;
    return x->odd[(*state)++ - 1].rank;
}

enum { END, ODD_ENDS, BIRTHS };

mv_index_walk mv_index_walk_from(const mv_index *x, uint32_t from, uint32_t to)
{
    mv_index_walk walk = {.index = x, .to = to < x->events ? to : x->events, .stage = END};

    walk.at = mv_bitmap_next(&x->changes, from, walk.to);
    walk.born = mv_index_born(x, from - 1); /* for event 0, this is MV_BEFORE */
    walk.odd = first_odd(x, from);
    return walk;
}

static bool next_birth(mv_index_walk *w)
{
    const mv_index *x = w->index;

    while (w->born < x->count && x->birth[w->born] <= w->at) {
        w->rank = w->born++;
        w->is_end = false;
        if (x->end[w->rank] > w->at)
            return true;
    }
    return false;
}

static bool next_odd_end(mv_index_walk *w)
{
    const mv_index *x = w->index;

    if (w->odd >= x->odd_count || x->odd[w->odd].event != w->at)
        return false;
    w->rank = x->odd[w->odd++].rank;
    w->is_end = true;
    return true;
}

bool mv_index_walk_next(mv_index_walk *w)
{
    for (; w->at < w->to; w->at = mv_bitmap_next(&w->index->changes, w->at + 1, w->to)) {
        w->event = w->at;
        if (w->stage == END) {
            w->stage = ODD_ENDS;
            if (mv_bitmap_has(&w->index->ends, w->at)) {
                w->rank = w->index->lives->alloc_of[w->at];
                w->is_end = true;
                return true;
            }
        }
        if (w->stage == ODD_ENDS) {
            if (next_odd_end(w))
                return true;
            w->stage = BIRTHS;
        }
        if (next_birth(w))
            return true;
        w->stage = END;
    }
    return false;
}
