#include "analyze/steps/steps.h"

#include <ctype.h>
#include <stdio.h>

#include "analyze/steps/optimizer_calls.h"
#include "analyze/steps/period.h"
#include "base/grow.h"
#include "base/search.h"
#include "base/texts.h"
#include "parse/live/read_live.h"
#include "parse/model/event_times.h"

/* If named marks span less than this fraction of the events, allocations are examined, too. */
#define COVER_WANTED 0.3

/* If there are fewer marks than this, a less likely name with more marks is preferred, so that the
 * steps within epochs are chosen rather than the epochs. */
#define MARKS_ENOUGH 8

#define NAME_BYTES 128

/* How likely it is that a name occurs once per step. */
typedef enum {
    NAME_RECURS,    /* "## forward ##", Optimizer.zero_grad#… */
    NAME_OF_STEP,   /* the name contains step, iter or batch */
    NAME_OPTIMIZER, /* Optimizer.step#… of torch.optim */
    NAME_NUMBERED,  /* "## step 3 ##": the names are equal except for a number that rises */
    NAME_PROFILER   /* ProfilerStep#… of torch.profiler */
} name_class;

/* A series of marks whose names differ only in numbers. */
typedef struct {
    const char *name;
    uint32_t count; /* number of marks at distinct positions */
    uint32_t first, last;
    uint64_t number; /* number in the name of the latest mark */
    bool numbered;   /* the number has risen from each mark to the next */
    bool is_moment;  /* the marks are single moments, such as memviz_mark, not ranges */
    bool is_within;  /* most marks lie within an outermost call of a module */
    uint32_t within; /* number of marks that lie within a call */
} series;

/* All series. Moments and ranges with the same name are separate series. */
typedef struct {
    mv_texts names; /* name of each series, with the prefix "m" or "r" */
    uint32_t count, capacity;
    series *rows;    /* [count] indexed by the number of the name */
    bool counts_all; /* marks without an event between them are also counted separately */
    bool failed;
} series_set;

/* Converts "ProfilerStep#12" to "ProfilerStep#N" and returns 12. */
static uint64_t name_without_numbers(const char *text, char *out)
{
    uint64_t number = UINT64_MAX;
    size_t n = 0;

    while (*text && n + 1 < NAME_BYTES) {
        if (!isdigit((unsigned char)*text)) {
            out[n++] = *text++;
            continue;
        }
        for (number = 0; isdigit((unsigned char)*text); text++)
            number = number * 10 + (uint64_t)(*text - '0');
        out[n++] = 'N';
    }
    out[n] = '\0';
    return number;
}

static series *set_find(series_set *set, const char *name, bool is_moment)
{
    char key[NAME_BYTES + 1];
    uint32_t row;

    if (set->failed) /* after a failure, a name may have no row */
        return NULL;
    snprintf(key, sizeof key, "%c%s", is_moment ? 'm' : 'r', name);
    row = mv_texts_add(&set->names, mv_text_span(key));
    if (row == MV_NO_TEXT ||
        (row == set->count && !mv_append(set->names.arena, set->rows, set->count, set->capacity,
                                         (series){.numbered = true, .is_moment = is_moment}))) {
        set->failed = true;
        return NULL;
    }
    set->rows[row].name = (const char *)set->names.text[row].data + 1;
    return &set->rows[row];
}

/* Whether a mark counts as a further mark. Marks without an event between them count as one, except
 * on a level of calls. There, most steps contain no event, so each mark is a step. */
static bool is_another(bool counts_all, uint32_t last, uint32_t at)
{
    return at > last || (counts_all && at == last);
}

static void set_add(series_set *set, const char *text, bool is_moment, uint32_t at)
{
    char name[NAME_BYTES];
    uint64_t number = name_without_numbers(text, name);
    series *row = set_find(set, name, is_moment);

    if (!row)
        return;
    if (number == UINT64_MAX || (row->count > 0 && number <= row->number))
        row->numbered = false;
    row->number = number;
    if (row->count > 0 && !is_another(set->counts_all, row->last, at))
        return;
    if (row->count++ == 0)
        row->first = at;
    row->last = at;
}

