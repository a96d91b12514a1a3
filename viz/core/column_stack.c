#include "viz/core/column_stack.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS };

/* Measured costs. Adding a living row to the sums and clearing it again costs about as much as
 * processing two events. Visiting a living row costs about as much as one event. Clearing all sums
 * at once is faster if at least one row in CLEAR_ALL is alive. */
enum { SEED_COST = 2, CLEAR_ALL = 512 };

mv_code mv_column_stack_init(mv_arena *arena, const mv_index *index, const uint64_t *drawn,
                             mv_column_stack *out, mv_err *err)
{
    *out = (mv_column_stack){.index = index, .drawn = drawn, .is_empty = true};
    for (uint32_t level = 0; level < index->levels; level++) {
        out->sum[level] = mv_push_array(arena, uint64_t, index->length[level]);
        if (!out->sum[level])
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "sums of %u allocations", index->count);
    }
    return MV_OK;
}

static bool is_drawn(const mv_column_stack *c, uint32_t rank)
{
    return !c->drawn || (c->drawn[rank >> 6] >> (rank & 63) & 1);
}

/* Whether a row born at or before `event` is alive after it. */
static inline bool is_living(const mv_index *x, uint32_t rank, uint32_t event)
{
    return event == MV_BEFORE ? mv_index_is_alive(x, rank, event) : x->end[rank] > event;
}

/* ---- moving ------------------------------------------------------------------------------- */

/* Adds bytes to a node and to all nodes above it, or subtracts them (two's complement). */
static void change_node(mv_column_stack *c, uint32_t node, uint64_t bytes)
{
    for (uint32_t level = 0; level < c->index->levels; level++, node >>= FAN_BITS)
        c->sum[level][node] += bytes;
}

static void change(mv_column_stack *c, uint32_t rank, uint64_t bytes)
{
    change_node(c, rank >> FAN_BITS, bytes);
}

/* Returns the end of those ranks in [0, born) that are in the same node of level 0. */
static uint32_t node_end(uint32_t rank, uint32_t born)
{
    return born - rank > FAN - 1 - rank % FAN ? (rank | (FAN - 1)) + 1 : born;
}

/* Clears the sums of living rows; all other sums are already zero. If there are many living rows,
 * clearing everything is faster. */
static void clear(mv_column_stack *c)
{
    const mv_index *x = c->index;
    uint32_t event = c->now.event, born = mv_index_born(x, event);
    bool is_crowded = c->alive > x->count / CLEAR_ALL;

    for (uint32_t level = 0; is_crowded && level < x->levels; level++)
        memset(c->sum[level], 0, x->length[level] * sizeof *c->sum[level]);
    for (uint32_t r = is_crowded ? born : mv_index_next(x, 0, born, event); r < born;
         r = mv_index_next(x, node_end(r, born), born, event)) {
        uint32_t node = r;
        for (uint32_t level = 0; level < x->levels; level++) {
            node >>= FAN_BITS;
            c->sum[level][node] = 0;
        }
    }
    c->alive = 0;
}

static void seed(mv_column_stack *c, uint32_t event)
{
    const mv_index *x = c->index;
    uint32_t r = 0;

    if (!c->is_empty)
        clear(c);
    c->is_empty = false;
    c->born = mv_index_born(x, event);
    while ((r = mv_index_next(x, r, c->born, event)) < c->born) {
        uint32_t node = r >> FAN_BITS, end = node_end(r, c->born);
        uint64_t bytes = 0;
        for (; r < end; r++)
            if (is_living(x, r, event)) {
                bytes += is_drawn(c, r) ? x->bytes[r] : 0;
                c->alive++;
            }
        change_node(c, node, bytes);
    }
}

/* Processes the events between the last moment and `event`, forward or backward. The order does not
 * matter for sums. */
static void advance(mv_column_stack *c, uint32_t event)
{
    const mv_index *x = c->index;
    bool is_back = event + 1 < c->now.event + 1; /* MV_BEFORE is the first moment */
    mv_index_walk walk = is_back ? mv_index_walk_from(x, event + 1, c->now.event + 1)
                                 : mv_index_walk_from(x, c->now.event + 1, event + 1);

    while (mv_index_walk_next(&walk)) {
        uint64_t bytes = x->bytes[walk.rank];
        bool is_lost = walk.is_end != is_back;
        c->alive += is_lost ? -1u : 1u;
        if (is_drawn(c, walk.rank))
            change(c, walk.rank, is_lost ? -bytes : bytes);
    }
    c->born = mv_index_born(x, event);
}

