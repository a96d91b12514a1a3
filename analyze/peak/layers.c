#include "analyze/peak/layers.h"

#include "analyze/code/open_range.h"
#include "analyze/code/sites.h"
#include "analyze/code/stack_marks.h"
#include "analyze/steps/phases.h"
#include "analyze/steps/steps.h"
#include "base/grow.h"
#include "base/texts.h"

enum {
    MOST_STARTS = 3,   /* maximum number of places to try as the first place of a layer */
    MOST_VISITS = 4,   /* maximum number of times that this place occurs in a layer */
    LEAST_PLACES = 2,  /* minimum number of places in a layer; one more if there are only two
                        * layers */
    MOST_NAMED = 1000, /* maximum number of calls whose names are compared */
    MOST_DEPTH = 400   /* maximum number of Python frames; Python's own limit is 1000 */
};

/* A run of consecutive allocations from one site. */
typedef struct {
    uint32_t site;
    uint32_t place;      /* the site without torch's frames for module calls, because hooks add such
                          * frames */
    uint32_t first, end; /* rows of the run; there may be rows without a site in between */
} visit;

typedef struct {
    mv_arena *arena, *scratch;
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_categories *categories;
    mv_sites sites;
    uint32_t *path_first; /* [sites.count + 1] where each site begins in `path` */
    mv_frame_id *path;    /* Python frames of each site, outermost first */
    uint8_t *is_call;     /* [frames.count] 1: the frame calls a module */
    uint32_t *place;      /* [sites.count] */
    visit *visits;        /* visits of the current pass */
    uint32_t count, capacity;
    uint32_t *seen; /* [sites.count] indexed by place: equal to `now` if the place was seen in the
                     * current count */
    uint32_t now;
    mv_layers *out;
    uint32_t loops_capacity;
    bool ran_out_of_memory;
} layer_search;

/* ---- paths ------------------------------------------------------------------------------- */

static uint32_t path_length(const layer_search *s, uint32_t site)
{
    return s->path_first[site + 1] - s->path_first[site];
}

static const mv_frame_id *path_of(const layer_search *s, uint32_t site)
{
    return s->path + s->path_first[site];
}

static bool find_paths(layer_search *s)
{
    uint32_t count, at = 0, all = 0;

    for (uint32_t i = 0; i < s->sites.count; i++) {
        mv_stack_frames(s->trace, s->sites.stack[i], &count);
        all += s->sites.stack[i].row == MV_NO_ROW ? 0 : count;
    }
    s->path_first = mv_push_array(s->scratch, uint32_t, (uint64_t)s->sites.count + 1);
    s->path = mv_push_array(s->scratch, mv_frame_id, all);
    if (!s->path_first || !s->path)
        return false;
    for (uint32_t i = 0; i < s->sites.count; i++) {
        const mv_frame_id *frames = mv_stack_frames(s->trace, s->sites.stack[i], &count);
        s->path_first[i] = at;
        for (uint32_t k = s->sites.stack[i].row == MV_NO_ROW ? 0 : count; k-- > 0;)
            if (s->sites.kinds[frames[k].row] <= MV_FRAME_FRAMEWORK)
                s->path[at++] = frames[k];
    }
    s->path_first[s->sites.count] = at;
    return true;
}

/* Numbers the places, which are the paths without torch's frames for module calls. */
static bool find_places(layer_search *s)
{
    mv_frame_id kept[MOST_DEPTH];
    mv_texts places = {.arena = s->scratch};

    s->place = mv_push_array(s->scratch, uint32_t, s->sites.count);
    for (uint32_t i = 0; s->place && i < s->sites.count; i++) {
        const mv_frame_id *path = path_of(s, i);
        uint32_t length = path_length(s, i), count = 0;
        for (uint32_t k = 0; k < length && count < MOST_DEPTH; k++)
            if (!mv_path_has(mv_string_span(s->trace, s->trace->frames.file[path[k].row]),
                             "torch/nn/modules/module.py"))
                kept[count++] = path[k];
        s->place[i] =
            mv_texts_add(&places, (mv_span){(const uint8_t *)kept, (uint64_t)count * sizeof *kept});
        if (s->place[i] == MV_NO_TEXT)
            return false;
    }
    return s->place != NULL;
}

/* ---- a pass ------------------------------------------------------------------------------ */

