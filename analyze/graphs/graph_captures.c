#include "analyze/graphs/graph_search.h"

#include <ctype.h>

#include "analyze/code/open_range.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/sort.h"
#include "parse/model/event_times.h"

/* ---- ranges ------------------------------------------------------------------------------ */

#define SHIM_NAME "CUDA graph capture "

/* Maximum depth of nested ranges; deeper ranges are ignored. */
enum { MOST_OPEN = 64 };

typedef struct {
    mv_string_id name;
    int64_t from_us, to_us; /* start and end of the range; to_us MV_NO_TIME: open until the end
                             * of the trace */
    uint32_t first, end;    /* events [first, end) of the range */
    uint32_t outer, inners; /* enclosing range, or MV_NO_ROW; number of ranges inside this range */
} graph_range;

typedef struct {
    mv_graph_search *s;
    graph_range *rows; /* [count] ranges sorted by `first` */
    uint32_t count, capacity;
    uint32_t open[MOST_OPEN], depth;
    uint32_t captures_capacity, members_capacity;
} builder;

/* Whether a name looks like "CUDA graph capture 3", "capture_32_FULL" or "Capturing bs=8". */
static bool names_capture(const char *name)
{
    static const char word[] = "captur";

    for (; *name; name++) {
        unsigned i = 0;
        while (word[i] && tolower((unsigned char)name[i]) == word[i])
            i++;
        if (!word[i])
            return true;
    }
    return false;
}

bool mv_graphs_have_ranges(const mv_trace *trace)
{
    const mv_annotations *a = &trace->annotations;

    for (uint32_t i = 0; i < a->count; i++)
        if (names_capture(mv_string_text(trace, a->name[i])))
            return true;
    return false;
}

/* Ends a range. Threads interleave, so the range that ends is not always the innermost one. */
static void end_range(builder *b, mv_string_id name, int64_t time_us)
{
    const mv_events *e = &b->s->lives->events;
    uint32_t at = b->depth;
    graph_range *r;

    while (at > 0 && b->rows[b->open[at - 1]].name.row != name.row)
        at--;
    if (at == 0)
        return;
    r = &b->rows[b->open[at - 1]];
    r->to_us = time_us;
    r->end = mv_event_after(e, time_us);
    for (b->depth--; at <= b->depth; at++)
        b->open[at - 1] = b->open[at];
}

static bool add_range(builder *b, mv_string_id name, int64_t time_us)
{
    const mv_events *e = &b->s->lives->events;
    graph_range range = {.name = name,
                         .from_us = time_us,
                         .to_us = MV_NO_TIME,
                         .first = mv_event_from(e, time_us),
                         .end = e->count,
                         .outer = b->depth ? b->open[b->depth - 1] : MV_NO_ROW};

    if (b->depth == MOST_OPEN)
        return true;
    if (range.outer != MV_NO_ROW)
        b->rows[range.outer].inners++;
    b->open[b->depth++] = b->count;
    return mv_append(b->s->scratch, b->rows, b->count, b->capacity, range);
}

static bool find_ranges(builder *b)
{
    const mv_trace *trace = b->s->trace;
    const mv_annotations *a = &trace->annotations;
    const mv_lives *lives = b->s->lives;
    mv_annotation_bound *ends =
        mv_push_array(b->s->scratch, mv_annotation_bound, (uint64_t)a->count + 1);
    uint32_t count = 0;

    if (!ends)
        return false;
    if (lives->events.count == 0 || mv_event_time(&lives->events, 0) == MV_NO_TIME)
        return true;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->time_us[i] != MV_NO_TIME && names_capture(mv_string_text(trace, a->name[i])) &&
            (a->device[i] < 0 || a->device[i] == (int32_t)lives->device))
            ends[count++] = (mv_annotation_bound){a->time_us[i], i};
    mv_sort_rows(b->s->scratch, ends, count, MV_RISING(mv_annotation_bound, time_us));
    for (uint32_t i = 0; i < count; i++) {
        mv_string_id name = a->name[ends[i].row];
        if (a->stage[ends[i].row] == MV_STAGE_END)
            end_range(b, name, ends[i].time_us);
        else if (a->stage[ends[i].row] == MV_STAGE_START && !add_range(b, name, ends[i].time_us))
            return false;
    }
    return true;
}

