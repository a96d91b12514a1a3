/* If the final heap contradicts the events, each report on live memory must say so. */
#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_json.h"

/* The events leave a block of 2 MiB. In the final heap, either everything is free, or the block is
 * there. */
static const char *file_of(bool is_free)
{
    mvt_trace *t = mvt_new();

    mvt_segment_alloc(t, .addr = 0x200000, .bytes = 20 << 20);
    mvt_alloc(t, .addr = 0x200000, .bytes = 2 << 20, .stack = "f:a.py:1");
    mvt_segment(t, .addr = 0x200000, .bytes = 20 << 20);
    mvt_block(t, .bytes = 2 << 20, .state = is_free ? MV_BLOCK_INACTIVE : MV_BLOCK_ALLOCATED);
    mvt_block(t, .bytes = 18 << 20);
    return mvt_temp_file(mvt_pickle_bytes(t, false));
}

static void expect(const char *command, bool is_free)
{
    const char *file = file_of(is_free);
    mvt_run run = mvt_here_or_sh("$MEMVIZ %s %s", command, file);
    const cJSON *json = mvt_json(0, "$MEMVIZ %s --json %s", command, file);
    bool is_said =
        strstr(run.out, "\n  the final heap holds 2.00 MiB less than the events account for\n") !=
        NULL;

    cr_expect_eq(is_said, is_free, "%s: %s", command, run.out);
    cr_expect_eq(mvt_json_number(json, "devices.0.residual"), is_free ? -(2 << 20) : 0, "%s",
                 command);
}

Test(residual, a_residual_is_noted_by_each_report_of_live_blocks)
{
    static const char *const commands[] = {"leaks", "memory", "lines", "peak --at end"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        expect(commands[i], true);
        expect(commands[i], false);
    }
}

Test(residual, a_replay_of_events_that_lead_elsewhere_is_not_exact)
{
    for (int is_free = 0; is_free < 2; is_free++) {
        const cJSON *json = mvt_json(0, "$MEMVIZ whatif --json %s", file_of(is_free));
        const char *why = mvt_json_text(json, "fidelity.trust_why");

        cr_expect_str_eq(mvt_json_text(json, "fidelity.trust"), is_free ? "fair" : "exact");
        cr_expect_str_eq(why, is_free
                                  ? "the final heap holds 2.00 MiB less than the events account for"
                                  : "every recorded event is predicted");
    }
}
