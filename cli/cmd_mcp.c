/* memviz mcp: a Model Context Protocol server on standard input and output. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/texts.h"
#include "cli/complain.h"
#include "cli/input/kept_files.h"
#include "cli/mcp/protocol.h"
#include "cli/program.h"

/* Maximum size of a report or a picture. */
#define MOST_BYTES (1u << 30)

typedef struct {
    mv_cli *cli;
    mv_kept_files kept;
    FILE *in;                 /* stream to the client */
    int out_file, error_file; /* files that replace standard output and standard error while a
                               * command runs */
    int picture;              /* file that a picture is written to */
    int out, errors;          /* duplicates of the original standard output and error */
} server;

/* ---- runs -------------------------------------------------------------------------------- */

static mv_code fail(mv_err *err, const char *what)
{
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", what, strerror(errno));
}

static mv_code read_all(mv_arena *arena, int file, mv_span *out, mv_err *err)
{
    uint64_t length = 0;
    struct stat st;
    uint8_t *bytes;
    ssize_t got;

    if (fstat(file, &st) != 0)
        return fail(err, "the report");
    if (st.st_size > MOST_BYTES)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "the report is larger than 1 GiB");
    bytes = mv_push_array(arena, uint8_t, (uint64_t)st.st_size + 1);
    if (!bytes)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the report is %lld bytes long",
                       (long long)st.st_size);
    while (length < (uint64_t)st.st_size) {
        got = pread(file, bytes + length, (size_t)st.st_size - length, (off_t)length);
        if (got <= 0)
            return fail(err, "the report");
        length += (uint64_t)got;
    }
    *out = (mv_span){bytes, length};
    return MV_OK;
}

static bool empty(int file)
{
    return ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0;
}

/* Whether the path is a pipe or a device, for which reading could block forever. */
static bool is_odd(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Like is_odd, for the FILE in FILE=SIZE. */
static bool is_odd_before_size(char *word)
{
    char *sign = strrchr(word, '=');
    bool is_it;

    if (!sign)
        return false;
    *sign = '\0';
    is_it = is_odd(word);
    *sign = '=';
    return is_it;
}

static const char *odd_file(char **words, int count)
{
    int i = 0;

    while (i < count && strcmp(words[i], "--") != 0)
        i++;
    for (; i < count; i++)
        if (is_odd(words[i]) || is_odd_before_size(words[i]))
            return words[i];
    return NULL;
}

/* Redirects standard output and standard error to files while the program runs, so that nothing
 * reaches the client unprocessed. */
static int run_quietly(server *s, char **words, int count)
{
    int status;

    fflush(stdout);
    fflush(stderr);
    dup2(s->out_file, STDOUT_FILENO);
    dup2(s->error_file, STDERR_FILENO);
    status = mv_program(count, words, &s->kept);
    fflush(stdout);
    fflush(stderr);
    dup2(s->out, STDOUT_FILENO);
    dup2(s->errors, STDERR_FILENO);
    return status;
}

static mv_code run_words(server *s, mv_arena *arena, char **words, int count, bool wants_picture,
                         mv_mcp_ran *out, mv_err *err)
{
    char **all = mv_push_array(arena, char *, (uint64_t)count + 4), output[80];
    int used = 0;

    if (!all)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "memory limit reached");
    if (!empty(s->out_file) || !empty(s->error_file) || !empty(s->picture))
        return fail(err, "a temporary file");
    snprintf(output, sizeof output, "--output=/dev/fd/%d.png", s->picture);
    all[used++] = (char *)"memviz";
    for (int i = 0; i < count; i++) {
        all[used++] = words[i];
        if (i == 0 && wants_picture)
            all[used++] = output;
    }
    out->status = run_quietly(s, all, used);
    if (read_all(arena, s->error_file, &out->messages, err) != MV_OK)
        return err->code;
    if (wants_picture && out->status != MV_EXIT_DONE) /* the file may be incomplete */
        return MV_OK;
    return read_all(arena, wants_picture ? s->picture : s->out_file, &out->out, err);
}

static mv_code run(void *user, mv_arena *arena, char **words, int count, bool wants_picture,
                   mv_mcp_ran *out, mv_err *err)
{
    const char *odd = odd_file(words, count);
    server *s = user;

    *out = (mv_mcp_ran){.status = MV_EXIT_FAILED};
    if (odd) {
        char *why = mv_arena_printf(arena, "%s: not a file", odd);
        out->messages = mv_text_span(why ? why : "not a file");
        return MV_OK;
    }
    return run_words(s, arena, words, count, wants_picture, out, err);
}

/* ---- requests ---------------------------------------------------------------------------- */

/* Reads the next byte; EOF at the end. */
static int next_byte(FILE *in)
{
    int c = getc_unlocked(in);

    while (c == EOF && ferror(in) && errno == EINTR) {
        clearerr(in);
        c = getc_unlocked(in);
    }
    return c;
}

/* Reads the next line without its line break, and terminates it with NUL. *is_long is set if the
 * line exceeds the request limit and was skipped. Returns false at the end of the input. */
static bool next_line(server *s, char *line, size_t *length, bool *is_long)
{
    int c;

    *length = 0;
    *is_long = false;
    while ((c = next_byte(s->in)) != EOF && c != '\n') {
        *is_long |= *length == MV_MCP_LONGEST;
        if (!*is_long)
            line[(*length)++] = (char)c;
    }
    while (*length > 0 && (line[*length - 1] == '\r' || line[*length - 1] == ' '))
        (*length)--;
    return c != EOF || *length > 0;
}

static int serve(server *s, char *line)
{
    mv_out *out = &s->cli->out;
    mv_mcp mcp = {.run = run, .user = s, .budget.limit = UINT64_C(4) << 30};
    size_t length;
    bool is_long;

    while (next_line(s, line, &length, &is_long)) {
        if (is_long)
            mv_mcp_refuse_long(out);
        else if (length > 0)
            mv_mcp_answer(&mcp, (mv_span){(const uint8_t *)line, length}, out);
        mv_out_flush(out);
        if (out->sink.failed) /* the client is gone, or the disk is full */
            return mv_complain_of(NULL, "standard output: %s", strerror(out->sink.why));
    }
    return ferror(s->in) ? mv_complain_of(NULL, "standard input: %s", strerror(errno))
                         : MV_EXIT_DONE;
}

/* Reports have a fixed line width, wherever the server was started. */
static void forget_terminal(void)
{
    unsetenv("COLUMNS");
    unsetenv("LINES");
}

/* Opens an unnamed file. Returns -1 if there is no space for one. */
static int unnamed_file(void)
{
    FILE *file = tmpfile();
    int copy = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;

    if (file)
        fclose(file);
    return copy;
}

/* ------------------------------------------------------------------------------------------ */

int mv_cmd_mcp(mv_cli *cli)
{
    server s = {.cli = cli,
                .in = stdin,
                .out_file = unnamed_file(),
                .error_file = unnamed_file(),
                .picture = unnamed_file(),
                .out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
                .errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
    const int own[] = {s.out_file, s.error_file, s.picture, s.out, s.errors};
    char *line = malloc(MV_MCP_LONGEST);
    bool is_ready = line;
    int status = MV_EXIT_FAILED;

    forget_terminal();
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        is_ready &= own[i] >= 0;
    if (!is_ready)
        mv_complain_of(NULL, "the server cannot start: %s", strerror(errno));
    if (cli->confine)
        cli->confine(cli);
    if (is_ready)
        status = serve(&s, line);
    mv_kept_files_release(&s.kept);
    free(line);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] >= 0)
            close(own[i]);
    return status;
}