static bool name_says_step(const char *name)
{
    static const char *const words[] = {"step", "Step", "iter", "Iter", "batch", "Batch"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static bool is_optimizer_step(const char *name)
{
    return strncmp(name, "Optimizer.step", 14) == 0;
}

/* Whether XLA opened a range. XLA opens ranges for its passes and kernels ("TSL:
 * Thunk:#hlo_op=dot#"); the ranges of JAX's users are in the same domain:
 * StepTraceAnnotation("train", step_num=3), TraceAnnotation("my step"). */
static bool is_of_xla(const char *name)
{
    return strncmp(name, "TSL:", 4) == 0 && !strstr(name, "step_num=") &&
           (strchr(name, '#') || strstr(name, "::") || !name_says_step(name));
}

/* Whether a library opens ranges with this name for each of its calls. Such libraries are NCCL
 * (collectives), PyTorch (operators, through torch.autograd.profiler.emit_nvtx and
 * record_function), FSDP and DDP (their parts), and CUB and Thrust (algorithms, "CCCL:
 * cub::DeviceScan::ExclusiveSum", where the NVTX domain is before the colon). */
static bool is_of_library(const char *name)
{
    static const char *const starts[] = {"nccl",
                                         "ncclGroup",
                                         "c10d::",
                                         "aten::",
                                         "at::",
                                         "autograd::",
                                         "torch::",
                                         "gloo:",
                                         "FSDP::",
                                         "FullyShardedDataParallel.",
                                         "DistributedDataParallel.",
                                         "enumerate(DataLoader)",
                                         "cudnn",
                                         "cublas",
                                         "thrust::",
                                         "cub::",
                                         "CCCL:",
                                         "NCCL:",
                                         "XLA",
                                         "cupy.",
                                         "CUDA graph capture "};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return is_of_xla(name);
}

static name_class class_of(const series *row)
{
    if (strncmp(row->name, "ProfilerStep", 12) == 0)
        return NAME_PROFILER;
    if (is_optimizer_step(row->name))
        return NAME_OPTIMIZER;
    if (strncmp(row->name, "Optimizer.", 10) == 0)
        return NAME_RECURS;
    if (row->numbered)
        return NAME_NUMBERED;
    return name_says_step(row->name) ? NAME_OF_STEP : NAME_RECURS;
}

/* Returns the fraction of the events that is spanned by marks from `first` to `last`, including the
 * step after the last mark. */
static double cover_of(uint32_t first, uint32_t last, uint32_t count, uint32_t events)
{
    double cover = (double)(last - first) / events * count / (count - 1);

    return cover < 1 ? cover : 1;
}

static int better_series(const series *a, const series *b, uint32_t events)
{
    double ca = cover_of(a->first, a->last, a->count, events);
    double cb = cover_of(b->first, b->last, b->count, events);
    name_class ka = class_of(a), kb = class_of(b);

    if ((ca >= COVER_WANTED) != (cb >= COVER_WANTED))
        return ca >= COVER_WANTED;
    if (ka > NAME_RECURS && kb > NAME_RECURS &&
        (a->count >= MARKS_ENOUGH) != (b->count >= MARKS_ENOUGH))
        return a->count >= MARKS_ENOUGH;
    if (ka != kb)
        return ka > kb;
    if (a->is_moment != b->is_moment)
        return a->is_moment;
    return a->count > b->count;
}

/* Returns the series that is most likely to be the steps, or NULL. */
static const series *set_best(const series_set *set, uint32_t events)
{
    const series *best = NULL;

    for (uint32_t i = 0; i < set->count; i++)
        if (set->rows[i].count >= 2 && !set->rows[i].is_within &&
            (!best || better_series(&set->rows[i], best, events)))
            best = &set->rows[i];
    return best;
}

/* Whether a range begins on this device, or on any if `device` is MV_NO_ROW. */
static bool device_has_starts(const mv_annotations *a, uint32_t device)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->stage[i] == MV_STAGE_START && a->device[i] >= 0 &&
            (device == MV_NO_ROW || a->device[i] == (int32_t)device))
            return true;
    return false;
}

/* Returns which end of a range marks a step. A range of an optimizer ends one of the program's
 * steps; any other range begins one. */
static mv_stage stage_wanted(const char *name)
{
    return is_optimizer_step(name) ? MV_STAGE_END : MV_STAGE_START;
}

/* Called for every MARK, every START of a range, and every END of an optimizer's range, within the
 * window of the events. */
typedef void mark_fn(void *user, const char *text, bool is_moment, uint32_t at);

