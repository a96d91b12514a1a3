#include "analyze/totals/totals.h"

#include "analyze/lives/block_size.h"
#include "analyze/totals/level_steps.h"
#include "analyze/totals/moment.h"
#include "analyze/totals/totals_audit.h"
#include "base/grow.h"
#include "base/parallel_for.h"
#include "base/sort.h"
#include "parse/model/living.h"

/* A pool of one kind: default or private, small or large. */
typedef struct {
    uint64_t a, b;
    uint32_t row; /* row of trace->pools; MV_NO_ROW: unknown */
    uint8_t kind;
} pool_key;

typedef struct {
    mv_levels now;
    mv_peak peak;
} course;

struct mv_totals_search {
    mv_arena *arena;  /* memory for the totals */
    mv_arena scratch; /* memory for data that the pieces share */
    mv_totals *out;
    mv_totals_findings found;
    bool knows_pools;  /* the file contains the pool of some segment */
    uint32_t *slot_of; /* [2 * (trace->pools.count + 1)] slot of each pool, by pool_index */
    uint32_t slots;    /* number of pools found so far */
    uint32_t *index;   /* [slots] pool_index of each slot */
    uint64_t index_capacity;
    course *courses; /* [FIRST_POOL + slots]: in total, by kind, by pool */
    uint64_t course_capacity;
    bool kinds_are_pools; /* each kind has at most one pool, so kinds have no separate courses */
    bool continues;       /* earlier pieces were already added */

    /* fields for the current piece: */
    const mv_trace *trace;
    const mv_lives *lives;
    uint32_t first;          /* row of the piece's first event */
    bool is_cut;             /* segments may end after this piece */
    uint32_t *segment_index; /* [lives->segments.count] pool_index by segment */
    mv_level_steps steps;
    struct walk *walks; /* [WALKS] */
};

enum {
    ALL,
    FIRST_KIND,
    FIRST_POOL = FIRST_KIND + 2,
    WALKS = 16,
    THREAD_EVENTS = 1 << 17 /* with fewer events, a thread costs more than it saves */
};

/* Initial level for a section of the events, because the level before the section is not known yet.
 * Levels may fall below this value; peaks begin at 0, below all levels. */
#define WALK_LEVEL ((uint64_t)1 << 62)

typedef struct walk {
    mv_totals_search *t;
    uint32_t first, end;    /* events */
    uint32_t row, last_row; /* allocations [row, last_row) that this walk adds up */
    course *courses;        /* as above */
    uint64_t allocated, freed;
} walk;

/* ---- pools ------------------------------------------------------------------------------- */

static uint8_t kind_of(uint8_t kind, uint64_t size)
{
    if (kind == MV_SEGMENT_SMALL || kind == MV_SEGMENT_LARGE)
        return kind;
    return size <= MV_SMALL_SEGMENT ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
}

static uint32_t pool_index(const mv_totals_search *t, mv_pool_id pool, uint8_t kind)
{
    uint32_t row = pool.row == MV_NO_ROW ? t->trace->pools.count : pool.row;
    return row * 2 + (kind == MV_SEGMENT_LARGE);
}

static uint8_t index_kind(uint32_t index)
{
    return index % 2 ? MV_SEGMENT_LARGE : MV_SEGMENT_SMALL;
}

/* Returns the pool that is assumed for memory without a known pool in a file that has pools. It is
 * the default pool, for released segments (whose pools only newer files contain) and for memory
 * outside segments. */
static mv_pool_id guess_pool(const mv_totals_search *t)
{
    return t->knows_pools ? MV_DEFAULT_POOL : MV_NO_POOL;
}

static uint32_t index_of_segment(const mv_totals_search *t, uint32_t row)
{
    const mv_segment_lives *s = &t->lives->segments;
    bool is_guess = s->pool[row].row == MV_NO_ROW && (t->is_cut || s->death[row] != MV_NEVER);
    return pool_index(t, is_guess ? guess_pool(t) : s->pool[row], s->kind[row]);
}

static uint32_t index_of_alloc(const mv_totals_search *t, uint32_t row)
{
    const mv_alloc_lives *a = &t->lives->allocs;

    if (a->segment[row] != MV_NO_ROW)
        return t->segment_index[a->segment[row]];
    return pool_index(t, guess_pool(t),
                      a->block[row] <= MV_SMALL_REQUEST ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE);
}