/* Whether the range is complete and contains no other range. */
static bool is_innermost(const graph_range *r)
{
    return r->inners == 0 && r->to_us != MV_NO_TIME;
}

/* Returns the name of a capture's range. If the program itself opened a range around a single
 * capture, returns the name of that range. */
static const char *range_name(const builder *b, uint32_t range)
{
    const graph_range *r = &b->rows[range];
    const mv_trace *trace = b->s->trace;
    const char *name = mv_string_text(trace, r->name);

    if (r->outer != MV_NO_ROW && b->rows[r->outer].inners == 1 &&
        strncmp(name, SHIM_NAME, strlen(SHIM_NAME)) == 0)
        return mv_string_text(trace, b->rows[r->outer].name);
    return name;
}

/* ---- captures ---------------------------------------------------------------------------- */

static bool open_capture(builder *b, uint32_t range, mv_pool_id pool, uint32_t event)
{
    mv_graphs *out = b->s->out;

    return mv_append(b->s->arena, out->captures, out->count, b->captures_capacity,
                     (mv_graph_capture){.name = range == MV_NO_ROW ? "" : range_name(b, range),
                                        .pool = pool,
                                        .first = event,
                                        .last = event,
                                        .end = b->s->lives->events.count,
                                        .stack = MV_NO_STACK,
                                        .frame = {MV_NO_ROW}});
}

static bool add_member(builder *b, uint32_t capture, uint32_t event)
{
    mv_graph_search *s = b->s;

    s->out->captures[capture].last = event;
    return mv_append(s->scratch, s->members, s->member_count, b->members_capacity,
                     (mv_graph_member){capture, s->lives->alloc_of[event]});
}

static bool is_alloc(const mv_lives *lives, uint32_t event)
{
    return lives->events.action[event] == MV_ACTION_ALLOC && lives->alloc_of[event] != MV_NO_ROW;
}

/* Marks frames of torch.cuda.graph that run before the capture begins, where it collects garbage
 * and empties the cache. */
static bool *frames_that_enter(const mv_graph_search *s)
{
    const mv_trace *trace = s->trace;
    bool *enters = mv_push_array(s->scratch, bool, (uint64_t)trace->frames.count + 1);

    for (uint32_t i = 0; enters && i < trace->frames.count; i++) {
        const char *file = mv_string_text(trace, trace->frames.file[i]);
        const char *name = strstr(file, "cuda/graphs.py");
        const char *function = mv_string_text(trace, trace->frames.function[i]);
        size_t length = strlen(function), tail = strlen("__enter__");
        enters[i] = name && strlen(name) == strlen("cuda/graphs.py") && length >= tail &&
                    strcmp(function + length - tail, "__enter__") == 0;
    }
    return enters;
}

static bool enters_capture(const mv_graph_search *s, const bool *frame_enters, uint32_t event)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(s->trace, s->lives->events.stack[event], &count);

    for (uint32_t i = 0; i < count; i++)
        if (frame_enters[frames[i].row])
            return true;
    return false;
}

/* Finds captures in files without pools, or in memory of calls. There, a capture consists of the
 * allocations within an innermost range. */
static bool captures_of_ranges(builder *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        const graph_range *r = &b->rows[i];
        uint32_t capture = b->s->out->count;
        if (!is_innermost(r))
            continue;
        if (!open_capture(b, i, MV_NO_POOL, r->first))
            return false;
        for (uint32_t e = r->first; e < r->end; e++)
            if (is_alloc(b->s->lives, e) && !add_member(b, capture, e))
                return false;
        b->s->out->captures[capture].end = r->end;
    }
    return true;
}

/* Returns the first of the segment events directly before a capture's first allocation, which
 * needed the segments. */
static uint32_t first_of(const mv_events *e, uint32_t event)
{
    while (event > 0 && (e->action[event - 1] == MV_ACTION_SEGMENT_ALLOC ||
                         e->action[event - 1] == MV_ACTION_SEGMENT_MAP))
        event--;
    return event;
}

/* Finds captures as runs of allocations in one private pool. A run ends at an allocation in a
 * different pool, at a call by torch.cuda.graph itself, or at the start or end of a capture
 * range. */
