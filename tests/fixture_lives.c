#include "tests/fixture_lives.h"

#include <criterion/criterion.h>

typedef struct {
    mv_lives *lives;
    uint64_t random;
    uint32_t *living, living_count; /* rows that have not been completed */
    bool is_plain;
    uint32_t allocs_percent;
} maker;

uint32_t mvt_random(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % limit;
}

static uint32_t below(maker *m, uint32_t limit)
{
    return mvt_random(&m->random, limit);
}

static bool is_odd(maker *m, uint32_t percent)
{
    return !m->is_plain && below(m, 100) < percent;
}

static uint64_t some_size(maker *m)
{
    switch (below(m, 8)) {
    case 0:
        return 0;
    case 1:
    case 2:
        return 512u * (1 + below(m, 1000));
    case 3:
        return 65536u * (1 + below(m, 40));
    default:
        return 512u * (1 + below(m, 4));
    }
}

static uint32_t add_row(maker *m, uint32_t birth)
{
    mv_alloc_lives *a = &m->lives->allocs;
    uint32_t row = a->count++;

    a->requested[row] = some_size(m);
    a->block[row] = a->requested[row] + (a->requested[row] ? 512u * below(m, 3) : 0);
    a->addr[row] = 4096u * below(m, 200);
    a->stack[row] = (mv_stack_id){below(m, 9)};
    a->birth[row] = birth;
    a->freed[row] = a->completed[row] = MV_NEVER;
    m->living[m->living_count++] = row;
    return row;
}

static void end_row(maker *m, uint32_t at, uint32_t event)
{
    mv_alloc_lives *a = &m->lives->allocs;
    uint32_t row = m->living[at];

    if (a->freed[row] == MV_NEVER)
        a->freed[row] = event;
    a->completed[row] = event;
    m->living[at] = m->living[--m->living_count];
}

static void add_preexisting(maker *m)
{
    uint32_t rows = below(m, 20);

    for (uint32_t i = 0; i < rows; i++) {
        uint32_t row = add_row(m, MV_BEFORE);
        if (is_odd(m, 15))
            m->lives->allocs.freed[row] = 0; /* waits for a stream */
    }
    m->lives->allocs.preexisting = rows;
}

static void do_alloc(maker *m, uint32_t event)
{
    while (m->living_count && is_odd(m, 10))
        end_row(m, below(m, m->living_count), event);
    do {
        m->lives->alloc_of[event] = add_row(m, event);
        if (is_odd(m, 3))
            end_row(m, m->living_count - 1, event);
    } while (is_odd(m, 8));
}

static void do_free(maker *m, uint32_t event)
{
    mv_alloc_lives *a = &m->lives->allocs;
    uint32_t at = below(m, m->living_count), row = m->living[at];

    m->lives->alloc_of[event] = row;
    m->lives->events.action[event] = MV_ACTION_FREE_COMPLETED;
    if (a->freed[row] == MV_NEVER && below(m, 2)) {
        m->lives->events.action[event] = MV_ACTION_FREE_REQUESTED;
        a->freed[row] = event;
        if (below(m, 2))
            return;
    }
    end_row(m, at, event);
}

/* Segments and the like; alloc_of is of another table. */
static void do_other(maker *m, uint32_t event)
{
    m->lives->events.action[event] = MV_ACTION_SEGMENT_FREE;
    m->lives->alloc_of[event] = below(m, 2) ? MV_NO_ROW : below(m, 10);
    while (m->living_count && is_odd(m, 20))
        end_row(m, below(m, m->living_count), event);
}

static void make_columns(mv_arena *arena, maker *m, uint32_t most_events)
{
    mv_lives *l = m->lives;
    mv_alloc_lives *a = &l->allocs;
    uint64_t rows = 3 * (uint64_t)most_events + 64;

    a->addr = mv_push_array(arena, uint64_t, rows);
    a->requested = mv_push_array(arena, uint64_t, rows);
    a->block = mv_push_array(arena, uint64_t, rows);
    a->stack = mv_push_array(arena, mv_stack_id, rows);
    a->birth = mv_push_array(arena, uint32_t, rows);
    a->freed = mv_push_array(arena, uint32_t, rows);
    a->completed = mv_push_array(arena, uint32_t, rows);
    a->segment = mv_push_array(arena, uint32_t, rows);
    a->inexact = mv_push_array(arena, uint8_t, rows);
    m->living = mv_push_array(arena, uint32_t, rows);
    l->alloc_of = mv_push_array(arena, uint32_t, most_events);
    l->events.action = mv_push_array(arena, uint8_t, most_events);
    l->events.time_us = mv_push_array(arena, int64_t, most_events);
    cr_assert(a->addr && a->requested && a->block && a->stack && a->birth && a->freed &&
              a->completed && a->segment && a->inexact && m->living && l->alloc_of &&
              l->events.action && l->events.time_us);
}

void mvt_random_lives(mv_arena *arena, mvt_lives_opts opts, mv_lives *out)
{
    maker m = {.lives = out, .random = opts.seed, .is_plain = opts.is_plain};
    int64_t now = 1000;

    *out = (mv_lives){.history_why = "random"};
    make_columns(arena, &m, opts.most_events);
    m.allocs_percent = 30 + below(&m, 65);
    add_preexisting(&m);
    out->events.count = below(&m, opts.most_events);
    for (uint32_t e = 0; e < out->events.count; e++) {
        out->events.time_us[e] = now += below(&m, 4);
        out->alloc_of[e] = MV_NO_ROW;
        if (below(&m, 8) == 0)
            do_other(&m, e);
        else if (m.living_count == 0 || below(&m, 100) < m.allocs_percent)
            do_alloc(&m, e);
        else
            do_free(&m, e);
        if (out->allocs.count > 2 * opts.most_events)
            out->events.count = e + 1;
    }
}
