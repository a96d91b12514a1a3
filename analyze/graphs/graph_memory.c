#include "analyze/graphs/graph_search.h"

#include "analyze/code/culprit.h"
#include "base/search.h"
#include "base/sort.h"

/* The addresses of captures, cut where a block begins or ends:
 *
 *     capture 1   |###########|
 *     capture 2       |#####|        |####|
 *     points      p   p     p p      p    p
 *     first         1    1   1    -    2        the first capture with a block in the piece
 *
 * Points are sorted by group of segments, then by address. This keeps different segments apart,
 * even if one segment reuses the addresses of another. The pieces of an expandable segment are one
 * group, because a block may span several pieces. */
typedef struct {
    uint32_t group;
    uint64_t addr;
} point;

/* A range of adjacent or overlapping blocks of one capture. */
typedef struct {
    uint32_t group;
    uint64_t addr, end;
} span_of_capture;

typedef struct {
    mv_graph_search *s;
    uint32_t *group; /* [segments] group of each segment, from 1; 0 is for blocks outside all
                      * segments */
    point *points;   /* [count] */
    uint32_t count;
    span_of_capture *spans;    /* spans of capture i: [first_span[i], first_span[i + 1]) */
    uint32_t *first_span;      /* [captures + 1] */
    uint32_t *first;           /* [count] first capture with a block in the piece that begins at
                                * the point, or MV_NO_ROW */
    uint32_t *living;          /* [count] the same, but without captures whose graph is destroyed */
    uint32_t *next;            /* [count + 1] temporary: the next piece that has no capture yet */
    uint32_t *of_pool;         /* [pools] row of each pool in out->pools, or MV_NO_ROW */
    uint32_t of_unknown;       /* row in out->pools for captures whose pool is not in the file,
                                * or MV_NO_ROW */
    uint32_t *pool_of_segment; /* [segments] row of each segment's pool in out->pools, or
                                * MV_NO_ROW */
} address_map;

/* ---- groups of segments ------------------------------------------------------------------ */

typedef struct {
    uint64_t addr;
    uint32_t row, pool, stream;
} segment_place;

static bool group_segments(address_map *m)
{
    const mv_segment_lives *g = &m->s->lives->segments;
    segment_place *places = mv_push_array(m->s->scratch, segment_place, (uint64_t)g->count + 1);
    uint64_t reach = 0;
    const segment_place *before = NULL;
    uint32_t count = 0, groups = 0;

    m->group = mv_push_array(m->s->scratch, uint32_t, (uint64_t)g->count + 1);
    if (!places || !m->group)
        return false;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->is_expandable[i])
            places[count++] = (segment_place){g->addr[i], i, g->pool[i].row, g->stream[i].row};
        else
            m->group[i] = ++groups;
    mv_sort_rows(m->s->scratch, places, count, MV_RISING(segment_place, pool),
                 MV_RISING(segment_place, stream), MV_RISING(segment_place, addr));
    for (uint32_t i = 0; i < count; i++) {
        const segment_place *p = &places[i];
        uint64_t end = p->addr + g->size[p->row];
        if (!before || before->pool != p->pool || before->stream != p->stream || p->addr > reach) {
            groups++;
            reach = 0;
        }
        m->group[p->row] = groups;
        reach = end > reach ? end : reach;
        before = p;
    }
    return true;
}

static point place_of(const address_map *m, uint32_t alloc)
{
    const mv_lives *lives = m->s->lives;
    uint32_t segment = lives->allocs.segment[alloc];
    bool is_placed = segment < lives->segments.count && !mv_trace_allocator(m->s->trace);

    return (point){is_placed ? m->group[segment] : 0, lives->allocs.addr[alloc]};
}

/* ---- points and spans -------------------------------------------------------------------- */

static int compare_points(point a, point b)
{
    if (a.group != b.group)
        return a.group < b.group ? -1 : 1;
    return a.addr < b.addr ? -1 : a.addr > b.addr;
}

static uint32_t point_at(const address_map *m, uint32_t group, uint64_t addr)
{
    mv_bisect b = mv_bisect_over(0, m->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, compare_points(m->points[b.middle], (point){group, addr}) < 0);
    return (uint32_t)b.low;
}

