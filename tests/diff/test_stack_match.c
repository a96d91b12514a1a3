#include "analyze/diff/stack_match.h"

#include "tests/fixture/fixture.h"

#include "analyze/diff/line_pairs.h"
#include "analyze/diff/pairs.h"

static uint32_t times_of(const mv_pairs *p, int side, uint64_t key)
{
    uint32_t times = 0;

    for (uint32_t i = 0; i < p->count[side]; i++)
        times += p->partner[side][i] == MV_NO_PARTNER && p->key[side][i] == key;
    return times;
}

Test(stack_match, pairs_follow_the_rules)
{
    uint64_t seed = 7;

    for (int run = 0; run < 200; run++) {
        mv_pairs p;
        uint32_t expected[40];
        cr_assert(mv_pairs_init(&p, mvt_memory(), mvt_random(&seed, 40), mvt_random(&seed, 40)));
        for (int round = 0; round < 4; round++) {
            mv_pair_rule rule = (mv_pair_rule)mvt_random(&seed, 3);
            for (int s = 0; s < 2; s++)
                for (uint32_t i = 0; i < p.count[s]; i++)
                    p.key[s][i] = mvt_random(&seed, 25);
            /* The matching rules, taken literally: the k-th free row with a key belongs to the k-th
             * free row with that key on the other side. */
            for (uint32_t i = 0; i < p.count[0]; i++) {
                uint64_t key = p.key[0][i];
                uint32_t a = times_of(&p, 0, key), b = times_of(&p, 1, key), before = 0;
                expected[i] = p.partner[0][i];
                if (expected[i] != MV_NO_PARTNER || key == MV_NO_KEY || b == 0 ||
                    (rule == MV_PAIR_LONE && (a != 1 || b != 1)) ||
                    (rule == MV_PAIR_EVEN && a != b))
                    continue;
                for (uint32_t k = 0; k < i; k++)
                    before += p.partner[0][k] == MV_NO_PARTNER && p.key[0][k] == key;
                for (uint32_t j = 0; j < p.count[1] && expected[i] == MV_NO_PARTNER; j++)
                    if (p.partner[1][j] == MV_NO_PARTNER && p.key[1][j] == key && before-- == 0)
                        expected[i] = j;
            }
            mv_pairs_round(&p, rule);
            for (uint32_t i = 0; i < p.count[0]; i++)
                cr_assert_eq(p.partner[0][i], expected[i]);
            for (uint32_t i = 0; i < p.count[0]; i++)
                if (p.partner[0][i] != MV_NO_PARTNER)
                    cr_assert_eq(p.partner[1][p.partner[0][i]], i);
        }
    }
}

/* ---- lines of one function --------------------------------------------------------------- */

typedef struct {
    int64_t line[600];
    mv_callees calls[600];
    uint32_t partner[600];
    mv_function_lines lines;
} made_lines;

/* "60a 62b": line numbers, each followed by a letter for its callee. */
static void make_lines(made_lines *m, const char *text)
{
    m->lines = (mv_function_lines){0, m->line, m->calls, m->partner};
    while (*text) {
        char *end;
        m->line[m->lines.count] = strtoll(text, &end, 10);
        m->calls[m->lines.count++] = (mv_callees)1 << (*end - 'a');
        text = end + 1 + (end[1] == ' ');
    }
}

static void pair_made(made_lines *a, made_lines *b, int64_t expected)
{
    cr_assert(mv_lines_pair(mvt_memory(), &a->lines, &b->lines, &expected));
}

/* `want` gives for each line before the change the line after it, or 0. */
static void expect_lines(const char *before, const char *after, int64_t shift, const char *want)
{
    static made_lines a, b;
    char got[400];

    for (int exchanged = 0; exchanged < 2; exchanged++) {
        size_t at = 0;
        make_lines(&a, before);
        make_lines(&b, after);
        pair_made(exchanged ? &b : &a, exchanged ? &a : &b, exchanged ? -shift : shift);
        got[0] = 0;
        for (uint32_t i = 0; i < a.lines.count; i++)
            at += (size_t)snprintf(got + at, sizeof got - at, "%s%lld", i ? " " : "",
                                   a.partner[i] == MV_NO_PARTNER ? 0ll
                                                                 : (long long)b.line[a.partner[i]]);
        cr_expect_str_eq(got, want, "%s -> %s: %s, not %s", before, after, got, want);
    }
}

