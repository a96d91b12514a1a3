/* memviz ctl: controls a run that is being recorded. */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/text.h"
#include "capture/wire_folded.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/report/table.h"
#include "parse/readers.h"
#include "record/control_client.h"
#include "record/recorded.h"
#include "record/watched.h"

typedef struct {
    uint32_t pid;
    const char *path;
    uint64_t events, kept, bytes, lost;
    const char *reached; /* the last limit that was reached; NULL: none */
} ctl_process;

typedef struct {
    mv_cli *cli;
    uint32_t pid;
    bool is_status;
    char state[16]; /* state of the recording; "": the status was not requested */
    uint64_t marks, events, kept, bytes, lost;
    uint64_t max_size, max_age_us; /* limits for each process; 0: no limit */
    uint64_t kept_files;
    uint32_t count;
    ctl_process *processes; /* [count] */
    uint32_t written_count;
    const char **written; /* [written_count] */
} ctl_report;

/* ---- fields ------------------------------------------------------------------------------ */

#define PROCESS_FIELDS(COLUMN, MEMBER, LIST)     \
    MEMBER("pid", p->pid)                        \
    MEMBER("file", p->path)                      \
    MEMBER("events", p->events)                  \
    MEMBER("kept", p->kept)                      \
    MEMBER("bytes", p->bytes)                    \
    MEMBER("reached", mv_value_text(p->reached)) \
    MEMBER("lost", p->lost)

MV_LIST_ROWS(list_processes, ctl_report, r, r->count, const ctl_process *p = &r->processes[i],
             PROCESS_FIELDS)

static const mv_table process_table = {MV_TABLE(PROCESS_FIELDS, list_processes)};

static mv_value size_bound(const ctl_report *r)
{
    if (!r->is_status)
        return mv_value_of(MV_VALUE_NO_OBJECT);
    if (!r->max_size && !r->max_age_us)
        return mv_value_of(MV_VALUE_NULL_OBJECT);
    return mv_value_or_null(r->max_size, mv_value_u64(r->max_size));
}

#define STATUS(value) mv_value_if(r->is_status, value)
#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    MEMBER("state", STATUS(mv_value_text(r->state)))                                               \
    MEMBER("events", STATUS(mv_value_u64(r->events)))                                              \
    MEMBER("bytes", STATUS(mv_value_u64(r->bytes)))                                                \
    MEMBER("bound.max_size", size_bound(r))                                                        \
    MEMBER("bound.max_age_us", mv_value_or_null(r->max_age_us, mv_value_u64(r->max_age_us)))       \
    MEMBER("kept", STATUS(mv_value_u64(r->kept)))                                                  \
    MEMBER("kept_files", STATUS(mv_value_u64(r->kept_files)))                                      \
    MEMBER("lost", STATUS(mv_value_u64(r->lost)))                                                  \
    MEMBER("marks", STATUS(mv_value_u64(r->marks)))                                                \
    MEMBER("written", mv_value_if(r->written_count, mv_value_texts(r->written, r->written_count))) \
    LIST("processes", &process_table, STATUS(mv_value_rows(NULL)))

MV_LIST_REPORT(list_report, ctl_report, r, REPORT_FIELDS)

const mv_table mv_report_ctl = {MV_TABLE(REPORT_FIELDS, list_report), .main = "processes"};

/* ---- status ------------------------------------------------------------------------------ */

