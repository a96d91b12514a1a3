/* Each edit must give the same result as a recording of the edited program. The slow way is to
 * write the program again. A program here is a list of steps. The allocator in its trace never uses
 * an address twice, because replays use only the requests. */

#include "analyze/replay/replay_edit.h"
#include "tests/fixture/fixture.h"

enum { MOST = 400 };

typedef enum { ALLOC, FREE, REQUEST_FREE, COMPLETE, EMPTY, TRY, GONE } step_kind;

typedef struct {
    step_kind kind;
    uint32_t block;
    uint64_t bytes, stream;
} step;

typedef struct {
    uint32_t count;
    step steps[MOST];
    bool marked[MOST]; /* by block */
} program;

static void add(program *p, step s)
{
    cr_assert_lt(p->count, MOST);
    p->steps[p->count++] = s;
}

/* Appends steps: "+3:40" allocates 40 MiB for block 3 ("+3:0" one byte), "-3" frees it, and "?90" is a
 * request for 90 MiB that fails. */
static void add_steps(program *p, const char *text)
{
    for (char *at = (char *)text; *at; at += *at == ' ') {
        char what = *at++;
        uint32_t number = (uint32_t)strtoul(at, &at, 10);
        uint64_t mib = *at == ':' ? strtoul(at + 1, &at, 10) : 0;
        if (what == '+')
            add(p, (step){ALLOC, number, mib ? mib * MIB : 1, 0});
        else if (what == '-')
            add(p, (step){.kind = FREE, .block = number});
        else
            add(p, (step){.kind = TRY, .bytes = number * MIB});
    }
}

/* Returns the call of each block from a digit for each, with '.' for blocks of no call. */
static const uint32_t *calls_of(const char *blocks)
{
    static uint32_t calls[MOST];

    for (uint32_t i = 0; i < MOST; i++)
        calls[i] = i < strlen(blocks) && blocks[i] != '.' ? (uint32_t)(blocks[i] - '0') : MV_NO_ROW;
    return calls;
}

typedef struct {
    const mv_trace *trace;
    mv_lives lives;
    mv_replay_script script;
    uint32_t event_of[MOST]; /* the event with which each step begins */
} recording;

typedef struct {
    uint64_t addr, bytes, stream;
    bool is_free, is_released;
} placed;

static uint32_t release_all(mvt_trace *t, placed *blocks)
{
    uint32_t events = 0;

    for (uint32_t i = 0; i < MOST; i++)
        if (blocks[i].is_free && !blocks[i].is_released) {
            mvt_segment_free(t, .addr = blocks[i].addr, .bytes = blocks[i].bytes,
                             .stream = blocks[i].stream);
            blocks[i].is_released = true;
            events++;
        }
    return events;
}

static void record(const program *p, recording *r)
{
    static placed blocks[MOST];
    mvt_trace *t = mvt_new();
    uint64_t next = (uint64_t)1 << 44;
    uint32_t events = 0;

    memset(blocks, 0, sizeof blocks);
    for (uint32_t i = 0; i < p->count; i++) {
        const step *s = &p->steps[i];
        placed *b = &blocks[s->block];
        r->event_of[i] = events;
        if (s->kind == ALLOC) {
            uint64_t size = (s->bytes + 2 * MIB - 1) / (2 * MIB) * 2 * MIB;
            *b = (placed){next, size < 20 * MIB ? 20 * MIB : size, s->stream, false, false};
            mvt_segment_alloc(t, .addr = b->addr, .bytes = b->bytes, .stream = b->stream);
            mvt_alloc(t, .addr = b->addr, .bytes = s->bytes, .stream = b->stream);
            next += b->bytes;
            events += 2;
        } else if (s->kind == EMPTY) {
            events += release_all(t, blocks);
        } else if (s->kind == TRY) {
            mvt_oom(t, .bytes = s->bytes);
            events++;
        } else if (s->kind != GONE) {
            if (s->kind != COMPLETE) {
                mvt_free_requested(t, .addr = b->addr);
                events++;
            }
            if (s->kind != REQUEST_FREE) {
                mvt_free_completed(t, .addr = b->addr);
                b->is_free = true;
                events++;
            }
        }
    }
    mvt_final_heap(t);
    r->trace = mvt_done(t);
    r->lives = mvt_lives(mvt_memory(), r->trace, 0);
    mvt_ok(mv_replay_script_make(mvt_memory(), r->trace, &r->lives, &r->script, mvt_err()));
}