static bool leads_to_call(const layer_search *s, mv_frame_id frame)
{
    const char *function =
        mv_own_name(mv_string_text(s->trace, s->trace->frames.function[frame.row]));

    return s->sites.kinds[frame.row] == MV_FRAME_FRAMEWORK || strcmp(function, "__call__") == 0;
}

/* Whether the part of a path after the first `depth` frames begins with a module call. There may be
 * frames of torch before the call, such as checkpoint() or the module's own __call__. */
static bool calls_module(const layer_search *s, uint32_t site, uint32_t depth)
{
    const mv_frame_id *path = path_of(s, site);
    uint32_t length = path_length(s, site);

    for (uint32_t i = depth; i < length; i++)
        if (s->is_call[path[i].row])
            return true;
        else if (!leads_to_call(s, path[i]))
            return false;
    return false;
}

/* Whether the frames before the line are within a module and the line itself is not one of torch's
 * module calls. */
static bool may_loop(const layer_search *s, uint32_t site, uint32_t depth)
{
    const mv_frame_id *path = path_of(s, site);

    if (s->is_call[path[depth - 1].row])
        return false;
    for (uint32_t i = 0; i + 1 < depth; i++)
        if (s->is_call[path[i].row])
            return true;
    return false;
}

/* How visits are split into parts, each of which starts at every `every`-th visit to `place`. */
typedef struct {
    uint32_t place, every;
    uint32_t from, to; /* visits from the first visit to `place` up to the end of the line's
                        * visits */
    uint32_t count;    /* number of parts */
} splitting;

/* Returns the end of the part that starts at visit `at`. */
static uint32_t part_end(const layer_search *s, const splitting *by, uint32_t at)
{
    uint32_t left = by->every;

    for (at++; at < by->to; at++)
        if (s->visits[at].place == by->place && --left == 0)
            break;
    return at;
}

/* Returns the number of places visited in [from, to). */
static uint32_t count_places(layer_search *s, uint32_t from, uint32_t to)
{
    uint32_t count = 0;

    s->now++;
    for (uint32_t i = from; i < to; i++) {
        count += s->seen[s->visits[i].place] != s->now;
        s->seen[s->visits[i].place] = s->now;
    }
    return count;
}

/* Whether the visits of [a, a_end) are a subsequence of [b, b_end). */
static bool is_among(const layer_search *s, uint32_t a, uint32_t a_end, uint32_t b, uint32_t b_end)
{
    for (; a < a_end && b < b_end; b++)
        a += s->visits[a].place == s->visits[b].place;
    return a == a_end;
}

/* Whether all parts are similar. The last of three or more parts may be unfinished, so it only
 * needs to begin like the shortest of the others. */
static bool are_alike(layer_search *s, const splitting *by)
{
    uint32_t shortest = 0, shortest_end = 0, longest = 0, part = 0;
    bool may_be_cut = by->count > 2;

    for (uint32_t at = by->from, end; at < by->to; at = end, part++) {
        end = part_end(s, by, at);
        if (end - at > longest)
            longest = end - at;
        if (may_be_cut && part + 1 == by->count)
            break;
        if (shortest_end == 0 || end - at < shortest_end - shortest) {
            shortest = at;
            shortest_end = end;
        }
    }
    if (longest > 2 * (shortest_end - shortest) + 2 ||
        count_places(s, shortest, shortest_end) < LEAST_PLACES + (by->count == 2))
        return false;
    part = 0;
    for (uint32_t at = by->from, end; at < by->to; at = end, part++) {
        end = part_end(s, by, at);
        if (is_among(s, shortest, shortest_end, at, end))
            continue;
        if (!may_be_cut || part + 1 < by->count || !is_among(s, at, end, shortest, shortest_end))
            return false;
    }
    return true;
}

/* Whether none of the places before the first part occurs within the parts. */
static bool begins_there(layer_search *s, uint32_t first, uint32_t from, uint32_t to)
{
    count_places(s, first, from);
    for (uint32_t i = from; i < to; i++)
        if (s->seen[s->visits[i].place] == s->now)
            return false;
    return true;
}

/* Excludes a last part that has a single place, because it may be the end of the previous part or
 * the beginning of an unfinished part. */
static void drop_end(layer_search *s, splitting *by)
{
    uint32_t last = by->from;

    for (uint32_t at = by->from; at < by->to; at = part_end(s, by, at))
        last = at;
    if (by->count > 2 && count_places(s, last, by->to) < LEAST_PLACES) {
        by->to = last;
        by->count--;
    }
}