Test(stack_match, adjacent_lines_move_together)
{
    expect_lines("60a 62b 64c", "60a 62b 64c", 0, "60 62 64");
    expect_lines("60a 62b 64c", "65a 67b 69c", 0, "65 67 69");
    expect_lines("60a 62a 64a", "60a 62a 65a", 0, "60 62 65");
    expect_lines("60a 62b 64a", "60a 62b 63a 65a", 0, "60 62 65");
    expect_lines("60a 62a 64a", "60a 62a 63a 65a", 0, "60 62 65");
    expect_lines("60a 62a 63a 65a", "60a 62a 64a", 0, "60 62 0 64");
}

Test(stack_match, callees_distinguish_lines)
{
    expect_lines("60a 61b", "60c 61a 62b", 0, "61 62");
    expect_lines("60a 61b 62c", "60c 61a 62b", 0, "61 62 0");
    expect_lines("10a 20b 30c", "10a 21d 30c", 0, "10 21 30"); /* edited in place */
    expect_lines("10a 20b 30c", "10a 30c 40d", 0, "10 0 30");  /* removed; another line was added */
}

Test(stack_match, a_lone_line_moves_with_the_code_before_it)
{
    expect_lines("62a", "67a 69a", 5, "67");
    expect_lines("62a", "67a 69a", 7, "69");
    expect_lines("62a", "60a 64a", 0, "64");
    expect_lines("62a", "", 0, "0");
}

Test(stack_match, lines_of_a_long_function_are_joined_in_order)
{
    static made_lines a, b;

    a.lines = (mv_function_lines){600, a.line, a.calls, a.partner};
    b.lines = (mv_function_lines){600, b.line, b.calls, b.partner};
    for (int i = 0; i < 600; i++) {
        a.line[i] = 3 * i;
        b.line[i] = 3 * i + (i >= 300 ? 10 : 0);
        a.calls[i] = b.calls[i] = 1;
    }
    pair_made(&a, &b, 0);
    for (uint32_t i = 0; i < 600; i++)
        cr_assert_eq(a.partner[i], i, "line %u joins %u", i, a.partner[i]);
}

/* ---- stacks ------------------------------------------------------------------------------ */

typedef struct {
    mvt_trace *made[2];
    const mv_trace *trace[2];
    mv_sites sites[2];
    mv_stack_match match;
} matched;

static void match_all(matched *m, mv_arena *arena)
{
    for (int s = 0; s < 2; s++)
        mvt_ok(mv_sites_find(arena, m->trace[s], &m->sites[s], mvt_err()));
    mvt_ok(mv_stacks_match(arena, m->trace, (const mv_sites *[2]){&m->sites[0], &m->sites[1]},
                           &m->match, mvt_err()));
}

/* Makes a trace with one allocation per stack, where event i has stack i. */
static mvt_trace *trace_of(const char *const *stacks, uint32_t count)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x10000000, .bytes = 1 << 30);
    for (uint32_t i = 0; i < count; i++)
        mvt_alloc(t, .addr = 0x10000000 + 512 * (uint64_t)i, .bytes = 512, .stack = stacks[i]);
    mvt_final_heap(t);
    return t;
}

static void match_stacks(matched *m, const char *const *before, uint32_t a,
                         const char *const *after, uint32_t b)
{
    m->made[0] = trace_of(before, a);
    m->made[1] = trace_of(after, b);
    m->trace[0] = mvt_done(m->made[0]);
    m->trace[1] = mvt_done(m->made[1]);
    match_all(m, mvt_arena(m->made[0]));
}

static uint32_t site_at(const matched *m, int s, uint32_t alloc)
{
    mv_events events = mv_trace_events(m->trace[s], 0);

    return mv_site_of(&m->sites[s], events.stack[1 + alloc]);
}

static bool are_partners(const matched *m, uint32_t before, uint32_t after)
{
    return m->match.site[0][site_at(m, 0, before)] == site_at(m, 1, after);
}

static bool is_alone(const matched *m, int s, uint32_t alloc)
{
    return m->match.site[s][site_at(m, s, alloc)] == MV_NO_ROW;
}

#define LENGTH(a)      (uint32_t)(sizeof(a) / sizeof(a)[0])
#define MATCH(m, a, b) match_stacks(&(m), (a), LENGTH(a), (b), LENGTH(b))
#define TORCH          "/v/lib/python3.12/site-packages/torch/"
#define OTHER_TORCH    "/opt/conda/lib/python3.11/site-packages/torch/"

