#include "analyze/leaks/driver_growth.h"

#include "analyze/code/sites.h"
#include "analyze/leaks/growth.h"
#include "analyze/ledger/device_use.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"
#include "parse/model/event_times.h"

/* The minimum number of samples and of rises that make a pattern. A rise means that the lowest
 * unexplained bytes at one number of live objects exceed those at the previous number. The lowest
 * bytes are compared because other driver memory comes and goes in each step: pools keep memory,
 * and a call may be in progress when a sample is taken. */
enum { LEAST_SAMPLES = 4, LEAST_RISES = 3 };

/* The unit in which the driver takes memory. A smaller rise may be due to rounding. */
#define LEAST_GROWTH ((int64_t)2 << 20)

static const struct {
    const char *what, *one, *destroy;
} kinds[] = {
    {"executable graphs", "graph",
     "cuGraphExecDestroy; in PyTorch, drop the CUDAGraph, or capture "
     "once and replay it"},
    {"streams", "stream", "cuStreamDestroy; or create a few and reuse them"},
};
enum { GRAPHS, STREAMS, KINDS };

typedef struct {
    uint32_t group; /* group of sites * KINDS + kind */
    uint32_t call;
    uint32_t born, died; /* bins in which the object was created and destroyed; died: MV_NEVER if it
                          * is alive at the end */
} object;

typedef struct {
    mv_arena *arena, *scratch;
    const mv_trace *trace;
    uint32_t device;
    const int64_t *step_us;
    uint32_t steps;
    int64_t end_us;
    mv_sites sites;
    object *objects; /* [count] by call, then by group */
    uint32_t count;
    mv_driver_growth *out;
} search;

/* ---- objects ----------------------------------------------------------------------------- */

static uint32_t kind_of(const mv_trace *trace, uint32_t call)
{
    return strstr(mv_string_text(trace, trace->api_calls.api[call]), "Graph") ? GRAPHS : STREAMS;
}

static bool list_objects(search *s)
{
    const mv_api_calls *c = &s->trace->api_calls;
    mv_map by_handle = {.arena = s->scratch};
    uint32_t bin = 0, at;

    s->objects = mv_push_array(s->scratch, object, (uint64_t)c->count + 1);
    if (!s->objects)
        return false;
    for (uint32_t i = 0; i < c->count && c->time_us[i] <= s->end_us; i++) {
        while (bin < s->steps && s->step_us[bin] <= c->time_us[i])
            bin++;
        if (c->result[i] != 0)
            continue;
        if (c->action[i] == MV_API_OBJECT_CREATE && c->device[i] == (int32_t)s->device) {
            uint32_t group = s->sites.group[mv_site_of(&s->sites, c->stack[i])];
            s->objects[s->count] = (object){group * KINDS + kind_of(s->trace, i), i, bin, MV_NEVER};
            if (!mv_map_put(&by_handle, c->handle[i], s->count++))
                return false;
        } else if (c->action[i] == MV_API_OBJECT_DESTROY) {
            at = mv_map_take(&by_handle, c->handle[i]);
            if (at != MV_NOT_IN_MAP)
                s->objects[at].died = bin;
        }
    }
    mv_sort_rows(s->scratch, s->objects, s->count, MV_RISING(object, group));
    return true;
}

/* Whether the number of live objects from one source line, [first, end), grows from one step to the
 * next. */
static bool evaluate_objects(const search *s, uint32_t first, uint32_t end, uint32_t *born,
                             uint32_t *lived, mv_growth *growth, uint32_t *alive)
{
    mv_growth_site site = {.marks = s->steps, .born = born, .lived = lived, .sizes_recur = true};

    for (uint32_t i = first; i < end; i++)
        if (s->objects[i].died == MV_NEVER)
            born[site.alive++] = s->objects[i].born;
        else
            lived[site.freed++] = s->objects[i].died - s->objects[i].born;
    *alive = site.alive;
    if (site.alive < 2)
        return false;
    *growth = mv_growth_evaluate(&site);
    return growth->kind == MV_GROWTH_STEADY;
}