static uint32_t index_of_final(const mv_totals_search *t, uint32_t segment)
{
    const mv_segments *s = &t->trace->segments;
    return pool_index(t, s->pool[segment], kind_of(s->kind[segment], s->total_size[segment]));
}

static bool has_final_pool(const mv_trace *trace)
{
    const mv_segments *final = &trace->segments;

    for (uint32_t i = 0; i < final->count; i++)
        if (final->pool[i].row != MV_NO_ROW)
            return true;
    return false;
}

static bool has_pool_tag(const mv_trace *trace)
{
    for (uint32_t i = 0; i < trace->tags.count; i++)
        if (trace->tags.pool[i].row != MV_NO_ROW)
            return true;
    return false;
}

static bool find_knowledge(const mv_totals_search *t)
{
    const mv_segment_lives *lives = &t->lives->segments;

    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->pool[i].row != MV_NO_ROW)
            return true;
    return has_final_pool(t->trace);
}

bool mv_totals_take_pieces(const mv_trace *trace)
{
    const mv_segments *final = &trace->segments;
    bool knows = has_final_pool(trace) || has_pool_tag(trace);

    for (uint32_t i = 0; i < final->count; i++)
        if ((final->pool[i].row != MV_NO_ROW) != knows)
            return false;
    return trace->pools.count <= 1;
}

uint32_t mv_totals_columns(const mv_trace *trace)
{
    uint32_t columns = MV_EVENT_action | MV_EVENT_addr | MV_EVENT_size;

    return has_pool_tag(trace) ? columns | MV_EVENT_tag : columns;
}

/* Finds the slot of a pool, and adds the pool if needed. Returns false when out of memory. */
static bool add_pool(mv_totals_search *t, uint32_t index)
{
    if (t->slot_of[index] != MV_NO_ROW)
        return true;
    if (!mv_room_for(&t->scratch, t->index, t->slots + 1ull, t->index_capacity) ||
        !mv_room_for(&t->scratch, t->courses, FIRST_POOL + t->slots + 1ull, t->course_capacity))
        return false;
    t->index[t->slots] = index;
    t->courses[FIRST_POOL + t->slots] =
        (course){.peak = {{0}, MV_BEFORE, MV_BEFORE, MV_BEFORE, MV_BEFORE}};
    t->slot_of[index] = t->slots++;
    return true;
}

static bool add_pools(mv_totals_search *t)
{
    const mv_segment_lives *lives = &t->lives->segments;
    const mv_segments *final = &t->trace->segments;
    bool is_enough = true;

    for (uint32_t i = 0; i < lives->count; i++) {
        t->segment_index[i] = index_of_segment(t, i);
        is_enough = is_enough && add_pool(t, t->segment_index[i]);
        if (lives->pool[i].row == MV_NO_ROW)
            t->found.unknown_pools += lives->death[i] != MV_NEVER;
        else if (lives->pool[i].row != MV_DEFAULT_POOL.row)
            t->found.has_private_pools = true;
    }
    for (uint32_t i = 0; i < t->lives->allocs.count && is_enough; i++)
        if (t->lives->allocs.segment[i] == MV_NO_ROW)
            is_enough = add_pool(t, index_of_alloc(t, i));
    for (uint32_t i = 0; i < final->count && is_enough; i++)
        if (final->device[i] == (int64_t)t->lives->device)
            is_enough = add_pool(t, index_of_final(t, i));
    return is_enough;
}

/* Returns the sort key of a pool_index. Unknown pools come last. */
static pool_key key_of(const mv_totals_search *t, uint64_t index)
{
    const mv_pools *pools = &t->trace->pools;
    uint32_t row = (uint32_t)(index / 2);
    uint8_t kind = index % 2 ? MV_SEGMENT_LARGE : MV_SEGMENT_SMALL;

    if (row == pools->count)
        return (pool_key){UINT64_MAX, UINT64_MAX, MV_NO_ROW, kind};
    return (pool_key){pools->a[row], pools->b[row], row, kind};
}

