/* memviz mcp: a server of the Model Context Protocol on standard input and output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/texts.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/input/kept_files.h"
#include "cli/mcp/protocol.h"
#include "cli/program.h"

/* Most bytes of a report, or a picture, that are looked at. */
#define MOST_BYTES (1u << 30)

typedef struct {
    mv_cli *cli;
    mv_kept_files kept;
    FILE *in;         /* the client */
    int said, moans;  /* in place of standard output and error while a command runs */
    int out, errors;  /* copies of them */
    char folder[32];  /* for pictures; "": none could be made */
    char picture[48]; /* in it: that of this run */
} server;

/* ---- runs -------------------------------------------------------------------------------- */

static mv_code fail(mv_err *err, const char *what)
{
    return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s: %s", what, strerror(errno));
}

/* From the first byte to the end. */
static mv_code read_all(mv_arena *arena, int file, mv_span *out, mv_err *err)
{
    uint64_t length = 0;
    struct stat st;
    uint8_t *bytes;
    ssize_t got;

    if (fstat(file, &st) != 0)
        return fail(err, "the report");
    if (st.st_size > MOST_BYTES)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "the report has more than 1 GiB");
    bytes = mv_push_array(arena, uint8_t, (uint64_t)st.st_size + 1);
    if (!bytes)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the report has %lld bytes",
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

/* Pipes and devices could be waited for without end. */
static const char *odd_file(char **words, int count)
{
    struct stat st;
    int i = 0;

    while (i < count && strcmp(words[i], "--") != 0)
        i++;
    for (; i < count; i++)
        if (stat(words[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            return words[i];
    return NULL;
}

static mv_code read_picture(server *s, mv_arena *arena, mv_span *out, mv_err *err)
{
    int file = open(s->picture, O_RDONLY | O_CLOEXEC);
    mv_code code;

    if (file < 0)
        return fail(err, "the picture");
    code = read_all(arena, file, out, err);
    close(file);
    return code;
}

/* Both outputs go to files while the program runs, so nothing of it reaches the client unread. */
static int run_quietly(server *s, char **words, int count)
{
    int status;

    fflush(stdout);
    fflush(stderr);
    dup2(s->said, STDOUT_FILENO);
    dup2(s->moans, STDERR_FILENO);
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
    if (!empty(s->said) || !empty(s->moans))
        return fail(err, "a temporary file");
    snprintf(output, sizeof output, "--output=%s", s->picture);
    all[used++] = (char *)"memviz";
    for (int i = 0; i < count; i++) {
        all[used++] = words[i];
        if (i == 0 && wants_picture)
            all[used++] = output;
    }
    out->status = run_quietly(s, all, used);
    if (read_all(arena, s->moans, &out->messages, err) != MV_OK)
        return err->code;
    if (!wants_picture)
        return read_all(arena, s->said, &out->out, err);
    return out->status == MV_EXIT_DONE ? read_picture(s, arena, &out->out, err) : MV_OK;
}

static mv_code run(void *user, mv_arena *arena, char **words, int count, bool wants_picture,
                   mv_mcp_ran *out, mv_err *err)
{
    const char *odd = odd_file(words, count);
    server *s = user;
    mv_code code;

    *out = (mv_mcp_ran){.status = MV_EXIT_FAILED};
    if (odd) {
        char *why = mv_arena_printf(arena, "%s: not a file", odd);
        out->messages = mv_text_span(why ? why : "not a file");
        return MV_OK;
    }
    if (wants_picture && !*s->folder)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "/tmp: no folder for pictures can be made");
    code = run_words(s, arena, words, count, wants_picture, out, err);
    if (wants_picture)
        unlink(s->picture);
    return code;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* The next byte, or EOF. */
static int next_byte(FILE *in)
{
    int c = getc_unlocked(in);

    while (c == EOF && ferror(in) && errno == EINTR) {
        clearerr(in);
        c = getc_unlocked(in);
    }
    return c;
}

/* The next line without its end, which is NUL; *is_long: it is longer than requests may be, and
 * passed over. False at the end of the input. */
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
        if (out->sink.failed) /* the client is gone, or a disk is full */
            return mv_complain_of(NULL, "standard output: %s", strerror(out->sink.why));
    }
    return ferror(s->in) ? mv_complain_of(NULL, "standard input: %s", strerror(errno))
                         : MV_EXIT_DONE;
}

/* Reports have the width of their lines, wherever the server was started. */
static void forget_terminal(void)
{
    unsetenv("COLUMNS");
    unsetenv("LINES");
}

/* A file without a name. -1: there is no room for one. */
static int nameless(void)
{
    FILE *file = tmpfile();
    int copy = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;

    if (file)
        fclose(file);
    return copy;
}

/* ---- a folder for pictures, while it runs ------------------------------------------------- */

static server *running; /* for a signal: that of this process */

static void remove_folder(void)
{
    unlink(running->picture);
    rmdir(running->folder);
}

static void end_by(int number)
{
    remove_folder();
    raise(number); /* the handler was for one signal */
}

/* A client may end it by a signal. */
static void make_folder(server *s)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND}, before;

    snprintf(s->folder, sizeof s->folder, "/tmp/memviz-XXXXXX");
    if (!mkdtemp(s->folder)) {
        *s->folder = 0;
        return;
    }
    snprintf(s->picture, sizeof s->picture, "%s/p.png", s->folder);
    running = s;
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(ends[i], &action, NULL);
}

/* ------------------------------------------------------------------------------------------ */

int mv_cmd_mcp(mv_cli *cli)
{
    server s = {.cli = cli,
                .in = stdin,
                .said = nameless(),
                .moans = nameless(),
                .out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
                .errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
    const int own[] = {s.said, s.moans, s.out, s.errors};
    char *line = malloc(MV_MCP_LONGEST);
    int status = MV_EXIT_FAILED;

    forget_terminal();
    make_folder(&s);
    if (cli->confine)
        cli->confine(cli, *s.folder ? s.folder : NULL);
    if (s.said >= 0 && s.moans >= 0 && line && s.out >= 0 && s.errors >= 0)
        status = serve(&s, line);
    else
        mv_complain_of(NULL, "the server cannot start: %s", strerror(errno));
    if (*s.folder)
        remove_folder();
    mv_kept_files_release(&s.kept);
    free(line);
    for (unsigned i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] >= 0)
            close(own[i]);
    return status;
}
