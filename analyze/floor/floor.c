#include "analyze/floor/floor.h"

#include "analyze/levels/levels.h"
#include "analyze/lives/alive.h"
#include "analyze/replay/replay_script.h"
#include "analyze/replay/segment_kinds.h"
#include "analyze/totals/level_steps.h"
#include "base/grow.h"
#include "base/sort.h"

/* A pool of a CUDA graph. */
typedef struct {
    uint64_t now, most; /* bytes of the pool's living blocks: now, and the most so far */
    uint32_t end;       /* time at which the pool first releases memory */
} graph_pool;

typedef struct {
    mv_arena *arena; /* temporary */
    const mv_trace *trace;
    const mv_lives *lives;
    mv_block_rules rules;
    uint32_t *pool;     /* [allocs.count] row of the block's pool if the pool belongs to a CUDA
                         * graph; otherwise MV_NO_ROW. NULL: no pool belongs to one */
    graph_pool *graphs; /* [pools.count] valid only for pools of CUDA graphs */
    uint64_t effort;    /* effort for each placement */
    uint64_t load;      /* bytes in use now: blocks, and the highest use so far of each CUDA
                         * graph's pool */
    uint32_t load_time; /* first time of the highest `load`, which is stored in out->lower */
    mv_minimum *out;
} floor_state;

static mv_code no_memory(mv_err *err)
{
    return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

/* ---- lives ------------------------------------------------------------------------------- */

/* A time is a number of events: event + 1 after an event, and 0 before all events. */
static uint32_t birth_of(const mv_lives *lives, uint32_t row)
{
    return lives->allocs.birth[row] + 1; /* MV_BEFORE: 0 */
}

static uint32_t death_of(const mv_lives *lives, uint32_t row)
{
    uint32_t end = lives->allocs.completed[row];

    return end == MV_NEVER ? lives->events.count + 1 : end + 1;
}

/* Bytes that any allocator must provide: the request rounded up to a multiple of 512 bytes, but at
 * most the size of the recorded block. 0: the block is not placed. */
static uint64_t size_of(const floor_state *s, uint32_t row)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint64_t least = mv_round_least(&s->rules, a->requested[row]);

    if (birth_of(s->lives, row) >= death_of(s->lives, row) || a->requested[row] == 0 ||
        a->requested[row] == MV_NO_BYTES)
        return 0;
    return a->block[row] && !a->inexact[row] && a->block[row] < least ? a->block[row] : least;
}

static bool is_graph(const mv_trace *trace, uint32_t pool)
{
    return pool < trace->pools.count && trace->pools.a[pool] != 0;
}

static bool find_pools(floor_state *s)
{
    bool has_graph = false;

    for (uint32_t i = 0; i < s->trace->pools.count; i++)
        has_graph |= is_graph(s->trace, i);
    if (!has_graph)
        return true;
    s->pool = mv_push_array(s->arena, uint32_t, s->lives->allocs.count);
    for (uint32_t i = 0; s->pool && i < s->lives->allocs.count; i++) {
        uint32_t pool = mv_alloc_pool(s->lives, i).row;
        s->pool[i] = is_graph(s->trace, pool) ? pool : MV_NO_ROW;
    }
    return s->pool != NULL;
}

static uint32_t pool_of(const floor_state *s, uint32_t row)
{
    return s->pool ? s->pool[row] : MV_NO_ROW;
}

/* ---- pools of CUDA graphs ---------------------------------------------------------------- */

/* Finds the pools of CUDA graphs. Each replay of a graph reuses all memory of its pool, so from its
 * first use to the pool's first release this memory is in use, even if its blocks were freed. */
static bool find_graphs(floor_state *s)
{
    const mv_segment_lives *g = &s->lives->segments;

    s->graphs = mv_push_array(s->arena, graph_pool, s->trace->pools.count);
    for (uint32_t i = 0; s->graphs && i < s->trace->pools.count; i++)
        s->graphs[i].end = s->lives->events.count + 1;
    for (uint32_t i = 0; s->graphs && i < g->count; i++)
        if (g->pool[i].row < s->trace->pools.count && g->death[i] != MV_NEVER &&
            g->death[i] + 1 < s->graphs[g->pool[i].row].end)
            s->graphs[g->pool[i].row].end = g->death[i] + 1;
    return s->graphs != NULL;
}