/* Allocates the tables of pools. No pool is known yet. */
static bool begin_pools(mv_totals_search *t)
{
    uint64_t indices = 2 * ((uint64_t)t->trace->pools.count + 1);

    t->slot_of = mv_push_array(&t->scratch, uint32_t, indices);
    if (!t->slot_of ||
        !mv_room_for(&t->scratch, t->courses, (uint64_t)FIRST_POOL, t->course_capacity))
        return false;
    for (uint64_t i = 0; i < indices; i++)
        t->slot_of[i] = MV_NO_ROW;
    for (uint32_t i = 0; i < FIRST_POOL; i++)
        t->courses[i] = (course){.peak = {{0}, MV_BEFORE, MV_BEFORE, MV_BEFORE, MV_BEFORE}};
    t->kinds_are_pools = true;
    return true;
}

/* As soon as a kind has a second pool, gives the kind a separate course, which begins as a copy of
 * the first pool's course. */
static void part_kinds(mv_totals_search *t)
{
    uint32_t count = t->slots;

    if (!t->kinds_are_pools || count < 2 ||
        (count == 2 && index_kind(t->index[0]) != index_kind(t->index[1])))
        return;
    t->kinds_are_pools = false;
    for (uint32_t i = count; t->continues && i-- > 0;)
        t->courses[FIRST_KIND + index_kind(t->index[i])] = t->courses[FIRST_POOL + i];
}

/* Lists the pools in the order of their keys. */
static bool list_pools(mv_totals_search *t)
{
    mv_totals *out = t->out;
    pool_key *keys = mv_push_array(&t->scratch, pool_key, t->slots);

    out->pools = mv_push_array(t->arena, mv_pool_totals, t->slots);
    if (!keys || !out->pools)
        return false;
    for (uint32_t i = 0; i < t->slots; i++)
        keys[i] = key_of(t, t->index[i]);
    mv_sort_rows(&t->scratch, keys, t->slots, MV_RISING(pool_key, a), MV_RISING(pool_key, b),
                 MV_FALLING(pool_key, kind)); /* small before large */
    out->pool_count = t->slots;
    for (uint32_t i = 0; i < t->slots; i++) {
        mv_pool_totals *pool = &out->pools[i];
        uint32_t *slot;
        pool->kind = keys[i].kind;
        pool->pool_id = (mv_pool_id){keys[i].row};
        slot = &t->slot_of[pool_index(t, pool->pool_id, pool->kind)];
        pool->peak = t->courses[FIRST_POOL + *slot].peak;
        *slot = i;
    }
    for (uint32_t i = 0; i < 2; i++)
        out->kinds[i].peak = t->courses[FIRST_KIND + i].peak;
    for (uint32_t i = 0; i < out->pool_count && t->kinds_are_pools; i++)
        out->kinds[out->pools[i].kind].peak = out->pools[i].peak;
    out->kinds[MV_SEGMENT_SMALL].kind = MV_SEGMENT_SMALL;
    out->kinds[MV_SEGMENT_LARGE].kind = MV_SEGMENT_LARGE;
    t->found.end = t->courses[ALL].now;
    return true;
}

/* ---- peaks ------------------------------------------------------------------------------- */

static void raise_one(uint64_t *peak, uint32_t *at, uint64_t level, uint32_t event)
{
    if (level > *peak) {
        *peak = level;
        *at = event;
    }
}

static void start_levels(mv_totals_search *t)
{
    const mv_segment_lives *s = &t->lives->segments;

    for (uint32_t i = 0; i < t->lives->allocs.preexisting; i++) {
        uint32_t index = index_of_alloc(t, i);
        mv_levels_add_before(&t->courses[ALL].now, t->lives, i);
        mv_levels_add_before(&t->courses[FIRST_KIND + index_kind(index)].now, t->lives, i);
        mv_levels_add_before(&t->courses[FIRST_POOL + t->slot_of[index]].now, t->lives, i);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->birth[i] != MV_BEFORE)
            continue;
        t->courses[ALL].now.reserved += s->size[i];
        t->courses[FIRST_KIND + s->kind[i]].now.reserved += s->size[i];
        t->courses[FIRST_POOL + t->slot_of[index_of_segment(t, i)]].now.reserved += s->size[i];
    }
    for (uint32_t i = 0; i < FIRST_POOL + t->slots; i++)
        t->courses[i].peak =
            (mv_peak){t->courses[i].now, MV_BEFORE, MV_BEFORE, MV_BEFORE, MV_BEFORE};
}

