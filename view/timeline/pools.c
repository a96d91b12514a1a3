#include "view/timeline/pools.h"

#include "analyze/filter/isolate.h"
#include "base/grow.h"
#include "base/sort.h"
#include "view/timeline/viewport.h"

typedef struct {
    uint64_t key;
    double area;  /* bytes x events in the window */
    uint32_t row; /* an allocation of the group */
    bool is_leak;
} group;

typedef struct {
    const mv_pools_query *ask;
    mv_arena *arena;
    mv_arena scratch;
    mv_pools_answer *out;
    mv_filter_bits matches; /* matches of the search; empty if there is no search */
    uint8_t *group_of;      /* [allocs.count] */
    uint32_t groups;
} finder;

/* ---- columns ----------------------------------------------------------------------------- */

static void equal_columns(finder *f)
{
    uint64_t events = f->ask->end - f->ask->first;

    for (uint32_t c = 0; c < f->ask->columns; c++) {
        uint32_t from = f->ask->first + (uint32_t)(events * c / f->ask->columns);
        uint32_t to = f->ask->first + (uint32_t)(events * (c + 1) / f->ask->columns);
        f->out->columns[c] = (mv_window){from, to > from ? to : from + 1};
    }
    if (f->ask->first == 0 && f->ask->columns > 1)
        f->out->columns[0].first = MV_BEFORE;
}

static bool find_columns(finder *f, mv_err *err)
{
    mv_viewport at = {.box = {0, 0, (float)f->ask->columns, 1}, .x = f->ask->x, .dx = f->ask->dx};
    mv_timescale scale;

    f->out->columns = mv_push_array(f->arena, mv_window, f->ask->columns);
    if (!f->out->columns)
        return false;
    if (f->ask->clock == MV_CLOCK_TICKS) {
        equal_columns(f);
        return true;
    }
    if (mv_timescale_make(&f->scratch, &f->ask->device->index, (mv_clock)f->ask->clock, NULL,
                          &scale, err) != MV_OK)
        return false;
    at.scale = &scale;
    for (uint32_t c = 0; c < f->ask->columns; c++)
        f->out->columns[c] = mv_viewport_column(&at, c);
    return true;
}

/* ---- groups ------------------------------------------------------------------------------ */

/* Finds the matches. An invalid search matches nothing, and hides nothing. */
static bool find_matches(finder *f, mv_err *err)
{
    const mv_pools_query *q = f->ask;
    const mv_leaks *leaks = q->is_evaluated ? &q->device->leaks : NULL;
    char why[MV_FILTER_WHY];
    mv_filter filter = {0};

    if (q->only)
        f->matches = *q->only;
    if (q->only || !*q->search || q->show == MV_SHOW_ALL ||
        !mv_filter_read(&f->scratch, q->search, &filter, why))
        return true;
    return mv_filter_allocs(&f->scratch, &q->document->trace, &q->device->lives, leaks, &filter,
                            &f->matches, err) == MV_OK;
}

static double area_of(const finder *f, uint32_t alloc)
{
    const mv_alloc_lives *a = &f->ask->device->lives.allocs;
    uint32_t from = a->birth[alloc] == MV_BEFORE ? 0 : a->birth[alloc], to = a->freed[alloc];
    uint32_t end = f->ask->end > f->ask->first ? f->ask->end : f->ask->first + 1; /* for a window
                                                                                     without
                                                                                     events */

    from = from > f->ask->first ? from : f->ask->first;
    to = to < end ? to : end;
    return to > from ? (double)a->block[alloc] * (to - from) : 0;
}

static bool is_match(const finder *f, uint32_t alloc)
{
    return f->matches.rows == 0 || mv_filter_has(&f->matches, alloc);
}

/* Whether an allocation is in the picture. */
static bool is_shown(const finder *f, uint32_t alloc)
{
    bool is_part = f->ask->only || f->ask->show == MV_SHOW_ISOLATE;

    return !is_part || is_match(f, alloc);
}

static bool find_largest(finder *f, mv_err *err)
{
    const mv_pools_query *q = f->ask;
    const mv_lives *lives = &q->device->lives;
    uint64_t *bits = mv_push_array(f->arena, uint64_t, (uint64_t)lives->allocs.count / 64 + 1);
    mv_filter_bits kept;
    mv_lives part = *lives;
    uint32_t row = 0;

    if (!bits ||
        (f->matches.rows &&
         mv_isolate_lives(&f->scratch, lives, &f->matches, &part, err) != MV_OK) ||
        mv_isolate_largest(&f->scratch, &part, q->first, q->end, q->top, &kept, err) != MV_OK)
        return false;
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (is_match(f, i) && mv_filter_has(&kept, row++))
            bits[i >> 6] |= (uint64_t)1 << (i & 63);
    f->out->largest = bits;
    return true;
}

