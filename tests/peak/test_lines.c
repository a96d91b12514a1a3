/* The line profile, compared with a line-by-line count, and the report on it. */
#include "analyze/lives/alive.h"
#include "analyze/peak/lines.h"
#include "analyze/totals/totals.h"
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"
#include "tests/fixture/fixture_training.h"

typedef struct {
    const mv_trace *trace;
    mv_lives lives;
    mv_window window;
    mv_lines found;
} run;

static run run_of(mvt_trace *t, uint32_t first, uint32_t end)
{
    run r = {.trace = mvt_done(t)};

    r.lives = mvt_lives(mvt_arena(t), r.trace, 0);
    r.window = (mv_window){first, end < r.lives.events.count ? end : r.lives.events.count};
    mvt_ok(mv_lines_find(mvt_arena(t), r.trace, &r.lives, mv_frame_kinds(mvt_arena(t), r.trace),
                         r.window, &r.found, mvt_err()));
    return r;
}

static bool is_of(const run *r, uint32_t alloc, const mv_line *line)
{
    mv_stack_id stack = r->lives.allocs.stack[alloc];

    return mv_culprit_frame(r->trace, NULL, stack).row == line->frame.row &&
           (line->frame.row != MV_NO_ROW ||
            (stack.row == MV_NO_ROW) == (line->stack.row == MV_NO_ROW));
}

static uint64_t slow_bytes(const run *r, const mv_line *line, uint32_t event)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < r->lives.allocs.count; i++)
        if (mv_alloc_is_allocated(&r->lives, i, event) && is_of(r, i, line))
            bytes += r->lives.allocs.block[i];
    return bytes;
}

/* Several lines, an empty stack and no stack. */
static mvt_trace *random_lines(uint64_t random)
{
    static const char *const stacks[] = {"f:/w/a.py:1;main:/w/a.py:9", "g:/w/a.py:2", "", NULL,
                                         "h:/w/b.py:3;main:/w/a.py:9"};
    mvt_trace *t = mvt_new();
    uint64_t held[16] = {0};

    for (uint32_t i = 0; i < 100; i++) {
        uint32_t slot = mvt_random(&random, 16);
        if (held[slot]) {
            mvt_free(t, .addr = held[slot]);
            held[slot] = 0;
            continue;
        }
        held[slot] = 0x100000 * (slot + 1);
        mvt_alloc(t, .addr = held[slot], .bytes = 1 + mvt_random(&random, 9000),
                  .stack = stacks[mvt_random(&random, 5)]);
    }
    return t;
}

Test(lines, lines_equal_a_count_line_by_line_on_random_traces)
{
    for (uint32_t seed = 1; seed <= 10; seed++) {
        run r = run_of(random_lines(seed), seed % 2 ? 0 : 30, seed % 3 ? UINT32_MAX : 70);

        cr_expect_geq(r.found.count, 4);
        for (uint32_t i = 0; i < r.found.count; i++) {
            const mv_line *line = &r.found.lines[i];
            uint32_t before = r.window.first - 1, peak_event = before;
            uint64_t peak = slow_bytes(&r, line, before), total = 0;
            for (uint32_t e = r.window.first; e < r.window.end; e++)
                if (slow_bytes(&r, line, e) > peak) {
                    peak = slow_bytes(&r, line, e);
                    peak_event = e;
                }
            for (uint32_t j = 0; j < r.lives.allocs.count; j++) {
                uint32_t birth = r.lives.allocs.birth[j];
                if (birth >= r.window.first && birth < r.window.end && is_of(&r, j, line))
                    total += r.lives.allocs.block[j];
            }
            cr_expect_eq(line->peak, peak);
            cr_expect_eq(line->peak_event, peak_event);
            cr_expect_eq(line->total, total);
            cr_expect_eq(line->start, slow_bytes(&r, line, before));
            cr_expect_eq(line->live, slow_bytes(&r, line, r.window.end - 1));
            cr_expect_eq(line->start + line->total - line->freed, line->live);
            cr_expect(i == 0 || r.found.lines[i].peak <= r.found.lines[i - 1].peak);
        }
    }
}