static void raise_used(mv_peak *peak, const mv_levels *now, uint32_t event)
{
    raise_one(&peak->bytes.allocated, &peak->allocated_event, now->allocated, event);
    raise_one(&peak->bytes.active, &peak->active_event, now->active, event);
    raise_one(&peak->bytes.requested, &peak->requested_event, now->requested, event);
}

static void raise_reserved(mv_peak *peak, const mv_levels *now, uint32_t event)
{
    raise_one(&peak->bytes.reserved, &peak->reserved_event, now->reserved, event);
}

static void raise_peak(mv_peak *peak, const mv_levels *now, uint32_t event)
{
    raise_used(peak, now, event);
    raise_reserved(peak, now, event);
}

/* Applies a change, which can raise only the measures that it affects. */
static void change(course *c, const mv_lives *lives, const mv_level_step *step)
{
    mv_levels_apply(&c->now, lives, step);
    if (step->kind == MV_STEP_HOLD)
        raise_reserved(&c->peak, &c->now, step->event);
    else if (step->kind == MV_STEP_ALLOC)
        raise_used(&c->peak, &c->now, step->event);
}

static void apply_step(walk *w, const mv_level_step *step)
{
    const mv_totals_search *t = w->t;
    bool is_segment = step->kind == MV_STEP_HOLD || step->kind == MV_STEP_UNHOLD;
    uint32_t index = is_segment ? t->segment_index[step->row] : index_of_alloc(t, step->row);

    change(&w->courses[ALL], t->lives, step);
    change(&w->courses[FIRST_POOL + t->slot_of[index]], t->lives, step);
    if (!t->kinds_are_pools)
        change(&w->courses[FIRST_KIND + index_kind(index)], t->lives, step);
}

static inline void begin_block(course *c, uint64_t block, uint64_t requested, uint32_t event)
{
    c->now.allocated += block;
    c->now.active += block;
    c->now.requested += requested;
    raise_used(&c->peak, &c->now, event);
}

static inline void end_block(course *c, uint64_t block, uint64_t requested)
{
    c->now.allocated -= block;
    c->now.active -= block;
    c->now.requested -= requested;
}

/* Does the same as apply_step for all changes, but faster, for the most frequent events: an alloc,
 * or a free together with its completion, in a segment. None of the events has prepared changes.
 * Returns the first other event. */
static uint32_t apply_usual(const walk *w, uint32_t first, uint32_t end)
{
    const mv_totals_search *t = w->t;
    const mv_alloc_lives a = t->lives->allocs;
    const uint8_t *action = t->lives->events.action;
    const uint32_t *alloc_of = t->lives->alloc_of, *segment_index = t->segment_index;
    course all = w->courses[ALL]; /* a copy, which no store to another course can change */
    uint32_t i = first;

    while (i < end) {
        uint32_t row = alloc_of[i], index;
        bool begins = action[i] == MV_ACTION_ALLOC;
        uint64_t block, requested;
        course *pool;
        if (row == MV_NO_ROW || action[i] > MV_ACTION_FREE_COMPLETED ||
            a.segment[row] == MV_NO_ROW ||
            (!begins && (i + 1 >= end || a.freed[row] != i || a.completed[row] != i + 1 ||
                         alloc_of[i + 1] != row || action[i + 1] != MV_ACTION_FREE_COMPLETED)))
            break;
        index = segment_index[a.segment[row]];
        pool = &w->courses[FIRST_POOL + t->slot_of[index]];
        block = a.block[row];
        requested = a.requested[row];
        if (begins) {
            begin_block(&all, block, requested, i);
            begin_block(pool, block, requested, i);
            if (!t->kinds_are_pools)
                begin_block(&w->courses[FIRST_KIND + index_kind(index)], block, requested, i);
            i++;
        } else {
            end_block(&all, block, requested);
            end_block(pool, block, requested);
            if (!t->kinds_are_pools)
                end_block(&w->courses[FIRST_KIND + index_kind(index)], block, requested);
            i += 2;
        }
    }
    w->courses[ALL] = all;
    return i;
}