/* Whether an allocation has the colour of its group. */
static bool is_coloured(const finder *f, uint32_t alloc)
{
    if (f->out->largest)
        return f->out->largest[alloc >> 6] >> (alloc & 63) & 1;
    return is_match(f, alloc);
}

/* Finds the group of each row, and adds the groups to `list`. */
static bool add_areas(finder *f, const mv_colouring *colouring, group **list, uint32_t *count)
{
    mv_map map = {.arena = &f->scratch};
    uint32_t capacity = 0;

    for (uint32_t i = 0; i < f->ask->device->lives.allocs.count; i++) {
        bool has_row = f->out->largest ? is_coloured(f, i) : is_shown(f, i);
        double area = has_row ? area_of(f, i) : 0;
        uint64_t key;
        uint32_t at;
        if (area <= 0)
            continue;
        key = mv_colour_group(colouring, i);
        at = mv_map_find(&map, key);
        if (at == MV_NOT_IN_MAP) {
            at = *count;
            if (!mv_map_put(&map, key, at) ||
                !mv_append(&f->scratch, *list, *count, capacity,
                           ((group){.key = key, .row = i, .is_leak = key & MV_GROUP_LEAK})))
                return false;
        }
        (*list)[at].area += area;
    }
    return true;
}

/* Finds the groups that have colours, which are leaks and the groups with the largest area,
 * whatever a search finds. */
static bool find_groups(finder *f)
{
    const mv_pools_query *q = f->ask;
    mv_colouring colouring = {.document = q->document,
                              .device = q->device,
                              .lives = &q->device->lives,
                              .mode = (uint8_t)q->mode,
                              .is_evaluated = q->is_evaluated};
    uint32_t count = 0, allocs = q->device->lives.allocs.count, rest;
    mv_map rows = {.arena = &f->scratch};
    group *list = NULL;

    f->group_of = mv_push_array(&f->scratch, uint8_t, allocs);
    if (!f->group_of || !add_areas(f, &colouring, &list, &count))
        return false;
    mv_sort_rows(&f->scratch, list, count, MV_FALLING(group, is_leak), MV_FALLING(group, area),
                 MV_RISING(group, key));
    rest = count < MV_POOL_GROUPS - 1 ? count : MV_POOL_GROUPS - 1;
    f->groups = rest + 1;
    for (uint32_t i = 0; i < rest; i++) {
        f->out->group[i] = list[i].key;
        f->out->row[i] = list[i].row;
        if (!mv_map_put(&rows, list[i].key, i))
            return false;
    }
    for (uint32_t i = 0; i < allocs; i++) {
        uint32_t at = is_coloured(f, i) ? mv_map_find(&rows, mv_colour_group(&colouring, i)) : rest;
        f->group_of[i] = !is_shown(f, i) ? MV_POOL_HIDDEN : at < rest ? (uint8_t)at : (uint8_t)rest;
    }
    return true;
}

/* ---- all --------------------------------------------------------------------------------- */

static bool find(finder *f, mv_err *err)
{
    const mv_pools_query *q = f->ask;
    mv_pool_levels_opts opts = {.column_count = q->columns, .groups = 1};
    uint32_t most = mv_level_reserves(&q->document->trace) ? q->envelopes : 1;

    if (!find_columns(f, err))
        return false;
    opts.columns = f->out->columns;
    if (q->envelopes) {
        if (!find_matches(f, err) || (q->top && !find_largest(f, err)) || !find_groups(f) ||
            mv_envelopes_lay(f->arena, &q->document->trace, &q->device->lives, q->first, q->end,
                             most, &f->out->pools, err) != MV_OK)
            return false;
        opts.envelopes = &f->out->pools;
        opts.group_of = f->group_of;
        opts.groups = f->groups;
    }
    return mv_pool_levels_find(f->arena, &q->device->lives, &opts, &f->out->levels, err) == MV_OK;
}

void *mv_pools_find(mv_arena *arena, void *context, const void *ask)
{
    mv_pools_answer *out = mv_push_struct(arena, mv_pools_answer);
    finder f = {.ask = ask, .arena = arena, .out = out};
    mv_err err = {0};
    bool is_done;

    (void)context;
    if (!out)
        return NULL;
    out->ask = *f.ask;
    mv_arena_init(&f.scratch, arena->budget);
    is_done = find(&f, &err);
    mv_arena_release(&f.scratch);
    return is_done ? out : NULL;
}
