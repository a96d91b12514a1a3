/* Tensor names, and a torch.profiler trace alongside a snapshot, as commands show them. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"

#define TOOLS "$SNAPS/../tools/"
#define PAIR  TOOLS "pair.pickle.gz"
#define TRACE TOOLS "pair.json.gz"
#define NAMES TOOLS "names.pickle.gz"

/* These are GPU recordings, in which every block of the profiler's trace is in the snapshot. */
Test(with, a_real_pair_is_joined_in_each_report)
{
    static const char *const commands[] = {"peak", "lines", "leaks", "trace"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        const cJSON *with = mvt_member(
            mvt_json_here(0, "$MEMVIZ %s -q --json --with " TRACE " " PAIR, commands[i]), "with");
        cr_expect_eq(mvt_json_number(with, "events"), 214, "%s", commands[i]);
        cr_expect_eq(mvt_json_number(with, "matched"), 214);
        cr_expect_eq(mvt_json_number(with, "operators"), 214);
        cr_expect_eq(mvt_json_number(with, "outside"), 0);
        cr_expect_null(cJSON_GetObjectItemCaseSensitive(
            mvt_json_here(0, "$MEMVIZ %s --json " PAIR, commands[i]), "with"));
    }
}

Test(with, blocks_show_their_operators)
{
    mvt_run r = mvt_here("$MEMVIZ peak --with " TRACE " " PAIR);

    cr_expect(strstr(r.out, "backward pass (autograd thread) \xc2\xb7 aten::mm [512,256]x[256,512] "
                            "f32"),
              "%s", r.out);
    cr_expect(strstr(r.err, "214 of 214 allocations are in the snapshot, 214 of them with their "
                            "operator; 0 are before or after it"),
              "%s", r.err);
    r = mvt_here("$MEMVIZ peak -q --with " TRACE " " PAIR);
    cr_expect_str_eq(r.err, "");
}

Test(with, other_files_are_refused_by_name)
{
    static const mvt_expected_run all[] = {
        {TRACE " " NAMES, 1, NULL, "pair.json.gz: it is from another run: "},
        {NAMES " " PAIR, 1, NULL,
         "names.pickle.gz: not a format that memviz reads: --with takes a trace of "
         "torch.profiler (JSON), and this is a pickle"},
        {TRACE " " TRACE, 1, NULL, "pair.json.gz: is a trace of torch.profiler"},
        {"nothing.json " PAIR, 1, NULL, "nothing.json: "},
    };

    MVT_EXPECT_RUNS("$MEMVIZ peak --with %s", all);
}

Test(with, a_site_has_its_tensors)
{
    const cJSON *report = mvt_json_here(0, "$MEMVIZ peak --json " NAMES), *site;
    double parameters = 0;

    cJSON_ArrayForEach(site, mvt_member(report, "sites")) {
        double named = mvt_json_sum(mvt_member(site, "tensors"), "bytes");
        cr_expect_leq(named, mvt_json_number(site, "bytes"));
        if (strcmp(mvt_json_text(site, "category"), "parameter") == 0)
            parameters += named;
    }
    /* The number of floats: 8192*512 for the embedding and for the head, 6 blocks, and the last
     * norm. */
    cr_expect_eq(parameters, 4 * (2 * 8192 * 512 + 6 * (12 * 512 * 512 + 13 * 512) + 2 * 512));
}

Test(with, modules_add_up)
{
    const cJSON *report = mvt_json_here(0, "$MEMVIZ memory --json --by module " NAMES);
    const cJSON *device = mvt_member(report, "devices.0"), *row;
    double first = 0, blocks = 0;

    cr_expect_str_eq(mvt_json_text(device, "by"), "module");
    cJSON_ArrayForEach(row, mvt_member(device, "tree"))
        if (mvt_json_number(row, "depth") == 1) {
            first += mvt_json_number(row, "bytes");
            blocks += mvt_json_number(row, "blocks");
        }
    cr_expect_eq(first, mvt_json_number(device, "bytes"));
    cr_expect_eq(first, mvt_json_number(device, "at.allocated"));
    cr_expect_eq(blocks, 309);
}

Test(with, a_file_without_names_explains_how_to_record_them)
{
    mvt_run r = mvt_here("$MEMVIZ memory --by module $SNAPS/gpt_train.pickle");

    cr_expect(strstr(r.out, "the file has no tensor names"), "%s", r.out);
    r = mvt_here("$MEMVIZ peak $SNAPS/gpt_train.pickle");
    cr_expect_null(strstr(r.out, "with a name"), "%s", r.out);
}

/* Names appear in every format. */
Test(with, conversions_keep_the_names)
{
    mvt_prints("set -e; $MEMVIZ dump " NAMES " | sed -n '/^tensors/,/^annotations/p' >want; "
               "grep -q 'AdamW exp_avg_sq' want; $MEMVIZ convert -q " NAMES " a.bin; "
               "$MEMVIZ convert -q a.bin a.msgpack; "
               "$MEMVIZ convert -q a.msgpack b.bin; "
               "for f in a.bin a.msgpack b.bin; do $MEMVIZ dump $f | "
               "sed -n '/^tensors/,/^annotations/p' | cmp - want; done",
               0, "");
}
