/* memviz convert: the contents survive conversion to another format and back. */
#include "tests/cli/fixture_runs.h"
#include "tests/fixture/fixture_json.h"

static const char *const snapshots[] = {
    "annotated.pickle",    "compiled.pickle",   "expandable_empty.pickle", "graphs.pickle",
    "late_start.pickle",   "leak_cycle.pickle", "mempool.pickle",          "no_history.pickle",
    "oom.pickle",          "ring.pickle",       "two_devices.pickle",      "streams.pickle",
    "whatif_0.pickle.zst",
};

LongTest(convert, every_format_keeps_the_dump)
{
    for (unsigned i = 0; i < sizeof snapshots / sizeof *snapshots; i++) {
        mvt_run r = mvt_sh("set -e; in=$SNAPS/%s; $MEMVIZ dump $in >plain; "
                           "$MEMVIZ dump --calls $in >full; test -s plain;"
                           "$MEMVIZ convert -q $in a.bin; $MEMVIZ dump --calls a.bin | cmp - full;"
                           "$MEMVIZ convert -q a.bin b.msgpack;"
                           "$MEMVIZ dump b.msgpack | cmp - plain;"
                           "$MEMVIZ convert -q b.msgpack b.bin; $MEMVIZ dump b.bin | cmp - plain",
                           snapshots[i]);

        cr_expect_eq(r.status, 0, "%s: %s%s", snapshots[i], r.out, r.err);
    }
}

/* The plain format must be exactly the tree that Python packs, if Python's msgpack is installed. */
Test(convert, plain_equals_the_output_of_python)
{
    static const char program[] =
        "import msgpack, pickle, sys; s = pickle.load(open(sys.argv[1], 'rb')); "
        "r = msgpack.unpackb(open('x.msgpack', 'rb').read(), strict_map_key=False); "
        "open('py.msgpack', 'wb').write(msgpack.packb(s)); "
        "assert r == msgpack.unpackb(msgpack.packb(s))";
    mvt_run have = mvt_sh("/usr/bin/python3 -c 'import msgpack'");

    for (unsigned i = 0; have.status == 0 && i < sizeof snapshots / sizeof *snapshots; i++) {
        if (strstr(snapshots[i], ".zst"))
            continue;
        mvt_run r = mvt_sh("set -e; in=$SNAPS/%s; $MEMVIZ convert -q $in x.msgpack;"
                           "/usr/bin/python3 -c \"%s\" $in; $MEMVIZ dump $in >a;"
                           "$MEMVIZ dump py.msgpack | cmp - a",
                           snapshots[i], program);
        cr_expect_eq(r.status, 0, "%s: %s%s", snapshots[i], r.out, r.err);
    }
}

Test(convert, conversion_reports_its_actions)
{
    static const mvt_expected_run all[] = {
        {"$SNAPS/gpt_train.pickle x.bin", 0, "x.bin: 6562 events, 577 KiB to ", ""},
        {"-q $SNAPS/gpt_train.pickle x.bin", 0, NULL, ""}};
    cJSON *report = mvt_json(0, "$MEMVIZ convert --json $SNAPS/gpt_train.pickle x.bin");

    mvt_json_has(report, "events bytes_in bytes_out");
    cr_expect_eq(mvt_json_number(report, "events"), 6562);
    cr_expect_eq(mvt_json_number(report, "bytes_in"), 590795);
    cr_expect_lt(mvt_json_number(report, "bytes_out"), 590795 / 10);
    cr_expect_gt(mvt_json_number(report, "bytes_out"), 0);
    MVT_EXPECT_RUNS("$MEMVIZ convert %s", all);
}

/* Events belong to one call if they share a stack object, but msgpack does not store which events
 * share one. A log with missing events counts as complete once its note is lost. */