static uint32_t events_between(uint32_t a, uint32_t b)
{
    return a + 1 > b + 1 ? a - b : b - a;
}

/* Adds the bytes that are still held open by rows that end at the instant, or subtracts them. */
static void hold_open(mv_column_stack *c, bool is_added)
{
    const mv_index *x = c->index;
    mv_index_walk walk;

    if (c->now.slid >= MV_SLID || c->now.event >= x->events ||
        !mv_bitmap_has(&x->changes, c->now.event))
        return;
    walk = mv_index_walk_from(x, c->now.event, c->now.event + 1);
    while (mv_index_walk_next(&walk)) {
        uint64_t open = mv_instant_open(x->bytes[walk.rank], c->now.slid);
        if (walk.is_end && is_drawn(c, walk.rank))
            change(c, walk.rank, is_added ? open : -open);
    }
}

void mv_column_stack_move(mv_column_stack *c, mv_instant instant)
{
    if (!c->is_empty && instant.event == c->now.event && instant.slid == c->now.slid)
        return;
    if (!c->is_empty)
        hold_open(c, false);
    if (c->is_empty || events_between(c->now.event, instant.event) / SEED_COST > c->alive)
        seed(c, instant.event);
    else
        advance(c, instant.event);
    c->now = instant;
    hold_open(c, true);
}