static void add_load(floor_state *s, uint32_t time, uint64_t bytes)
{
    s->load += bytes;
    if (s->load > s->out->lower) {
        s->out->lower = s->load;
        s->load_time = time;
    }
}

/* Applies a block's allocation or free to its pool's usage. When a pool grows beyond its highest
 * use so far, the growth remains in use until the pool is released. */
static void change_graph(floor_state *s, uint32_t row, uint64_t size, uint32_t time, bool is_birth)
{
    graph_pool *g = &s->graphs[pool_of(s, row)];

    g->now += is_birth ? size : -size;
    if (g->now <= g->most)
        return;
    if (time < g->end)
        add_load(s, time, g->now - g->most);
    g->most = g->now;
}

/* Places the blocks of one pool separately, and adds the whole pool as one block. */
static mv_code add_graph(floor_state *s, const mv_placed_block *own, uint32_t count, uint32_t pool,
                         mv_err *err)
{
    mv_minimum *out = s->out;
    uint32_t birth = UINT32_MAX, death = s->graphs[pool].end;
    mv_placement found;

    if (count == 0)
        return MV_OK;
    for (uint32_t i = 0; i < count; i++) {
        birth = own[i].birth < birth ? own[i].birth : birth;
        death = own[i].death > death ? own[i].death : death;
    }
    if (mv_placement_find(s->arena, own, count, s->effort, &found, err) != MV_OK)
        return err->code;
    out->blocks[out->block_count] = (mv_placed_block){birth, death, found.top};
    out->rows[out->block_count++] = MV_NO_ROW;
    return MV_OK;
}

/* Adds all pools of CUDA graphs, after collecting their blocks pool by pool. */
static mv_code add_graphs(floor_state *s, mv_err *err)
{
    const mv_lives *lives = s->lives;
    uint32_t pools = s->trace->pools.count, count = 0, graphs = 0;
    uint32_t *first = mv_push_array(s->arena, uint32_t, (uint64_t)pools + 2);
    mv_placed_block *own = mv_push_array(s->arena, mv_placed_block, lives->allocs.count);
    mv_code code = first && own ? MV_OK : no_memory(err);

    for (uint32_t i = 0; code == MV_OK && i < lives->allocs.count; i++)
        if (pool_of(s, i) != MV_NO_ROW && size_of(s, i))
            first[pool_of(s, i) + 2]++;
    for (uint32_t i = 0; code == MV_OK && i < pools; i++) {
        graphs += first[i + 2] > 0;
        first[i + 2] += first[i + 1];
    }
    for (uint32_t i = 0; code == MV_OK && i < lives->allocs.count; i++)
        if (pool_of(s, i) != MV_NO_ROW && size_of(s, i))
            own[first[pool_of(s, i) + 1]++] =
                (mv_placed_block){birth_of(lives, i), death_of(lives, i), size_of(s, i)};
    s->effort = MV_PLACEMENT_EFFORT / (graphs + 1);
    for (uint32_t i = 0; code == MV_OK && i < pools; i++) {
        count = first[i + 1] - first[i];
        code = add_graph(s, own + first[i], count, i, err);
    }
    return code;
}

static mv_code list_blocks(floor_state *s, mv_arena *arena, mv_err *err)
{
    const mv_lives *lives = s->lives;
    uint64_t most = (uint64_t)lives->allocs.count + s->trace->pools.count;
    mv_minimum *out = s->out;

    out->blocks = mv_push_array(arena, mv_placed_block, most);
    out->rows = mv_push_array(arena, uint32_t, most);
    if (!out->blocks || !out->rows)
        return no_memory(err);
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (pool_of(s, i) == MV_NO_ROW && size_of(s, i)) {
            out->rows[out->block_count] = i;
            out->blocks[out->block_count++] =
                (mv_placed_block){birth_of(lives, i), death_of(lives, i), size_of(s, i)};
        }
    return add_graphs(s, err);
}

