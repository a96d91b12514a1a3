#include "analyze/steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/period.h"

/* Named marks should span this share of the events, or the allocations themselves are asked. */
#define COVER_WANTED 0.3

/* Fewer marks than this are worth less than a name of a lower class that comes more often, as
 * epochs are less than the steps in them. */
#define MARKS_ENOUGH 8

#define NAME_BYTES 128

/* How much a name promises to come once a step. */
typedef enum {
    NAME_RECURS,    /* "## forward ##", Optimizer.zero_grad#… */
    NAME_OF_STEP,   /* says step, iteration or batch */
    NAME_OPTIMIZER, /* Optimizer.step#… of torch.optim */
    NAME_NUMBERED,  /* "## step 3 ##": the same but for a number that rises */
    NAME_PROFILER   /* ProfilerStep#… of torch.profiler */
} name_class;

/* Marks whose names are equal but for numbers. */
typedef struct {
    char name[NAME_BYTES];
    uint64_t hash;
    uint32_t count; /* marks at distinct positions */
    uint32_t first, last;
    uint64_t number; /* the last number in the latest name */
    bool numbered;   /* it rose from each mark to the next */
    bool is_moment;  /* memviz_mark and the like, not starts of ranges */
} series;

typedef struct {
    mv_arena *arena;
    uint32_t count, capacity;
    series *rows; /* grown */
    uint32_t slots;
    uint32_t *slot; /* grown: row + 1 */
    bool failed;
} series_set;

/* "ProfilerStep#12" to "ProfilerStep#N" and 12. */
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

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static void set_rehash(series_set *set)
{
    uint32_t slots = set->slots ? set->slots * 2 : 64;
    uint32_t *slot = mv_arena_grow(set->arena, NULL, slots * sizeof *slot);

    if (!slot) {
        set->failed = true;
        return;
    }
    mv_arena_drop(set->arena, set->slot);
    set->slot = slot;
    set->slots = slots;
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t at = (uint32_t)set->rows[i].hash & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
}

static series *set_append(series_set *set, const char *name, bool is_moment, uint64_t hash)
{
    if (set->count == set->capacity) {
        uint32_t capacity = set->capacity ? set->capacity * 2 : 32;
        series *rows = mv_arena_grow(set->arena, set->rows, capacity * sizeof *rows);

        if (!rows) {
            set->failed = true;
            return NULL;
        }
        set->rows = rows;
        set->capacity = capacity;
    }
    set->rows[set->count] = (series){.hash = hash, .numbered = true, .is_moment = is_moment};
    memcpy(set->rows[set->count].name, name, strlen(name) + 1);
    return &set->rows[set->count++];
}

