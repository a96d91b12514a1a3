/* Handles segments during the forward sweep: their rows, the held ranges, and the edges that no
 * block crosses. */
#include "analyze/lives/lives_sweep.h"

static uint32_t new_row(mv_lives_sweep *r)
{
    uint32_t row = r->lives->segments.count++;

    r->kin[row] = row;
    return row;
}

static uint32_t first_kin(const mv_lives_sweep *r, uint32_t row)
{
    while (r->kin[row] != row)
        row = r->kin[row] = r->kin[r->kin[row]];
    return row;
}

static bool is_expandable(const mv_lives_sweep *r, uint32_t start)
{
    return r->lives->segments.is_expandable[r->held.row[start]];
}

static void inherit(mv_segment_lives *s, uint32_t row, uint32_t from)
{
    if (s->kind[row] == MV_SEGMENT_UNKNOWN)
        s->kind[row] = s->kind[from];
    if (s->pool[row].row == MV_NO_ROW)
        s->pool[row] = s->pool[from];
}

/* Records that two pieces belong to the same expandable reservation. All its pieces share a pool
 * and a kind, but not every piece shows them. Therefore, the values of a piece in the final heap
 * also apply to pieces that were unmapped earlier (mv_lives_settle_segments). */
static void join(mv_lives_sweep *r, uint32_t row, uint32_t neighbour)
{
    uint32_t a = first_kin(r, row), b = first_kin(r, neighbour);

    r->kin[a > b ? a : b] = a < b ? a : b;
    inherit(&r->lives->segments, row, neighbour);
}

/* Adds a held range. A free block can extend from one piece of an expandable segment into the next,
 * but never from one cudaMalloc to another. */
static void hold(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t row)
{
    mv_segment_lives *s = &r->lives->segments;
    uint32_t below = mv_ranges_below(&r->held, low);

    mv_ranges_add(&r->held, low, high, row);
    if (low >= high)
        return;
    mv_rankset_add(&r->edges, high);
    if (!s->is_expandable[row])
        return;
    if (below != MV_NO_RANK && is_expandable(r, below)) {
        mv_rankset_drop(&r->edges, low);
        join(r, row, r->held.row[below]);
    }
    if (mv_rankset_has(&r->held.starts, high) && is_expandable(r, high)) {
        mv_rankset_drop(&r->edges, high);
        join(r, row, r->held.row[high]);
    }
}

static void unhold(mv_lives_sweep *r, uint32_t start)
{
    mv_rankset_drop(&r->edges, r->held.end[start]);
    mv_rankset_drop(&r->held.starts, start);
    if (mv_ranges_below(&r->held, start) != MV_NO_RANK)
        mv_rankset_add(&r->edges, start);
}

/* Cuts the held range that contains `rank`, and its row. */
static void cut(mv_lives_sweep *r, uint32_t rank)
{
    mv_segment_lives *s = &r->lives->segments;
    uint32_t lower = mv_ranges_cut(&r->held, rank);
    uint32_t old, row;

    if (lower == MV_NO_RANK)
        return;
    old = r->held.row[lower];
    row = new_row(r);
    r->held.row[rank] = row;
    s->addr[row] = r->ranks.addr[rank];
    s->size[row] = s->addr[old] + s->size[old] - s->addr[row];
    s->size[old] -= s->size[row];
    s->stack[row] = s->stack[old];
    s->stream[row] = s->stream[old];
    s->pool[row] = s->pool[old];
    s->birth[row] = s->birth[old];
    s->death[row] = s->death[old];
    s->kind[row] = s->kind[old];
    s->is_expandable[row] = s->is_expandable[old];
    if (s->is_expandable[row])
        join(r, row, old);
    else
        mv_rankset_add(&r->edges, rank);
}

/* Ends all segment bytes in [low, high). Returns the rank up to which the bytes, starting at `low`,
 * were held without a gap; this is `high` if all of them were held. */
