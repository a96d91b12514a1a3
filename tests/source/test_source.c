/* Sources of bytes: files and pipes, and the bytes that are read from them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fixture/fixture.h"
#include "tests/fixture/fixture_program.h"

static const char *pipe_path(void)
{
    const char *path = mvt_format("%s/pipe", mvt_temp_folder());

    cr_assert_eq(mkfifo(path, 0600), 0);
    return path;
}

Test(source, only_regular_files_are_opened_as_files, .timeout = 200)
{
    const struct {
        const char *path, *why;
    } others[] = {{pipe_path(), "not a regular file"},
                  {"/dev/null", "not a regular file"},
                  {"/dev/zero", "not a regular file"},
                  {"-", "No such file or directory"},
                  {"/", "Is a directory"}};
    mv_source source;

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        cr_expect_eq(mv_source_open_file(mvt_memory(), others[i].path, &source, mvt_err()), MV_IO);
        cr_expect_str_eq(mvt_err()->detail, others[i].why, "%s", others[i].path);
        mv_source_close(&source);
    }
    mvt_ok(mv_source_open_file(mvt_memory(), mvt_temp_file((mv_span){(const uint8_t *)"abc", 3}),
                               &source, mvt_err()));
    cr_expect(mv_source_need(&source, 3) && memcmp(source.at, "abc", 3) == 0);
    mv_source_close(&source);
}

LongTest(source, a_user_may_name_a_pipe)
{
    static const char *const commands[] = {
        "$MEMVIZ info -q /dev/stdin <$SNAPS/gpt_train.pickle",
        "cat $SNAPS/gpt_train.pickle | $MEMVIZ info -q -",
        "cat $SNAPS/gpt_train.pickle | $MEMVIZ info -q /dev/fd/0",
        "mkfifo p; cat $SNAPS/gpt_train.pickle >p & $MEMVIZ info -q p",
        "mkdir f; cp $SNAPS/gpt_train.pickle f; mkfifo r; cat f/* >r & $MEMVIZ triage -q r f",
    };

    for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++) {
        mvt_run run = mvt_sh("%s", commands[i]);
        cr_expect_eq(run.status, 0, "%s: %s", commands[i], run.err);
        cr_expect_str_empty(run.err, "%s: %s", commands[i], run.err);
    }
}

/* Makes a .bin file from a header and a hole of `bytes` bytes, with one byte in the middle of the
 * hole. */
static const char *sparse_file(off_t bytes)
{
    const char *path = mvt_temp_file((mv_span){(const uint8_t *)"\xc1MVS", 4});
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_made = pwrite(fd, "x", 1, bytes / 2) == 1 && ftruncate(fd, bytes) == 0;

    close(fd);
    if (!is_made)
        mvt_skip("no files of that size here");
    return path;
}

/* Reading it would take minutes and its whole size in memory. A recording has holes, too. */
Test(source, a_file_of_holes_is_not_read, .timeout = 200)
{
    mv_source source;

    cr_expect_eq(mv_source_open(mvt_memory(), sparse_file((off_t)1 << 40), &source, mvt_err()),
                 MV_IO);
    cr_expect(strstr(mvt_err()->detail, "never written (holes)"), "%s", mvt_err()->detail);
    mv_source_close(&source);
    mvt_ok(mv_source_open(mvt_memory(), sparse_file((off_t)1 << 30), &source, mvt_err()));
    cr_expect(mv_source_need(&source, 4) && memcmp(source.at, "\xc1MVS", 4) == 0);
    mv_source_close(&source);
}

/* A caller cancels by using up the budget. */
Test(source, reading_ends_when_memory_is_out, .timeout = 200)
{
    mv_arena *arena = mvt_arena_of(16 * MIB);
    mv_source source;
    uint64_t left;
    bool are_zero;

    mvt_ok(mv_source_open(arena, "/dev/zero", &source, mvt_err()));
    cr_expect(mv_source_need(&source, MIB));
    arena->budget->limit = 0;
    cr_expect_eq(mv_source_drain(&source, &left, &are_zero, mvt_err()), MV_NOMEM);
    mv_source_close(&source);
}

/* An empty frame of zstd, then one with content. */
static const uint8_t after_empty[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0,    1,
                                      0,    0,    0x28, 0xb5, 0x2f, 0xfd, 0x20,
                                      0x03, 0x19, 0x00, 0x00, 'a',  'b',  'c'};

/* Files of pzstd: a skippable frame with the size of the following frame, then that frame. */
static const uint8_t after_skippable[] = {0x50, 0x2a, 0x4d, 0x18, 4,    0,    0,    0,
                                          12,   0,    0,    0,    0x28, 0xb5, 0x2f, 0xfd,
                                          0x20, 0x03, 0x19, 0x00, 0x00, 'a',  'b',  'c'};

Test(source, frames_to_skip_begin_a_zstd_file)
{
    uint8_t bytes[sizeof after_skippable];

    memcpy(bytes, after_skippable, sizeof bytes);
    for (uint8_t kind = 0; kind < 16; kind++) {
        mv_source source;
        bytes[0] = 0x50 | kind;
        mvt_ok(mv_source_over(mvt_memory(), (mv_span){bytes, sizeof bytes}, &source, mvt_err()));
        cr_expect_str_eq(mv_source_compression(&source), "zstd");
        cr_expect(mv_source_need(&source, 3) && memcmp(source.at, "abc", 3) == 0);
        cr_expect_not(mv_source_need(&source, 4));
        mv_source_close(&source);
    }
}

Test(source, no_more_than_the_limit_is_read)
{
    uint8_t *bytes = mv_push_array(mvt_memory(), uint8_t, MIB);
    mv_source source;

    mvt_ok(mv_source_over(mvt_memory(), (mv_span){after_empty, sizeof after_empty}, &source,
                          mvt_err()));
    mv_source_limit(&source, 4);
    cr_expect(mv_source_need(&source, 3), "what was read to look at counts as read");
    mv_source_close(&source);

    mvt_ok(mv_source_over(mvt_memory(), (mv_span){bytes, MIB}, &source, mvt_err()));
    mv_source_limit(&source, 300000);
    cr_expect_not(mv_source_need(&source, 300001));
    cr_expect_eq(source.end - source.at, 300000);
    cr_expect_eq(mv_source_file_read(&source), 300000);
    mv_source_close(&source);
}

Test(source, an_end_of_the_budget_ends_reading)
{
    mv_arena *arena = mvt_arena_of(8 * MIB);
    mv_source source;

    mvt_ok(mv_source_open(arena, "/dev/zero", &source, mvt_err()));
    cr_expect(mv_source_need(&source, 100));
    arena->budget->limit = 0;
    source.at = source.end;
    cr_expect_not(mv_source_need(&source, 1));
    cr_expect_eq(mv_source_fail(&source, mvt_err(), ""), MV_NOMEM);
    mv_source_close(&source);
}
