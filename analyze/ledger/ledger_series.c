#include "analyze/ledger/ledger_series.h"

#include "analyze/code/libraries.h"
#include "analyze/totals/level_steps.h"
#include "analyze/totals/moment.h"
#include "base/sort.h"
#include "parse/model/event_times.h"

/* A library that makes calls which allocate memory. */
typedef struct {
    const char *name;
    uint32_t string; /* row of the library's path; MV_NO_ROW: unknown */
    bool is_framework;
} named_path;

typedef struct {
    const mv_trace *trace;
    uint32_t *id_of;          /* [strings.count + 1] id of the library with this path; the last
                               * entry is for a missing path */
    mv_ledger_library *names; /* [count] library with this id */
    uint32_t count;
    uint64_t *now;      /* [count] bytes held now, indexed by id; in the second pass, indexed by
                         * column of the series */
    uint32_t *place_of; /* [count] column of the series; NULL until the columns have been chosen */
    mv_ledger_series *out;
} libraries;

/* ---- libraries --------------------------------------------------------------------------- */

static uint32_t *id_slot(const libraries *l, mv_string_id path)
{
    uint32_t strings = l->trace->strings.count;

    return &l->id_of[path.row < strings ? path.row : strings];
}

/* Lists the distinct paths of libraries whose calls allocate memory. */
static bool list_paths(mv_arena *scratch, libraries *l, named_path **paths, uint32_t *count)
{
    const mv_api_calls *c = &l->trace->api_calls;
    uint64_t most = (uint64_t)l->trace->strings.count + 1;
    char name[MV_LIBRARY_NAME];

    *count = 0;
    l->id_of = mv_push_array(scratch, uint32_t, most);
    *paths = mv_push_array(scratch, named_path, most < c->count ? most : c->count);
    if (!l->id_of || !*paths)
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t *slot = id_slot(l, c->library[i]);
        const char *path = mv_string_text(l->trace, c->library[i]);
        if (*slot || c->result[i] != 0 || !mv_is_device_alloc(c->action[i]))
            continue;
        *slot = 1;
        mv_library_name(path, name);
        (*paths)[*count] = (named_path){.name = mv_arena_text(scratch, name, strlen(name)),
                                        .string = c->library[i].row,
                                        .is_framework = mv_library_is_framework(path)};
        if (!(*paths)[(*count)++].name)
            return false;
    }
    return true;
}

static bool name_libraries(mv_arena *scratch, libraries *l)
{
    named_path *paths;
    uint32_t count;

    if (!list_paths(scratch, l, &paths, &count))
        return false;
    mv_sort_rows(scratch, paths, count, MV_RISING(named_path, name));
    l->names = mv_push_array(scratch, mv_ledger_library, count);
    l->now = mv_push_array(scratch, uint64_t, (uint64_t)count + 1);
    if (!l->names || !l->now)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(paths[i].name, paths[i - 1].name) != 0)
            l->names[l->count++] = (mv_ledger_library){.name = paths[i].name};
        l->names[l->count - 1].is_framework |= paths[i].is_framework;
        *id_slot(l, (mv_string_id){paths[i].string}) = l->count - 1;
    }
    return true;
}

static void watch_lot(void *user, const mv_lot *lot, uint32_t at, uint32_t call, bool is_gain)
{
    libraries *l = user;
    uint32_t id = *id_slot(l, l->trace->api_calls.library[lot->call]);
    uint64_t *now;

    (void)at;
    (void)call;
    if (lot->kind != MV_LOT_DEVICE)
        return;
    now = &l->now[l->place_of ? l->place_of[id] : id];
    *now += is_gain ? lot->bytes : -lot->bytes;
    if (!l->place_of && *now > l->names[id].most)
        l->names[id].most = *now;
}

/* Copies the sums, of which there are at most MV_LEDGER_LIBRARIES, regardless of the number of
 * libraries. */
static void watch_sample(void *user, uint32_t sample)
{
    libraries *l = user;
    uint64_t columns = l->out->library_count;

    if (columns)
        memcpy(l->out->by + sample * columns, l->now, columns * sizeof *l->now);
}

/* Assigns columns to libraries: one to each of the largest libraries, and one to all other
 * libraries together. */