static void each_annotation(const mv_trace *trace, const mv_lives *lives, mark_fn *call, void *user)
{
    const mv_annotations *a = &trace->annotations;
    const mv_events *e = &lives->events;
    bool own = device_has_starts(a, lives->device);
    int64_t folded_us = mv_live_folded_until_us(mv_trace_as_read(trace));

    if (e->count == 0 || mv_event_time(e, 0) == MV_NO_TIME)
        return;
    for (uint32_t i = 0; i < a->count; i++) {
        const char *name = mv_string_text(trace, a->name[i]);
        bool is_moment = a->stage[i] == MV_STAGE_MARK;

        if ((a->stage[i] != stage_wanted(name) && !is_moment) ||
            a->time_us[i] < mv_event_time(e, 0))
            continue;
        /* folded steps contain only memory that stayed alive, so every step would seem to grow */
        if (folded_us != MV_NO_TIME && a->time_us[i] <= folded_us)
            continue;
        if (own && !is_moment && a->device[i] != (int32_t)lives->device)
            continue;
        if (lives->has_later_events && a->time_us[i] > mv_event_time(e, e->count - 1))
            continue;
        call(user, name, is_moment, mv_event_from(e, a->time_us[i]));
    }
}

/* Calls `call` for every event at which the user metadata changes. */
static void each_metadata(const mv_trace *trace, const mv_lives *lives, mark_fn *call, void *user)
{
    const mv_events *e = &lives->events;
    mv_tag_id tag = {MV_NO_ROW};
    mv_string_id text = MV_NO_STRING;

    for (uint32_t i = 0; i < e->count; i++) {
        mv_string_id now;

        if (e->tag[i].row == tag.row || e->action[i] == MV_ACTION_ANNOTATE)
            continue;
        tag = e->tag[i];
        now = tag.row < trace->tags.count ? trace->tags.user_metadata[tag.row] : MV_NO_STRING;
        if (now.row == text.row)
            continue;
        text = now;
        if (*mv_string_text(trace, now))
            call(user, mv_string_text(trace, now), true, i);
    }
}

static void add_to_set(void *user, const char *text, bool is_moment, uint32_t at)
{
    if (!is_of_library(text))
        set_add(user, text, is_moment, at);
}

/* ---- marks within a call ----------------------------------------------------------------- */

/* Counts the marks that lie within an outermost call. The allocations before and after such a mark
 * belong to the same call. */
typedef struct {
    series_set *set;
    const mv_lives *lives;
    const mv_outer *outer;
} within_search;

/* Whether `row` and the allocation before it belong to the same outermost call. Backward passes lie
 * within a call of backward(). */
static bool lies_within(const within_search *s, uint32_t row)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t before, after;

    if (row <= a->preexisting || row >= a->count)
        return false;
    before = mv_outer_of(s->outer, a->stack[row - 1]);
    after = mv_outer_of(s->outer, a->stack[row]);
    if (before == MV_NO_ROW || after != before)
        return before == after;
    return s->outer->kind[before] == MV_OUTER_CALL;
}

static void count_within(void *user, const char *text, bool is_moment, uint32_t at)
{
    within_search *s = user;
    char name[NAME_BYTES];
    series *row;

    if (is_of_library(text))
        return;
    name_without_numbers(text, name);
    row = set_find(s->set, name, is_moment);
    if (row)
        row->within += lies_within(s, mv_first_born_from(&s->lives->allocs, at));
}

/* Drops series with vague names, because they may mark layers, or time steps within a pass. */
static void drop_unclear(series_set *set)
{
    for (uint32_t i = 0; i < set->count; i++) {
        series *row = &set->rows[i];
        name_class class = class_of(row);

        row->is_within = (class == NAME_RECURS || class == NAME_NUMBERED) &&
                         !name_says_step(row->name) && 2 * row->within > row->count;
    }
}

/* Collects the positions of the marks of one series. */
typedef struct {
    const char *name;
    bool is_moment, counts_all;
    uint32_t *at;
    uint32_t count, room;
} collector;

static void add_to_collector(void *user, const char *text, bool is_moment, uint32_t at)
{
    collector *c = user;
    char name[NAME_BYTES];

    name_without_numbers(text, name);
    if (is_moment != c->is_moment || strcmp(name, c->name) != 0 || c->count == c->room)
        return;
    if (c->count == 0 || is_another(c->counts_all, c->at[c->count - 1], at))
        c->at[c->count++] = at;
}

typedef void each_fn(const mv_trace *, const mv_lives *, mark_fn *, void *);

/* Whether the program opens its ranges on other devices only. Then most steps may contain no event
 * of this device. */
static bool is_secondary(const mv_trace *trace, uint32_t device)
{
    const mv_annotations *a = &trace->annotations;

    return !trace->origin.level && !device_has_starts(a, device) && device_has_starts(a, MV_NO_ROW);
}