/* Adds up the blocks that begin and end at events of this piece. */
static void add_up(walk *w)
{
    const mv_totals_search *t = w->t;
    const mv_alloc_lives a = t->lives->allocs;
    uint32_t first = t->continues ? t->first : 0;
    uint32_t count = t->continues ? t->lives->events.count - first : MV_NEVER;
    uint64_t allocated = 0, freed = 0;

    /* MV_BEFORE and MV_NEVER are not event numbers. */
    for (uint32_t i = w->row; i < w->last_row; i++) {
        allocated += !t->continues || a.birth[i] - first < count ? a.block[i] : 0;
        freed += a.freed[i] - first < count ? a.block[i] : 0;
    }
    w->allocated += allocated;
    w->freed += freed;
}

static void walk_part(void *user, uint32_t part)
{
    mv_totals_search *t = user;
    walk *w = &t->walks[part];
    mv_level_steps steps = t->steps;
    mv_level_step step;

    mv_level_steps_seek(&steps, w->first);
    for (uint32_t i = w->first; i < w->end; i++) {
        uint32_t next = steps.at < steps.prepared_count ? steps.prepared[steps.at].event : w->end;
        i = apply_usual(w, i, next < w->end ? next : w->end);
        while (i < w->end && mv_level_steps_next(&steps, i, &step))
            apply_step(w, &step);
    }
    add_up(w);
}

static bool prepare_walks(mv_arena *scratch, mv_totals_search *t)
{
    uint32_t events = t->lives->events.count - t->first, rows = t->lives->allocs.count;
    uint32_t courses = FIRST_POOL + t->slots;
    const mv_levels level = {WALK_LEVEL, WALK_LEVEL, WALK_LEVEL, WALK_LEVEL};

    t->walks = mv_push_array(scratch, walk, WALKS);
    for (uint32_t i = 0; t->walks && i < WALKS; i++) {
        course *own = mv_push_array(scratch, course, courses);
        if (!own)
            return false;
        for (uint32_t k = 0; k < courses; k++)
            own[k].now = level;
        t->walks[i] = (walk){t,
                             t->first + (uint32_t)((uint64_t)events * i / WALKS),
                             t->first + (uint32_t)((uint64_t)events * (i + 1) / WALKS),
                             (uint32_t)((uint64_t)rows * i / WALKS),
                             (uint32_t)((uint64_t)rows * (i + 1) / WALKS),
                             own,
                             0,
                             0};
    }
    return t->walks != NULL;
}

/* Returns the event number of a row of the piece. */
static uint32_t number_of(const mv_totals_search *t, uint32_t event)
{
    return t->continues ? mv_event_number(t->trace, t->lives->device, event) : event;
}

/* Appends the course of a later section. */
static void join_one(uint64_t *now, uint64_t *peak, uint32_t *at, uint64_t end, uint64_t most,
                     uint32_t event)
{
    if (most > 0)
        raise_one(peak, at, *now + (most - WALK_LEVEL), event);
    *now += end - WALK_LEVEL;
}

static void join_course(const mv_totals_search *t, course *to, const course *by)
{
    mv_levels *now = &to->now, *peak = &to->peak.bytes;
    const mv_levels *end = &by->now, *most = &by->peak.bytes;

    join_one(&now->allocated, &peak->allocated, &to->peak.allocated_event, end->allocated,
             most->allocated, number_of(t, by->peak.allocated_event));
    join_one(&now->active, &peak->active, &to->peak.active_event, end->active, most->active,
             number_of(t, by->peak.active_event));
    join_one(&now->requested, &peak->requested, &to->peak.requested_event, end->requested,
             most->requested, number_of(t, by->peak.requested_event));
    join_one(&now->reserved, &peak->reserved, &to->peak.reserved_event, end->reserved,
             most->reserved, number_of(t, by->peak.reserved_event));
}

static bool walk_events(mv_arena *scratch, mv_totals_search *t)
{
    mv_totals *out = t->out;
    uint32_t threads = mv_parallel_for_threads(1 + t->lives->events.count / THREAD_EVENTS, 0);

    if (!mv_level_steps_init(scratch, t->lives, &t->steps) || !prepare_walks(scratch, t))
        return false;
    if (!t->continues)
        start_levels(t);
    mv_parallel_for(WALKS, threads, walk_part, t);
    for (uint32_t i = 0; i < WALKS; i++) {
        for (uint32_t k = 0; k < FIRST_POOL + t->slots; k++)
            join_course(t, &t->courses[k], &t->walks[i].courses[k]);
        out->total.allocated += t->walks[i].allocated;
        out->total.freed += t->walks[i].freed;
    }
    out->peak = t->courses[ALL].peak;
    return true;
}