Test(stack_match, moved_code_on_another_machine)
{
    static const char *const before[] = {
        "forward:" TORCH
        "nn/modules/linear.py:134;forward:/home/a/train.py:62;main:/home/a/train.py:90",
        "forward:" TORCH
        "nn/modules/linear.py:134;forward:/home/a/train.py:64;main:/home/a/train.py:90",
        "gelu:" TORCH "nn/functional.py:9;forward:/home/a/train.py:63;main:/home/a/train.py:90",
    };
    static const char *const after[] = {
        "gelu:" OTHER_TORCH
        "nn/functional.py:12;forward:/srv/b/train.py:66;main:/srv/b/train.py:95",
        "forward:" OTHER_TORCH
        "nn/modules/linear.py:116;forward:/srv/b/train.py:65;main:/srv/b/train.py:95",
        "forward:" OTHER_TORCH
        "nn/modules/linear.py:116;forward:/srv/b/train.py:67;main:/srv/b/train.py:95",
    };
    matched m;

    MATCH(m, before, after);
    cr_expect(are_partners(&m, 0, 1));
    cr_expect(are_partners(&m, 1, 2));
    cr_expect(are_partners(&m, 2, 0));
}

Test(stack_match, a_line_that_was_added_is_new)
{
    static const char *const before[] = {"f:a.py:10;main:a.py:90", "f:a.py:12;main:a.py:90"};
    static const char *const after[] = {"f:a.py:10;main:a.py:91", "h:b.py:3;f:a.py:11;main:a.py:91",
                                        "f:a.py:13;main:a.py:91"};
    matched m;

    MATCH(m, before, after);
    cr_expect(are_partners(&m, 0, 0));
    cr_expect(is_alone(&m, 1, 1));
    cr_expect(are_partners(&m, 1, 2));
}

Test(stack_match, callers_may_change)
{
    static const char *const before[] = {"f:a.py:10;main:a.py:90"};
    static const char *const after[] = {"f:a.py:10;step:a.py:50;epoch:loop.py:4;main:a.py:92"};
    matched m;

    MATCH(m, before, after);
    cr_expect(are_partners(&m, 0, 0));
}

Test(stack_match, renamed_files_and_functions_are_matched)
{
    static const char *const before[] = {"f:a.py:10;main:a.py:90", "g:a.py:20;main:a.py:91"};
    static const char *const file[] = {"f:b.py:10;main:b.py:90", "g:b.py:20;main:b.py:91"};
    static const char *const function[] = {"h:a.py:10;main:a.py:90", "g:a.py:20;main:a.py:91"};
    matched m;

    MATCH(m, before, file);
    cr_expect(are_partners(&m, 0, 0) && are_partners(&m, 1, 1));
    MATCH(m, before, function);
    cr_expect(are_partners(&m, 0, 0) && are_partners(&m, 1, 1));
}

Test(stack_match, files_of_one_name_are_reported_by_their_folders)
{
    static const char *const before[] = {"f:/a/x/utils.py:10", "f:/a/y/utils.py:10"};
    static const char *const after[] = {"f:/b/y/utils.py:10", "f:/b/x/utils.py:10"};
    matched m;

    MATCH(m, before, after);
    cr_expect(are_partners(&m, 0, 1) && are_partners(&m, 1, 0));
}

Test(stack_match, stacks_without_python_are_matched_by_function)
{
    static const char *const before[] = {"at::native::mm:??:0;MmBackward0::apply:??:0", "", NULL};
    static const char *const after[] = {NULL, "at::native::addmm:??:0;MmBackward0::apply:??:0", ""};
    matched m;

    MATCH(m, before, after);
    cr_expect(are_partners(&m, 0, 1));
    cr_expect(are_partners(&m, 1, 2));
    cr_expect(are_partners(&m, 2, 0));
}

Test(stack_match, stacks_with_nothing_in_common_are_not_matched)
{
    static const char *const before[] = {"f:a.py:10;g:a.py:20"};
    static const char *const after[] = {"x:b.py:1;y:c.py:2;z:d.py:3"};
    matched m;

    MATCH(m, before, after);
    cr_expect(is_alone(&m, 0, 0) && is_alone(&m, 1, 0));
}

/* ---- random programs --------------------------------------------------------------------- */

enum { FILES = 4, FUNCTIONS = 5, LINES = 6, STACKS = 60 };

typedef struct {
    int line[FILES][FUNCTIONS][LINES];
} program;

static void make_program(program *p, uint64_t *seed)
{
    for (int f = 0; f < FILES; f++) {
        int line = 1;
        for (int g = 0; g < FUNCTIONS; g++)
            for (int l = 0; l < LINES; l++)
                p->line[f][g][l] = line += 1 + (int)mvt_random(seed, 6);
    }
}

typedef struct {
    int depth;
    int file[6], function[6], line[6];
} call_path;