static uint32_t end_ranges(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t event)
{
    uint32_t at, reached = low;

    cut(r, low);
    cut(r, high);
    while ((at = mv_rankset_next(&r->held.starts, low)) < high) {
        uint32_t row = r->held.row[at];
        if (at == reached)
            reached = r->held.end[at];
        r->lives->segments.death[row] = event;
        if (r->lives->alloc_of[event] == MV_NO_ROW)
            r->lives->alloc_of[event] = row;
        unhold(r, at);
    }
    return reached;
}

static mv_pool_id event_pool(const mv_lives_sweep *r, uint32_t event)
{
    return r->trace->tags.pool[r->ev.tag[event].row];
}

/* Returns the kind that a segment's size suggests, which is all that is known before the first
 * allocation in the segment. A small segment is 2 MiB in size, and so is a page of the small
 * pool. */
static uint8_t likely_kind(const mv_lives_sweep *r, uint64_t size, bool expandable)
{
    if (r->fills)
        return MV_SEGMENT_LARGE;
    if (size == MV_SMALL_SEGMENT && !expandable)
        return MV_SEGMENT_SMALL;
    return MV_SEGMENT_UNKNOWN;
}

static void begin_range(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t event)
{
    mv_segment_lives *s = &r->lives->segments;
    uint32_t row = new_row(r);

    s->addr[row] = r->ranks.addr[low];
    s->size[row] = r->ranks.addr[high] - r->ranks.addr[low];
    s->stack[row] = mv_recorded_stack(r->ev.stack[event]);
    s->stream[row] = r->ev.stream[event];
    s->pool[row] = event_pool(r, event);
    s->birth[row] = event;
    s->death[row] = MV_NEVER;
    s->is_expandable[row] = r->ev.action[event] == MV_ACTION_SEGMENT_MAP;
    s->kind[row] = likely_kind(r, s->size[row], s->is_expandable[row]);
    r->lives->alloc_of[event] = row;
    hold(r, low, high, row);
}

void mv_lives_segment_event(mv_lives_sweep *r, uint32_t event)
{
    uint32_t low = r->ranks.of_event[event];
    uint64_t end = mv_range_end(r->ev.addr[event], r->ev.size[event]);
    uint32_t high = mv_address_rank_after(&r->ranks, low, end);
    uint8_t action = r->ev.action[event];
    uint32_t reached = end_ranges(r, low, high, event);

    mv_lives_lose(r, low, high, event);
    if (action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP) {
        if (r->lives->alloc_of[event] != MV_NO_ROW)
            r->lives->doubts.lone_segments++;
        begin_range(r, low, high, event);
    } else if (reached != high) {
        r->lives->doubts.lone_segments++;
    }
}

/* Copies the fields of the final heap to the row of a segment that was held until the end. */
static void copy_final(mv_lives_sweep *r, uint32_t row, uint32_t final)
{
    mv_segment_lives *s = &r->lives->segments;
    const mv_segments *from = &r->trace->segments;

    s->stream[row] = from->stream[final];
    s->kind[row] = from->kind[final];
    /* a segment_map event shows this, too, and the file may lack the key */
    s->is_expandable[row] |= from->is_expandable[final];
    if (from->pool[final].row != MV_NO_ROW)
        s->pool[row] = from->pool[final];
    if (s->stack[row].row == MV_NO_ROW)
        s->stack[row] = mv_recorded_stack(from->stack[final]);
}

static void begin_before(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t death)
{
    mv_segment_lives *s = &r->lives->segments;
    uint32_t row = new_row(r);

    s->addr[row] = r->ranks.addr[low];
    s->size[row] = r->ranks.addr[high] - s->addr[row];
    s->stack[row] = MV_NO_STACK;
    s->pool[row] = MV_NO_POOL;
    s->birth[row] = MV_BEFORE;
    s->death[row] = MV_NEVER;
    if (death == MV_NEVER) {
        copy_final(r, row, r->final.row[mv_ranges_at(&r->final, low)]);
    } else {
        s->stream[row] = r->ev.stream[death];
        s->pool[row] = event_pool(r, death);
        s->is_expandable[row] = r->ev.action[death] == MV_ACTION_SEGMENT_UNMAP;
        s->kind[row] = likely_kind(r, s->size[row], s->is_expandable[row]);
    }
    hold(r, low, high, row);
}