static bool choose_columns(mv_arena *arena, mv_arena *scratch, libraries *l)
{
    mv_ledger_series *out = l->out;
    uint32_t holders = 0, own;
    mv_key_row *order = mv_push_array(scratch, mv_key_row, l->count);

    for (uint32_t id = 0; id < l->count; id++)
        holders += l->names[id].most > 0;
    own = holders <= MV_LEDGER_LIBRARIES ? holders : MV_LEDGER_LIBRARIES - 1;
    out->library_count = own + (own < holders);
    out->libraries = mv_push_array(arena, mv_ledger_library, out->library_count);
    out->by = mv_push_array(arena, uint64_t, (uint64_t)out->library_count * out->count);
    l->place_of = mv_push_array(scratch, uint32_t, l->count);
    if (!order || !out->libraries || !out->by || !l->place_of)
        return false;
    for (uint32_t id = 0; id < l->count; id++)
        order[id] = (mv_key_row){l->names[id].most, id};
    mv_sort_rows(scratch, order, l->count, MV_FALLING(mv_key_row, key));
    for (uint32_t i = 0; i < l->count; i++) {
        const mv_ledger_library *from = &l->names[order[i].row];
        l->place_of[order[i].row] = i < own ? i : own;
        if (i >= own)
            continue;
        out->libraries[i] = *from;
        out->libraries[i].name = mv_arena_text(arena, from->name, strlen(from->name));
        if (!out->libraries[i].name)
            return false;
    }
    if (own < holders)
        out->libraries[own] = (mv_ledger_library){.name = "others"};
    return true;
}

/* ---- points ------------------------------------------------------------------------------ */

static void fill_points(const mv_trace *trace, const mv_device_use *use, mv_ledger_series *out)
{
    const mv_samples *s = &trace->samples;

    for (uint32_t i = 0; i < out->count; i++) {
        uint32_t row = use->row[i];
        uint64_t device = s->used[row], used = use->used[i];
        out->points[i] =
            (mv_ledger_point){.time_us = s->time_us[row],
                              .used = used,
                              .others = device == MV_NO_BYTES ? device
                                        : device > used       ? device - used
                                                              : 0,
                              .context_estimate = use->context[i],
                              .unexplained = mv_unexplained(used, use->held[i], use->context[i])};
        if (used > out->points[out->peak].used)
            out->peak = i;
        if (used > 0 && out->points[out->first].used == 0)
            out->first = i;
        if (used > 0)
            out->end = i;
    }
}

/* Sets the bytes of PyTorch's allocator from its own events. */
static bool fill_framework(mv_arena *scratch, const mv_lives *lives, mv_ledger_series *out)
{
    mv_levels now = mv_moment_levels(lives, MV_BEFORE);
    mv_level_steps steps;
    mv_level_step step;
    uint32_t event = 0;

    if (!mv_level_steps_init(scratch, lives, &steps))
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        for (; event < lives->events.count &&
               mv_event_time(&lives->events, event) <= out->points[i].time_us;
             event++)
            while (mv_level_steps_next(&steps, event, &step))
                mv_levels_apply(&now, lives, &step);
        out->points[i].framework_reserved = now.reserved;
        out->points[i].framework_allocated = now.allocated;
    }
    return true;
}

/* Makes the series in two passes. The first pass finds the libraries that hold the most, the second
 * fills the columns. */
static mv_code find_in(mv_arena *arena, mv_arena *scratch, libraries *l, const mv_lives *lives,
                       mv_err *err)
{
    mv_device_use use;

    if (!name_libraries(scratch, l))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "libraries");
    for (int pass = 0; pass < 2; pass++) {
        mv_code code = MV_OK;
        mv_holdings h;
        mv_device_holdings(&h, scratch, l->trace, lives->device);
        h.watch = watch_lot;
        h.user = l;
        memset(l->now, 0, ((uint64_t)l->count + 1) * sizeof *l->now);
        if (pass == 0)
            code = mv_device_use_find(scratch, &h, &use, err);
        else if (!mv_device_use_walk(&h, &use, watch_sample, l))
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "holdings");
        mv_holdings_drop(&h);
        if (code != MV_OK)
            return code;
        l->out->count = use.count;
        if (pass == 0 && !choose_columns(arena, scratch, l))
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "libraries");
    }
    l->out->points = mv_push_array(arena, mv_ledger_point, (uint64_t)use.count + 1);
    if (l->out->points)
        fill_points(l->trace, &use, l->out);
    return l->out->points && fill_framework(scratch, lives, l->out)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "samples");
}

mv_code mv_ledger_series_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                              mv_ledger_series *out, mv_err *err)
{
    libraries l = {.trace = trace, .out = out};
    mv_arena scratch;
    mv_code code;

    *out = (mv_ledger_series){0};
    mv_arena_init(&scratch, arena->budget);
    code = find_in(arena, &scratch, &l, lives, err);
    mv_arena_release(&scratch);
    return code;
}

uint32_t mv_ledger_series_place(const mv_ledger_series *series, const char *path)
{
    char name[MV_LIBRARY_NAME];
    uint32_t place = 0;

    mv_library_name(path, name);
    while (place + 1 < series->library_count && strcmp(series->libraries[place].name, name) != 0)
        place++;
    return place;
}
