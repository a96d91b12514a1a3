#include "parse/source/sink.h"
#include "tests/fixture/fixture.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;
static char target[512];

static void make_folder(void)
{
    folder = mvt_temp_folder();
    snprintf(target, sizeof target, "%s/out.bin", folder);
}

static unsigned files_in_folder(void)
{
    glob_t files;
    int code = glob(mvt_format("%s/*", folder), 0, NULL, &files);

    cr_assert(code == 0 || code == GLOB_NOMATCH);
    size_t count = code == 0 ? files.gl_pathc : 0;
    globfree(&files);
    return (unsigned)count;
}

static void expect_content(const char *want)
{
    cr_assert_str_eq(mvt_text(target), want);
}

static void write_target(const char *text)
{
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, target, mvt_err()));
    mv_sink_write(&sink, text, strlen(text));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
}

TestSuite(sink, .init = make_folder);

Test(sink, commit_puts_the_whole_file_in_place)
{
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, target, mvt_err()));
    mv_sink_write(&sink, "abc", 3);
    mv_sink_write(&sink, NULL, 0);
    mv_sink_printf(&sink, " %d", 12);
    cr_assert_eq(access(target, F_OK), -1, "nothing at the target before commit");
    cr_assert_eq(sink.bytes, 6);
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    expect_content("abc 12");
    cr_assert_eq(files_in_folder(), 1);
    mv_sink_abort(&sink); /* safe, and too late */
    expect_content("abc 12");
}

Test(sink, new_file_is_as_readable_as_any_other)
{
    struct stat st;
    mode_t mask = umask(022);

    write_target("x");
    umask(mask);
    cr_assert_eq(stat(target, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0644);
}

Test(sink, abort_leaves_the_old_file_and_nothing_else)
{
    mv_sink sink;

    write_target("old");
    mvt_ok(mv_sink_open(&sink, target, mvt_err()));
    mv_sink_write(&sink, "new", 3);
    mv_sink_abort(&sink);
    expect_content("old");
    cr_assert_eq(files_in_folder(), 1);
    mv_sink_abort(&sink);
    sink = (mv_sink){0};
    mv_sink_abort(&sink);
}

Test(sink, an_old_file_is_replaced)
{
    write_target("a longer old text");
    write_target("new");
    expect_content("new");
}

Test(sink, full_disk_is_reported_once_at_commit)
{
    static char block[1 << 16];
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, "/dev/full", mvt_err()));
    for (int i = 0; i < 20; i++)
        mv_sink_write(&sink, block, sizeof block);
    cr_assert(sink.failed);
    mv_sink_printf(&sink, "more");
    cr_assert_eq(mv_sink_commit(&sink, mvt_err()), MV_IO);
    cr_assert_not_null(strstr(mvt_err()->detail, "No space left"), "%s", mvt_err()->detail);
    cr_assert_eq(access("/dev/full", F_OK), 0, "a device is never replaced or removed");
}

Test(sink, a_full_disk_that_only_the_last_flush_finds_is_reported)
{
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, "/dev/full", mvt_err()));
    mv_sink_write(&sink, "abc", 3);
    cr_assert_not(sink.failed, "three bytes wait in the buffer");
    cr_assert_eq(mv_sink_commit(&sink, mvt_err()), MV_IO);
    cr_assert_not_null(strstr(mvt_err()->detail, "No space left"), "%s", mvt_err()->detail);
}

Test(sink, a_missing_folder_is_reported)
{
    mv_sink sink;

    snprintf(target, sizeof target, "%s/none/out.bin", folder);
    cr_assert_eq(mv_sink_open(&sink, target, mvt_err()), MV_IO);
    cr_assert_not_null(strstr(mvt_err()->detail, target), "%s", mvt_err()->detail);
    cr_assert_not_null(strstr(mvt_err()->detail, "No such file"), "%s", mvt_err()->detail);
    mv_sink_abort(&sink);
    snprintf(target, sizeof target, "%s/%0200d/out.bin", folder, 0);
    cr_assert_eq(mv_sink_open(&sink, target, mvt_err()), MV_IO);
    cr_assert_not_null(strstr(mvt_err()->detail, "00/out.bin: No such file"), "%s",
                       mvt_err()->detail);
    mv_sink_abort(&sink);
}

Test(sink, a_folder_that_cannot_be_written_is_reported)
{
    mv_sink sink;

    snprintf(target, sizeof target, "/proc/out.bin"); /* even root cannot */
    cr_assert_eq(mv_sink_open(&sink, target, mvt_err()), MV_IO);
    cr_assert_not_null(strstr(mvt_err()->detail, "cannot write /proc/out.bin"), "%s",
                       mvt_err()->detail);
}

Test(sink, a_target_that_is_a_folder_is_refused)
{
    const char *link = mvt_format("%s.link", target);
    mv_sink sink;

    cr_assert_eq(mkdir(target, 0700), 0);
    for (int slashes = 0; slashes < 2; slashes++) {
        const char *path = mvt_format("%s%s", target, slashes ? "/" : "");
        cr_assert_eq(mv_sink_open(&sink, path, mvt_err()), MV_IO);
        cr_expect(strstr(mvt_err()->detail, ": Is a directory: name a file in it"), "%s",
                  mvt_err()->detail);
    }
    cr_assert_eq(symlink(target, link), 0);
    cr_assert_eq(mv_sink_open(&sink, link, mvt_err()), MV_IO, "the link would be replaced");
    cr_assert_eq(unlink(link), 0);
    cr_assert_eq(files_in_folder(), 1, "no temporary stays");
}