/* ---- the final heap ---------------------------------------------------------------------- */

static mv_current current_of(const mv_trace *trace, uint32_t segment)
{
    const mv_segments *s = &trace->segments;
    const mv_blocks *b = &trace->blocks;
    mv_current c = {.bytes.reserved = s->total_size[segment], .segments = 1};
    uint32_t first = s->first_block[segment];

    for (uint32_t i = first; i < first + s->blocks[segment]; i++) {
        if (!mv_block_is_active(trace, i))
            continue;
        c.bytes.active += b->size[i];
        c.bytes.requested += mv_block_requested(trace, i);
        if (b->state[i] == MV_BLOCK_ALLOCATED) {
            c.bytes.allocated += b->size[i];
            c.allocations++;
        }
    }
    return c;
}

static void add_current(mv_current *to, const mv_current *c)
{
    to->bytes.allocated += c->bytes.allocated;
    to->bytes.active += c->bytes.active;
    to->bytes.requested += c->bytes.requested;
    to->bytes.reserved += c->bytes.reserved;
    to->segments += c->segments;
    to->allocations += c->allocations;
}

/* Adds to the sums of the device, of the segment's kind, and of the segment's pool. */
static void add_of(mv_totals_search *t, uint32_t index, const mv_current *c)
{
    add_current(&t->out->current, c);
    add_current(&t->out->kinds[index % 2 ? MV_SEGMENT_LARGE : MV_SEGMENT_SMALL].current, c);
    add_current(&t->out->pools[t->slot_of[index]].current, c);
}

/* Whether the sums of a segment in the file equal the sums of its blocks. A sum of 0 or MV_NO_BYTES
 * is not in the file, as is usual in files from profilers. */
static bool is_even(const mv_segments *s, uint32_t i, const mv_current *c)
{
    if (s->address[i] == MV_NO_BYTES)
        return true;
    return s->allocated[i] == c->bytes.allocated && s->active[i] == c->bytes.active &&
           (s->requested[i] == MV_NO_BYTES || s->requested[i] == c->bytes.requested);
}

static void sum_final(mv_totals_search *t)
{
    const mv_segments *s = &t->trace->segments;

    for (uint32_t i = 0; i < s->count; i++) {
        mv_current c;
        if (s->device[i] != (int64_t)t->lives->device)
            continue;
        c = current_of(t->trace, i);
        t->found.uneven_segments += !is_even(s, i, &c);
        add_of(t, index_of_final(t, i), &c);
    }
}

static void sum_last_alloc(mv_totals_search *t, uint32_t row)
{
    const mv_alloc_lives *a = &t->lives->allocs;
    mv_current c = {.bytes = {.active = a->block[row], .requested = a->requested[row]}};

    if (a->completed[row] != MV_NEVER)
        return;
    c.allocations = a->freed[row] == MV_NEVER;
    c.bytes.allocated = c.allocations ? a->block[row] : 0;
    add_of(t, index_of_alloc(t, row), &c);
}

/* Computes the current sums of a trace that has no final heap. This is true of files without a
 * heap, and of the CPU in captures, which has no segments. The memory that is alive at the end then
 * follows from the events. */
static void sum_heapless(mv_totals_search *t)
{
    const mv_segment_lives *s = &t->lives->segments;
    bool is_segmentless = mv_trace_is_captured(t->trace) && s->count == 0;

    if (!is_segmentless && !t->lives->has_no_heap)
        return;
    for (uint32_t i = 0; i < t->lives->allocs.count; i++)
        sum_last_alloc(t, i);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->death[i] == MV_NEVER)
            add_of(t, index_of_segment(t, i),
                   &(mv_current){.bytes.reserved = s->size[i], .segments = 1});
}

/* Raises the peaks to the final heap, which counts as a moment, too. If events are missing, the
 * final heap may be higher than the totals of the events. */