static void check_snapshot(const mv_trace *trace, const char *name)
{
    const uint8_t *kinds = mv_frame_kinds(mvt_memory(), trace);

    for (uint32_t d = 0; d < mv_trace_devices(trace); d++) {
        uint64_t total = 0, freed = 0, live = 0, start = 0;
        mv_totals totals;
        mv_lines found;
        mv_lives lives = mvt_lives(mvt_memory(), trace, d);

        mvt_ok(mv_totals_find(mvt_memory(), trace, &lives, &totals, mvt_err()));
        mvt_ok(mv_lines_find(mvt_memory(), trace, &lives, kinds, (mv_window){0, lives.events.count},
                             &found, mvt_err()));
        for (uint32_t i = 0; i < found.count; i++) {
            total += found.lines[i].total;
            freed += found.lines[i].freed;
            live += found.lines[i].live;
            start += found.lines[i].start;
            cr_expect_leq(found.lines[i].active, totals.peak.bytes.active, "%s", name);
            cr_expect_leq(found.lines[i].reserved, totals.peak.bytes.reserved, "%s", name);
        }
        cr_expect_eq(live, totals.current.bytes.allocated - (uint64_t)totals.audit.residual, "%s",
                     name);
        cr_expect_eq(start + total - freed, live, "%s", name);
    }
}

EachSnapshot(lines, lines_add_up_on_every_snapshot, check_snapshot);

/* The source as it was when the program ran. In testdata its first line is missing. */
#define THAT  "sed 1i# $SNAPS/train.py >that.py;"
#define LINES "$MEMVIZ lines --source . $SNAPS/gpt_train.pickle"

/* A file that evidently differs from the program that ran is shown with a warning, one per file. */
LongTest(lines, source_of_another_version_is_shown_with_a_warning)
{
    static const mvt_expected_run all[] = {
        {THAT "cp that.py train.py; " LINES, 0, "", NULL},
        {"cp $SNAPS/train.py .; " LINES, 0, "",
         "train.py: the source is another version: line 62, named by the recording, is not in "
         "forward()"},
        {THAT "head -n 60 that.py >train.py; " LINES, 0, "",
         "it has 60 lines, and the recording names line 75"},
        {THAT "sed '75s/.*//' that.py >train.py; " LINES, 0, "",
         "line 75, named by the recording, has no code"},
        {THAT "sed 's/def train_step/def another_step/' that.py >train.py; " LINES, 0, "",
         "line 75, named by the recording, is not in train_step()"},
        {"seq 1 200 >train.py; " LINES " 2>&1 >/dev/null | wc -l", 0, "1\n", NULL},
        {"seq 1 200 >train.py; " LINES " --json", 0, "\"source_differs\":true", ""},
        {"$MEMVIZ lines --source nowhere $SNAPS/gpt_train.pickle", 1, NULL,
         "nowhere: No such file or directory"},
        {"$MEMVIZ lines --source $SNAPS/train.py $SNAPS/gpt_train.pickle", 1, NULL,
         "not a folder"}};

    MVT_EXPECT_RUNS("%s", all);
}

/* A file that a snapshot names is shown only if it is an ordinary file below the folder. */
Test(lines, source_is_read_only_below_the_folder)
{
    static const mvt_expected_run all[] = {
        {"mkdir workspace; seq 1 200 >workspace/train.py; " LINES, 0,
         "train.py:75 train_step           75\n", ""},
        {"seq 1 200 | sed 's/^/\t line /' >train.py; " LINES, 0,
         "train.py:75 train_step           line 75\n", ""},
        {"seq 1 200 >train.py; " LINES " --json", 0, "\"source\":\"75\"", ""},
        {"mkfifo train.py; " LINES " >with; rm train.py; " LINES " | diff with -", 0, NULL, ""}};

    MVT_EXPECT_RUNS("%s", all);
}