/* Takes the steps from the best series that `each` provides; out->count stays 0 if there is
 * none. */
static bool named_steps(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                        const mv_lives *lives, const mv_outer *outer, each_fn *each, mv_steps *out)
{
    bool counts_all = is_secondary(trace, lives->device) ||
                      (trace->origin.level && trace->origin.first_call_frame < trace->frames.count);
    series_set set = {.names.arena = scratch, .counts_all = counts_all};
    within_search within = {&set, lives, outer};
    const series *best;
    collector c;

    each(trace, lives, add_to_set, &set);
    each(trace, lives, count_within, &within);
    if (set.failed)
        return false;
    drop_unclear(&set);
    best = set_best(&set, lives->events.count);
    if (!best)
        return true;
    c = (collector){.name = best->name,
                    .is_moment = best->is_moment,
                    .counts_all = counts_all,
                    .room = best->count};
    c.at = mv_push_array(arena, uint32_t, best->count);
    out->name = mv_arena_text(arena, best->name, strlen(best->name));
    if (!c.at || !out->name)
        return false;
    each(trace, lives, add_to_collector, &c);
    out->source = best->is_moment ? MV_STEPS_MARK : MV_STEPS_ANNOTATION;
    out->at = c.at;
    out->count = c.count;
    return true;
}

static double steps_cover(const mv_steps *s, const mv_lives *lives)
{
    if (s->count < 2)
        return 0;
    return cover_of(s->at[0], s->at[s->count - 1], s->count, lives->events.count);
}

/* Whether most steps call modules. */
static bool call_modules(const mv_lives *lives, const mv_outer *outer, const mv_steps *steps)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t bin = 0, calls = 0, latest = MV_NO_ROW;

    for (uint32_t i = a->preexisting; i < a->count; i++) {
        uint32_t place = mv_outer_of(outer, a->stack[i]);

        while (bin < steps->count && steps->at[bin] <= a->birth[i])
            bin++;
        if (bin == latest || place == MV_NO_ROW || outer->kind[place] != MV_OUTER_CALL)
            continue;
        latest = bin;
        calls++;
    }
    return 2 * (uint64_t)calls > steps->count;
}

/* Whether there are few marks, and more happens after the last one than in two steps. The marks may
 * be those of warm-up steps, before a CUDA graph of the step was captured. */
static bool marks_end_early(const mv_steps *s, const mv_lives *lives)
{
    uint32_t longest = 0;

    if (s->count < 2 || s->count >= MARKS_ENOUGH)
        return false;
    for (uint32_t k = 1; k < s->count; k++)
        if (s->at[k] - s->at[k - 1] > longest)
            longest = s->at[k] - s->at[k - 1];
    return lives->events.count - s->at[s->count - 1] > 2 * (uint64_t)longest;
}

/* Whether the rhythm of the lines goes on where the named marks have ended. */
static bool goes_on(const mv_steps *inferred, const mv_steps *named)
{
    return inferred->count >= MARKS_ENOUGH &&
           inferred->at[inferred->count - MARKS_ENOUGH] > named->at[named->count - 1];
}

static bool steps_choose(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                         const mv_lives *lives, const mv_outer *outer, mv_steps *out)
{
    bool covers, ends_early;
    mv_steps named = {.source = MV_STEPS_ANNOTATION, .name = "", .stack = MV_NO_STACK};
    mv_steps marks = {.source = MV_STEPS_MARK, .name = "", .stack = MV_NO_STACK};
    mv_steps inferred = {.source = MV_STEPS_INFERRED, .name = "", .stack = MV_NO_STACK};

    if (!named_steps(arena, scratch, trace, lives, outer, each_annotation, &named))
        return false;
    if (steps_cover(&named, lives) < COVER_WANTED &&
        !named_steps(arena, scratch, trace, lives, outer, each_metadata, &marks))
        return false;
    if (steps_cover(&marks, lives) > steps_cover(&named, lives))
        named = marks;
    covers = steps_cover(&named, lives) >= COVER_WANTED;
    ends_early = marks_end_early(&named, lives);
    if ((!covers || ends_early) && !mv_period_find(arena, scratch, lives, outer, &inferred.at,
                                                   &inferred.count, &inferred.stack))
        return false;
    if (inferred.count > 0 &&
        ((!covers && steps_cover(&inferred, lives) > steps_cover(&named, lives)) ||
         (ends_early && goes_on(&inferred, &named)))) {
        named = inferred;
        named.is_of_lines = !call_modules(lives, outer, &inferred);
    }
    if (named.count >= 2)
        *out = named;
    return true;
}