bool mv_lives_hold_before(mv_lives_sweep *r)
{
    const mv_rankset *starts = &r->before_held.starts;
    uint64_t capacity = 0;
    uint32_t at;

    for (at = mv_rankset_next(starts, 0); at != MV_NO_RANK; at = mv_rankset_next(starts, at + 1))
        capacity++;
    /* each event makes one row, and up to two more where it cuts rows */
    capacity += 3 * (uint64_t)r->ranks.segment_events;
    if (capacity >= MV_NO_ROW || !mv_segment_lives_push(r->arena, capacity, &r->lives->segments))
        return false;
    r->segment_capacity = capacity;
    r->kin = mv_push_array(r->scratch, uint32_t, capacity);
    if (!r->kin)
        return false;
    for (at = mv_rankset_next(starts, 0); at != MV_NO_RANK; at = mv_rankset_next(starts, at + 1))
        begin_before(r, at, r->before_held.end[at], r->before_held.row[at]);
    return true;
}

static void inherit_from_kin(mv_lives_sweep *r)
{
    mv_segment_lives *s = &r->lives->segments;

    for (uint32_t i = 0; i < s->count; i++)
        inherit(s, first_kin(r, i), i);
    for (uint32_t i = 0; i < s->count; i++)
        inherit(s, i, first_kin(r, i));
}

/* Sets the kinds of segments in which no allocation started. */
static void guess_kinds(mv_segment_lives *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->kind[i] == MV_SEGMENT_UNKNOWN)
            s->kind[i] = s->size[i] <= MV_SMALL_SEGMENT ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
}

static bool is_at(const mv_events *e, uint32_t event, mv_action action, int64_t time_us)
{
    return event < e->count && e->action[event] == action && e->time_us[event] == time_us;
}

/* Joins bytes that were passed between segments. In traces of PyTorch's profiler, bytes move from
 * the reserved remainder to a block's own segment and back (parse/tools/block_log.h). Both events
 * happen at the same time, so the reserved bytes do not change between them. */
static void join_passed_bytes(mv_lives_sweep *r)
{
    mv_segment_lives *s = &r->lives->segments;
    const mv_events *e = &r->ev;

    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t birth = s->birth[i], death = s->death[i];
        if (death < e->count && e->action[death] == MV_ACTION_SEGMENT_UNMAP &&
            is_at(e, death + 1, MV_ACTION_SEGMENT_ALLOC, e->time_us[death]))
            s->death[i] = death + 1;
        if (birth == 0 || birth >= e->count || e->action[birth] != MV_ACTION_SEGMENT_MAP)
            continue;
        if (is_at(e, birth - 1, MV_ACTION_SEGMENT_FREE, e->time_us[birth]))
            s->birth[i] = birth - 1;
        else if (is_at(e, birth + 1, MV_ACTION_SEGMENT_ALLOC, e->time_us[birth]))
            s->birth[i] = birth + 1;
    }
}

void mv_lives_settle_segments(mv_lives_sweep *r)
{
    const mv_rankset *starts = &r->held.starts;

    for (uint32_t at = mv_rankset_next(starts, 0); at != MV_NO_RANK;
         at = mv_rankset_next(starts, at + 1)) {
        uint32_t final = mv_ranges_at(&r->final, at);
        if (final != MV_NO_RANK)
            copy_final(r, r->held.row[at], r->final.row[final]);
    }
    inherit_from_kin(r);
    guess_kinds(&r->lives->segments);
    if (mv_trace_allocator(r->trace) && !mv_trace_is_missing_reserved(r->trace))
        join_passed_bytes(r);
}
