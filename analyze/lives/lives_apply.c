/* Handles allocations during the forward sweep. */
#include "analyze/lives/lives_sweep.h"
#include "base/grow.h"
#include "base/parallel_for.h"

static uint64_t block_end(const mv_alloc_lives *a, uint32_t row)
{
    return mv_range_end(a->addr[row], a->block[row]);
}

/* Returns the smallest possible block size for a request. */
static uint64_t least_of(const mv_lives_sweep *r, uint64_t requested)
{
    return r->is_captured ? requested : mv_round_least(&r->rules, requested);
}

static __attribute__((noinline)) void update_place(const mv_lives_sweep *r, uint32_t rank)
{
    uint32_t start = mv_ranges_at(&r->held, rank);

    r->places[rank].segment = start == MV_NO_RANK ? MV_NO_ROW : r->held.row[start];
    r->places[rank].edge = mv_rankset_next(&r->edges, rank + 1);
    r->places[rank].as_of = r->layout;
}

/* Returns what is known about an address, with its segment and edge up to date. Both are slow to
 * look up, so they are cached until segments change. */
static inline const mv_lives_place *place_of(const mv_lives_sweep *r, uint32_t rank)
{
    if (r->places[rank].as_of != r->layout)
        update_place(r, rank);
    return &r->places[rank];
}

/* ---- block sizes ------------------------------------------------------------------------- */

/* Returns the number of bytes of the free block at `rank`, which extends to the next used block or
 * to the next edge. `used` is the next used block, or MV_NO_RANK. */
static uint64_t room_at(const mv_lives_sweep *r, uint32_t rank, uint32_t used)
{
    uint32_t edge = place_of(r, rank)->edge, end = used < edge ? used : edge;

    return end == MV_NO_RANK ? 0 : r->ranks.addr[end] - r->ranks.addr[rank];
}

typedef struct {
    uint64_t bytes;
    bool inexact;
} block_size;

/* Returns the size of the block that the allocator takes for a request, which needs at least `least`
 * bytes, from the free block [addr, addr + room) of a segment. If a different rule was in force, because the setting
 * expandable_segments changed during recording, or because a pool has its own allocator, the block
 * has the smallest possible size and is marked as inexact. */
static inline block_size size_from_room(const mv_lives_sweep *r, uint32_t segment,
                                        uint64_t requested, uint64_t least, uint64_t room)
{
    const mv_segment_lives *s = &r->lives->segments;
    uint64_t rounded = r->has_divisions ? mv_round_request(&r->rules, requested) : least, rest;
    bool small = rounded <= MV_SMALL_REQUEST || s->kind[segment] == MV_SEGMENT_SMALL;
    bool expandable = s->is_expandable[segment];

    if (r->fills || r->is_captured)
        return (block_size){r->fills ? room : requested, false};
    if (room < rounded)
        return (block_size){least < room ? least : room, true};
    rest = room - rounded;
    if (rest == 0 || mv_should_split(&r->rules, rounded, rest, small || expandable))
        return (block_size){rounded, false};
    if (r->rules.expandable)
        return (block_size){rounded, true};
    return (block_size){room, false};
}

/* Returns the size of a block from before the first event that was freed later. The free bytes
 * around such a block when it was allocated are unknown. But if the gap after it is too small for a
 * free block, the gap belongs to it. */
static block_size size_before(const mv_lives_sweep *r, uint32_t segment, uint64_t requested,
                              uint64_t least, uint64_t room)
{
    const mv_segment_lives *s = &r->lives->segments;
    uint64_t rounded = mv_round_request(&r->rules, requested);
    block_size size = size_from_room(r, segment, requested, least, room);

    if (r->fills || r->is_captured || size.inexact || s->is_expandable[segment] ||
        rounded <= MV_SMALL_REQUEST || room == rounded || rounded >= r->rules.max_split ||
        size.bytes != rounded)
        return size;
    /* the block's unsplit remainder, of up to 1 MiB, may be part of the gap */
    size.inexact = true;
    return size;
}