/* Returns how many bytes the live file and its folded part occupy on disk. */
static uint64_t disk_of(const char *path)
{
    int folded = mv_live_folded_open(path);
    struct stat st;
    uint64_t bytes = stat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;

    if (folded >= 0) {
        bytes += fstat(folded, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
        close(folded);
    }
    return bytes;
}

/* Returns a fact's number; 0 if the fact is missing. */
static uint64_t fact_number(const mv_trace *trace, const char *key)
{
    const char *text = mv_fact_find(trace, key);
    uint64_t number;

    return text && mv_number_read(text, &number) ? number : 0;
}

/* Returns the value in a line "KEY VALUE"; NULL if there is no such line. */
static const char *find_line(mv_arena *arena, const char *answer, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return mv_arena_text(arena, line + length + 1, strcspn(line + length + 1, "\n"));
    return NULL;
}

/* Like find_line, but as a number; 0 if there is no such line. */
static uint64_t line_number(mv_arena *arena, const char *answer, const char *key)
{
    const char *text = find_line(arena, answer, key);
    uint64_t number;

    return text && mv_number_read(text, &number) ? number : 0;
}

static mv_code read_process(mv_cli *cli, ctl_process *p, mv_err *err)
{
    const char *reached;
    mv_arena arena;
    mv_trace trace;

    mv_arena_init(&arena, &cli->budget);
    if (mv_trace_read(&arena, p->path, &(mv_read_opts){.files_only = true}, &trace, err) == MV_OK) {
        p->kept = mv_recorded_count(&trace);
        p->events = p->kept + fact_number(&trace, MV_FACT_FOLDED);
        p->lost = trace.notes[MV_NOTE_LOST].count + fact_number(&trace, "lost_opening") +
                  fact_number(&trace, "lost_space");
        p->bytes = disk_of(p->path);
        reached = mv_fact_find(&trace, MV_FACT_FOLDED_BOUND);
        p->reached = reached ? mv_arena_text(&cli->arena, reached, strlen(reached)) : NULL;
    }
    mv_arena_release(&arena);
    return err->code;
}

/* Counts each live file's events by reading the file, without involving the program. */
static mv_code add_processes(ctl_report *r, mv_err *err)
{
    mv_watched *found = NULL;

    if (mv_watched_find(&r->cli->arena, r->pid, &found, &r->count, err) != MV_OK &&
        err->code == MV_ABSENT) {
        *err = (mv_err){.offset = MV_NO_OFFSET}; /* nothing is recorded yet */
        return MV_OK;
    }
    r->processes = mv_push_array(&r->cli->arena, ctl_process, r->count);
    if (!r->processes)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; err->code == MV_OK && i < r->count; i++) {
        ctl_process *p = &r->processes[i];
        *p = (ctl_process){.pid = found[i].pid, .path = found[i].path};
        read_process(r->cli, p, err);
        r->events += p->events;
        r->kept += p->kept;
        r->bytes += p->bytes;
        r->lost += p->lost;
    }
    return err->code;
}

/* Describes the limits: "at most 512.0 MiB and 10 minutes for each process; 2 files of --on". */
static void put_bound(const ctl_report *r)
{
    char size[MV_SIZE_TEXT], age[MV_DURATION_TEXT];
    mv_out *out = &r->cli->out;

    if (r->max_size || r->max_age_us)
        mv_out_format(out, "  limit for each process: %s%s%s\n",
                      r->max_size ? mv_size_text(size, r->max_size) : "",
                      r->max_size && r->max_age_us ? ", " : "",
                      r->max_age_us ? mv_duration_text(age, (int64_t)r->max_age_us) : "");
    if (r->kept_files)
        mv_out_format(out, "  files written by --on: %llu\n", (unsigned long long)r->kept_files);
}

static void put_process(const ctl_report *r, const ctl_process *p)
{
    char events[MV_COUNT_TEXT], kept[MV_COUNT_TEXT], bytes[MV_SIZE_TEXT];
    mv_out *out = &r->cli->out;

    mv_out_format(out, "  process %u: %s event%s", p->pid, mv_count_text(events, p->events),
                  mv_plural(p->events));
    if (p->reached)
        mv_out_format(out, ", %s kept (--max-%s was reached)", mv_count_text(kept, p->kept),
                      p->reached);
    mv_out_format(out, ", %s: ", mv_size_text(bytes, p->bytes));
    mv_out_clean_text(out, p->path);
    mv_out_char(out, '\n');
}

static void put_status(const ctl_report *r)
{
    char events[MV_COUNT_TEXT], bytes[MV_SIZE_TEXT], lost[MV_COUNT_TEXT];
    mv_out *out = &r->cli->out;

    mv_out_format(out, "%s: %s event%s, %s, %s lost, %llu mark%s set by memviz ctl\n", r->state,
                  mv_count_text(events, r->events), mv_plural(r->events),
                  mv_size_text(bytes, r->bytes), mv_count_text(lost, r->lost),
                  (unsigned long long)r->marks, mv_plural(r->marks));
    put_bound(r);
    for (uint32_t i = 0; i < r->count; i++)
        put_process(r, &r->processes[i]);
}

static mv_code read_status(ctl_report *r, const char *answer, mv_err *err)
{
    const char *state = find_line(&r->cli->arena, answer, "state");

    r->is_status = true;
    snprintf(r->state, sizeof r->state, "%s", state ? state : "unknown");
    r->marks = line_number(&r->cli->arena, answer, "marks");
    r->max_size = line_number(&r->cli->arena, answer, "max_size");
    r->max_age_us = line_number(&r->cli->arena, answer, "max_age_us");
    r->kept_files = line_number(&r->cli->arena, answer, "kept_files");
    return add_processes(r, err);
}