static series *set_find(series_set *set, const char *name, bool is_moment)
{
    uint64_t hash = text_hash(name) + is_moment;
    series *made;
    uint32_t at;

    if (2 * (uint64_t)set->count >= set->slots)
        set_rehash(set);
    if (set->failed)
        return NULL;
    for (at = (uint32_t)hash & (set->slots - 1); set->slot[at]; at = (at + 1) & (set->slots - 1)) {
        series *row = &set->rows[set->slot[at] - 1];
        if (row->hash == hash && row->is_moment == is_moment && strcmp(row->name, name) == 0)
            return row;
    }
    made = set_append(set, name, is_moment, hash);
    if (made)
        set->slot[at] = set->count;
    return made;
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
    if (row->count > 0 && at <= row->last)
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

static name_class class_of(const series *row)
{
    if (strncmp(row->name, "ProfilerStep", 12) == 0)
        return NAME_PROFILER;
    if (strncmp(row->name, "Optimizer.step", 14) == 0)
        return NAME_OPTIMIZER;
    if (strncmp(row->name, "Optimizer.", 10) == 0)
        return NAME_RECURS;
    if (row->numbered)
        return NAME_NUMBERED;
    return name_says_step(row->name) ? NAME_OF_STEP : NAME_RECURS;
}

/* The share of the events that marks from `first` to `last` and the step behind them span. */
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

/* The series most likely to be the steps, or NULL. */
static const series *set_best(const series_set *set, uint32_t events)
{
    const series *best = NULL;

    for (uint32_t i = 0; i < set->count; i++)
        if (set->rows[i].count >= 2 && (!best || better_series(&set->rows[i], best, events)))
            best = &set->rows[i];
    return best;
}

/* The first event at or after a time; events without times give none. */
static uint32_t event_at(const mv_events *e, int64_t time_us)
{
    uint32_t low = 0, high = e->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (e->time_us[middle] < time_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool device_has_starts(const mv_annotations *a, uint32_t device)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (a->stage[i] == MV_STAGE_START && a->device[i] == (int32_t)device)
            return true;
    return false;
}

/* Calls back with every START and MARK that lies in the window of the events. */
typedef void mark_fn(void *user, const char *text, bool is_moment, uint32_t at);

static void each_annotation(const mv_trace *trace, const mv_lives *lives, mark_fn *call, void *user)
{
    const mv_annotations *a = &trace->annotations;
    const mv_events *e = &lives->events;
    bool own = device_has_starts(a, lives->device);

    if (e->count == 0 || e->time_us[0] == MV_NO_TIME)
        return;
    for (uint32_t i = 0; i < a->count; i++) {
        bool is_moment = a->stage[i] == MV_STAGE_MARK;
        if ((a->stage[i] != MV_STAGE_START && !is_moment) || a->time_us[i] < e->time_us[0])
            continue;
        if (own && !is_moment && a->device[i] != (int32_t)lives->device)
            continue;
        if (lives->goes_on && a->time_us[i] > e->time_us[e->count - 1])
            continue;
        call(user, mv_string_text(trace, a->name[i]), is_moment, event_at(e, a->time_us[i]));
    }
}

/* Likewise with every event at which the user metadata changes to another text. */
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
    set_add(user, text, is_moment, at);
}

/* Collects the positions of one series. */
typedef struct {
    const char *name;
    bool is_moment;
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
    if (c->count == 0 || at > c->at[c->count - 1])
        c->at[c->count++] = at;
}

typedef void each_fn(const mv_trace *, const mv_lives *, mark_fn *, void *);

/* Steps from the best series that `each` delivers; out->count stays 0 when there is none. */
static bool named_steps(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                        const mv_lives *lives, each_fn *each, mv_steps *out)
{
    series_set set = {.arena = scratch};
    const series *best;
    collector c;

    each(trace, lives, add_to_set, &set);
    if (set.failed)
        return false;
    best = set_best(&set, lives->events.count);
    if (!best)
        return true;
    c = (collector){.name = best->name, .is_moment = best->is_moment, .room = best->count};
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

static bool steps_choose(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                         const mv_lives *lives, mv_steps *out)
{
    mv_steps named = {.source = MV_STEPS_ANNOTATION, .name = "", .stack = MV_NO_STACK};
    mv_steps marks = {.source = MV_STEPS_MARK, .name = "", .stack = MV_NO_STACK};
    mv_steps inferred = {.source = MV_STEPS_INFERRED, .name = "", .stack = MV_NO_STACK};

    if (!named_steps(arena, scratch, trace, lives, each_annotation, &named))
        return false;
    if (steps_cover(&named, lives) < COVER_WANTED &&
        !named_steps(arena, scratch, trace, lives, each_metadata, &marks))
        return false;
    if (steps_cover(&marks, lives) > steps_cover(&named, lives))
        named = marks;
    if (steps_cover(&named, lives) < COVER_WANTED &&
        !mv_period_find(arena, scratch, trace, lives, &inferred.at, &inferred.count,
                        &inferred.stack))
        return false;
    if (inferred.count > 0 && steps_cover(&inferred, lives) > steps_cover(&named, lives))
        named = inferred;
    if (named.count >= 2)
        *out = named;
    return true;
}

mv_code mv_steps_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_steps *out,
                      mv_err *err)
{
    mv_arena scratch;
    bool found;

    *out = (mv_steps){.source = MV_STEPS_NONE, .name = "", .stack = MV_NO_STACK};
    if (lives->events.count == 0)
        return MV_OK;
    mv_arena_init(&scratch, arena->budget);
    found = steps_choose(arena, &scratch, trace, lives, out);
    mv_arena_release(&scratch);
    return found ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "training steps");
}

uint32_t mv_steps_bin(const mv_steps *steps, uint32_t event)
{
    uint32_t low = 0, high = steps->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (steps->at[middle] <= event)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *mv_steps_source_name(mv_steps_source source)
{
    static const char *const names[] = {"none", "annotation", "mark", "inferred"};

    return names[source <= MV_STEPS_INFERRED ? source : MV_STEPS_NONE];
}