static mv_replay_result run(const recording *r, const mv_replay_script *script)
{
    mv_replay_opts opts = {
        .conf = mv_alloc_conf_default(), .script = script, .strange_addresses = true};
    mv_replay_result result;

    mvt_ok(mv_replay_run(mvt_memory(), r->trace, &r->lives, opts, &result, mvt_err()));
    return result;
}

/* Checks that the edit of `before` gives the same result as `after`. Blocks are numbered in
 * allocation order. */
static void expect_same(const program *before, mv_edit edit, const program *after)
{
    static uint8_t rows[MOST];
    static recording was, is;
    mv_replay_script changed;

    record(before, &was);
    record(after, &is);
    for (uint32_t i = 0; i < MOST; i++)
        rows[i] = before->marked[i];
    edit.rows = rows;
    for (uint32_t i = 0; i < edit.at_count; i++)
        ((uint32_t *)edit.at)[i] = was.event_of[edit.at[i]];
    mvt_ok(mv_edit_apply(mvt_memory(), &was.script, &edit, 1, &changed, mvt_err()));
    mv_replay_result edited = run(&was, &changed);
    mv_replay_result literal = run(&is, &is.script);
    cr_expect_eq(edited.peak.reserved, literal.peak.reserved);
    cr_expect_eq(edited.peak.allocated, literal.peak.allocated);
    cr_expect_eq(edited.peak.active, literal.peak.active);
    cr_expect_eq(edited.peak.requested, literal.peak.requested);
    cr_expect_eq(edited.counts.segment_allocs, literal.counts.segment_allocs);
    cr_expect_eq(edited.counts.segment_frees, literal.counts.segment_frees);
}

/* ---- random programs --------------------------------------------------------------------- */

static program random_program(uint64_t seed)
{
    program p = {.count = 0};
    bool alive[MOST] = {false}, waits[MOST] = {false};
    uint32_t blocks = 0;

    for (uint32_t i = 0; i < 300; i++) {
        uint32_t block = blocks ? mvt_random(&seed, blocks) : 0;
        if (blocks < 100 && mvt_random(&seed, 3) == 0) {
            alive[blocks] = true;
            p.marked[blocks] = mvt_random(&seed, 3) == 0;
            add(&p, (step){ALLOC, blocks++, 1 + mvt_random(&seed, 40 * (1 << 20)),
                           mvt_random(&seed, 2) * 7});
        } else if (waits[block]) {
            add(&p, (step){.kind = COMPLETE, .block = block});
            waits[block] = false;
        } else if (alive[block]) {
            waits[block] = mvt_random(&seed, 3) == 0;
            add(&p, (step){.kind = waits[block] ? REQUEST_FREE : FREE, .block = block});
            alive[block] = false;
        }
    }
    return p;
}

static void insert(program *p, uint32_t at, step s)
{
    cr_assert_lt(p->count, MOST);
    memmove(&p->steps[at + 1], &p->steps[at], (p->count - at) * sizeof *p->steps);
    p->steps[at] = s;
    p->count++;
}

static void complete_early(program *p, bool all)
{
    for (uint32_t i = 0; i < p->count; i++) {
        step *s = &p->steps[i];
        if (!all && !p->marked[s->block])
            continue;
        if (s->kind == REQUEST_FREE)
            s->kind = FREE;
        else if (s->kind == COMPLETE)
            s->kind = GONE;
    }
}

static uint64_t most_marked(const program *p)
{
    uint64_t bytes[MOST] = {0}, now = 0, most = 0;

    for (uint32_t i = 0; i < p->count; i++) {
        const step *s = &p->steps[i];
        if (!p->marked[s->block])
            continue;
        if (s->kind == ALLOC)
            now += bytes[s->block] = (s->bytes + 511) / 512 * 512;
        else if (s->kind == FREE || s->kind == COMPLETE)
            now -= bytes[s->block];
        most = now > most ? now : most;
    }
    return most;
}

Test(replay_edit, changed_sizes_equal_a_program_with_these_sizes)
{
    for (uint64_t seed = 1; seed < 20; seed++)
        for (uint64_t numerator = 0; numerator < 7; numerator += 3) {
            program before = random_program(seed * 77), after = before;
            for (uint32_t i = 0; i < after.count; i++) {
                step *s = &after.steps[i];
                if (!after.marked[s->block])
                    continue;
                if (numerator == 0)
                    s->kind = GONE;
                else if (s->kind == ALLOC)
                    s->bytes = (s->bytes * numerator + 3) / 4;
            }
            expect_same(&before,
                        (mv_edit){.kind = MV_EDIT_SCALE, .numerator = numerator, .denominator = 4},
                        &after);
        }
}