static bool find_points(address_map *m)
{
    mv_graph_search *s = m->s;
    point *points = mv_push_array(s->scratch, point, 2 * (uint64_t)s->member_count + 1);
    uint32_t count = 0;

    if (!points)
        return false;
    for (uint32_t i = 0; i < s->member_count; i++) {
        point start = place_of(m, s->members[i].alloc);
        points[count++] = start;
        start.addr += s->lives->allocs.block[s->members[i].alloc];
        points[count++] = start;
    }
    mv_sort_rows(s->scratch, points, count, MV_RISING(point, group), MV_RISING(point, addr));
    m->points = points;
    for (uint32_t i = 0; i < count; i++)
        if (m->count == 0 || compare_points(points[m->count - 1], points[i]) != 0)
            points[m->count++] = points[i];
    return true;
}

/* Merges the blocks of each capture into spans. */
static bool find_spans(address_map *m)
{
    mv_graph_search *s = m->s;
    uint32_t captures = s->out->count, member = 0, count = 0;

    m->spans = mv_push_array(s->scratch, span_of_capture, (uint64_t)s->member_count + 1);
    m->first_span = mv_push_array(s->scratch, uint32_t, (uint64_t)captures + 1);
    if (!m->spans || !m->first_span)
        return false;
    for (uint32_t c = 0; c < captures; c++) {
        span_of_capture *spans = m->spans + count;
        uint32_t rows = 0, merged = 0;
        m->first_span[c] = count;
        for (; member < s->member_count && s->members[member].capture == c; member++) {
            point at = place_of(m, s->members[member].alloc);
            uint64_t end = at.addr + s->lives->allocs.block[s->members[member].alloc];
            spans[rows++] = (span_of_capture){at.group, at.addr, end};
        }
        mv_sort_rows(s->scratch, spans, rows, MV_RISING(span_of_capture, group),
                     MV_RISING(span_of_capture, addr));
        for (uint32_t i = 0; i < rows; i++) {
            span_of_capture *top = merged ? &spans[merged - 1] : NULL;
            if (top && top->group == spans[i].group && top->end >= spans[i].addr)
                top->end = spans[i].end > top->end ? spans[i].end : top->end;
            else
                spans[merged++] = spans[i];
        }
        count += merged;
    }
    m->first_span[captures] = count;
    return true;
}

/* ---- pieces ------------------------------------------------------------------------------ */

static uint32_t next_unpainted(uint32_t *next, uint32_t piece)
{
    uint32_t root = piece;

    while (next[root] != root)
        root = next[root];
    while (next[piece] != root) {
        uint32_t after = next[piece];
        next[piece] = root;
        piece = after;
    }
    return root;
}

/* Sets painted[count] to the first capture of each piece. Without `all`, captures whose graph is
 * destroyed are skipped. */
static void paint(address_map *m, bool all, uint32_t *painted)
{
    const mv_graphs *out = m->s->out;

    for (uint32_t i = 0; i <= m->count; i++)
        m->next[i] = i;
    for (uint32_t i = 0; i < m->count; i++)
        painted[i] = MV_NO_ROW;
    for (uint32_t c = 0; c < out->count; c++) {
        if (!all && out->captures[c].graph == MV_GRAPH_DESTROYED)
            continue;
        for (uint32_t k = m->first_span[c]; k < m->first_span[c + 1]; k++) {
            const span_of_capture *span = &m->spans[k];
            uint32_t end = point_at(m, span->group, span->end);
            uint32_t i = next_unpainted(m->next, point_at(m, span->group, span->addr));
            for (; i < end; i = next_unpainted(m->next, i)) {
                painted[i] = c;
                m->next[i] = i + 1;
            }
        }
    }
}

/* Adds a segment that is reserved at the end, and the parts of it that captures used. */
static void add_segment(address_map *m, uint32_t segment, mv_graph_pool *pool)
{
    const mv_segment_lives *g = &m->s->lives->segments;
    uint64_t from = g->addr[segment], end = from + g->size[segment];
    uint32_t i = point_at(m, m->group[segment], from);

    if (i > 0 && m->points[i - 1].group == m->group[segment])
        i--; /* a piece may begin below the segment */
    pool->reserved += g->size[segment];
    for (; i + 1 < m->count && m->points[i].group == m->group[segment] && m->points[i].addr < end;
         i++) {
        uint64_t low = m->points[i].addr > from ? m->points[i].addr : from;
        uint64_t high = m->points[i + 1].addr < end ? m->points[i + 1].addr : end;
        if (m->points[i + 1].group != m->group[segment] || m->first[i] == MV_NO_ROW || high <= low)
            continue;
        pool->used += high - low;
        m->s->out->captures[m->first[i]].released -= high - low;
        if (m->living[i] == MV_NO_ROW)
            pool->left += high - low;
    }
}

