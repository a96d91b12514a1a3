#include "tests/fixture_program.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *read_all(FILE *file, size_t *length)
{
    char *text;
    long end;

    fseek(file, 0, SEEK_END);
    end = ftell(file);
    cr_assert(end >= 0);
    rewind(file);
    text = malloc((size_t)end + 1);
    cr_assert(text != NULL);
    *length = fread(text, 1, (size_t)end, file);
    text[*length] = 0;
    fclose(file);
    return text;
}

static void run_child(const char *command, const char *folder, int out, int err)
{
    if (chdir(folder) != 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(125);
    setenv("MEMVIZ", MV_PROGRAM, 1);
    setenv("SNAPS", MV_TESTDATA "/snapshots", 1);
    setenv("RELEASES", MV_TESTDATA "/releases", 1);
    unsetenv("COLUMNS");
    unsetenv("LINES");
    unsetenv("NO_COLOR");
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(126);
}

static void remove_folder(const char *folder)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    cr_assert_eq(system(command), 0);
}

mvt_run mvt_sh(const char *format, ...)
{
    char command[4096], folder[] = "/tmp/memviz-test-XXXXXX";
    FILE *out = tmpfile(), *err = tmpfile();
    mvt_run run = {0};
    va_list args;
    int length, state;
    pid_t child;

    va_start(args, format);
    length = vsnprintf(command, sizeof command, format, args);
    va_end(args);
    cr_assert(length > 0 && length < (int)sizeof command);
    cr_assert(out && err && mkdtemp(folder));
    child = fork();
    cr_assert(child >= 0);
    if (child == 0)
        run_child(command, folder, fileno(out), fileno(err));
    cr_assert_eq(waitpid(child, &state, 0), child);
    run.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    run.out = read_all(out, &run.out_length);
    run.err = read_all(err, &run.err_length);
    remove_folder(folder);
    return run;
}

void mvt_run_drop(mvt_run *run)
{
    free(run->out);
    free(run->err);
    *run = (mvt_run){0};
}

void mvt_put_file(char path[MVT_PATH], mv_span bytes)
{
    int fd;

    snprintf(path, MVT_PATH, "/tmp/memviz-file-XXXXXX");
    fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, bytes.data, bytes.length), (ssize_t)bytes.length);
    close(fd);
}