/* A script that an edit left without operations does not fall back to those of the events. */
Test(replay_edit, a_program_without_allocations_reserves_nothing)
{
    static const uint8_t rows[] = {1};
    program p = {0};
    recording r;
    mv_replay_script changed;

    add(&p, (step){ALLOC, .bytes = 3 * MIB});
    record(&p, &r);
    mvt_ok(mv_edit_apply(mvt_memory(), &r.script,
                         &(mv_edit){.kind = MV_EDIT_SCALE, .rows = rows, .denominator = 1}, 1,
                         &changed, mvt_err()));
    cr_expect_eq(run(&r, &r.script).peak.reserved, 20 * MIB);
    cr_expect_eq(run(&r, &changed).peak.reserved, 0);
}

Test(replay_edit, one_buffer_serves_all_of_its_parts)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        program before = random_program(seed * 77), after = before;
        bool is_made = false;
        for (uint32_t i = 0; i < after.count; i++) {
            step *s = &after.steps[i];
            if (!after.marked[s->block])
                continue;
            if (s->kind == ALLOC && !is_made)
                s->bytes = most_marked(&before);
            else
                s->kind = GONE;
            is_made = true;
        }
        expect_same(&before, (mv_edit){.kind = MV_EDIT_PREALLOC}, &after);
    }
}

Test(replay_edit, the_first_segments_are_split_later)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        program before = random_program(seed * 77), after = before;
        insert(&after, 0, (step){.kind = FREE, .block = MOST - 1});
        insert(&after, 0, (step){ALLOC, MOST - 1, 500 * MIB, before.steps[0].stream});
        expect_same(&before, (mv_edit){.kind = MV_EDIT_RESERVE, .bytes = 500 * MIB}, &after);
    }
}

Test(replay_edit, on_one_stream_no_free_waits)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        program before = random_program(seed * 77), after = before;
        complete_early(&after, true);
        for (uint32_t i = 0; i < after.count; i++)
            after.steps[i].stream = 0;
        expect_same(&before, (mv_edit){.kind = MV_EDIT_ONE_STREAM}, &after);
    }
}

Test(replay_edit, frees_complete_at_once)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        program before = random_program(seed * 77), after = before;
        complete_early(&after, false);
        expect_same(&before, (mv_edit){.kind = MV_EDIT_FREE_EARLY}, &after);
    }
}

Test(replay_edit, the_cache_is_emptied_before_events)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        program before = random_program(seed * 77), after = before;
        uint32_t at[MOST], count = 0;
        for (uint32_t i = 40; i < before.count; i += 40) {
            while (i < before.count && before.steps[i].kind != FREE)
                i++;
            if (i < before.count)
                at[count++] = i;
        }
        for (uint32_t i = count; i > 0; i--)
            insert(&after, at[i - 1], (step){.kind = EMPTY});
        expect_same(&before, (mv_edit){.kind = MV_EDIT_EMPTY, .at = at, .at_count = count}, &after);
    }
}

/* ---- offloading -------------------------------------------------------------------------- */

/* A forward pass that keeps blocks 0, 2 and 4, and a backward pass with two allocations for each of
 * them. Each block leaves before the second allocation after its own, and returns before the
 * allocation that precedes its free: block 2 as 7, and block 0 as 9. The last one would return where
 * it leaves, so it stays. */
Test(replay_edit, offloaded_blocks_are_away_between_their_uses)
{
    program before = {.marked = {[0] = true, [2] = true, [4] = true}}, after = {.count = 0};

    add_steps(&before, "+0:30 +1:10 -1 +2:30 +3:10 -3 +4:30 +5:10 -5");
    add_steps(&before, "+6:40 -4 -6 +7:40 -2 -7 +8:40 -0 -8");
    add_steps(&after, "+0:30 +1:10 -1 -0 +2:30 +3:10 -3 -2 +4:30 +5:10 -5");
    add_steps(&after, "+6:40 -4 -6 +7:30 +8:40 -7 -8 +9:30 +10:40 -9 -10");
    expect_same(&before, (mv_edit){.kind = MV_EDIT_OFFLOAD}, &after);
}

/* A forward pass that ends with a failed request. Either an exception frees the blocks that the
 * pass kept, or the trace ends there. The backward pass that would have brought the blocks back is
 * missing. Nothing is allocated after the last block, so it may still be in use and stays. */