/* ---- spans ------------------------------------------------------------------------------- */

static void report_conflict(const mv_lives_sweep *r)
{
    atomic_store_explicit(r->span->has_conflict, true, memory_order_relaxed);
}

static void add_entry(const mv_lives_sweep *r, mv_lives_log *log, uint32_t row, uint32_t event)
{
    if (!mv_append(log->arena, log->rows, log->count, log->capacity, (mv_lives_entry){row, event}))
        report_conflict(r);
}

/* Whether an event affects a row of another span. Such a row may not be known yet, so the event is
 * logged and applied later. */
static bool is_left(const mv_lives_sweep *r, uint32_t row, uint32_t event)
{
    if (row >= r->first_row)
        return false;
    add_entry(r, &r->span->others, row, event);
    return true;
}

void mv_lives_find_kind(mv_lives_sweep *r, uint32_t row, uint32_t event)
{
    const mv_segment_lives *s = &r->lives->segments;
    uint32_t segment = r->lives->allocs.segment[row];
    uint64_t rounded = mv_round_request(&r->rules, r->lives->allocs.requested[row]);

    if (s->kind[segment] == MV_SEGMENT_UNKNOWN) {
        s->kind[segment] = rounded <= MV_SMALL_REQUEST ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
        if (r->span)
            add_entry(r, &r->span->kinds, row, event);
    } else if (r->span && s->kind[segment] == MV_SEGMENT_SMALL && rounded > MV_SMALL_REQUEST &&
               !r->fills && !r->is_captured && !s->is_expandable[segment]) {
        report_conflict(r);
    }
}

/* ---- contradictions ---------------------------------------------------------------------- */

static void end_lost(mv_lives_sweep *r, uint32_t rank, uint32_t event)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint32_t row;

    if (r->span)
        report_conflict(r);
    if (rank == MV_NO_RANK)
        return;
    row = r->places[rank].alloc;
    mv_rankset_drop(&r->used, rank);
    if (r->span)
        return;
    if (a->freed[row] == MV_NEVER)
        a->freed[row] = event;
    a->completed[row] = event;
    r->lives->doubts.lost_frees++;
}

void mv_lives_lose(mv_lives_sweep *r, uint32_t low, uint32_t high, uint32_t event)
{
    uint32_t at;

    while ((at = mv_rankset_next(&r->used, low)) < high)
        end_lost(r, at, event);
}

/* Checks the used block below an allocation that starts at `addr`. Free space starts there, so the
 * used block must end there. If its size was inexact, the size is now known. */
static void check_below(mv_lives_sweep *r, uint32_t row, uint32_t below, uint64_t addr,
                        uint32_t event)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint64_t gap, end = block_end(a, row);

    if (end == addr) {
        a->inexact[row] = 0;
    } else if (end > addr) {
        if (mv_range_end(a->addr[row], least_of(r, a->requested[row])) > addr) {
            end_lost(r, below, event);
            return;
        }
        a->block[row] = addr - a->addr[row];
        a->inexact[row] = 0;
        r->lives->doubts.resized_blocks++;
    } else if (!r->is_captured) { /* the sizes in captures are known, regardless of gaps */
        gap = addr - end;
        if (a->inexact[row] && gap <= MV_SMALL_REQUEST) {
            a->block[row] += gap;
            a->inexact[row] = 0;
        } else if (!r->is_thinned) { /* if blocks were dropped by thinning, the gap may come from
                                      * one of them */
            r->lives->doubts.misplaced++;
        }
    }
}

static bool is_same_run(const mv_lives_sweep *r, uint32_t below, uint32_t rank)
{
    return place_of(r, below)->edge > rank;
}

/* Checks where the used block below an allocation at `addr` ends. Both must be in the same run of
 * segments, unless the address is outside all segments. */