/* ---- separate memory --------------------------------------------------------------------- */

/* The segments of one stream, pool and kind. Memory of one group never serves a request of another
 * group. */
typedef struct {
    uint64_t now, most; /* bytes in use: now, and the most since memory was last released */
    uint32_t epoch;     /* epoch in which `most` was measured */
} apart_group;

typedef struct {
    uint32_t stream, pool, kind, row;
} group_key;

/* Finds the group of each segment. Row `segments.count` is for blocks outside all known
 * segments. */
static uint32_t *find_groups(floor_state *s)
{
    const mv_segment_lives *g = &s->lives->segments;
    group_key *keys = mv_push_array(s->arena, group_key, g->count);
    uint32_t *group = mv_push_array(s->arena, uint32_t, (uint64_t)g->count + 1);
    uint32_t count = 0;

    if (!keys || !group)
        return NULL;
    for (uint32_t i = 0; i < g->count; i++)
        keys[i] = (group_key){g->stream[i].row, g->pool[i].row, g->kind[i], i};
    mv_sort_rows(s->arena, keys, g->count, MV_RISING(group_key, stream), MV_RISING(group_key, pool),
                 MV_RISING(group_key, kind));
    for (uint32_t i = 0; i < g->count; i++) {
        count += i > 0 && (keys[i].stream != keys[i - 1].stream ||
                           keys[i].pool != keys[i - 1].pool || keys[i].kind != keys[i - 1].kind);
        group[keys[i].row] = count;
    }
    group[g->count] = g->count ? count + 1 : 0;
    return group;
}

typedef struct {
    floor_state *s;
    const uint32_t *of_segment;
    apart_group *groups;
    uint32_t epoch;
    uint64_t now;  /* bytes in use in all groups together */
    uint64_t kept; /* sum of the groups' `most` in this epoch */
    uint64_t most; /* highest value of `kept` so far */
} apart_state;

static void change(apart_state *a, uint32_t row, uint64_t size, bool is_birth)
{
    uint32_t segment = a->s->lives->allocs.segment[row], count = a->s->lives->segments.count;
    apart_group *g = &a->groups[a->of_segment[segment < count ? segment : count]];

    if (g->epoch != a->epoch) {
        g->epoch = a->epoch;
        g->most = g->now;
    }
    g->now += is_birth ? size : -size;
    a->now += is_birth ? size : -size;
    if (g->now > g->most) {
        a->kept += g->now - g->most;
        g->most = g->now;
    }
    a->most = a->kept > a->most ? a->kept : a->most;
}

/* Adds a birth or death to the load that any allocator would have. */
static void change_load(floor_state *s, uint32_t row, uint64_t size, uint32_t time, bool is_birth)
{
    if (pool_of(s, row) != MV_NO_ROW)
        change_graph(s, row, size, time, is_birth);
    else if (is_birth)
        add_load(s, time, size);
    else
        s->load -= size;
}

/* Blocks whose deaths have no free of their own, because the free is missing. */
typedef struct {
    uint32_t count, capacity;
    mv_key_row *rows; /* [count] in order of the time of death, which is the key */
} lone_deaths;

/* Lists the deaths that the frees do not show, which are few. */
static bool list_lone_deaths(floor_state *s, lone_deaths *out)
{
    const mv_lives *lives = s->lives;

    for (uint32_t row = 0; row < lives->allocs.count; row++) {
        uint32_t end = lives->allocs.completed[row];
        if (end == MV_NEVER ||
            (lives->alloc_of[end] == row && mv_is_free_action(lives->events.action[end])) ||
            size_of(s, row) == 0)
            continue;
        if (!mv_append(s->arena, out->rows, out->count, out->capacity, (mv_key_row){end + 1, row}))
            return false;
    }
    mv_sort_rows(s->arena, out->rows, out->count, MV_RISING(mv_key_row, key));
    return true;
}

