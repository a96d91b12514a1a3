#include "analyze/peak/layers.h"

#include "analyze/code/open_range.h"
#include "analyze/code/sites.h"
#include "analyze/code/stack_marks.h"
#include "base/grow.h"
#include "base/parallel_for.h"
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

/* How visits are split into parts, each of which starts at every `every`-th visit to `place`. */
typedef struct {
    uint32_t place, every;
    uint32_t from, to;     /* visits from the first visit to `place` up to the end of the line's
                            * visits */
    uint32_t count;        /* number of parts */
    uint32_t first, depth; /* the line's first visit, and the number of frames up to the line */
} splitting;

/* Forward rows [first, end) of one pass. */
typedef struct {
    uint32_t first, end;
} row_range;

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
    const visit *visits;  /* visits of the current pass */
    splitting *found;     /* loops of the current pass */
    uint32_t found_count;
    uint32_t *seen; /* [sites.count] indexed by place or site: equal to `now` if it was seen in the
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
            *out = (splitting){s->visits[from].place, every, from, to, visits / every, first, 0};
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

static void number_layers(layer_search *s, const splitting *by)
{
    uint32_t loop = loop_at(s, s->visits[by->first].site, by->depth), part = 0;

    if (loop == MV_NO_ROW)
        return;
    if (by->count > s->out->loops[loop].count)
        keep_starts(s, &s->out->loops[loop], by);
    for (uint32_t at = by->from, end; at < by->to; at = end, part++) {
        end = part_end(s, by, at);
        for (uint32_t v = part == 0 ? by->first : at; v < end; v++)
            for (uint32_t row = s->visits[v].first; row < s->visits[v].end; row++)
                if (mv_site_of(&s->sites, s->lives->allocs.stack[row]) == s->visits[v].site &&
                    s->categories->of_alloc[row] != MV_CATEGORY_WORKSPACE) {
                    s->out->loop[row] = loop + 1;
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

/* Returns how many frames the paths of visits [from, to) have in common. The first `depth` frames
 * are known to be common. */
static uint32_t common_depth(layer_search *s, uint32_t from, uint32_t to, uint32_t depth)
{
    uint32_t site = s->visits[from].site, least = path_length(s, site);

    s->now++;
    for (uint32_t i = from; i < to && least > depth; i++) {
        uint32_t other = s->visits[i].site, length = path_length(s, other), at = depth;
        if (s->seen[other] == s->now)
            continue;
        s->seen[other] = s->now;
        least = length < least ? length : least;
        while (at < least && path_of(s, site)[at].row == path_of(s, other)[at].row)
            at++;
        least = at;
    }
    return least;
}

/* Whether the line at this depth is a loop over visits [from, to). Adds it to `found`. */
static bool add_loop(layer_search *s, uint32_t from, uint32_t to, uint32_t depth)
{
    splitting by;
    bool calls = depth > 0 && may_loop(s, s->visits[from].site, depth);

    for (uint32_t i = from; i < to && calls; i++)
        calls = calls_module(s, s->visits[i].site, depth);
    if (!calls || !split(s, from, to, &by))
        return false;
    by.depth = depth;
    s->found[s->found_count++] = by;
    return true;
}

