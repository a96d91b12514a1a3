/* --filter and --top for the commands that draw. test_filter.c checks what matches;
 * test_timeline.c, test_flame.c and test_state.c check the drawings. */

#include "tests/fixture/fixture_json.h"

/* Adds up the numbers after the last blank of each line that contains a text. */
static uint64_t sum_folded(const char *text, const char *with)
{
    uint64_t sum = 0;

    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n'), *at = end, *found = strstr(line, with);
        cr_assert(end, "the last line ends");
        while (at > line && at[-1] != ' ')
            at--;
        if (found && found < end)
            sum += strtoull(at, NULL, 10);
        line = end + 1;
    }
    return sum;
}

static uint64_t folded(const char *command, const char *with)
{
    mvt_run r = mvt_here_or_sh("$MEMVIZ %s --at peak $SNAPS/gpt_train.pickle -o -", command);
    uint64_t sum = sum_folded(r.out, with);

    cr_assert_eq(r.status, 0, "%s", r.err);
    return sum;
}

LongTest(filter_option, parts_add_up_to_the_whole)
{
    uint64_t all = folded("memory", ""), held = folded("segments", "");

    cr_assert_gt(all, 0);
    cr_expect_eq(folded("memory --filter forward", "") + folded("memory --filter -forward", ""),
                 all);
    cr_expect_eq(folded("memory --filter 'size>1M -leak'", "forward") +
                     folded("memory --filter 'size<=1M'", "forward"),
                 folded("memory", "forward"));
    cr_expect_eq(folded("memory --top 3", ""), all);
    cr_expect_eq(folded("segments --filter forward", ""), held);
    cr_expect_eq(folded("segments --filter forward", "(other allocations)"),
                 folded("memory --filter -forward", ""));
    cr_expect_eq(folded("segments --filter forward", "(allocated)"),
                 folded("memory --filter forward", ""));
    cr_expect_eq(folded("segments --top 5", ""), held);
}

LongTest(filter_option, wrong_words_are_wrong_usage)
{
    static const char *const commands[] = {"trace_plot", "segment_plot", "segment_plot --at end",
                                           "memory", "segments"};
    static const struct {
        const char *option, *why;
    } wrong[] = {
        {"--filter 'a size>'", "--filter: at character 8: expected bytes after size"},
        {"--filter '/a'", "--filter: at character 1: "},
        {"--filter 'cat:x'", "--filter: at character 5: "},
        {"--top 0", "--top 0: expected N"},
        {"--top x", "--top x: expected N"},
    };

    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            mvt_run r = mvt_sh("$MEMVIZ %s %s $SNAPS/oom.pickle -o x.svg; s=$?; ls; exit $s",
                               commands[c], wrong[i].option);
            cr_expect_eq(r.status, 2, "%s %s: %d", commands[c], wrong[i].option, r.status);
            cr_expect(strstr(r.err, wrong[i].why), "%s: %s", commands[c], r.err);
            cr_expect_str_eq(r.out, "");
        }
}

LongTest(filter_option, pictures_describe_their_contents)
{
    static const struct {
        const char *command, *says;
    } all[] = {
        {"trace_plot --filter forward", "only forward: 514 of 2,434 allocations, 554 MiB (46.8 %) "
                                        "of the peak of 1.15 GiB"},
        {"trace_plot --top 50", "the 50 largest of 2,434 allocations separately"},
        {"trace_plot --filter nothing_has_this",
         "only nothing_has_this: none of the 2,434 allocations matches"},
        {"memory --at peak --filter forward", " of 421 blocks, 554 MiB (46.8 %) of "
                                              "the allocated 1.15 GiB"},
        {"segments --at peak --filter forward", "other allocations"},
        {"segments --at peak --top 5", "other allocations"},
        {"memory --at peak --top 5", "other allocations"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_run r =
            mvt_sh("$MEMVIZ %s $SNAPS/gpt_train.pickle -o x.svg >&2; cat x.svg", all[i].command);
        cr_expect(strstr(r.out, all[i].says), "%s does not say %s", all[i].command, all[i].says);
    }
}

Test(filter_option, the_report_counts_matches)
{
    cJSON *report = mvt_json(0, "$MEMVIZ trace_plot --json --filter 'forward' "
                                "$SNAPS/gpt_train.pickle -o x.svg");

    mvt_json_has(report, "written events drawn matches");
    cr_expect_eq(mvt_json_number(report, "matches"), 514);
}
