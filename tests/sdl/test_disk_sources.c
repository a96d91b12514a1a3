/* The source lines of a recorded program on this machine, and an editor that opens one of them. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fixture/fixture.h"
#include "view/document/source_files.h"

static const char *written(const char *name, const char *text)
{
    const char *path = mvt_format("%s/%s", mvt_temp_folder(), name);

    mvt_file_put(path, (mv_span){(const uint8_t *)text, strlen(text)});
    return path;
}

Test(disk_sources, a_line_is_the_one_in_the_file)
{
    const char *path =
        written("train.py", "import torch\r\n\n\tx = model(\033[31mbatch)  # \xc3\xa9\nend");

    cr_expect_str_eq(mv_disk_sources.line(path, 1), "import torch");
    cr_expect_str_eq(mv_disk_sources.line(path, 2), "");
    cr_expect_eq(strncmp(mv_disk_sources.line(path, 3), "x = model(", 10), 0);
    cr_expect_null(strchr(mv_disk_sources.line(path, 3), '\033'));
    cr_expect_str_eq(mv_disk_sources.line(path, 4), "end");
    cr_expect_str_eq(mv_disk_sources.line(path, 5), "");
    cr_expect_str_eq(mv_disk_sources.line(path, 0), "");
    cr_expect_str_eq(mv_disk_sources.line(path, -1), "");
    cr_expect_str_eq(mv_disk_sources.line("/no/such/file.py", 1), "");
}

/* A path from a hostile file. A pipe without a writer would block forever, and a device never
 * ends. */
Test(disk_sources, only_regular_files_of_text_are_read)
{
    const char *pipe = mvt_format("%s/pipe", mvt_temp_folder());
    char *line = mv_push_array(mvt_memory(), char, 10000);

    cr_assert_eq(mkfifo(pipe, 0600), 0);
    cr_expect_str_eq(mv_disk_sources.line(pipe, 1), "");
    cr_expect_str_eq(mv_disk_sources.line("/dev/zero", 1), "");
    cr_expect_str_eq(mv_disk_sources.line(mvt_temp_folder(), 1), "");
    memset(line, 'x', 9000);
    cr_expect_eq(strlen(mv_disk_sources.line(written("long.py", line), 1)), MV_SOURCE_LINE - 1);
}

/* The words that the editor received, one per line. */
static const char *edited(const char *name, const char *before, const char *path, int64_t number)
{
    const char *folder = mvt_temp_folder(), *editor, *pipe;
    char *got = mv_push_array(mvt_memory(), char, 8192), why[MV_SOURCE_WHY];
    ssize_t bytes, all = 0;

    pipe = mvt_format("%s/%s.words", folder, name);
    editor = written(name, mvt_format("#!/bin/sh\nprintf '%%s\\n' \"$@\" > '%s'\n", pipe));
    cr_assert_eq(chmod(editor, 0700), 0);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    setenv("VISUAL", mvt_format("%s%s", editor, before), 1);
    cr_assert(mv_disk_sources.edit(path, number, why), "%s", why);
    int file = open(pipe, O_RDONLY); /* waits for the editor */
    while ((bytes = read(file, got + all, 8191 - (size_t)all)) > 0)
        all += bytes;
    close(file);
    return got;
}

Test(disk_sources, an_editor_gets_the_place_as_it_wants_it)
{
    const char *path = written("a $(touch x); b.py", "x\n");
    char whole[4096];

    cr_assert_not_null(realpath(path, whole));
    cr_expect_str_eq(edited("gvim", "", path, 12), mvt_format("+12\n%s\n", whole));
    cr_expect_str_eq(edited("kate", "", path, 12), mvt_format("--line\n12\n%s\n", whole));
    cr_expect_str_eq(edited("my editor", "", path, 12), mvt_format("+12\n%s\n", whole));
    cr_expect_str_eq(edited("emacs", " -f 'a b'\"c\" ''", path, 12),
                     mvt_format("-f\na bc\n\n+12\n%s\n", whole));
    cr_expect_str_eq(edited("code", " --wait", path, 12),
                     mvt_format("--wait\n--goto\n%s:12\n", whole));
    cr_expect_str_eq(edited("subl", "", path, 12), mvt_format("%s:12\n", whole));
}

Test(disk_sources, missing_files_are_named)
{
    const char *path = written("b.py", "x\n");
    char why[MV_SOURCE_WHY];

    unsetenv("VISUAL");
    unsetenv("EDITOR");
    cr_expect_not(mv_disk_sources.edit(path, 1, why));
    cr_expect_not_null(strstr(why, "set VISUAL or EDITOR"));
    setenv("VISUAL", " ", 1);
    setenv("EDITOR", "/no/such/editor", 1);
    cr_expect_not(mv_disk_sources.edit(path, 1, why));
    cr_expect_not_null(strstr(why, "/no/such/editor: not started"));
    cr_expect_not(mv_disk_sources.edit("-c:!touch x", 1, why), "no option comes from a recording");
    cr_expect_not_null(strstr(why, "not on this machine"));
}

/* The editor would write over another program's terminal, or end at once. */
Test(disk_sources, an_editor_of_a_terminal_needs_one)
{
    const char *path = written("c.py", "x\n");
    char why[MV_SOURCE_WHY];

    setenv("VISUAL", "/usr/bin/vim -R", 1);
    cr_assert_eq(close(STDIN_FILENO), 0);
    cr_expect_not(mv_disk_sources.edit(path, 1, why));
    cr_expect_not_null(strstr(why, "vim needs a terminal"), "%s", why);
}