/* Returns the block that dies with a free, or MV_NO_ROW. */
static uint32_t row_that_dies(const floor_state *s, uint32_t event)
{
    uint32_t row = s->lives->alloc_of[event];

    return mv_is_free_action(s->lives->events.action[event]) && row < s->lives->allocs.count &&
                   s->lives->allocs.completed[row] == event
               ? row
               : MV_NO_ROW;
}

/* Returns the pools in order of the time at which they first release memory, which is the key. */
static mv_key_row *list_ends(floor_state *s)
{
    uint32_t count = s->trace->pools.count;
    mv_key_row *ends = mv_push_array(s->arena, mv_key_row, count);

    for (uint32_t i = 0; ends && i < count; i++)
        ends[i] = (mv_key_row){s->graphs[i].end, i};
    if (ends)
        mv_sort_rows(s->arena, ends, count, MV_RISING(mv_key_row, key));
    return ends;
}

static void live(apart_state *a, uint32_t row, uint64_t size, uint32_t time, bool is_birth)
{
    change(a, row, size, is_birth);
    change_load(a->s, row, size, time, is_birth);
}

/* A block that is not placed has 0 bytes, which change nothing. */
static void die(apart_state *a, uint32_t row, uint32_t time)
{
    live(a, row, size_of(a->s, row), time, false);
}

/* Whether a row is born with the event before `time` and dies with the second event after it. */
static bool is_brief(const floor_state *s, uint32_t row, uint32_t time)
{
    uint32_t birth = s->lives->allocs.birth[row];

    return birth + 1 == time && time > 0 && s->lives->alloc_of[birth] == row &&
           s->lives->allocs.completed[row] == birth + 2 && mv_alloc_is_brief(s->lives, birth);
}

/* Finds the bytes that the groups need together. Between two releases of memory, a group's memory
 * only grows. So at the end of such a period, each group holds at least its peak in the period, and
 * all groups together hold at least the sum of these peaks. Of events at the same time, deaths come
 * first, then releases, then births. After the last event nothing is born, so deaths do not
 * matter. */
static bool find_apart(floor_state *s, uint64_t *most)
{
    const mv_lives *lives = s->lives;
    uint32_t rows = lives->allocs.count, pools = s->trace->pools.count, born = 0, ended = 0, i;
    apart_state state = {
        .s = s,
        .of_segment = find_groups(s),
        .groups = mv_push_array(s->arena, apart_group, (uint64_t)lives->segments.count + 1)};
    lone_deaths lone = {0};
    mv_key_row *ends;

    if (!state.of_segment || !state.groups || !find_graphs(s) || !list_lone_deaths(s, &lone) ||
        !(ends = list_ends(s)))
        return false;
    for (uint32_t time = 0, dead = 0; time <= lives->events.count; time++) {
        for (; ended < pools && ends[ended].key <= time; ended++)
            s->load -= s->graphs[ends[ended].row].most;
        for (; dead < lone.count && lone.rows[dead].key <= time; dead++)
            die(&state, lone.rows[dead].row, time);
        if (time > 0 && (i = row_that_dies(s, time - 1)) != MV_NO_ROW)
            die(&state, i, time);
        if (time > 0 && mv_is_release_action(lives->events.action[time - 1])) {
            state.epoch++;
            state.kept = state.now;
        }
        for (; born < rows && birth_of(lives, born) <= time; born++) {
            uint64_t size = size_of(s, born);
            live(&state, born, size, time, true);
            if (is_brief(s, born, time)) { /* nothing else happens until its death */
                live(&state, born, size, time, false);
                time += 2;
            }
        }
    }
    *most = state.most;
    return true;
}

/* ---- the whole floor --------------------------------------------------------------------- */

static const char *why_unknown(const floor_state *s)
{
    if (s->lives->is_missing_memory_events || s->lives->events.count == 0)
        return "the file has no memory events: block lifetimes are unknown";
    if (s->lives->is_missing_allocs)
        return "no allocations were recorded: block lifetimes are unknown";
    if (s->lives->is_missing_segment_events)
        return "no segments were recorded: the peak of reserved memory is unknown";
    if (s->trace->notes[MV_NOTE_THINNED].count)
        return "this file was thinned: without all blocks the floor of the run is unknown";
    return "";
}