static bool captures_of_pools(builder *b)
{
    mv_graph_search *s = b->s;
    const mv_lives *lives = s->lives;
    const bool *frame_enters = frames_that_enter(s);
    uint32_t open = MV_NO_ROW, last = MV_NO_ROW, range = 0, inner = MV_NO_ROW;

    if (!frame_enters)
        return false;
    for (uint32_t e = 0; e < lives->events.count; e++) {
        mv_pool_id pool;
        for (; range < b->count && b->rows[range].first <= e; range++, open = MV_NO_ROW)
            inner = range;
        for (; inner != MV_NO_ROW && b->rows[inner].end <= e; open = MV_NO_ROW)
            inner = b->rows[inner].outer;
        if (!is_alloc(lives, e)) {
            if (open != MV_NO_ROW && enters_capture(s, frame_enters, e))
                open = MV_NO_ROW;
            continue;
        }
        pool = mv_alloc_pool(lives, lives->alloc_of[e]);
        if (!mv_pool_is_private(pool)) {
            open = MV_NO_ROW;
        } else if (open == MV_NO_ROW || s->out->captures[open].pool.row != pool.row) {
            open = s->out->count;
            if (!open_capture(b, inner, pool, first_of(&lives->events, e)))
                return false;
        }
        if (last != MV_NO_ROW && last != open)
            s->out->captures[last].end = e;
        last = open;
        if (open != MV_NO_ROW && !add_member(b, open, e))
            return false;
    }
    return true;
}

/* ---- graphs of captures ------------------------------------------------------------------ */

/* Returns the time of the last allocation. Graphs that are destroyed later are destroyed only
 * because the program ends, which destroys every graph. */
static int64_t last_allocation_us(const mv_lives *lives)
{
    for (uint32_t e = lives->events.count; e-- > 0;)
        if (is_alloc(lives, e))
            return mv_event_time(&lives->events, e);
    return INT64_MIN;
}

/* Finds the graph of each capture: the first executable graph that was made after the capture and
 * before the next capture. `captures` must come from ranges and be in the order of the ranges. */
static bool find_graphs(builder *b)
{
    const mv_trace *read = mv_trace_as_read(b->s->trace);
    const mv_api_calls *c = &read->api_calls;
    const mv_lives *lives = b->s->lives;
    mv_graph_capture *captures = b->s->out->captures;
    mv_map by_handle = {.arena = b->s->scratch};
    uint32_t range = 0, capture = MV_NO_ROW, count = 0, found;
    int64_t end_us = lives->has_later_events && lives->events.count
                         ? mv_event_time(&lives->events, lives->events.count - 1)
                         : INT64_MAX;
    int64_t last_us = last_allocation_us(lives);

    for (uint32_t i = 0; i < c->count && c->time_us[i] <= end_us; i++) {
        for (; range < b->count && b->rows[range].from_us <= c->time_us[i]; range++)
            capture = is_innermost(&b->rows[range]) ? count++ : MV_NO_ROW;
        if (c->result[i] != 0)
            continue;
        if (c->action[i] == MV_API_OBJECT_DESTROY) {
            found = mv_map_take(&by_handle, c->handle[i]);
            if (found != MV_NOT_IN_MAP && c->time_us[i] <= last_us)
                captures[found].graph = MV_GRAPH_DESTROYED;
        } else if (c->action[i] == MV_API_OBJECT_CREATE && capture != MV_NO_ROW &&
                   captures[capture].graph == MV_GRAPH_UNKNOWN &&
                   strstr(mv_string_text(read, c->api[i]), "Graph")) {
            captures[capture].graph = MV_GRAPH_EXISTS;
            if (!mv_map_put(&by_handle, c->handle[i], capture))
                return false;
        }
    }
    return true;
}

static bool has_private_pool(const mv_lives *lives)
{
    for (uint32_t i = 0; i < lives->segments.count; i++)
        if (mv_pool_is_private(lives->segments.pool[i]))
            return true;
    return false;
}

bool mv_graph_captures_find(mv_graph_search *s)
{
    builder b = {.s = s};

    if (!find_ranges(&b))
        return false;
    if (has_private_pool(s->lives))
        return captures_of_pools(&b);
    return captures_of_ranges(&b) && find_graphs(&b);
}