/* ---- captures and pools ------------------------------------------------------------------ */

static void count_pieces(address_map *m)
{
    mv_graphs *out = m->s->out;

    for (uint32_t i = 0; i + 1 < m->count; i++)
        if (m->first[i] != MV_NO_ROW)
            out->captures[m->first[i]].own += m->points[i + 1].addr - m->points[i].addr;
    for (uint32_t c = 0; c < out->count; c++) {
        mv_graph_capture *capture = &out->captures[c];
        for (uint32_t k = m->first_span[c]; k < m->first_span[c + 1]; k++)
            capture->memory += m->spans[k].end - m->spans[k].addr;
        capture->shared = capture->memory - capture->own;
        capture->released = capture->own; /* add_segment subtracts the bytes that are still
                                           * reserved */
    }
}

/* Lists the pools of segments and captures. `of_pool` receives the row of each pool. */
static bool list_pools(address_map *m)
{
    mv_graph_search *s = m->s;
    const mv_segment_lives *g = &s->lives->segments;
    uint32_t known = s->trace->pools.count;

    m->of_pool = mv_push_array(s->scratch, uint32_t, (uint64_t)known + 1);
    s->out->pools = mv_push_array(s->arena, mv_graph_pool, (uint64_t)known + 1);
    if (!m->of_pool || !s->out->pools)
        return false;
    for (uint32_t i = 0; i < g->count; i++)
        if (mv_pool_is_private(g->pool[i]))
            m->of_pool[g->pool[i].row] = 1;
    for (uint32_t i = 0; i < known; i++)
        if (m->of_pool[i]) {
            m->of_pool[i] = s->out->pool_count;
            s->out->pools[s->out->pool_count++].pool = (mv_pool_id){i};
        } else {
            m->of_pool[i] = MV_NO_ROW;
        }
    m->of_unknown = MV_NO_ROW;
    if (s->out->pool_count == 0 && s->out->count > 0) {
        m->of_unknown = s->out->pool_count;
        s->out->pools[s->out->pool_count++].pool = MV_NO_POOL;
    }
    return true;
}

/* Sets the row of each segment's pool, or MV_NO_ROW. In files without pools, a segment belongs to
 * the graphs if a capture has a block in it. */
static bool place_segments(address_map *m)
{
    const mv_graph_search *s = m->s;
    const mv_segment_lives *g = &s->lives->segments;

    m->pool_of_segment = mv_push_array(s->scratch, uint32_t, (uint64_t)g->count + 1);
    if (!m->pool_of_segment)
        return false;
    for (uint32_t i = 0; i < g->count; i++)
        m->pool_of_segment[i] =
            mv_pool_is_private(g->pool[i]) ? m->of_pool[g->pool[i].row] : MV_NO_ROW;
    for (uint32_t i = 0; i < s->member_count; i++) {
        uint32_t segment = s->lives->allocs.segment[s->members[i].alloc];
        if (segment < g->count && m->pool_of_segment[segment] == MV_NO_ROW)
            m->pool_of_segment[segment] = m->of_unknown;
    }
    return true;
}

static mv_graph_capture *capture_at(const mv_graphs *out, uint32_t event)
{
    mv_bisect b = mv_bisect_over(0, out->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, out->captures[b.middle].first <= event);
    return b.low > 0 && out->captures[b.low - 1].last >= event ? &out->captures[b.low - 1] : NULL;
}

static void count_segments(address_map *m)
{
    const mv_segment_lives *g = &m->s->lives->segments;
    mv_graphs *out = m->s->out;

    for (uint32_t i = 0; i < g->count; i++) {
        mv_graph_capture *born = NULL, *died = NULL;
        if (m->pool_of_segment[i] == MV_NO_ROW)
            continue;
        if (g->birth[i] != MV_BEFORE)
            born = capture_at(out, g->birth[i]);
        if (g->death[i] != MV_NEVER)
            died = capture_at(out, g->death[i]);
        else
            add_segment(m, i, &out->pools[m->pool_of_segment[i]]);
        if (born)
            born->grown += (int64_t)g->size[i];
        if (died)
            died->grown -= (int64_t)g->size[i];
    }
}