static const char *note_of(const floor_state *s)
{
    if (mv_trace_is_captured(s->trace) && mv_level_reserves(s->trace))
        return "a capture contains block sizes, not request sizes: the floor may be lower";
    if (s->lives->history != MV_HISTORY_COMPLETE)
        return "the history is incomplete: the floor covers the events in the file and the blocks "
               "alive before them";
    if (s->lives->doubts.lost_frees || s->lives->doubts.residual)
        return "frees are missing: blocks may have been freed earlier than they seem, and the "
               "floor may be lower";
    if (mv_has_pools_of_user(s->trace))
        return "if pool (0, N) belongs to CUDA graphs, its memory is not free for others, and the "
               "floor is higher";
    return "";
}

/* Finds the placement. If a pool is placed as one block, a proof that the bound is higher is
 * ignored. Such a block is as large as the whole pool from the pool's first use, although the pool
 * itself grows later. */
static mv_code place(floor_state *s, mv_arena *arena, mv_err *err)
{
    mv_minimum *out = s->out;
    mv_placement found;

    if (list_blocks(s, arena, err) != MV_OK ||
        mv_placement_find(arena, out->blocks, out->block_count, s->effort, &found, err) != MV_OK)
        return err->code;
    out->offset = found.offset;
    out->upper = found.top;
    if (found.lower > out->lower &&
        (out->block_count == 0 || out->rows[out->block_count - 1] != MV_NO_ROW))
        out->lower = found.lower;
    out->ideal = out->lower == out->upper;
    return MV_OK;
}

/* The birth or the death of a segment. */
typedef struct {
    uint64_t size;
    uint32_t time;
    uint8_t is_birth;
} segment_change;

/* Finds the recorded peak of reserved memory. Of changes at the same time, deaths come first. */
static bool find_reserved(floor_state *s)
{
    const mv_segment_lives *g = &s->lives->segments;
    segment_change *rows = mv_push_array(s->arena, segment_change, 2 * (uint64_t)g->count);
    uint64_t count = 0, now = 0;

    for (uint32_t i = 0; rows && i < g->count; i++) {
        rows[count++] = (segment_change){g->size[i], g->birth[i] + 1, true}; /* MV_BEFORE: 0 */
        if (g->death[i] != MV_NEVER)
            rows[count++] = (segment_change){g->size[i], g->death[i] + 1, false};
    }
    if (rows)
        mv_sort_rows(s->arena, rows, count, MV_RISING(segment_change, time),
                     MV_RISING(segment_change, is_birth));
    for (uint64_t i = 0; rows && i < count; i++) {
        now += rows[i].is_birth ? rows[i].size : -rows[i].size;
        if (rows[i].is_birth && now > s->out->reserved)
            s->out->reserved = now;
    }
    return rows != NULL;
}

static mv_code find(floor_state *s, mv_arena *arena, bool bound_only, mv_err *err)
{
    mv_minimum *out = s->out;
    uint64_t apart;

    s->rules = mv_block_rules_of(s->trace);
    if (!find_reserved(s) || !find_pools(s) || !find_apart(s, &apart))
        return no_memory(err);
    out->load_event = s->load_time - 1;
    if (!bound_only && place(s, arena, err) != MV_OK)
        return err->code;
    out->is_known = out->lower <= out->reserved;
    if (!out->is_known)
        out->why = "the blocks in use add up to more than was reserved: events are missing";
    apart = apart > out->reserved ? out->reserved : apart < out->lower ? out->lower : apart;
    out->separation = apart - out->lower;
    out->placement = out->reserved - apart;
    return MV_OK;
}

mv_code mv_minimum_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                        bool bound_only, mv_minimum *out, mv_err *err)
{
    mv_arena own;
    floor_state s = {.arena = &own, .trace = trace, .lives = lives, .out = out};
    mv_code code = MV_OK;

    *out = (mv_minimum){.why = why_unknown(&s), .note = note_of(&s)};
    mv_arena_init(&own, arena->budget);
    if (!*out->why)
        code = find(&s, arena, bound_only, err);
    mv_arena_release(&own);
    return code;
}