static void add_forward(program *p, bool offloads)
{
    add_steps(p, offloads ? "+0:30 +1:10 -1 -0 +2:30 +3:10 -3 -2 +4:30 +5:10 -5 ?90"
                          : "+0:30 +1:10 -1 +2:30 +3:10 -3 +4:30 +5:10 -5 ?90");
    for (uint32_t i = 0; i < 3; i++)
        p->marked[2 * i] = true;
}

Test(replay_edit, offloaded_blocks_stay_away_when_a_failed_request_ends_the_pass)
{
    program before = {.count = 0}, after = {.count = 0};
    static uint8_t cut[MOST];

    add_forward(&before, false);
    add_forward(&after, true);
    memset(cut, 1, sizeof cut);
    expect_same(&before, (mv_edit){.kind = MV_EDIT_OFFLOAD, .cut = cut}, &after);
    add_steps(&before, "-0 -2 -4");
    expect_same(&before, (mv_edit){.kind = MV_EDIT_OFFLOAD}, &after);
}

/* The program continues with block 6. */
Test(replay_edit, blocks_that_outlive_a_failed_request_come_back)
{
    program before = {.count = 0}, after = {.count = 0};

    add_forward(&before, false);
    add_forward(&after, true);
    add_steps(&before, "+6:40 -0 -2");
    add_steps(&after, "+7:30 +8:30 +6:40 -7 -8");
    expect_same(&before, (mv_edit){.kind = MV_EDIT_OFFLOAD}, &after);
}

/* Each call keeps a block and has an output; blocks 2 and 5 are something else. */
Test(replay_edit, calls_are_not_made_again_after_a_failed_request)
{
    program before = {.count = 0}, after = {.count = 0};
    mv_edit edit = {.kind = MV_EDIT_RECOMPUTE, .instance = calls_of("00.11")};

    add_steps(&before, "+0:60 +1:30 +2:0 -2 +3:60 +4:30 +5:0 -5 ?50 -0 -1 -3 -4");
    add_steps(&after, "+0:60 +1:30 -0 +2:0 -2 +3:60 +4:30 -3 +5:0 -5 ?50 -1 -4");
    expect_same(&before, edit, &after);
}

/* Two calls of three blocks each: temporary, kept, output. Blocks 3 and 7 are something else. The
 * backward pass allocates blocks 8 and 9, after the calls' blocks 24 and 25, 20 and 21 again. */
Test(replay_edit, calls_are_made_again_before_the_backward_pass)
{
    program before = {.count = 0}, after = {.count = 0};
    mv_edit edit = {.kind = MV_EDIT_RECOMPUTE, .instance = calls_of("000.111")};

    add_steps(&before, "+0:50 +1:60 -0 +2:30 +3:0 -3 +4:50 +5:60 -4 +6:30 +7:0 -7");
    add_steps(&before, "+8:70 -5 -6 -8 +9:70 -1 -2 -9");
    add_steps(&after, "+0:50 +1:60 -0 +2:30 -1 +3:0 -3 +4:50 +5:60 -4 +6:30 -5 +7:0 -7");
    add_steps(&after, "+24:50 +25:60 -24 +8:70 -25 -6 -8 +20:50 +21:60 -20 +9:70 -21 -2 -9");
    expect_same(&before, edit, &after);
}

/* Three calls of three blocks each: cast, kept, output. Their casts are all freed at the same point, as
 * casts of weights are under autocast. */
Test(replay_edit, blocks_freed_together_are_not_kept_for_backward_passes)
{
    program before = {.count = 0}, after = {.count = 0};
    mv_edit edit = {.kind = MV_EDIT_RECOMPUTE, .instance = calls_of("000.111.222")};

    add_steps(&before, "+0:10 +1:60 +2:30 +3:0 -3 +4:10 +5:60 +6:30 +7:0 -7");
    add_steps(&before, "+8:10 +9:60 +10:30 +11:0 -11 -0 -4 -8");
    add_steps(&before, "+22:70 -9 -10 -22 +21:70 -5 -6 -21 +20:70 -1 -2 -20");
    add_steps(&after, "+0:10 +1:60 +2:30 -1 +3:0 -3 +4:10 +5:60 +6:30 -5 +7:0 -7");
    add_steps(&after, "+8:10 +9:60 +10:30 -9 +11:0 -11 -0 -4 -8");
    add_steps(&after, "+34:10 +35:60 -34 +22:70 -35 -10 -22 +32:10 +33:60 -32 +21:70 -33 -6 -21");
    add_steps(&after, "+30:10 +31:60 -30 +20:70 -31 -2 -20");
    expect_same(&before, edit, &after);
}
