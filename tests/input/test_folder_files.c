/* Folders on the command line: snapshots in one are reported, and files named like snapshots that
 * are not get a message. A gate over a folder never passes because a rank was not read. */
#include "tests/fixture/fixture_program.h"

/* One good file, and what folders of ranks have in place of others. */
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

static uint32_t lines_with(const char *text, const char *part)
{
    uint32_t lines = 0;

    for (const char *at = text, *end; *at; at = end + 1) {
        char line[1024];
        end = strchrnul(at, '\n');
        snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
        lines += strstr(line, part) != NULL;
        if (!*end)
            break;
    }
    return lines;
}

Test(folder_files, files_named_like_snapshots_that_are_not_are_reported)
{
    static const char *const commands[] = {
        "f",       "--json f",       "--fail-on any f",       "triage --fail-on leak f",
        "ranks f", "ranks --json f", "ranks --fail-on any f", "summarize f -o s.summary"};

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run r = mvt_sh(MAKE "$MEMVIZ %s", commands[i]);
        cr_expect_eq(r.status, 1, "%s: %d", commands[i], r.status);
        cr_expect_eq(lines_with(r.err, "memviz: f/rank"), BROKEN, "%s: %s", commands[i], r.err);
        cr_expect_eq(lines_with(r.err, ""), BROKEN, "%s: %s", commands[i], r.err);
        cr_expect(strstr(r.out, "rank10.pickle") || i == 7, "%s: %s", commands[i], r.out);
    }
}

/* Only who may not read it sees the difference, and root may read everything. */
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

Test(folder_files, other_files_are_left_out)
{
    mvt_run r = mvt_sh("mkdir f; cp $SNAPS/graphs.pickle f/run; echo text >f/notes.txt; "
                       ": >f/a.summary; : >f/.hidden.pickle; mkdir f/old.pickle; $MEMVIZ f");

    cr_expect(r.status == 0 && *r.err == 0, "%d %s", r.status, r.err);
    cr_expect(strstr(r.out, "f/run: snapshot"), "%s", r.out);
    r = mvt_sh("mkdir f; cp $SNAPS/graphs.pickle f/run; : >f/a.summary; $MEMVIZ ranks f");
    cr_expect(r.status == 1 && strstr(r.err, "f/a.summary: "), "%d %s", r.status, r.err);
    r = mvt_sh("mkdir f; echo text >f/notes.txt; $MEMVIZ f");
    cr_expect(r.status == 1 && strstr(r.err, "f: no snapshot in this folder"), "%s", r.err);
    r = mvt_sh("mkdir f; : >f/rank0.pickle; $MEMVIZ f");
    cr_expect(r.status == 1 && strstr(r.err, "f/rank0.pickle: byte 0: "), "%s", r.err);
}

/* Folders of runs have the same names in them. */
Test(folder_files, files_of_one_name_are_distinguished)
{
    mvt_run r = mvt_sh("mkdir a b; cp $SNAPS/graphs.pickle a/rank0.pickle; "
                       "cp $SNAPS/leak_cycle.pickle b/rank0.pickle; "
                       "$MEMVIZ --fail-on leak a b");

    cr_expect_eq(r.status, 3, "%d", r.status);
    cr_expect(strstr(r.out, "\nLEAK           b/rank0.pickle: "), "%s", r.out);
    cr_expect(strstr(r.err, "b/rank0.pickle: --fail-on leak: "), "%s", r.err);
}

Test(folder_files, a_command_for_one_file_names_the_commands_for_folders)
{
    mvt_run r = mvt_sh("mkdir f; cp $SNAPS/graphs.pickle f; $MEMVIZ leaks f");

    cr_expect_eq(r.status, 1);
    cr_expect(strstr(r.err, "f: this is a folder: memviz f and memviz ranks f read the snapshots "
                            "in it"),
              "%s", r.err);
    r = mvt_sh("$MEMVIZ leaks a.pickle b.pickle");
    cr_expect_eq(r.status, 2);
    cr_expect(strstr(r.err, "leaks takes one file, so 'b.pickle' is too many: memviz FILE... and "
                            "memviz ranks FILE... take several"),
              "%s", r.err);
}
