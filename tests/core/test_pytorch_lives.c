/* Rows as PyTorch's viewer has them, compared with a literal list of elements on random traces.
 * scripts/test-parity compares the outlines with the viewer itself. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_lives.h"
#include "viz/core/pytorch_lives.h"

enum { MOST = 600 };

typedef struct {
    uint64_t addr, bytes;
    uint32_t birth, end;
} element;

typedef struct {
    element list[MOST]; /* in the order in which the file names them */
    uint32_t count;
} elements;

static uint32_t open_at(const elements *l, uint64_t addr)
{
    for (uint32_t i = l->count; i-- > 0;)
        if (l->list[i].addr == addr && l->list[i].birth != MV_BEFORE && l->list[i].end == MV_NEVER)
            return i;
    return MV_NO_ROW;
}

/* An alloc over an open element hides that: a later free must not find it. */
static void list_event(elements *l, bool *is_hidden, const mv_events *ev, uint32_t e)
{
    uint32_t i = open_at(l, ev->addr[e]), shown = e;

    if (i != MV_NO_ROW && is_hidden[i])
        i = MV_NO_ROW;
    if (ev->action[e] == MV_ACTION_ALLOC) {
        for (uint32_t k = 0; k < l->count; k++)
            is_hidden[k] = is_hidden[k] || l->list[k].addr == ev->addr[e];
        l->list[l->count++] = (element){ev->addr[e], ev->size[e], e, MV_NEVER};
    } else if (ev->action[e] == MV_ACTION_FREE_COMPLETED && i != MV_NO_ROW) {
        l->list[i].end = e;
        for (uint32_t k = 0; k < l->count; k++)
            is_hidden[k] = is_hidden[k] || l->list[k].addr == ev->addr[e];
    } else if (ev->action[e] == MV_ACTION_FREE_COMPLETED) {
        if (e > 0 && ev->action[e - 1] == MV_ACTION_FREE_REQUESTED &&
            ev->addr[e - 1] == ev->addr[e])
            shown = e - 1;
        l->list[l->count++] = (element){ev->addr[e], ev->size[shown], MV_BEFORE, e};
    }
}

static void list_all(elements *l, const mv_trace *trace)
{
    mv_events ev = mv_trace_events(trace, 0);
    bool is_hidden[MOST] = {false};

    l->count = 0;
    for (uint32_t e = 0; e < ev.count; e++)
        list_event(l, is_hidden, &ev, e);
    for (uint32_t i = 0; i < trace->blocks.count; i++) {
        uint64_t addr = trace->blocks.address[i];
        uint32_t open = open_at(l, addr);
        if (trace->blocks.state[i] == MV_BLOCK_ALLOCATED && (open == MV_NO_ROW || is_hidden[open]))
            l->list[l->count++] =
                (element){addr, mv_block_requested(trace, i), MV_BEFORE, MV_NEVER};
    }
}

static void check_row(const mv_lives *lives, uint32_t row, const element *want)
{
    const mv_alloc_lives *a = &lives->allocs;

    cr_assert_eq(a->addr[row], want->addr, "row %u", row);
    cr_assert_eq(a->requested[row], want->bytes, "row %u", row);
    cr_assert_eq(a->block[row], want->bytes);
    cr_assert_eq(a->birth[row], want->birth, "row %u", row);
    cr_assert_eq(a->completed[row], want->end, "row %u", row);
    cr_assert_eq(a->freed[row], want->end);
    if (want->birth != MV_BEFORE)
        cr_assert_eq(lives->alloc_of[want->birth], row);
    if (want->end != MV_NEVER)
        cr_assert_eq(lives->alloc_of[want->end], row);
}

static void check_trace(const mv_trace *trace, mv_arena *arena)
{
    static elements l;
    uint32_t before = 0, born = 0, upward = 0;
    mv_lives lives;

    list_all(&l, trace);
    mvt_ok(mv_pytorch_lives(arena, trace, 0, MV_PYTORCH_ALLOCS, &lives, mvt_err()));
    for (uint32_t i = 0; i < l.count; i++)
        before += l.list[i].birth == MV_BEFORE;
    cr_assert_eq(lives.allocs.count, l.count);
    cr_assert_eq(lives.allocs.preexisting, before);
    for (uint32_t i = 0; i < l.count; i++) {
        bool is_before = l.list[i].birth == MV_BEFORE;
        check_row(&lives, is_before ? before - 1 - upward++ : before + born++, &l.list[i]);
    }
}