static void look_at_row(mv_lives_sweep *r, uint32_t row, uint32_t below, uint32_t segment,
                        uint64_t addr, uint32_t event)
{
    const mv_alloc_lives *a = &r->lives->allocs;

    if (segment != MV_NO_ROW)
        check_below(r, row, below, addr, event);
    else if (mv_range_end(a->addr[row], least_of(r, a->requested[row])) > addr)
        end_lost(r, below, event);
}

/* Checks the bytes directly below the allocation at `rank`. */
static void look_below(mv_lives_sweep *r, uint32_t rank, uint32_t segment, uint32_t event)
{
    uint32_t below = rank ? mv_rankset_prev(&r->used, rank - 1) : MV_NO_RANK;

    if (below != MV_NO_RANK && (segment == MV_NO_ROW || is_same_run(r, below, rank))) {
        if (!is_left(r, r->places[below].alloc, event))
            look_at_row(r, r->places[below].alloc, below, segment, r->ranks.addr[rank], event);
    } else if (segment != MV_NO_ROW && !r->is_captured && !r->is_thinned &&
               !r->lives->segments.is_expandable[segment] &&
               !mv_rankset_has(&r->held.starts, rank)) {
        r->lives->doubts.misplaced++;
    }
}

/* Returns the next used block at or above `rank`, or the edge if that comes first; MV_NO_RANK: there
 * is neither. The edge is usually so near that both are found in one word of the set. */
static inline uint32_t next_above(const mv_lives_sweep *r, uint32_t rank, uint32_t edge)
{
    uint32_t used;

    if (edge >> 6 == rank >> 6) {
        uint64_t word = r->used.level[0][rank >> 6] | (uint64_t)1 << (edge & 63);
        return rank + (uint32_t)__builtin_ctzll(word >> (rank & 63));
    }
    used = mv_rankset_next(&r->used, rank);
    return used < edge ? used : edge;
}

/* Ends the allocations in [addr, addr + least), because the allocator has just reused these bytes.
 * Returns the rank at which the free space ends: that of the next used block or of the edge;
 * MV_NO_RANK: there is neither. */
static uint32_t clear_place(mv_lives_sweep *r, uint32_t rank, uint64_t least, uint32_t segment,
                            uint32_t event)
{
    uint64_t end = mv_range_end(r->ranks.addr[rank], least);
    uint32_t edge = place_of(r, rank)->edge, above;

    if (mv_rankset_has(&r->used, rank))
        end_lost(r, rank, event);
    look_below(r, rank, segment, event);
    above = next_above(r, rank, edge);
    if (above != MV_NO_RANK && r->ranks.addr[above] < end) {
        mv_lives_lose(r, rank, mv_address_rank(&r->ranks, end), event);
        above = next_above(r, rank, edge);
    }
    return above;
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Begins a row, which size_outside or size_row completes. */
static uint32_t new_row(mv_lives_sweep *r, uint64_t addr, uint64_t requested, mv_stack_id stack,
                        uint32_t birth)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint32_t row = a->count++;

    a->addr[row] = addr;
    a->requested[row] = requested;
    a->stack[row] = stack;
    a->birth[row] = birth;
    a->freed[row] = a->completed[row] = MV_NEVER;
    return row;
}

/* Sets the size of an allocation outside every known segment. Its block is the rounded request; in
 * captures it is the request itself, because there the CPU is a device without segments. */
static void size_outside(mv_lives_sweep *r, uint32_t row)
{
    mv_alloc_lives *a = &r->lives->allocs;

    a->segment[row] = MV_NO_ROW;
    a->inexact[row] = 0;
    if (r->is_captured) {
        a->block[row] = a->requested[row];
        r->lives->doubts.outside += mv_lives_has_segments(r);
        return;
    }
    a->block[row] = mv_round_request(&r->rules, a->requested[row]);
    a->inexact[row] = a->block[row] > MV_SMALL_REQUEST;
    r->lives->doubts.outside++;
}

/* Sets the block size of a row, which needs at least `least` bytes. `above` is the next used block
 * above `rank`, or MV_NO_RANK. */