/* Finds the growing line with the most live objects. */
static bool find_line(search *s, uint32_t *first, uint32_t *end, mv_growth *growth)
{
    uint32_t *born = mv_push_array(s->scratch, uint32_t, s->count);
    uint32_t *lived = mv_push_array(s->scratch, uint32_t, s->count);
    mv_growth found;

    s->out->objects = 0;
    if (!born || !lived)
        return false;
    for (uint32_t i = 0, next; i < s->count; i = next) {
        uint32_t alive;
        for (next = i; next < s->count && s->objects[next].group == s->objects[i].group;)
            next++;
        if (!evaluate_objects(s, i, next, born, lived, &found, &alive) || alive <= s->out->objects)
            continue;
        s->out->objects = alive;
        *first = i;
        *end = next;
        *growth = found;
    }
    return true;
}

/* ---- samples ----------------------------------------------------------------------------- */

typedef struct {
    uint32_t rises, chances; /* rises: number of floors above the previous floor; chances: number of
                              * floors compared. There is a floor for each number of live objects at
                              * which a sample was taken */
    int64_t fall;            /* largest number of bytes by which a floor was below an earlier
                              * floor */
} shape;

/* Closes a floor, because more objects were created or because the samples end. */
static void close_floor(mv_driver_growth *out, shape *seen, int64_t floor, int64_t *highest)
{
    if (seen->chances++ == 0)
        out->first = *highest = floor;
    else
        seen->rises += floor > out->last;
    *highest = floor > *highest ? floor : *highest;
    seen->fall = *highest - floor > seen->fall ? *highest - floor : seen->fall;
    out->last = floor;
}

/* Examines the samples from the first judged step to the end. */
static void look_at_samples(search *s, const mv_device_use *use, uint32_t first, uint32_t end,
                            int64_t from_us, shape *seen)
{
    const int64_t *times = s->trace->samples.time_us;
    mv_driver_growth *out = s->out;
    int64_t floor = 0, highest = 0;
    uint32_t made = 0, of_floor = 0, next = first;

    *seen = (shape){0};
    for (uint32_t k = 0; k < use->count; k++) {
        int64_t time_us = times[use->row[k]], rest;
        for (; next < end && s->trace->api_calls.time_us[s->objects[next].call] <= time_us; next++)
            made += s->objects[next].died == MV_NEVER;
        if (time_us < from_us || time_us > s->end_us || use->used[k] < use->held[k])
            continue;
        rest = mv_unexplained(use->used[k], use->held[k], use->context[k]);
        if (out->samples++ == 0)
            out->first_us = time_us;
        else if (made > of_floor)
            close_floor(out, seen, floor, &highest);
        floor = out->samples == 1 || made > of_floor || rest < floor ? rest : floor;
        of_floor = made;
        out->last_us = time_us;
    }
    if (out->samples > 0)
        close_floor(out, seen, floor, &highest);
    seen->chances -= seen->chances > 0;
}

/* Whether the unexplained bytes grew with the number of objects. More than half of the floors must
 * be higher than the previous floor, and no floor may be lower than an earlier one by more than a
 * quarter of the total growth. */
static bool grows(const mv_driver_growth *out, const shape *seen)
{
    int64_t growth = out->last - out->first;

    return out->samples >= LEAST_SAMPLES && growth >= LEAST_GROWTH && seen->rises >= LEAST_RISES &&
           2 * seen->rises > seen->chances && seen->fall <= growth / 4;
}

/* ---- words ------------------------------------------------------------------------------- */

static bool describe(search *s, uint32_t kind, const shape *seen)
{
    mv_driver_growth *out = s->out;
    char label[160], first[MV_SIZE_TEXT], last[MV_SIZE_TEXT];

    mv_culprit_label(s->trace, s->sites.kinds, out->stack, label, sizeof label);
    out->label = mv_arena_text(s->arena, label, strlen(label));
    mv_size_signed_text(first, out->first);
    mv_size_signed_text(last, out->last);
    if (out->verdict == MV_VERDICT_LEAK)
        out->why = mv_arena_printf(
            s->arena,
            "%llu %s are alive at the end: created step after step and never destroyed, and the "
            "unexplained memory of the device grew with them, from %s to %s",
            (unsigned long long)out->objects, out->what, first, last);
    else if (out->samples < LEAST_SAMPLES || seen->chances < LEAST_RISES)
        out->why = mv_arena_printf(
            s->arena,
            "%llu %s created at %s are never destroyed, and there are too few samples "
            "of the device from that time to show whether memory grows with them",
            (unsigned long long)out->objects, out->what, label);
    else
        out->why = mv_arena_printf(s->arena,
                                   "%llu %s created at %s are never destroyed, but the unexplained "
                                   "memory of the device did not grow with them (%s, then %s)",
                                   (unsigned long long)out->objects, out->what, label, first, last);
    out->advice = mv_arena_printf(s->arena, "destroy each %s that is created at %s (%s)",
                                  kinds[kind].one, label, kinds[kind].destroy);
    return out->label && out->why && out->advice;
}

