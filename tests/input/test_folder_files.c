/* Folders on the command line: the snapshots in them are reported, and a file that only has a
 * snapshot's name gets a message. A gate on a folder must never pass if a rank was not read. */
#include "tests/cli/fixture_runs.h"

/* One good file, and the kinds of files that folders of ranks contain in place of others. */
#define MAKE                                                                                    \
    "mkdir f; cp $SNAPS/gpt_train.pickle f/rank10.pickle; : >f/rank0.pickle; "                  \
    "echo '<!doctype html>' >f/rank1.pickle; "                                                  \
    "printf 'version https://git-lfs.github.com/spec/v1\\n' >f/rank2.msgpack; "                 \
    "printf 'PK\\3\\4\\0\\0\\10\\10archive/data.pkl' >f/rank3.bin; "                            \
    "tail -c +100 $SNAPS/gpt_train.pickle >f/rank4.pickle; : | gzip >f/rank5.pickle.gz; "       \
    "printf '\\050\\265\\057\\375' >f/rank6.bin.zst; ln -s gone.pickle f/rank7.pickle; "        \
    "mkfifo f/rank8.pickle; echo text >f/notes.txt; echo '{}' >f/config.json; : >f/.rank.bin; " \
    "mkdir f/old.pickle; : >f/model.safetensors; "

enum { BROKEN = 9 };

Test(folder_files, files_named_like_snapshots_that_are_not_are_reported)
{
    static const char *const commands[] = {
        "f",       "--json f",       "--fail-on any f",       "triage --fail-on leak f",
        "ranks f", "ranks --json f", "ranks --fail-on any f", "summarize f -o s.summary"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh(MAKE "$MEMVIZ %s", commands[i]);
        cr_expect_eq(r.status, 1, "%s: %d", commands[i], r.status);
        cr_expect_eq(mvt_count(r.err, "memviz: f/rank"), BROKEN, "%s: %s", commands[i], r.err);
        cr_expect_eq(mvt_count_lines(r.err), BROKEN, "%s: %s", commands[i], r.err);
        cr_expect(strstr(r.out, "rank10.pickle") || i == 7, "%s: %s", commands[i], r.out);
    }
}

/* Only users who may not read the file notice the difference; root may read everything. */
Test(folder_files, a_file_that_may_not_be_read_is_reported)
{
    static const char *const commands[] = {"f", "--fail-on any f", "ranks f",
                                           "ranks --fail-on leak f"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh("mkdir f; cp $SNAPS/gpt_train.pickle f/rank0.pickle; "
                           "cp $SNAPS/leak_cycle.pickle f/rank1.pickle; chmod 0 f/rank1.pickle; "
                           "drop=; test $(id -u) != 0 || "
                           "drop='setpriv --bounding-set=-dac_override,-dac_read_search'; "
                           "$drop $MEMVIZ %s",
                           commands[i]);
        cr_expect_eq(r.status, 1, "%s: %d", commands[i], r.status);
        cr_expect(strstr(r.err, "f/rank1.pickle: Permission denied"), "%s: %s", commands[i], r.err);
        cr_expect(strstr(r.out, "rank0.pickle"), "%s: %s", commands[i], r.out);
    }
}

Test(folder_files, other_files_are_omitted)
{
    static const mvt_expected_run all[] = {
        {"cp $SNAPS/graphs.pickle f/run; echo text >f/notes.txt; : >f/a.summary; "
         ": >f/.hidden.pickle; mkdir f/old.pickle; $MEMVIZ f",
         0, "f/run: snapshot", NULL},
        {"cp $SNAPS/graphs.pickle f/run; : >f/a.summary; $MEMVIZ ranks f", 1, "", "f/a.summary: "},
        {"cp $SNAPS/graphs.pickle f/run; echo '{\"hidden_size\": 8}' >f/config.json; "
         "printf '\\200\\002}q\\000X\\001\\000\\000\\000aq\\001K\\001s.' >f/args.pkl; $MEMVIZ f",
         0, "f/run: snapshot", NULL},
        {"cp $SNAPS/graphs.pickle f/run.pkl; $MEMVIZ f", 0, "f/run.pkl: snapshot", NULL},
        {"cp " MV_TESTDATA "/tools/profiler_rank3.json f; $MEMVIZ f", 0,
         "f/profiler_rank3.json: snapshot, kineto", NULL},
        {"echo text >f/notes.txt; $MEMVIZ f", 1, NULL, "f: no snapshot in this folder"},
        {": >f/rank0.pickle; $MEMVIZ f", 1, NULL, "f/rank0.pickle: byte 0: "}};

    MVT_EXPECT_RUNS("mkdir f; %s", all);
}

/* Folders of runs contain the same names, and commands that take one file do not accept a
 * folder. */
Test(folder_files, files_and_folders_are_distinguished)
{
    static const mvt_expected_run all[] = {
        {"mkdir a b; cp $SNAPS/graphs.pickle a/rank0.pickle; "
         "cp $SNAPS/leak_cycle.pickle b/rank0.pickle; $MEMVIZ --fail-on leak a b",
         3, "\nLEAK           b/rank0.pickle: ", "b/rank0.pickle: --fail-on leak: "},
        {"mkdir f; cp $SNAPS/graphs.pickle f; $MEMVIZ leaks f", 1, NULL,
         "f: this is a folder: memviz f and memviz ranks f read the snapshots in it"},
        {"$MEMVIZ leaks a.pickle b.pickle", 2, NULL,
         "leaks takes one file, so 'b.pickle' is too many: memviz FILE... and memviz ranks FILE... "
         "take several"}};

    MVT_EXPECT_RUNS("%s", all);
}