static inline void size_row(mv_lives_sweep *r, uint32_t row, uint32_t rank, uint32_t above,
                            uint32_t segment, uint64_t least, bool is_before)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint64_t room = room_at(r, rank, above), requested = a->requested[row];
    block_size size;

    if (segment == MV_NO_ROW) {
        size_outside(r, row);
        return;
    }
    a->segment[row] = segment;
    if (room < least)
        r->lives->doubts.misplaced++;
    size = is_before ? size_before(r, segment, requested, least, room)
                     : size_from_room(r, segment, requested, least, room);
    a->block[row] = size.bytes;
    a->inexact[row] = size.inexact;
    if (r->span || r->lives->segments.kind[segment] == MV_SEGMENT_UNKNOWN)
        mv_lives_find_kind(r, row, a->birth[row]);
}

static void begin_before(mv_lives_sweep *r, uint32_t rank)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint32_t free_event = r->first_free[rank], block = r->final_block[rank];
    bool is_final = free_event == MV_NEVER;
    uint64_t requested = is_final ? mv_block_requested(r->trace, block) : r->ev.size[free_event];
    uint32_t row = new_row(r, r->ranks.addr[rank], requested,
                           is_final ? mv_block_stack(r->trace, block) : MV_NO_STACK, MV_BEFORE);

    r->places[rank].alloc = row;
    size_row(r, row, rank, mv_rankset_next(&r->used, rank + 1), place_of(r, rank)->segment,
             least_of(r, requested), true);
    if (!is_final)
        return;
    a->block[row] = r->trace->blocks.size[block];
    a->inexact[row] = 0;
    if (r->trace->blocks.state[block] == MV_BLOCK_PENDING_FREE)
        a->freed[row] = 0;
}

static void begin_all_before(mv_lives_sweep *r)
{
    uint32_t at;

    r->used = r->before;
    for (at = mv_rankset_next(&r->before, 0); at != MV_NO_RANK;
         at = mv_rankset_next(&r->before, at + 1))
        begin_before(r, at);
    r->lives->allocs.preexisting = r->lives->allocs.count;
}

/* ---- events ------------------------------------------------------------------------------ */

static void apply_alloc(mv_lives_sweep *r, uint32_t event)
{
    uint32_t rank = r->ranks.of_event[event], segment, above;
    uint64_t requested = r->ev.size[event], least = least_of(r, requested);
    uint32_t row = new_row(r, r->ev.addr[event], requested, r->ev.stack[event], event);

    r->lives->alloc_of[event] = row;
    if (rank == MV_NO_ROW) {
        size_outside(r, row);
        return;
    }
    segment = place_of(r, rank)->segment;
    above = clear_place(r, rank, least, segment, event);
    size_row(r, row, rank, above, segment, least, false);
    mv_rankset_add(&r->used, rank);
    r->places[rank].alloc = row;
}

/* Returns the live allocation at the event's address, or MV_NO_ROW. */
static uint32_t alloc_at(const mv_lives_sweep *r, uint32_t event)
{
    uint32_t rank = r->ranks.of_event[event];

    if (rank == MV_NO_ROW || !mv_rankset_has(&r->used, rank))
        return MV_NO_ROW;
    return r->places[rank].alloc;
}

/* Applies a free_requested event. PyTorch writes both events of a free, unless skip_actions
 * excludes one kind from the whole file; the other kind then counts as both. For captures and the
 * files of other tools, the readers add both events. */
static void request_free(mv_lives_sweep *r, uint32_t row, uint32_t event)
{
    mv_alloc_lives *a = &r->lives->allocs;

    if (a->freed[row] != MV_NEVER) {
        r->lives->doubts.lone_frees++;
        return;
    }
    r->lives->alloc_of[event] = row;
    a->freed[row] = event;
    if (mv_lives_ends_use(r, r->ranks.of_event[event], MV_ACTION_FREE_REQUESTED)) {
        a->completed[row] = event;
        r->lives->doubts.uncompleted += !r->is_captured;
    }
}