Test(sink, a_name_may_be_as_long_as_the_file_system_lets_it)
{
    mv_sink sink;

    snprintf(target, sizeof target, "%s/%0*d", folder, NAME_MAX, 0);
    for (int turn = 0; turn < 2; turn++) {
        mvt_ok(mv_sink_open(&sink, target, mvt_err()));
        mv_sink_printf(&sink, "%d", turn);
        mvt_ok(mv_sink_commit(&sink, mvt_err()));
    }
    cr_assert_eq(files_in_folder(), 1);
}

Test(sink, a_path_that_is_too_long_is_refused)
{
    static char path[8192];
    mv_sink sink;

    memset(path, 'x', sizeof path - 1);
    cr_assert_eq(mv_sink_open(&sink, path, mvt_err()), MV_IO);
    mv_sink_abort(&sink);
}

static mode_t mode_of_target(void)
{
    struct stat st;

    cr_assert_eq(stat(target, &st), 0);
    return st.st_mode & 0777;
}

Test(sink, a_replaced_file_keeps_its_mode)
{
    umask(022);
    write_target("new");
    cr_assert_eq(mode_of_target(), 0644);
    cr_assert_eq(chmod(target, 0600), 0);
    write_target("newer");
    cr_assert_eq(mode_of_target(), 0600);
    cr_assert_eq(chmod(target, 0664), 0);
    write_target("newest");
    cr_assert_eq(mode_of_target(), 0664);
}

Test(sink, another_users_mode_makes_nothing_more_open)
{
    umask(022);
    write_target("theirs");
    if (chown(target, 65534, 65534) != 0)
        return; /* not root */
    cr_assert_eq(chmod(target, 0666), 0);
    write_target("ours");
    cr_assert_eq(mode_of_target(), 0644);
}

static mv_code write_in(int at, const char *path)
{
    mv_sink sink;

    if (mv_sink_open_in(&sink, at, path, mvt_err()) != MV_OK)
        return mvt_err()->code;
    mv_sink_write(&sink, "new", 3);
    return mv_sink_commit(&sink, mvt_err());
}

static int open_test_folder(void)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY);

    cr_assert_geq(at, 0);
    return at;
}

Test(sink, a_file_is_put_in_a_folder_that_was_moved)
{
    int at = open_test_folder();

    const char *moved = mvt_format("%s.moved", folder);
    cr_assert_eq(rename(folder, moved), 0);
    mvt_ok(write_in(at, target));
    cr_assert_eq(rename(moved, folder), 0);
    expect_content("new");
    cr_assert_eq(files_in_folder(), 1);
    close(at);
}

Test(sink, in_a_folder_only_files_are_replaced)
{
    int at = open_test_folder();

    cr_assert_eq(mkfifo(target, 0600), 0);
    cr_assert_eq(write_in(at, target), MV_IO);
    cr_assert_not_null(strstr(mvt_err()->detail, target), "%s", mvt_err()->detail);
    cr_assert_eq(unlink(target), 0);
    const char *other = mvt_format("%s/other", folder);
    cr_assert_eq(symlink("other", target), 0);
    mvt_ok(write_in(at, target));
    cr_assert_neq(access(other, F_OK), 0, "what the link named is not written");
    expect_content("new");
    close(at);
}

/* Each descriptor refers to a file that already has a line. The output must be appended, and must
 * not replace anything. */
Test(sink, through_a_descriptor_its_file_continues)
{
    static const char *const names[] = {"/dev/fd/%d", "/proc/self/fd/%d", "/dev/fd/%d.png"};
    int fd = open(target, O_RDWR | O_CREAT | O_TRUNC, 0600);
    mv_sink sink;

    cr_assert_eq(write(fd, "line\n", 5), 5);
    for (unsigned i = 0; i < 3; i++) {
        const char *path = mvt_format(names[i], fd);
        cr_assert(mv_sink_is_in_place(path));
        mvt_ok(mv_sink_open(&sink, path, mvt_err()));
        mv_sink_write(&sink, "new\n", 4);
        mvt_ok(mv_sink_commit(&sink, mvt_err()));
    }
    close(fd);
    expect_content("line\nnew\nnew\nnew\n");
    cr_assert_eq(files_in_folder(), 1);
    cr_assert(mv_sink_is_in_place("/dev/stdout") && mv_sink_is_in_place("/dev/null"));
    cr_assert_not(mv_sink_is_in_place("/dev/fd/1x") || mv_sink_is_in_place("/dev/fd/1.d/x"));
    cr_assert_not(mv_sink_is_in_place("/dev/fd/x") || mv_sink_is_in_place(target));
    cr_assert_neq(mv_sink_open(&sink, "/dev/fd/987654", mvt_err()), MV_OK);
}