void mv_column_stack_show(mv_column_stack *c, const uint64_t *drawn)
{
    if (drawn == c->drawn)
        return;
    if (!c->is_empty) {
        hold_open(c, false);
        clear(c);
    }
    c->is_empty = true;
    c->drawn = drawn;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Whether a row ends at the instant. Its bytes then no longer belong to any row. */
static bool is_ending(const mv_column_stack *c, uint32_t rank)
{
    return c->index->end[rank] == c->now.event && c->now.event != MV_BEFORE;
}

/* Returns how many bytes one of the ranks [0, born) holds at the instant. */
static uint64_t held(const mv_column_stack *c, uint32_t rank)
{
    const mv_index *x = c->index;
    uint32_t event = c->now.event;

    if (!is_drawn(c, rank))
        return 0;
    if (is_living(x, rank, event))
        return x->bytes[rank];
    if (event == MV_BEFORE || x->end[rank] < event || c->now.slid >= MV_SLID ||
        !mv_index_is_alive(x, rank, event - 1))
        return 0;
    return mv_instant_open(x->bytes[rank], c->now.slid);
}

/* Returns the end of the ranks in a node of level 0 that can hold bytes. */
static uint32_t leaves_end(const mv_column_stack *c, uint32_t node)
{
    uint64_t end = (uint64_t)node * FAN + FAN;

    return end < c->born ? (uint32_t)end : c->born;
}

static uint32_t children_end(const mv_column_stack *c, uint32_t level, uint32_t node)
{
    uint64_t end = (uint64_t)node * FAN + FAN;

    return end < c->index->length[level] ? (uint32_t)end : c->index->length[level];
}

uint64_t mv_column_stack_height(const mv_column_stack *c)
{
    return c->index->levels && !c->is_empty ? c->sum[c->index->levels - 1][0] : 0;
}

/* Reads the tree from the bottom of the stack to the top. */
typedef struct {
    const mv_column_stack *stack;
    const uint64_t *middle; /* for filling ids */
    uint32_t *ids;
    uint64_t least; /* for reading runs */
    mv_run *runs;
    mv_run small; /* the run that is being assembled */
    uint32_t at, count;
} stack_reader;

/* Fills the ids of a node's ranks. Invariant: all pixels whose middle is below `low` are done. */
static void fill_leaves(stack_reader *f, uint32_t node, uint64_t low)
{
    const mv_column_stack *c = f->stack;
    uint32_t end = leaves_end(c, node);

    for (uint32_t r = node * FAN; r < end; r++) {
        uint64_t high = low + held(c, r);
        if (f->middle[f->at] < high) {
            uint32_t id = is_ending(c, r) ? MV_NO_ROW : r;
            while (f->at < f->count && f->middle[f->at] < high)
                f->ids[f->at++] = id;
            if (f->at == f->count)
                return;
        }
        low = high;
    }
}

/* Fills the ids of a node's children, which are on level `level`. */
static void fill_nodes(stack_reader *f, uint32_t level, uint32_t parent, uint64_t low)
{
    const uint64_t *sum = f->stack->sum[level];
    uint32_t end = children_end(f->stack, level, parent);

    for (uint32_t node = parent * FAN; node < end; node++) {
        uint64_t high = low + sum[node];
        if (f->middle[f->at] < high) {
            if (level > 0)
                fill_nodes(f, level - 1, node, low);
            else
                fill_leaves(f, node, low);
            if (f->at == f->count)
                return;
        }
        low = high;
    }
}

uint32_t mv_column_stack_fill(const mv_column_stack *c, const uint64_t *middle, uint32_t count,
                              uint32_t *ids)
{
    stack_reader f = {.stack = c, .middle = middle, .ids = ids, .count = count};

    if (count > 0 && middle[0] < mv_column_stack_height(c))
        fill_nodes(&f, c->index->levels - 1, 0, 0);
    return f.at;
}

/* Fills the ids from only the living rows. */
static uint32_t fill_far(mv_column_stack *c, uint32_t event, const uint64_t *middle, uint32_t count,
                         uint32_t *ids)
{
    const mv_index *x = c->index;
    uint32_t born = mv_index_born(x, event), at = 0, r = 0;
    uint64_t high = 0;

    c->far = event;
    c->far_alive = 0;
    while (at < count && (r = mv_index_next(x, r, born, event)) < born)
        for (uint32_t end = node_end(r, born); r < end; r++) {
            if (!is_living(x, r, event))
                continue;
            c->far_alive++;
            high += is_drawn(c, r) ? x->bytes[r] : 0;
            for (; at < count && middle[at] < high; at++)
                ids[at] = r;
        }
    return at;
}

/* Whether there are probably fewer living rows at `event` than events between the last moment and
 * `event`. Returns false if the stack is being moved in steps that are shorter than that. */
static bool is_far(const mv_column_stack *c, uint32_t event)
{
    if (c->is_empty || events_between(c->now.event, event) <= c->alive)
        return false;
    return c->far_alive == 0 || events_between(c->far, event) > c->far_alive;
}

uint32_t mv_column_stack_fill_at(mv_column_stack *c, mv_instant instant, const uint64_t *middle,
                                 uint32_t count, uint32_t *ids)
{
    if (instant.slid == MV_SLID && is_far(c, instant.event))
        return fill_far(c, instant.event, middle, count, ids);
    c->far_alive = 0;
    mv_column_stack_move(c, instant);
    return mv_column_stack_fill(c, middle, count, ids);
}

bool mv_column_stack_find(const mv_column_stack *c, uint64_t byte, mv_run *out)
{
    uint32_t node = 0, end;
    uint64_t low = 0;

    if (byte >= mv_column_stack_height(c))
        return false;
    for (uint32_t level = c->index->levels; level-- > 0;) {
        end = children_end(c, level, node);
        node *= FAN;
        while (node < end && byte - low >= c->sum[level][node])
            low += c->sum[level][node++];
        if (node == end)
            return false;
    }
    end = leaves_end(c, node);
    for (uint32_t r = node * FAN; r < end; r++) {
        uint64_t bytes = held(c, r);
        if (byte - low < bytes) {
            *out = (mv_run){low, bytes, r, is_ending(c, r)};
            return true;
        }
        low += bytes;
    }
    return false;
}

bool mv_column_stack_next(const mv_column_stack *c, mv_run *run)
{
    const mv_index *x = c->index;
    uint32_t event = c->now.event;
    uint32_t r = run->rank;
    uint64_t bytes = 0;

    /* Rows that ended at the instant also count, for as long as they hold bytes open. */
    if (event != MV_BEFORE && c->now.slid < MV_SLID)
        event--;
    while (bytes == 0) {
        r = mv_index_next(x, r + 1, c->born, event);
        if (r == c->born)
            return false;
        bytes = held(c, r);
    }
    *run = (mv_run){run->offset + run->bytes, bytes, r, is_ending(c, r)};
    return true;
}