static void complete_free(mv_lives_sweep *r, uint32_t row, uint32_t event)
{
    mv_alloc_lives *a = &r->lives->allocs;

    r->lives->alloc_of[event] = row;
    if (a->freed[row] == MV_NEVER) {
        bool is_before = a->birth[row] == MV_BEFORE;
        a->freed[row] = is_before && r->has_requested ? 0 : event;
        /* event 0 may be the second event of a free whose first event was dropped */
        r->lives->doubts.unrequested +=
            !(is_before && (r->has_requested || event == 0)) && !r->is_captured;
    }
    a->completed[row] = event;
}

static void free_row(mv_lives_sweep *r, uint32_t row, uint32_t event)
{
    if (r->ev.action[event] == MV_ACTION_FREE_REQUESTED)
        request_free(r, row, event);
    else
        complete_free(r, row, event);
}

static void apply_free(mv_lives_sweep *r, uint32_t event)
{
    uint32_t rank = r->ranks.of_event[event], row = alloc_at(r, event);

    if (row == MV_NO_ROW) {
        r->lives->doubts.lone_frees++;
        return;
    }
    if (!is_left(r, row, event))
        free_row(r, row, event);
    if (mv_lives_ends_use(r, rank, r->ev.action[event]))
        mv_rankset_drop(&r->used, rank);
}

/* Applies both events of a free that did not wait, as apply_free would, but faster. Used if the
 * allocation is known and not freed yet. */
static bool apply_frees(mv_lives_sweep *r, uint32_t event, uint32_t end)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint32_t row;

    if (event + 1 >= end || r->ev.action[event + 1] != MV_ACTION_FREE_COMPLETED ||
        r->ranks.of_event[event + 1] != r->ranks.of_event[event])
        return false;
    row = alloc_at(r, event);
    if (row == MV_NO_ROW || row < r->first_row || a->freed[row] != MV_NEVER)
        return false;
    r->lives->alloc_of[event] = r->lives->alloc_of[event + 1] = row;
    a->freed[row] = event;
    a->completed[row] = event + 1;
    mv_rankset_drop(&r->used, r->ranks.of_event[event]);
    return true;
}

void mv_lives_apply_other(mv_lives_sweep *r, mv_lives_entry entry)
{
    const mv_lives *lives = r->lives;
    uint32_t event = entry.event;

    if (r->ev.action[event] == MV_ACTION_ALLOC)
        look_at_row(r, entry.row, MV_NO_RANK, lives->allocs.segment[lives->alloc_of[event]],
                    r->ev.addr[event], event);
    else
        free_row(r, entry.row, event);
}

static void apply_event(mv_lives_sweep *r, uint32_t event)
{
    switch (r->ev.action[event]) {
    case MV_ACTION_ALLOC:
        apply_alloc(r, event);
        break;
    case MV_ACTION_FREE_REQUESTED:
    case MV_ACTION_FREE_COMPLETED:
        apply_free(r, event);
        break;
    case MV_ACTION_ANNOTATE:
        r->lives->alloc_of[event] = alloc_at(r, event);
        break;
    case MV_ACTION_SEGMENT_ALLOC:
    case MV_ACTION_SEGMENT_FREE:
    case MV_ACTION_SEGMENT_MAP:
    case MV_ACTION_SEGMENT_UNMAP:
        if (r->ranks.of_event[event] == MV_NO_ROW)
            break;
        mv_lives_segment_event(r, event);
        r->layout++;
        break;
    default:
        break;
    }
}

enum {
    COLUMNS = 9, /* number of columns that the sweep fills, except for the bytes of `inexact` */
    MANY_ALLOCS = 1 << 18, /* with fewer allocations, threads cost more than they save */
    NEAR_RANKS = 1 << 15   /* number of addresses whose places fit into a core's cache */
};