/* Looks for loops in visits [from, to), whose paths have the first `depth` frames in common. */
static void look_into(layer_search *s, uint32_t from, uint32_t to, uint32_t depth)
{
    uint32_t common = common_depth(s, from, to, depth);

    for (;; depth++) {
        if (add_loop(s, from, to, depth))
            return;
        if (depth >= common || depth >= MOST_DEPTH)
            break;
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

/* Passes that follow each other, whose loops several threads find. Each thread takes one pass in
 * LANES. */
enum { LANES = 8, BATCH_ROWS = 1 << 20 };

typedef struct {
    const layer_search *s;
    const row_range *passes; /* [count] */
    uint32_t count;
    uint32_t *seen; /* [LANES][sites.count] see layer_search.seen */
    uint32_t now[LANES];
    visit *visits;    /* room for a visit for each row from the first row of the first pass */
    splitting *found; /* room for a loop for every three rows, since a loop has more than two
                        * visits */
    uint32_t *counts; /* [count] number of loops in each pass */
} batch;

static visit *visits_of(const batch *b, uint32_t pass)
{
    return b->visits + (b->passes[pass].first - b->passes[0].first);
}

static splitting *found_in(const batch *b, uint32_t pass)
{
    return b->found + (b->passes[pass].first - b->passes[0].first) / 3 + pass;
}

/* Lists the visits of a pass, and returns their number. */
static uint32_t list_visits(const layer_search *s, row_range pass, visit *visits)
{
    uint32_t count = 0;

    for (uint32_t row = pass.first; row < pass.end; row++) {
        uint32_t site = mv_site_of(&s->sites, s->lives->allocs.stack[row]);

        if (path_length(s, site) == 0)
            continue;
        if (count > 0 && visits[count - 1].site == site)
            visits[count - 1].end = row + 1;
        else
            visits[count++] =
                (visit){.site = site, .place = s->place[site], .first = row, .end = row + 1};
    }
    return count;
}

static void look_at_lane(void *user, uint32_t lane)
{
    batch *b = user;
    layer_search s = *b->s;

    s.seen = b->seen + (uint64_t)lane * s.sites.count;
    s.now = b->now[lane];
    for (uint32_t k = lane; k < b->count; k += LANES) {
        uint32_t count = list_visits(&s, b->passes[k], visits_of(b, k));
        s.visits = visits_of(b, k);
        s.found = found_in(b, k);
        s.found_count = 0;
        if (count > 2)
            look_into(&s, 0, count, 0);
        b->counts[k] = s.found_count;
    }
    b->now[lane] = s.now;
}

static void find_in_batch(layer_search *s, batch *b)
{
    mv_parallel_for(LANES < b->count ? LANES : b->count, 0, look_at_lane, b);
    for (uint32_t k = 0; k < b->count; k++) {
        s->visits = visits_of(b, k);
        for (uint32_t i = 0; i < b->counts[k]; i++)
            number_layers(s, found_in(b, k) + i);
    }
}

/* Lists the passes. A pass is a run of the forward phase or, if there are no backward passes, the
 * part of a run within one step. The marks of steps may change from layer to layer. */
static bool list_passes(layer_search *s, row_range **passes, uint32_t *count)
{
    const mv_phases *phases = &s->categories->phases;
    const mv_steps *steps = &s->categories->steps;
    uint32_t capacity = 0, step = 0;

    for (uint32_t run = 0, next; run < phases->count; run++)
        for (uint32_t at = phases->start[run], end = mv_phases_end(phases, run); at < end;
             at = next) {
            row_range rows;

            while (!phases->has_backward && step < steps->count && steps->at[step] <= at)
                step++;
            next = !phases->has_backward && step < steps->count && steps->at[step] < end
                       ? steps->at[step]
                       : end;
            rows.first = mv_first_born_from(&s->lives->allocs, at);
            rows.end = mv_first_born_from(&s->lives->allocs, next);
            if (phases->phase[run] == MV_PHASE_FORWARD && rows.end > rows.first + 2 &&
                !mv_append(s->scratch, *passes, *count, capacity, rows))
                return false;
        }
    return true;
}

static bool find_loops(layer_search *s)
{
    row_range *passes = NULL;
    uint32_t count = 0, most = 0;
    batch b = {.s = s,
               .seen = mv_push_array(s->scratch, uint32_t, LANES * (uint64_t)s->sites.count)};

    if (!b.seen || !list_passes(s, &passes, &count))
        return false;
    for (uint32_t k = 0; k < count; k++)
        most = passes[k].end - passes[k].first > most ? passes[k].end - passes[k].first : most;
    most = most > BATCH_ROWS ? most : BATCH_ROWS;
    most = most < s->lives->allocs.count ? most : s->lives->allocs.count;
    b.visits = mv_push_array(s->scratch, visit, most);
    b.found = mv_push_array(s->scratch, splitting, most / 3 + (uint64_t)count);
    b.counts = mv_push_array(s->scratch, uint32_t, count);
    if (!b.visits || !b.found || !b.counts)
        return false;
    for (uint32_t k = 0, end; k < count; k = end) {
        for (end = k + 1; end < count && passes[end].end - passes[k].first <= most;)
            end++;
        b.passes = passes + k;
        b.count = end - k;
        find_in_batch(s, &b);
    }
    return true;
}

/* Sets *calls if any frame calls a module. Without such frames, there are no layers. */
static bool prepare(layer_search *s, bool *calls)
{
    const mv_trace *trace = s->trace;
    uint32_t count = s->lives->allocs.count;

    s->is_call = mv_push_array(s->scratch, uint8_t, trace->frames.count);
    s->out->loop = mv_push_array(s->arena, uint32_t, count);
    s->out->index = mv_push_array(s->arena, uint32_t, count);
    if (!s->is_call || !s->out->loop || !s->out->index || !find_paths(s) || !find_places(s))
        return false;
    for (uint32_t i = 0; i < trace->frames.count; i++)
        *calls |= s->is_call[i] = mv_frame_calls_module(trace, s->sites.kinds, (mv_frame_id){i});
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
    bool found = false, calls = false;

    *out = (mv_layers){0};
    mv_arena_init(&scratch, arena->budget);
    if (mv_sites_find(&scratch, trace, &s.sites, err) == MV_OK)
        found = prepare(&s, &calls) &&
                (!calls || (find_loops(&s) && !s.ran_out_of_memory && name_calls(&s)));
    mv_arena_release(&scratch);
    return found ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "layers");
}
