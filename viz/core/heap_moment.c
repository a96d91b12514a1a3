#include "viz/core/heap_moment.h"

#include "base/sort.h"

typedef struct {
    const mv_lives *lives;
    mv_heap_moment *out;
    uint32_t held_count, used_count;
    uint32_t *held; /* rows of segments, sorted by address */
    uint32_t *used; /* rows of allocs, sorted by address */
    uint32_t pieces;
    uint32_t next; /* index in `used` */
} heap_builder;

/* ---- rows alive at that moment ----------------------------------------------------------- */

static int by_segment_address(const void *left, const void *right, const void *context)
{
    const mv_segment_lives *s = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (s->addr[a] > s->addr[b]) - (s->addr[a] < s->addr[b]);
}

/* Compares blocks by address. Among equal addresses, the latest block comes first. */
static int by_block_address(const void *left, const void *right, const void *context)
{
    const mv_alloc_lives *l = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (l->addr[a] != l->addr[b])
        return l->addr[a] < l->addr[b] ? -1 : 1;
    return (a < b) - (a > b);
}

static bool collect_held(mv_arena *scratch, heap_builder *m)
{
    const mv_segment_lives *s = &m->lives->segments;
    uint32_t event = m->out->event;

    for (uint32_t i = 0; i < s->count; i++)
        m->held_count += mv_segment_is_held(m->lives, i, event);
    m->held = mv_push_array(scratch, uint32_t, m->held_count);
    m->held_count = 0;
    for (uint32_t i = 0; m->held && i < s->count; i++) {
        if (!mv_segment_is_held(m->lives, i, event))
            continue;
        m->out->sums.reserved += s->size[i];
        if (mv_range_end(s->addr[i], s->size[i]) > s->addr[i])
            m->held[m->held_count++] = i;
    }
    if (m->held_count)
        mv_sort_by(scratch, m->held, m->held_count, sizeof *m->held, by_segment_address, s);
    return m->held != NULL;
}

static void add_sums(heap_builder *m, uint32_t row)
{
    const mv_alloc_lives *a = &m->lives->allocs;
    mv_heap_sums *sums = &m->out->sums;

    if (mv_alloc_is_allocated(m->lives, row, m->out->event))
        sums->allocated += a->block[row];
    else
        sums->pending += a->block[row];
    if (a->block[row] > a->requested[row])
        sums->rounding += a->block[row] - a->requested[row];
}

static mv_code collect_used(mv_arena *scratch, heap_builder *m, const mv_index *active, mv_err *err)
{
    const mv_alloc_lives *a = &m->lives->allocs;
    mv_alive alive;
    mv_code code = mv_index_alive(scratch, active, m->out->event, &alive, err);
    uint32_t count = 0;

    if (code != MV_OK)
        return code;
    for (uint32_t i = 0; i < alive.count; i++) {
        add_sums(m, alive.row[i]);
        if (a->segment[alive.row[i]] != MV_NO_ROW)
            alive.row[count++] = alive.row[i];
    }
    if (count)
        mv_sort_by(scratch, alive.row, count, sizeof *alive.row, by_block_address, a);
    m->used = alive.row;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || a->addr[alive.row[i]] != a->addr[m->used[m->used_count - 1]])
            m->used[m->used_count++] = alive.row[i];
    return MV_OK;
}

/* ---- the map ----------------------------------------------------------------------------- */

static uint32_t pool_of(const mv_segment_lives *s, uint32_t row)
{
    return s->pool[row].row == MV_NO_ROW ? MV_DEFAULT_POOL.row : s->pool[row].row;
}

/* Whether free memory continues from one row into the next (see analyze/heap/holes.h). */
static bool is_joined(const mv_segment_lives *s, uint32_t low, uint32_t high)
{
    return mv_range_end(s->addr[low], s->size[low]) == s->addr[high] && s->is_expandable[low] &&
           s->is_expandable[high] && s->kind[low] == s->kind[high] &&
           pool_of(s, low) == pool_of(s, high) && s->stream[low].row == s->stream[high].row;
}