static void take_column(void *user, uint32_t column)
{
    const mv_lives_sweep *r = user;
    const mv_alloc_lives *a = &r->lives->allocs;
    uint64_t rows = r->ranks.alloc_events, events = r->ev.count;
    const struct {
        void *at;
        uint64_t bytes;
    } all[COLUMNS] = {{r->lives->alloc_of, 4 * events},
                      {a->addr, 8 * rows},
                      {a->requested, 8 * rows},
                      {a->block, 8 * rows},
                      {a->stack, 4 * rows},
                      {a->birth, 4 * rows},
                      {a->freed, 4 * rows},
                      {a->completed, 4 * rows},
                      {a->segment, 4 * rows}};

    mv_arena_touch(r->arena, all[column].at, all[column].bytes);
}

static bool make_columns(mv_lives_sweep *r)
{
    uint64_t rows = r->ranks.alloc_events;

    for (uint32_t at = mv_rankset_next(&r->before, 0); at != MV_NO_RANK;
         at = mv_rankset_next(&r->before, at + 1))
        rows++;
    if (rows >= MV_NO_ROW)
        return false;
    r->lives->alloc_of = mv_push_unset(r->arena, uint32_t, r->ev.count);
    if (!mv_alloc_lives_push(r->arena, rows, &r->lives->allocs) || !r->lives->alloc_of)
        return false;
    if (r->ranks.alloc_events >= MANY_ALLOCS)
        mv_parallel_for(COLUMNS, 0, take_column, r);
    return true;
}

/* Prefetches what is known about the used block below an allocation. */
static void prefetch_below(const mv_lives_sweep *r, uint32_t rank)
{
    uint32_t below = rank ? mv_rankset_prev(&r->used, rank - 1) : MV_NO_RANK;

    if (below != MV_NO_RANK)
        __builtin_prefetch(&r->places[below]);
}

/* Prefetches the data that the next events need. */
static void prefetch(const mv_lives_sweep *r, uint32_t event)
{
    enum { PLACE = 16, ROW = 8 };
    uint32_t rank;

    if (r->ev.count - event <= PLACE)
        return;
    rank = r->ranks.of_event[event + PLACE];
    if (rank != MV_NO_ROW) {
        __builtin_prefetch(&r->places[rank], 1);
        __builtin_prefetch(&r->used.level[0][rank >> 6]);
        __builtin_prefetch(&r->ranks.addr[rank]);
    }
    rank = r->ranks.of_event[event + ROW];
    if (rank == MV_NO_ROW)
        return;
    if (r->ev.action[event + ROW] == MV_ACTION_ALLOC) {
        prefetch_below(r, rank);
    } else if (r->ev.action[event + ROW] == MV_ACTION_FREE_REQUESTED) {
        __builtin_prefetch(&r->lives->allocs.freed[r->places[rank].alloc], 1);
        __builtin_prefetch(&r->lives->allocs.completed[r->places[rank].alloc], 1);
    }
}

void mv_lives_apply_events(mv_lives_sweep *r, uint32_t first, uint32_t end)
{
    bool is_near = r->ranks.count <= NEAR_RANKS;

    for (uint32_t i = first; i < end; i++) {
        if (!is_near)
            prefetch(r, i);
        if (r->ev.action[i] == MV_ACTION_FREE_REQUESTED && apply_frees(r, i, end)) {
            if (!is_near)
                prefetch(r, i + 1);
            i++;
            continue;
        }
        r->lives->alloc_of[i] = MV_NO_ROW;
        apply_event(r, i);
    }
}

bool mv_lives_begin_apply(mv_lives_sweep *r)
{
    if (!make_columns(r) || !mv_lives_hold_before(r))
        return false;
    begin_all_before(r);
    return true;
}

bool mv_lives_apply_some(mv_lives_sweep *r, uint32_t events, bool *again)
{
    uint32_t first = r->applied, left = r->ev.count - first;

    *again = false;
    if (r->spans > 1 && !mv_lives_apply_spans(r))
        return false;
    if (r->spans > 1)
        return true;
    r->applied += left < events ? left : events;
    mv_lives_apply_events(r, first, r->applied);
    *again = r->applied < r->ev.count;
    return true;
}