static void spell(const call_path *c, const program *p, const char *home, char *out, size_t size)
{
    size_t at = 0;

    for (int i = 0; i < c->depth; i++)
        at += (size_t)snprintf(out + at, size - at, "%sf%d:%s/m%d.py:%d", i ? ";" : "",
                               c->function[i], home, c->file[i],
                               p->line[c->file[i]][c->function[i]][c->line[i]]);
}

static void random_paths(call_path *paths, uint64_t *seed)
{
    for (int i = 0; i < STACKS; i++) {
        paths[i].depth = 1 + (int)mvt_random(seed, 6);
        for (int k = 0; k < paths[i].depth; k++) {
            paths[i].file[k] = (int)mvt_random(seed, FILES);
            paths[i].function[k] = (int)mvt_random(seed, FUNCTIONS);
            paths[i].line[k] = (int)mvt_random(seed, LINES);
        }
    }
}

/* However lines move and folders are renamed, every stack must be matched with itself. */
Test(stack_match, random_programs_find_themselves)
{
    static char text[2][STACKS][400];
    const char *stacks[2][STACKS];

    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run;
        program before;
        call_path paths[STACKS];
        matched m;
        make_program(&before, &seed);
        program after = before;
        /* Inserts lines without allocations in front of any line, and swaps functions. */
        for (int f = 0; f < FILES; f++) {
            int shift = 0, turn = mvt_random(&seed, 3) == 0 ? 2000 : 0;
            for (int g = 0; g < FUNCTIONS; g++)
                for (int l = 0; l < LINES; l++) {
                    shift += mvt_random(&seed, 4) == 0 ? (int)mvt_random(&seed, 9) : 0;
                    after.line[f][g][l] += shift + (g == 1 ? turn : 0);
                }
        }
        random_paths(paths, &seed);
        for (int i = 0; i < STACKS; i++) {
            spell(&paths[i], &before, "/home/me", text[0][i], sizeof text[0][i]);
            spell(&paths[STACKS - 1 - i], &after, "/srv/you", text[1][i], sizeof text[1][i]);
            stacks[0][i] = text[0][i];
            stacks[1][i] = text[1][i];
        }
        match_stacks(&m, stacks[0], STACKS, stacks[1], STACKS);
        for (uint32_t i = 0; i < STACKS; i++)
            cr_assert(are_partners(&m, i, STACKS - 1 - i), "run %u: %s -> %s", (unsigned)run,
                      text[0][i], text[1][STACKS - 1 - i]);
    }
}

static void expect_exchange(const matched *m, mv_arena *arena)
{
    matched back = {.trace = {m->trace[1], m->trace[0]}};

    match_all(&back, arena);
    for (int s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < m->sites[s].count; i++) {
            uint32_t partner = m->match.site[s][i];
            cr_assert_eq(back.match.site[1 - s][i], partner);
            if (partner != MV_NO_ROW)
                cr_assert_eq(m->match.site[1 - s][partner], i);
        }
        for (uint32_t i = 0; i < m->sites[s].groups; i++)
            cr_assert_eq(back.match.group[1 - s][i], m->match.group[s][i]);
    }
}

/* Stacks that have little in common: the match must still be one to one and symmetric. */
Test(stack_match, exchanged_sides_exchange_the_answer)
{
    static char text[2][STACKS][400];
    const char *stacks[2][STACKS];

    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run * 77;
        program programs[2];
        call_path paths[STACKS];
        matched m;
        for (int s = 0; s < 2; s++) {
            make_program(&programs[s], &seed);
            random_paths(paths, &seed);
            for (int i = 0; i < STACKS; i++) {
                spell(&paths[i], &programs[s], "/home/me", text[s][i], sizeof text[s][i]);
                stacks[s][i] = text[s][i];
            }
        }
        match_stacks(&m, stacks[0], STACKS, stacks[1], 1 + mvt_random(&seed, STACKS - 1));
        expect_exchange(&m, mvt_arena(m.made[0]));
    }
}

Test(stack_match, exchanged_real_snapshots_exchange_the_answer)
{
    static const char *const names[] = {"gpt_train",  "leak_in_training", "resnet_all",
                                        "annotated",  "compiled",         "mlp_train",
                                        "no_history", "two_devices"};

    for (uint32_t i = 0; i + 1 < LENGTH(names); i++) {
        mv_arena *arena = mvt_memory();
        mv_trace trace[2];
        matched m = {.trace = {&trace[0], &trace[1]}};
        trace[0] = mvt_load(arena, names[i]);
        trace[1] = mvt_load(arena, names[i + 1]);
        match_all(&m, arena);
        expect_exchange(&m, arena);
    }
}