/* Splits a line's visits at the first place that results in similar parts. */
static bool split(layer_search *s, uint32_t first, uint32_t to, splitting *out)
{
    uint32_t starts = 0;

    for (uint32_t from = first; from < to && starts < MOST_STARTS; from++, starts++) {
        uint32_t visits = 0;
        if (!begins_there(s, first, from, to))
            return false;
        for (uint32_t i = from; i < to; i++)
            visits += s->visits[i].place == s->visits[from].place;
        for (uint32_t every = 1; every <= MOST_VISITS && 2 * every <= visits; every++) {
            *out = (splitting){s->visits[from].place, every, from, to, visits / every};
            if (visits % every != 0)
                continue;
            drop_end(s, out);
            if (are_alike(s, out))
                return true;
        }
    }
    return false;
}

/* ---- loops ------------------------------------------------------------------------------- */

/* Returns the loop of a line, which is added if it is new; MV_NO_ROW if there are too many loops,
 * or when out of memory. */
static uint32_t loop_at(layer_search *s, uint32_t site, uint32_t depth)
{
    const mv_frame_id *path = path_of(s, site);
    mv_layers *out = s->out;
    uint32_t line = depth;

    for (uint32_t i = 0; i < out->loop_count; i++) {
        const mv_layer_loop *loop = &out->loops[i];
        if (loop->depth == depth &&
            memcmp(path_of(s, mv_site_of(&s->sites, loop->stack)), path, depth * sizeof *path) == 0)
            return i;
    }
    while (line > 1 && s->sites.kinds[path[line - 1].row] > MV_FRAME_PACKAGE)
        line--;
    if (out->loop_count == MV_MOST_LOOPS ||
        !mv_append(
            s->arena, out->loops, out->loop_count, s->loops_capacity,
            (mv_layer_loop){.stack = s->sites.stack[site], .depth = depth, .line = path[line - 1]}))
        return MV_NO_ROW;
    return out->loop_count - 1;
}

/* Stores the start of each call in the longest pass. */
static void keep_starts(layer_search *s, mv_layer_loop *loop, const splitting *by)
{
    uint32_t *first = mv_push_array(s->arena, uint32_t, by->count), part = 0;

    for (uint32_t at = by->from; first && at < by->to; at = part_end(s, by, at))
        first[part++] = s->lives->allocs.birth[s->visits[at].first];
    loop->first = first;
    loop->count = first ? part : 0;
    s->ran_out_of_memory |= !first;
}

static void number_layers(layer_search *s, uint32_t first, const splitting *by, uint32_t depth)
{
    uint32_t loop = loop_at(s, s->visits[first].site, depth), part = 0;

    if (loop == MV_NO_ROW)
        return;
    if (by->count > s->out->loops[loop].count)
        keep_starts(s, &s->out->loops[loop], by);
    for (uint32_t at = by->from, end; at < by->to; at = end, part++) {
        end = part_end(s, by, at);
        for (uint32_t v = part == 0 ? first : at; v < end; v++)
            for (uint32_t row = s->visits[v].first; row < s->visits[v].end; row++)
                if (mv_site_of(&s->sites, s->lives->allocs.stack[row]) == s->visits[v].site &&
                    s->categories->of_alloc[row] != MV_CATEGORY_WORKSPACE) {
                    s->out->loop[row] = loop;
                    s->out->index[row] = part;
                }
    }
}

static bool are_distinct(const mv_string_id *name, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (name[i].row == MV_NO_ROW)
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (name[k].row == name[i].row)
                return false;
    }
    return true;
}

/* Names the calls of each loop. Returns false when out of memory. */
static bool name_calls(layer_search *s)
{
    for (uint32_t i = 0; i < s->out->loop_count; i++) {
        mv_layer_loop *loop = &s->out->loops[i];
        mv_string_id *name =
            mv_within_find(s->arena, s->trace, s->lives->device, loop->first, loop->count);
        if (!name)
            return false;
        loop->name = loop->count <= MOST_NAMED && are_distinct(name, loop->count) ? name : NULL;
    }
    return true;
}