/* ---- snapshot ---------------------------------------------------------------------------- */

static mv_code read_written(ctl_report *r, const char *answer, mv_err *err)
{
    uint32_t lines = 0;

    for (const char *c = answer; *c; c++)
        lines += *c == '\n';
    r->written = mv_push_array(&r->cli->arena, const char *, lines);
    if (!r->written)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, "written ", 8) == 0)
            r->written[r->written_count++] =
                mv_arena_text(&r->cli->arena, line + 8, strcspn(line + 8, "\n"));
    return MV_OK;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* The launcher resolves paths against its own working directory, so absolute paths are sent. */
static bool absolute_path(const char *path, char full[PATH_MAX])
{
    char folder[PATH_MAX] = "";

    if (!path || *path == '/')
        return snprintf(full, PATH_MAX, "%s", path ? path : "") < PATH_MAX;
    return getcwd(folder, sizeof folder) &&
           snprintf(full, PATH_MAX, "%s/%s", folder, path) < PATH_MAX;
}

/* Builds the request in `arena`. Returns NULL, with a message, if the words are wrong. */
static const char *request_of(mv_cli *cli, uint32_t pid, bool is_launcher)
{
    const mv_options *o = &cli->options;
    const char *verb = o->file[1], *word = o->files > 2 ? o->file[2] : NULL;
    char full[PATH_MAX];

    if (strcmp(verb, "snapshot") == 0 && absolute_path(word, full) && !strpbrk(full, "\n"))
        return mv_arena_printf(&cli->arena, "snapshot %u %s", is_launcher ? 0 : pid, full);
    if (strcmp(verb, "mark") == 0 && word && *word && !strpbrk(word, "\n") && strlen(word) <= 4096)
        return mv_arena_printf(&cli->arena, "mark %s", word);
    if (!word && (strcmp(verb, "status") == 0 || strcmp(verb, "pause") == 0 ||
                  strcmp(verb, "resume") == 0 || strcmp(verb, "stop") == 0))
        return verb;
    mv_complain_usage("ctl", "expected status, mark TEXT, pause, resume, snapshot [FILE] or stop");
    return NULL;
}

/* Returns the process that a word names, either by its process ID or by its live file. Returns 0,
 * with a message, for any other word. */
static uint32_t process_of(const char *word)
{
    uint32_t pid = mv_watched_process_of(word);
    uint64_t number;

    if (mv_number_read(word, &number) && number > 0 && number <= INT32_MAX)
        return (uint32_t)number;
    if (!pid)
        mv_complain_usage("ctl", "'%s' is not a process ID or a live file (NAME.PID.live)", word);
    return pid;
}

static int put_answer(ctl_report *r, const char *answer)
{
    mv_cli *cli = r->cli;
    const char *error = find_line(&cli->arena, answer, "error");
    mv_err err = {.offset = MV_NO_OFFSET};

    if (strncmp(cli->options.file[1], "snapshot", 8) == 0)
        read_written(r, answer, &err);
    else if (strcmp(cli->options.file[1], "status") == 0 && !error)
        read_status(r, answer, &err);
    if (err.code != MV_OK)
        return mv_complain(NULL, &err);
    if (error)
        return mv_complain_of(NULL, "%s", error);
    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, r);
    if (r->is_status)
        put_status(r);
    for (uint32_t i = 0; i < r->written_count; i++) {
        mv_out_clean_text(&cli->out, r->written[i]);
        mv_out_char(&cli->out, '\n');
    }
    return MV_EXIT_DONE;
}

int mv_cmd_ctl(mv_cli *cli)
{
    ctl_report r = {.cli = cli, .pid = process_of(cli->options.file[0])};
    const char *request = r.pid ? request_of(cli, r.pid, !mv_watched_is_recorded(r.pid)) : NULL;
    mv_err err = {.offset = MV_NO_OFFSET};
    const char *answer;

    if (!request)
        return MV_EXIT_USAGE;
    if (mv_control_query(&cli->arena, r.pid, request, &answer, &err) != MV_OK)
        return mv_complain(NULL, &err);
    if (cli->confine)
        cli->confine(cli);
    return put_answer(&r, answer);
}