Test(convert, losses_of_the_plain_form_are_reported)
{
    static const mvt_expected_run all[] = {
        {"$MEMVIZ convert --plain $SNAPS/oom.pickle x.msgpack", 0, "",
         "memviz: x.msgpack: PyTorch's dict has no place for "},
        {NULL, 0, NULL, " allocator calls with several rows; .bin keeps them\n"},
        {"$MEMVIZ convert -q $SNAPS/oom.pickle x.msgpack; $MEMVIZ convert x.msgpack y.msgpack", 0,
         "", NULL},
        {"$MEMVIZ convert " MV_TESTDATA "/tools/rmm_glued.csv x.msgpack", 0, "",
         ", 4 notes about damaged or missing events; .bin keeps them"}};

    MVT_EXPECT_RUNS("%s", all);
}

Test(convert, names_without_a_known_ending_are_refused)
{
    static const mvt_expected_run all[] = {
        {"$SNAPS/oom.pickle x.pickle", 2, NULL, "pickles can be read but not written"},
        {"$SNAPS/oom.pickle x.pkl", 2, NULL, "pickles can be read but not written"},
        {"$SNAPS/oom.pickle x.json", 2, NULL, "must end in .bin, .msgpack or .html"},
        {"$SNAPS/oom.pickle .bin", 2, NULL, "must end in .bin, .msgpack or .html"},
        {"$SNAPS/oom.pickle -", 2, NULL, "must end in .bin, .msgpack or .html"}};

    MVT_EXPECT_RUNS("$MEMVIZ convert %s; status=$?; ls; exit $status", all);
}

Test(convert, a_failed_conversion_leaves_no_file)
{
    static const mvt_expected_run all[] = {{"head -c 5000 $SNAPS/oom.pickle >cut; $MEMVIZ convert "
                                            "cut x.bin; s=$?; rm cut; ls; exit $s",
                                            1, NULL, "memviz: cut: byte 5000: "},
                                           {"$MEMVIZ convert $SNAPS/oom.pickle no/such/x.bin", 1,
                                            NULL, "memviz: cannot write no/such/x.bin: "}};

    MVT_EXPECT_RUNS("%s", all);
}

/* The whole input is read before the output replaces it. */
Test(convert, a_file_is_not_converted_in_place)
{
    mvt_run r = mvt_sh("$MEMVIZ convert -q - x.bin <$SNAPS/oom.pickle; cp x.bin y.bin;"
                       "$MEMVIZ convert -q x.bin x.bin; s=$?; cmp x.bin y.bin; $MEMVIZ dump x.bin;"
                       "exit $s");

    cr_expect_eq(r.status, 2, "%s", r.err);
    cr_expect(strstr(r.err, "x.bin is the input"), "%s", r.err);
    cr_expect(strstr(r.out, "memviz dump 1\n") == r.out);
}

/* The layout of a container is printed even when its contents cannot be read. */
LongTest(convert, chunks_are_listed)
{
    mvt_run r = mvt_sh("$MEMVIZ convert -q $SNAPS/oom.pickle x.bin; $MEMVIZ dump --chunks x.bin");

    cr_expect_eq(r.status, 0);
    cr_expect(strstr(r.out, "header version 1 features 0 hash good"), "%s", r.out);
    cr_expect(strstr(r.out, "events         device 0 rows 0 to 58 of 58"), "%s", r.out);
    cr_expect(strstr(r.out, "footer index_at"), "%s", r.out);
    cr_expect(!strstr(r.out, "BAD") && !strstr(r.out, "outside chunks"), "%s", r.out);
    r = mvt_sh("$MEMVIZ convert -q $SNAPS/oom.pickle x.bin; for at in 0 9 30 100 700 1500; do "
               "cp x.bin y.bin; printf '\\377\\376' | "
               "dd of=y.bin bs=1 seek=$at conv=notrunc status=none; "
               "$MEMVIZ dump --chunks y.bin || echo refused; done; "
               "for n in 23 24 80 1000 1501; do head -c $n x.bin | $MEMVIZ dump --chunks - "
               "|| echo refused; done");
    cr_expect(strstr(r.out, "BAD") && strstr(r.out, "outside chunks") && strstr(r.out, "cut after"),
              "%s", r.out);
    cr_expect(strstr(r.err, "memviz: y.bin: byte 0: not a memviz container"), "%s", r.err);
}