static void raise_to_final(mv_totals_search *t)
{
    uint32_t count = t->lives->events.count;
    uint32_t last = number_of(t, count ? count - 1 : MV_BEFORE);

    raise_peak(&t->out->peak, &t->out->current.bytes, last);
    for (uint32_t i = 0; i < 2; i++)
        raise_peak(&t->out->kinds[i].peak, &t->out->kinds[i].current.bytes, last);
    for (uint32_t i = 0; i < t->out->pool_count; i++)
        raise_peak(&t->out->pools[i].peak, &t->out->pools[i].current.bytes, last);
}

/* Raises the peaks to a peak that the allocator itself recorded, which may be higher than the
 * events show. Each block of such an allocator fills a segment, so its peak applies to reserved
 * bytes, too. */
static void raise_to_known(mv_totals_search *t)
{
    uint64_t known = mv_fact_of_device(t->trace, MV_FACT_PEAK, t->lives->device);
    mv_peak *peak = &t->out->peak;

    if (known <= peak->bytes.allocated)
        return;
    peak->bytes.allocated = peak->bytes.active = peak->bytes.reserved = known;
    peak->allocated_event = peak->active_event = peak->reserved_event = MV_BEFORE;
}

/* Moves the reserved peak. If each block fills its own segment, the peak is at the moment when the
 * block is in the segment. */
static void fill_peaks(mv_totals_search *t)
{
    uint32_t end = t->lives->events.count;
    mv_peak *all = &t->out->peak;

    if (!t->trace->origin.level)
        return;
    all->reserved_event = mv_moment_filled(t->lives, all->reserved_event, end);
    for (uint32_t i = 0; i < 2; i++) {
        mv_peak *kind = &t->out->kinds[i].peak;
        kind->reserved_event = mv_moment_filled(t->lives, kind->reserved_event, end);
    }
    for (uint32_t i = 0; i < t->out->pool_count; i++) {
        mv_peak *pool = &t->out->pools[i].peak;
        pool->reserved_event = mv_moment_filled(t->lives, pool->reserved_event, end);
    }
}

static bool finish(mv_totals_search *t)
{
    if (!list_pools(t))
        return false;
    sum_final(t);
    sum_heapless(t);
    raise_to_final(t);
    fill_peaks(t);
    raise_to_known(t);
    return mv_totals_audit(t->arena, t->trace, t->lives, &t->found, t->out);
}

mv_totals_search *mv_totals_begin(mv_arena *arena, mv_totals *out)
{
    mv_totals_search *t = mv_push_struct(arena, mv_totals_search);

    if (!t)
        return NULL;
    *t = (mv_totals_search){.arena = arena, .out = out};
    *out = (mv_totals){0};
    mv_arena_init(&t->scratch, arena->budget);
    return t;
}

static bool add(mv_totals_search *t)
{
    mv_arena scratch;
    bool is_done;

    mv_arena_init(&scratch, t->arena->budget);
    t->segment_index = mv_push_array(&scratch, uint32_t, t->lives->segments.count);
    is_done = t->segment_index && (t->slot_of || begin_pools(t)) && add_pools(t);
    if (is_done) {
        part_kinds(t);
        is_done = walk_events(&scratch, t) && (t->is_cut || finish(t));
    }
    mv_arena_release(&scratch);
    return is_done;
}

mv_code mv_totals_add(mv_totals_search *t, const mv_trace *trace, const mv_lives *lives,
                      mv_err *err)
{
    mv_living living = mv_living_of(trace, lives->device);

    t->trace = trace;
    t->lives = lives;
    t->out->device = lives->device;
    t->first = t->continues ? living.count : 0;
    t->is_cut = living.is_cut;
    t->knows_pools = find_knowledge(t) || ((t->continues || t->is_cut) && has_pool_tag(trace));
    if (!add(t))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "totals of device %u", lives->device);
    t->continues = true;
    return MV_OK;
}

void mv_totals_end(mv_totals_search *t)
{
    if (t)
        mv_arena_release(&t->scratch);
}

mv_code mv_totals_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       mv_totals *out, mv_err *err)
{
    mv_totals_search *t = mv_totals_begin(arena, out);
    mv_code code;

    if (!t)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "totals of device %u", lives->device);
    code = mv_totals_add(t, trace, lives, err);
    mv_totals_end(t);
    return code;
}
