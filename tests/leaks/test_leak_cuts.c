/* Verdicts on recordings that end at any point: there must be no false alarm, and no leak may be
 * missed from its sixth step on. */
#include "tests/leaks/fixture_leak_cuts.h"

#include "analyze/lives/lives_window.h"
#include "tests/fixture/fixture_program.h"
#include "tests/leaks/fixture_leaks.h"

#include <dirent.h>

/* Number of cuts for each recording; scripts/test-cuts makes 200. */
enum { CUTS = 25 };

/* Windows of a recording begin and end at this many points. Shorter windows are skipped. */
enum { WINDOWS = 12, LEAST_EVENTS = 100 };

/* Buffers grow until they are full, and piles grow until they are first freed. A recording that
 * ends before that is reported as a leak. */
static bool fills_for_a_while(const char *name)
{
    static const char *const names[] = {"filled_buffer",  "first_epoch_cache", "replay_buffer",
                                        "emptied_lists",  "episodes",          "garbage",
                                        "garbage_native", "garbage_by_hand"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void evaluate(const char *folder, const char *name)
{
    mv_arena *arena = mvt_arena_of((uint64_t)2 << 30);
    mv_trace trace = mvt_load(arena, mvt_format("../%s/%s", folder, name));

    for (uint32_t d = 0; d < mv_trace_devices(&trace); d++) {
        mvt_leak_cuts c;

        mvt_ok(mvt_leak_cuts_find(arena->budget, &trace, d, CUTS, NULL, &c, mvt_err()));
        cr_expect_eq(c.rising, 0, "%s: %u cuts are clean though the floor rises", name, c.rising);
        if (c.verdict == MV_VERDICT_LEAK) {
            /* If all sizes differ, only a seventh step can distinguish a leak from a cache that has
             * an entry for each shape. */
            uint32_t late = strcmp(name, "varying_logits") == 0 ? CUTS / 12 : 0;
            cr_expect_leq(c.missed, late, "%s: %u of %u", name, c.missed, c.cuts_due);
            cr_expect_eq(c.misnamed, 0, "%s: %u of %u", name, c.misnamed, c.cuts_due);
        } else if (!fills_for_a_while(name)) {
            cr_expect_eq(c.leak, 0, "%s: a leak at event %u", name, c.first_leak);
        }
    }
    mv_arena_release(arena);
}

/* A window of less than three steps shows no habits. If a block born in it is alive at its end, the
 * verdict on a leaking run must not be clean, however low the floor ends. */
static void evaluate_windows(const mv_trace *trace, const mv_lives *whole, const char *name)
{
    for (uint32_t first = 0; first < WINDOWS; first++)
        for (uint32_t end = first + 1; end <= WINDOWS; end++) {
            mv_arena arena;
            mv_lives lives;
            mv_leaks found;
            mv_window window = {whole->events.count / WINDOWS * first,
                                whole->events.count / WINDOWS * end};

            if (window.end - window.first < LEAST_EVENTS)
                continue;
            mv_arena_init(&arena, mvt_memory()->budget);
            mvt_ok(mv_lives_within(&arena, whole, window, &lives, mvt_err()));
            mvt_ok(mv_leaks_find(&arena, trace, &lives, &found, mvt_err()));
            cr_expect(found.verdict != MV_VERDICT_CLEAN || found.steps.count >= 3 ||
                          found.retained_bytes == found.preexisting_bytes,
                      "%s from %u to %u: %s", name, window.first, window.end, found.why);
            mv_arena_release(&arena);
        }
}

/* A block that is replaced with a larger one in each step is a leak from the sixth step on. Before
 * that there are too few steps for a verdict, so it is unknown, not clean. */
Test(leak_cuts, a_block_that_grows_is_not_clean_in_few_steps)
{
    mvt_run run;

    for (int k = 4; k <= 8; k++) {
        run =
            mvt_sh("$MEMVIZ leaks --fail-on leak --to '@Optimizer.step#AdamW.step#%d' " MV_TESTDATA
                   "/leaks/cat_in_training.pickle.zst | tr -s '\n ' '  '",
                   k);
        if (k <= 6)
            cr_expect(strstr(run.out, "unknown: memory was kept in several steps, but too few to "
                                      "distinguish growth"),
                      "%d: %s", k, run.out);
        else
            cr_expect(strstr(run.out, "LEAK record.py:374 cat_in_training"), "%d: %s", k, run.out);
    }
}

/* In each step one block replaces the previous one and is larger by `kept` times 512 bytes, while
 * temporary memory grows by `batch` MiB. There is no optimizer or backward pass in between. */
static mv_leak_verdict few_steps(uint32_t steps, uint64_t kept, uint64_t batch)
{
    static const uint64_t place[] = {0x18000000, 0x1c000000};
    mvt_trace *t = mvt_run_new();

    for (uint32_t i = 0; i < steps; i++) {
        mvt_alloc(t, .addr = place[i % 2], .bytes = 512 * (1 + kept * i),
                  .stack = "collect:train.py:9;main:train.py:1");
        if (i > 0)
            mvt_free(t, .addr = place[1 - i % 2]);
        mvt_alloc(t, .addr = 0x20000000, .bytes = (8 + batch * i) << 20,
                  .stack = "step:train.py:5;main:train.py:1");
        mvt_free(t, .addr = 0x20000000);
        mvt_annotate(t, "Optimizer.step#SGD.step", true, 0);
    }
    return mvt_leaks_of_run(t).verdict;
}

/* Memory that grows with the amount of work in the steps is their input. Memory that stays constant
 * does not grow. */
Test(leak_cuts, inputs_of_few_steps_that_become_longer_stay_clean)
{
    for (uint32_t steps = 3; steps <= 5; steps++) {
        cr_expect_eq(few_steps(steps, 1, 0), MV_VERDICT_UNKNOWN, "%u", steps);
        cr_expect_eq(few_steps(steps, 1, 1), MV_VERDICT_CLEAN, "%u", steps);
        cr_expect_eq(few_steps(steps, 0, 0), MV_VERDICT_CLEAN, "%u", steps);
    }
}

LongTest(leak_cuts, windows_of_few_steps_are_not_clean_because_activations_are_freed)
{
    static const char *const names[] = {
        "../midway/unet-leakcut8",   "../leaks/resnet_hook", "../leaks/hf_logits",
        "../leaks/lightning_losses", "leak_loss_list",       "leak_hidden_state",
        "leak_in_training",          "eval_without_no_grad",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mv_arena *arena = mvt_memory();
        mv_trace trace = mvt_load(arena, names[i]);
        mv_lives lives = mvt_lives(arena, &trace, 0);

        evaluate_windows(&trace, &lives, names[i]);
    }
}

static void evaluate_folder(const char *folder)
{
    DIR *entries = opendir(mvt_format("%s/%s", MV_TESTDATA, folder));
    unsigned count = 0;

    cr_assert_not_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        const char *ending = strstr(entry->d_name, ".pickle");

        if (!ending)
            continue;
        const char *name = mvt_format("%.*s", (int)(ending - entry->d_name), entry->d_name);
        evaluate(folder, name);
        count++;
    }
    closedir(entries);
    cr_assert_geq(count, 10);
}

LongTest(leak_cuts, training_and_generation_have_no_false_alarm)
{
    evaluate_folder("snapshots");
}

LongTest(leak_cuts, runs_with_leaks_are_named_from_the_sixth_step_on)
{
    evaluate_folder("leaks");
}

LongTest(leak_cuts, runs_that_end_in_the_middle_get_the_right_verdict)
{
    evaluate_folder("midway");
}