/* ---- the unfinished step ----------------------------------------------------------------- */

/* The latest start and the latest end of ranges with the same name. */
typedef struct {
    uint32_t begun, ended; /* events of the latest start and end; MV_NO_ROW: there was none */
    uint32_t optimizer_ended;
} latest_range;

static latest_range find_latest(const mv_trace *trace, const mv_lives *lives, const char *name)
{
    const mv_annotations *a = &trace->annotations;
    const mv_events *e = &lives->events;
    latest_range latest = {MV_NO_ROW, MV_NO_ROW, MV_NO_ROW};

    if (e->count == 0 || mv_event_time(e, 0) == MV_NO_TIME)
        return latest;
    for (uint32_t i = 0; i < a->count; i++) {
        const char *text = mv_string_text(trace, a->name[i]);
        char own[NAME_BYTES];
        uint32_t at;

        if (a->time_us[i] < mv_event_time(e, 0) ||
            (lives->has_later_events && a->time_us[i] > mv_event_time(e, e->count - 1)))
            continue;
        at = mv_event_from(e, a->time_us[i]);
        if (is_optimizer_step(text) && a->stage[i] == MV_STAGE_END)
            latest.optimizer_ended = at;
        name_without_numbers(text, own);
        if (strcmp(own, name) != 0)
            continue;
        if (a->stage[i] == MV_STAGE_END)
            latest.ended = at;
        else
            latest.begun = at;
    }
    return latest;
}

/* Returns the start of the last outermost module call. */
static uint32_t last_call(const mv_lives *lives, const mv_outer *outer)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t call = MV_NO_ROW, at = lives->events.count;

    for (uint32_t i = a->count; i-- > a->preexisting;) {
        uint32_t place = mv_outer_of(outer, a->stack[i]);

        if (call != MV_NO_ROW && place != call)
            break;
        if (place == MV_NO_ROW || outer->kind[place] != MV_OUTER_CALL)
            continue;
        call = place;
        at = a->birth[i];
    }
    return at;
}

static uint32_t step_under_way(const mv_trace *trace, const mv_lives *lives, const mv_outer *outer,
                               mv_steps *steps)
{
    latest_range latest = find_latest(trace, lives, steps->name);

    steps->is_marked =
        steps->count > 0 ? steps->source != MV_STEPS_INFERRED : latest.optimizer_ended != MV_NO_ROW;
    if (steps->source == MV_STEPS_ANNOTATION && !is_optimizer_step(steps->name) &&
        latest.ended != MV_NO_ROW && latest.ended >= latest.begun)
        return latest.ended;
    if (steps->count > 0)
        return steps->at[steps->count - 1];
    if (latest.optimizer_ended != MV_NO_ROW)
        return latest.optimizer_ended;
    return last_call(lives, outer);
}

mv_code mv_steps_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_steps *out,
                      mv_err *err)
{
    mv_arena scratch;
    mv_outer outer;
    uint8_t *kinds;
    bool found;

    *out = (mv_steps){.source = MV_STEPS_NONE, .name = "", .stack = MV_NO_STACK};
    if (lives->events.count == 0)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    kinds = mv_frame_kinds(&scratch, trace);
    found = kinds && mv_outer_find(&scratch, trace, kinds, &outer) &&
            steps_choose(arena, &scratch, trace, lives, &outer, out);
    if (found && out->source == MV_STEPS_ANNOTATION && is_optimizer_step(out->name))
        found = mv_optimizer_calls_thin(&scratch, trace, lives, &outer, kinds, out);
    if (found)
        out->under_way = step_under_way(trace, lives, &outer, out);
    mv_arena_release(&scratch);
    return found ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "training steps");
}

uint32_t mv_steps_bin(const mv_steps *steps, uint32_t event)
{
    return (uint32_t)mv_upper_bound_u32(steps->at, steps->count, event);
}

uint32_t mv_first_born_from(const mv_alloc_lives *allocs, uint32_t event)
{
    uint32_t older = allocs->preexisting;

    return older +
           (uint32_t)mv_lower_bound_u32(allocs->birth + older, allocs->count - older, event);
}

const char *mv_steps_source_name(mv_steps_source source)
{
    static const char *const names[] = {"none", "annotation", "mark", "inferred"};

    return names[source <= MV_STEPS_INFERRED ? source : MV_STEPS_NONE];
}