static void add_piece(heap_builder *m, uint64_t addr, uint64_t end, uint32_t row)
{
    mv_heap_map *map = &m->out->map;

    map->piece_addr[m->pieces] = addr;
    map->piece_size[m->pieces] = end - addr;
    map->piece_row[m->pieces++] = row;
}

/* Adds the hole [low, high), which is in the run formed by the `held` rows from `first` to
 * `end`. */
static void add_hole(heap_builder *m, uint32_t first, uint32_t end, uint64_t low, uint64_t high)
{
    const mv_segment_lives *s = &m->lives->segments;
    mv_heap_map *map = &m->out->map;
    uint32_t run = map->count - 1;
    uint64_t whole = 0;

    if (low >= high)
        return;
    add_piece(m, low, high, MV_NO_ROW);
    if (high - low == map->size[run])
        whole = high - low;
    else if (s->is_expandable[map->segment[run]])
        for (uint32_t i = first; i < end; i++) {
            uint64_t from = s->addr[m->held[i]], to = from + s->size[m->held[i]];
            if (from < high && to > low)
                whole += mv_segment_whole_pages(s, m->held[i], from > low ? from : low, high);
        }
    map->free[run] += high - low;
    map->whole[run] += whole;
    map->piece_whole[m->pieces - 1] = whole;
    m->out->sums.free += high - low;
    if (high - low > m->out->largest)
        m->out->largest = high - low;
}

static void add_run(heap_builder *m, uint32_t first, uint32_t end)
{
    const mv_segment_lives *s = &m->lives->segments;
    const mv_alloc_lives *a = &m->lives->allocs;
    mv_heap_map *map = &m->out->map;
    uint32_t run = map->count++;
    uint64_t at = s->addr[m->held[first]];
    uint64_t limit = mv_range_end(s->addr[m->held[end - 1]], s->size[m->held[end - 1]]);

    map->addr[run] = at;
    map->size[run] = limit - at;
    map->segment[run] = m->held[first];
    map->first_piece[run] = m->pieces;
    while (m->next < m->used_count && a->addr[m->used[m->next]] < at)
        m->next++; /* this block is outside all segments */
    for (; m->next < m->used_count && a->addr[m->used[m->next]] < limit; m->next++) {
        uint32_t row = m->used[m->next];
        uint64_t addr = a->addr[row], row_end = mv_range_end(addr, a->block[row]), stop = limit;
        if (m->next + 1 < m->used_count && a->addr[m->used[m->next + 1]] < limit)
            stop = a->addr[m->used[m->next + 1]];
        add_hole(m, first, end, at, addr);
        at = row_end < stop ? row_end : stop;
        add_piece(m, addr, at, row);
    }
    add_hole(m, first, end, at, limit);
}

static void add_runs(heap_builder *m)
{
    uint32_t first = 0;

    for (uint32_t i = 1; i <= m->held_count; i++)
        if (i == m->held_count || !is_joined(&m->lives->segments, m->held[i - 1], m->held[i])) {
            add_run(m, first, i);
            first = i;
        }
    m->out->map.first_piece[m->out->map.count] = m->pieces;
}

mv_code mv_heap_moment_find(mv_arena *arena, const mv_lives *lives, const mv_index *active,
                            uint32_t event, mv_heap_moment *out, mv_err *err)
{
    heap_builder m = {.lives = lives, .out = out};
    mv_arena scratch;
    mv_code code = MV_OK;

    *out = (mv_heap_moment){.event = event};
    mv_arena_init(&scratch, arena->budget);
    if (!collect_held(&scratch, &m))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "the heap's layout");
    if (code == MV_OK)
        code = collect_used(&scratch, &m, active, err);
    if (code == MV_OK && !mv_heap_map_init(arena, m.held_count,
                                           (uint64_t)m.used_count * 2 + m.held_count, &out->map))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "the heap's layout");
    if (code == MV_OK)
        add_runs(&m);
    mv_arena_release(&scratch);
    return code;
}
