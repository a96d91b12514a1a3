/* A recorded program and its launcher must not harm programs that run next to them, and must not be
 * harmed by them (tests/programs/bystander.c). */
#include "tests/fixture/fixture_program.h"

/* $MEMVIZ_STATUS names a descriptor that belongs to another process. */
static void expect_unchanged(const char *file, const char *word)
{
    mvt_run r = mvt_sh("%s; exec 3<>db; export MEMVIZ_OUT=$PWD/a LD_PRELOAD=" MV_SHIM
                       " MEMVIZ_STATUS=/proc/$$/fd/3%s; /bin/true; " MV_MARKING
                       " mark a; unset LD_PRELOAD; head -c 4096 <&3 | tr -d '\\0' | wc -c",
                       file, word);

    cr_expect_str_eq(r.out, "0\n", "%s %s: %s", file, word, r.err);
    cr_expect_eq(r.status, 0);
}

Test(bystanders, a_file_of_another_process_is_not_written_to)
{
    expect_unchanged("truncate -s 8192 db", "");
    expect_unchanged("truncate -s 8192 db", ":0");
    expect_unchanged("truncate -s 4096 db", ":0000000000000000");
}

/* The file has no name, like the launcher's page, but it does not begin with the page's magic
 * word. */
Test(bystanders, a_nameless_file_of_another_process_is_not_written_to)
{
    mvt_run r = mvt_sh("truncate -s 4096 db; exec 3<>db; rm db; "
                       "export MEMVIZ_OUT=$PWD/a LD_PRELOAD=" MV_SHIM
                       " MEMVIZ_STATUS=/proc/$$/fd/3:1; /bin/true; unset LD_PRELOAD; "
                       "head -c 4096 <&3 | tr -d '\\0' | wc -c");

    cr_expect_str_eq(r.out, "0\n", "%s", r.err);
}

/* Such a program is not recorded, and ends as it would without the shim. */
Test(bystanders, a_program_with_a_strict_filter_is_unharmed)
{
    mvt_run r = mvt_sh("BYSTANDER=" MV_BYSTANDER "; $BYSTANDER jail /bin/true; echo $?; "
                       "$MEMVIZ run -q -o a.bin -- $BYSTANDER jail /bin/true; echo $?; "
                       "LD_PRELOAD=" MV_SHIM " $BYSTANDER jail /bin/true; echo $?");

    cr_expect_str_eq(r.out, "0\n0\n0\n", "%s", r.err);
}

Test(bystanders, a_filter_is_reported_at_the_first_event)
{
    mvt_run r =
        mvt_sh("$MEMVIZ run -o a.bin -- " MV_BYSTANDER " jail " MV_MARKING " mark a exit 7");

    cr_expect_eq(r.status, 7, "%s", r.err);
    cr_expect(strstr(r.err, "it had a system call filter"), "%s", r.err);
}

LongTest(bystanders, children_forked_in_a_handler_return_from_it)
{
    static const char *const stacks[] = {"none", "native"};

    for (unsigned i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        mvt_run r = mvt_sh("MEMVIZ_OUT=$PWD/a MEMVIZ_STACKS=%s LD_PRELOAD=" MV_SHIM " " MV_BYSTANDER
                           " return 300",
                           stacks[i]);
        cr_expect_str_eq(r.out, "300 of 300 children ended as they should\n", "%s: %s", stacks[i],
                         r.err);
    }
}

/* If possible, the clients belong to another user. They connect faster than the launcher could wait
 * for each. */
LongTest(bystanders, silent_clients_do_not_block_others)
{
    mvt_run r =
        mvt_sh("chmod 777 .; [ $(id -u) != 0 ] || as='setpriv --reuid=65534 --clear-groups'; "
               "$MEMVIZ run -q -o a.bin -- sh -c 'echo $MEMVIZ_SAMPLER >name; mv name at; "
               "until [ -e at.held ]; do sleep 0.05; done; exit 7' & run=$!; "
               "until [ -e at ]; do sleep 0.05; done; $as " MV_BYSTANDER " connect at & "
               "wait $run; echo $?; rm at; wait $!; echo $?");

    cr_expect_str_eq(r.out, "7\n0\n", "%s", r.err);
}