static mv_code find_in(search *s, mv_err *err)
{
    mv_growth growth = {0};
    mv_holdings h;
    mv_device_use use;
    uint32_t first = 0, end = 0, kind;
    shape seen;
    mv_code code;

    if (mv_sites_find(s->scratch, s->trace, &s->sites, err) != MV_OK)
        return err->code;
    if (!list_objects(s) || !find_line(s, &first, &end, &growth))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "objects");
    if (s->out->objects == 0)
        return MV_OK;
    mv_device_holdings(&h, s->scratch, s->trace, s->device);
    code = mv_device_use_find(s->scratch, &h, &use, err);
    if (code != MV_OK)
        return code;
    look_at_samples(s, &use, first, end,
                    growth.first > 0 ? s->step_us[growth.first - 1] : INT64_MIN, &seen);
    kind = s->objects[first].group % KINDS;
    s->out->verdict = grows(s->out, &seen) ? MV_VERDICT_LEAK : MV_VERDICT_UNKNOWN;
    s->out->what = kinds[kind].what;
    s->out->stack = s->trace->api_calls.stack[s->objects[end - 1].call];
    s->out->culprit = mv_culprit_frame(s->trace, s->sites.kinds, s->out->stack);
    s->out->confidence = growth.confidence;
    return describe(s, kind, &seen) ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "objects");
}

mv_code mv_driver_growth_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                              const int64_t *step_us, uint32_t steps, int64_t end_us,
                              mv_driver_growth *out, mv_err *err)
{
    mv_arena scratch;
    search s = {.arena = arena,
                .scratch = &scratch,
                .trace = trace,
                .device = device,
                .step_us = step_us,
                .steps = steps,
                .end_us = end_us,
                .out = out};
    mv_code code;

    *out = (mv_driver_growth){.verdict = MV_VERDICT_CLEAN,
                              .what = "",
                              .stack = MV_NO_STACK,
                              .culprit = MV_NO_FRAME,
                              .first_us = MV_NO_TIME,
                              .last_us = MV_NO_TIME,
                              .label = "",
                              .why = "",
                              .advice = ""};
    if (steps == 0 || trace->api_calls.count == 0)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    code = find_in(&s, err);
    mv_arena_release(&scratch);
    return code;
}

/* Whether to look for driver growth, which is possible only in a complete capture, on a level of
 * its CUDA calls. */
static bool is_applicable(const mv_trace *trace, const mv_lives *lives)
{
    const char *level = trace->origin.level;

    return trace->origin.as_read && (strcmp(level, "cuda") == 0 || strcmp(level, "all") == 0) &&
           lives->events.count == trace->devices[lives->device].events.count;
}

mv_code mv_driver_growth_join(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_leaks *leaks, mv_err *err)
{
    const mv_steps *steps = &leaks->steps;
    const mv_events *events = &lives->events;
    bool is_exit = leaks->exit_event < events->count;
    mv_driver_growth *grown;
    int64_t *step_us;

    if (!is_applicable(trace, lives))
        return MV_OK;
    grown = mv_push_struct(arena, mv_driver_growth);
    step_us = mv_push_array(arena, int64_t, (uint64_t)steps->count + 1);
    if (!grown || !step_us)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "objects");
    for (uint32_t i = 0; i < steps->count; i++)
        step_us[i] = steps->at[i] < events->count ? mv_event_time(events, steps->at[i]) : INT64_MAX;
    if (mv_driver_growth_find(arena, trace->origin.as_read, lives->device, step_us, steps->count,
                              is_exit ? mv_event_time(events, leaks->exit_event) : INT64_MAX, grown,
                              err) != MV_OK ||
        grown->objects == 0)
        return err->code;
    leaks->driver = grown;
    if (grown->verdict == MV_VERDICT_CLEAN || leaks->verdict == MV_VERDICT_LEAK)
        return MV_OK;
    leaks->verdict = grown->verdict;
    leaks->why = grown->why;
    leaks->lacks = "samples";
    leaks->settle = grown->advice;
    return MV_OK;
}
