#include "viz/core/drawn_rows.h"

#include "base/rankset.h"
#include "base/search.h"
#include "base/sort.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS };

static mv_code no_memory(mv_err *err, const mv_index *x)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "drawing %u allocations", x->count);
}

/* ---- the clock ---------------------------------------------------------------------------- */

typedef struct {
    mv_drawn *drawn;
    mv_rankset alive;
    uint32_t top;    /* highest drawn rank that is alive; MV_NO_RANK: none */
    uint32_t event;  /* event that is being processed */
    uint32_t lowest; /* lowest drawn rank that ended in this event; MV_NO_ROW: none */
} sweep;

/* Decides whether the event slides, and which ranks slide. Called when all ends of the event are
 * known. */
static void close_ends(sweep *s)
{
    mv_drawn *d = s->drawn;

    if (s->lowest != MV_NO_ROW && s->top != MV_NO_RANK && s->top > s->lowest) {
        uint32_t *least = &d->lowest[0][s->event >> FAN_BITS];
        mv_bitmap_set(&d->slides, s->event);
        *least = s->lowest < *least ? s->lowest : *least;
    }
    s->lowest = MV_NO_ROW;
}

static void end(sweep *s, uint32_t rank)
{
    mv_rankset_drop(&s->alive, rank);
    if (rank == s->top)
        s->top = mv_rankset_prev(&s->alive, rank);
    s->lowest = rank < s->lowest ? rank : s->lowest;
}

static void begin(sweep *s, uint32_t rank)
{
    mv_rankset_add(&s->alive, rank);
    s->top = rank;
}

static void run(sweep *s)
{
    const mv_index *x = s->drawn->index;
    mv_index_walk walk = mv_index_walk_from(x, 0, x->events);

    for (uint32_t r = 0; r < x->preexisting; r++)
        if (mv_drawn_has(s->drawn, r) && mv_index_is_alive(x, r, MV_BEFORE))
            begin(s, r);
    while (mv_index_walk_next(&walk)) {
        if (walk.event != s->event || !walk.is_end)
            close_ends(s);
        s->event = walk.event;
        if (!mv_drawn_has(s->drawn, walk.rank))
            continue;
        if (walk.is_end)
            end(s, walk.rank);
        else
            begin(s, walk.rank);
    }
    close_ends(s);
}

static void fill_level(mv_drawn *d, uint32_t level)
{
    for (uint32_t i = 0; i < d->length[level - 1]; i++) {
        uint32_t *least = &d->lowest[level][i >> FAN_BITS], below = d->lowest[level - 1][i];
        *least = below < *least ? below : *least;
    }
}

static bool alloc_tree(mv_arena *arena, mv_drawn *d)
{
    uint32_t length = d->index->events;

    while (d->levels == 0 ? length > 0 : length > 1) {
        uint32_t level = d->levels++;
        length = length / FAN + (length % FAN != 0);
        d->length[level] = length;
        d->lowest[level] = mv_push_array(arena, uint32_t, length);
        if (!d->lowest[level])
            return false;
        for (uint32_t i = 0; i < length; i++)
            d->lowest[level][i] = MV_NO_ROW;
    }
    return true;
}

static mv_code make(mv_arena *arena, mv_drawn *d, mv_err *err)
{
    sweep s = {.drawn = d, .top = MV_NO_RANK, .lowest = MV_NO_ROW};
    mv_arena scratch;

    if (!mv_bitmap_init(arena, d->index->events, &d->slides) || !alloc_tree(arena, d))
        return no_memory(err, d->index);
    mv_arena_init(&scratch, arena->budget);
    if (!mv_rankset_init(&scratch, d->index->count, &s.alive)) {
        mv_arena_release(&scratch);
        return no_memory(err, d->index);
    }
    run(&s);
    mv_arena_release(&scratch);
    mv_bitmap_tally(&d->slides);
    for (uint32_t level = 1; level < d->levels; level++)
        fill_level(d, level);
    return MV_OK;
}

/* ---- sets --------------------------------------------------------------------------------- */

mv_code mv_drawn_all(mv_arena *arena, const mv_index *x, mv_drawn *out, mv_err *err)
{
    *out = (mv_drawn){.index = x};
    for (uint32_t r = 0; r < x->count; r++)
        out->count += mv_index_is_ever_alive(x, r);
    return make(arena, out, err);
}

mv_code mv_drawn_some(mv_arena *arena, const mv_index *x, const uint64_t *rows, mv_drawn *out,
                      mv_err *err)
{
    *out = (mv_drawn){.index = x, .rows = rows};
    for (uint32_t r = 0; r < x->count; r++)
        out->count += mv_drawn_has(out, r) && mv_index_is_ever_alive(x, r);
    return make(arena, out, err);
}

/* ---- asking ------------------------------------------------------------------------------- */

uint64_t mv_drawn_offset(const mv_drawn *d, uint32_t rank, uint32_t event)
{
    const mv_index *x = d->index;
    uint32_t born = mv_index_born(x, event), limit = rank < born ? rank : born;
    uint64_t sum = 0;

    for (uint32_t r = mv_index_next(x, 0, limit, event); r < limit;
         r = mv_index_next(x, r + 1, limit, event))
        if (mv_drawn_has(d, r))
            sum += x->bytes[r];
    return sum;
}

uint64_t mv_drawn_slide(const mv_drawn *d, uint32_t event, uint32_t rank)
{
    uint32_t state = 0, r;
    uint64_t sum = 0;

    while ((r = mv_index_next_end(d->index, event, &state)) != MV_NO_ROW)
        if (r < rank && mv_drawn_has(d, r))
            sum += d->index->bytes[r];
    return sum;
}

static bool ends_below(const mv_drawn *d, uint32_t event, uint32_t rank)
{
    uint32_t state = 0, r;

    while ((r = mv_index_next_end(d->index, event, &state)) != MV_NO_ROW)
        if (r < rank && mv_drawn_has(d, r))
            return true;
    return false;
}

/* Returns the first group of 16 events, at or after group `node`, in which a row below `rank` ends;
 * UINT64_MAX: there is none. */
static uint64_t next_group(const mv_drawn *d, uint32_t node, uint32_t rank)
{
    uint32_t level = 0;

    for (;;) {
        uint64_t last = ((uint64_t)node | (FAN - 1)) + 1;
        if (last > d->length[level])
            last = d->length[level];
        while (node < last && d->lowest[level][node] >= rank)
            node++;
        if (node < last)
            break;
        if (node >= d->length[level])
            return UINT64_MAX;
        node >>= FAN_BITS;
        level++;
    }
    while (level-- > 0)
        for (node <<= FAN_BITS; d->lowest[level][node] >= rank;)
            node++;
    return node;
}

uint32_t mv_drawn_next_slide(const mv_drawn *d, uint32_t from, uint32_t to, uint32_t rank)
{
    while (from < to) {
        uint64_t group, last = ((uint64_t)from | (FAN - 1)) + 1;
        uint32_t stop = last < to ? (uint32_t)last : to;
        for (; (from = mv_bitmap_next(&d->slides, from, stop)) < stop; from++)
            if (ends_below(d, from, rank))
                return from;
        if (from >= to)
            break;
        group = next_group(d, from >> FAN_BITS, rank);
        if (group >= to || group * FAN >= to)
            break;
        from = (uint32_t)group << FAN_BITS;
    }
    return to;
}