static mvt_trace *random_trace(uint64_t seed)
{
    uint64_t random = seed, addr = 0x10000;
    mvt_trace *t = mvt_new();
    uint32_t events = mvt_random(&random, 200), places = 2 + mvt_random(&random, 20);

    for (uint32_t e = 0; e < events; e++) {
        static const mv_action actions[] = {MV_ACTION_ALLOC,          MV_ACTION_ALLOC,
                                            MV_ACTION_ALLOC,          MV_ACTION_FREE_REQUESTED,
                                            MV_ACTION_FREE_COMPLETED, MV_ACTION_OOM};
        mvt_event_args args = {.addr = 0x10000 + 4096u * mvt_random(&random, places),
                               .bytes = 512u * mvt_random(&random, 9)};
        if (mvt_random(&random, 3) == 0)
            mvt_free_both(t, args);
        else
            mvt_event(t, actions[mvt_random(&random, 6)], args);
    }
    for (uint32_t s = mvt_random(&random, 3); s > 0; s--, addr += 8 * 4096) {
        mvt_segment(t, .addr = addr, .bytes = 8 * 4096);
        for (uint32_t b = 0; b < 8; b++)
            mvt_block(t, .bytes = 4096, .requested = 4000, .state = (mv_block_state)(b * seed % 3));
    }
    return t;
}

Test(pytorch_lives, equal_a_literal_list_of_elements)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        mvt_trace *t = random_trace(seed);
        check_trace(mvt_done(t), mvt_arena(t));
    }
}

/* Where the trace is in order, both readings have the same rows; ours has more bytes in each. */
Test(pytorch_lives, equal_the_lives_of_a_whole_trace)
{
    mv_arena *arena = mvt_memory();
    mv_lives ours, theirs;
    mv_trace trace = mvt_load(arena, "gpt_train");

    ours = mvt_lives(arena, &trace, 0);
    mvt_ok(mv_pytorch_lives(arena, &trace, 0, MV_PYTORCH_ALLOCS, &theirs, mvt_err()));
    cr_assert_eq(ours.allocs.count, theirs.allocs.count);
    cr_assert_eq(ours.allocs.preexisting, theirs.allocs.preexisting);
    for (uint32_t r = ours.allocs.preexisting; r < ours.allocs.count; r++) {
        cr_assert_eq(ours.allocs.birth[r], theirs.allocs.birth[r]);
        cr_assert_eq(ours.allocs.completed[r], theirs.allocs.completed[r]);
        cr_assert_eq(ours.allocs.requested[r], theirs.allocs.requested[r]);
        cr_assert_eq(ours.allocs.stack[r].row, theirs.allocs.stack[r].row);
    }
}

/* Segments: a whole one that was there, one that is there at the end, one that came and went. */
Test(pytorch_lives, segments_have_their_rows)
{
    mvt_trace *t = mvt_new();
    mv_lives lives;

    mvt_event(t, MV_ACTION_SEGMENT_FREE, (mvt_event_args){.addr = 0x100000, .bytes = 4096});
    mvt_event(t, MV_ACTION_SEGMENT_ALLOC, (mvt_event_args){.addr = 0x200000, .bytes = 8192});
    mvt_event(t, MV_ACTION_SEGMENT_FREE, (mvt_event_args){.addr = 0x200000, .bytes = 8192});
    mvt_event(t, MV_ACTION_SEGMENT_MAP, (mvt_event_args){.addr = 0x900000, .bytes = 8192});
    mvt_segment(t, .addr = 0x300000, .bytes = 4096);
    mvt_block(t, .bytes = 4096, .state = MV_BLOCK_INACTIVE);
    mvt_ok(mv_pytorch_lives(mvt_arena(t), mvt_done(t), 0, MV_PYTORCH_SEGMENTS, &lives, mvt_err()));
    cr_assert_eq(lives.allocs.count, 3);
    cr_assert_eq(lives.allocs.preexisting, 2);
    check_row(&lives, 0, &(element){0x300000, 4096, MV_BEFORE, MV_NEVER});
    check_row(&lives, 1, &(element){0x100000, 4096, MV_BEFORE, 0});
    check_row(&lives, 2, &(element){0x200000, 8192, 1, 2});
}

Test(pytorch_lives, fail_when_memory_is_out)
{
    mvt_trace *t = random_trace(3);
    const mv_trace *trace = mvt_done(t);

    for (mvt_limit l = {.step = 1024}; mvt_more_memory(&l);) {
        mv_lives lives;
        l.code = mv_pytorch_lives(&l.arena, trace, 0, MV_PYTORCH_ALLOCS, &lives, mvt_err());
    }
}