/* Looks for loops in visits [from, to), whose paths have the first `depth` frames in common. */
static void look_into(layer_search *s, uint32_t from, uint32_t to, uint32_t depth)
{
    splitting by;
    bool calls = depth > 0 && may_loop(s, s->visits[from].site, depth);

    for (uint32_t i = from; i < to && calls; i++)
        calls = calls_module(s, s->visits[i].site, depth);
    if (calls && split(s, from, to, &by)) {
        number_layers(s, from, &by, depth);
        return;
    }
    for (uint32_t at = from, end; at < to && depth < MOST_DEPTH; at = end) {
        uint32_t site = s->visits[at].site;
        bool goes_deeper = path_length(s, site) > depth;
        for (end = at + 1; end < to && goes_deeper; end++)
            if (path_length(s, s->visits[end].site) <= depth ||
                path_of(s, s->visits[end].site)[depth].row != path_of(s, site)[depth].row)
                break;
        if (end - at > 2)
            look_into(s, at, end, depth + 1);
    }
}

/* ---- passes ------------------------------------------------------------------------------ */

/* Adds a row to the current pass. Returns false when out of memory. */
static bool add_row(layer_search *s, uint32_t row)
{
    uint32_t site = mv_site_of(&s->sites, s->lives->allocs.stack[row]);

    if (path_length(s, site) == 0)
        return true;
    if (s->count > 0 && s->visits[s->count - 1].site == site) {
        s->visits[s->count - 1].end = row + 1;
        return true;
    }
    return mv_append(s->scratch, s->visits, s->count, s->capacity,
                     (visit){.site = site, .place = s->place[site], .first = row, .end = row + 1});
}

/* Finds the loops in each pass. A pass is a run of the forward phase or, if there are no backward
 * passes, the part of a run within one step. The marks of steps may change from layer to layer. */
static bool find_loops(layer_search *s, const mv_phases *phases, const mv_steps *steps)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t run = MV_NO_ROW, bin = 0, now = MV_NO_ROW, step = 0;

    for (uint32_t i = a->preexisting; i < a->count; i++) { /* in order of birth */
        while (now + 1 < phases->count && phases->start[now + 1] <= a->birth[i])
            now++; /* if `now` is MV_NO_ROW, it becomes 0 */
        while (!phases->has_backward && step < steps->count && steps->at[step] <= a->birth[i])
            step++;
        if (now != run || step != bin) {
            if (s->count > 2)
                look_into(s, 0, s->count, 0);
            s->count = 0;
            run = now;
            bin = step;
        }
        if (run != MV_NO_ROW && phases->phase[run] == MV_PHASE_FORWARD && !add_row(s, i))
            return false;
    }
    if (s->count > 2)
        look_into(s, 0, s->count, 0);
    return true;
}

static bool prepare(layer_search *s, uint16_t **marks)
{
    const mv_trace *trace = s->trace;
    uint32_t count = s->lives->allocs.count;

    s->is_call = mv_push_array(s->scratch, uint8_t, trace->frames.count);
    s->seen = mv_push_array(s->scratch, uint32_t, s->sites.count);
    s->out->loop = mv_push_array(s->arena, uint32_t, count);
    s->out->index = mv_push_array(s->arena, uint32_t, count);
    *marks = mv_stack_marks(s->scratch, trace, s->sites.kinds);
    if (!s->is_call || !s->seen || !s->out->loop || !s->out->index || !*marks || !find_paths(s) ||
        !find_places(s))
        return false;
    for (uint32_t i = 0; i < trace->frames.count; i++)
        s->is_call[i] = mv_frame_calls_module(trace, s->sites.kinds, (mv_frame_id){i});
    for (uint32_t i = 0; i < count; i++)
        s->out->loop[i] = MV_NO_ROW;
    return true;
}

mv_code mv_layers_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                       const mv_categories *categories, mv_layers *out, mv_err *err)
{
    mv_arena scratch;
    layer_search s = {.arena = arena,
                      .scratch = &scratch,
                      .trace = trace,
                      .lives = lives,
                      .categories = categories,
                      .out = out};
    mv_phases phases;
    mv_steps steps;
    uint16_t *marks;
    bool found = false;

    *out = (mv_layers){0};
    mv_arena_init(&scratch, arena->budget);
    if (mv_sites_find(&scratch, trace, &s.sites, err) == MV_OK && prepare(&s, &marks) &&
        mv_phases_find(&scratch, lives, marks, &phases, err) == MV_OK &&
        mv_steps_find(&scratch, trace, lives, &steps, err) == MV_OK)
        found = find_loops(&s, &phases, &steps) && !s.ran_out_of_memory && name_calls(&s);
    mv_arena_release(&scratch);
    return found ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "layers");
}