/* Reduces *common to the number of outer frames that this stack shares with the other stacks of the
 * capture. */
static void join_stacks(const mv_trace *trace, mv_stack_id first, mv_stack_id other,
                        uint32_t *common)
{
    uint32_t of_first, of_other, same = 0;
    const mv_frame_id *a = mv_stack_frames(trace, first, &of_first);
    const mv_frame_id *b = mv_stack_frames(trace, other, &of_other);

    while (same < *common && same < of_other &&
           a[of_first - 1 - same].row == b[of_other - 1 - same].row)
        same++;
    *common = same;
}

/* Returns the innermost user frame among the `common` outer frames, or MV_NO_FRAME. */
static mv_frame_id common_frame(const mv_graph_search *s, mv_stack_id stack, uint32_t common)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(s->trace, stack, &count);

    for (uint32_t i = count - common; i < count; i++)
        if ((s->kinds ? (mv_frame_kind)s->kinds[frames[i].row]
                      : mv_frame_kind_of(s->trace, frames[i])) == MV_FRAME_USER)
            return frames[i];
    return MV_NO_FRAME;
}

static void count_blocks(address_map *m)
{
    const mv_graph_search *s = m->s;
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t member = 0;

    for (uint32_t c = 0; c < s->out->count; c++) {
        mv_graph_capture *capture = &s->out->captures[c];
        uint32_t common = 0;
        for (; member < s->member_count && s->members[member].capture == c; member++) {
            uint32_t row = s->members[member].alloc;
            mv_stack_id stack = a->stack[row];
            capture->blocks++;
            capture->allocated += a->block[row];
            capture->kept += a->freed[row] >= capture->end ? a->block[row] : 0;
            capture->alive += a->freed[row] == MV_NEVER ? a->block[row] : 0;
            if (capture->stack.row == MV_NO_ROW) {
                capture->stack = stack;
                mv_stack_frames(s->trace, stack, &common);
            } else if (stack.row != capture->stack.row && stack.row != MV_NO_ROW) {
                join_stacks(s->trace, capture->stack, stack, &common);
            }
        }
        capture->frame = common_frame(s, capture->stack, common);
    }
}

static void count_pools(address_map *m)
{
    const mv_graph_search *s = m->s;
    const mv_alloc_lives *a = &s->lives->allocs;
    mv_graphs *out = s->out;
    bool is_known = false;

    for (uint32_t c = 0; c < out->count; c++) {
        mv_pool_id pool = out->captures[c].pool;
        uint32_t row = mv_pool_is_private(pool) ? m->of_pool[pool.row] : m->of_unknown;
        is_known = is_known || out->captures[c].graph != MV_GRAPH_UNKNOWN;
        out->pools[row].captures++;
        out->pools[row].memory += out->captures[c].memory;
    }
    for (uint32_t i = 0; i < a->count; i++)
        if (a->freed[i] == MV_NEVER && a->segment[i] < s->lives->segments.count &&
            m->pool_of_segment[a->segment[i]] != MV_NO_ROW)
            out->pools[m->pool_of_segment[a->segment[i]]].allocated += a->block[i];
    for (uint32_t i = 0; i < out->pool_count; i++) {
        mv_graph_pool *pool = &out->pools[i];
        pool->unused = pool->reserved - pool->used;
        if (!is_known)
            pool->left = MV_NO_BYTES;
        if (mv_trace_allocator(s->trace)) /* the trace contains only addresses of blocks, without
                                           * their segments */
            pool->reserved = pool->used = pool->unused = pool->left = MV_NO_BYTES;
    }
}

bool mv_graph_memory_find(mv_graph_search *s)
{
    address_map m = {.s = s};

    if (!list_pools(&m))
        return false;
    if (s->out->pool_count == 0)
        return true;
    if (!group_segments(&m) || !find_points(&m) || !find_spans(&m) || !place_segments(&m))
        return false;
    m.first = mv_push_array(s->scratch, uint32_t, (uint64_t)m.count + 1);
    m.living = mv_push_array(s->scratch, uint32_t, (uint64_t)m.count + 1);
    m.next = mv_push_array(s->scratch, uint32_t, (uint64_t)m.count + 1);
    if (!m.first || !m.living || !m.next)
        return false;
    paint(&m, true, m.first);
    paint(&m, false, m.living);
    count_pieces(&m);
    count_segments(&m);
    count_blocks(&m);
    count_pools(&m);
    return true;
}
