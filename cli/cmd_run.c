/* memviz run: runs a program under the shim and writes the recording to files. */
#include <stdlib.h>

#include "analyze/thin/thin.h"
#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/complain.h"
#include "cli/progress.h"
#include "record/launch.h"
#include "record/recording.h"

enum { MOST_FAILURES = 8 }; /* number of failures that are reported individually */

typedef struct {
    mv_cli *cli;
    mv_recording recording;
    mv_progress progress;
    uint32_t refused; /* number of files that were refused, because any user who can write to the
                  * directory can create any number of them */
    bool is_quiet;
} run;

static void put_result(const char *path, const mv_finalised *result)
{
    char events[MV_COUNT_TEXT], bytes[MV_SIZE_TEXT], lost[MV_COUNT_TEXT];

    mv_complain_of(NULL, "%s event%s, %s, %s lost: %s", mv_count_text(events, result->events),
                   mv_plural(result->events), mv_size_text(bytes, result->bytes),
                   mv_count_text(lost, result->lost), path);
    if (*result->stopped)
        mv_complain_of(NULL, "the recording stopped before the program ended: %s: %s",
                       result->stopped, path);
}

/* Whether the process itself reported why it has no recording. */
static bool has_reported_reason(const run *r, uint32_t process)
{
    uint32_t pid;
    int32_t error;

    for (uint32_t i = 0; i < MV_STATUS_FAILURES; i++)
        if (mv_run_status_failure(&r->recording.status, i, &pid, &error) && pid == process)
            return true;
    return false;
}

/* An mv_recording_watch.file. */
static void put_file(void *user, const mv_recording_file *f)
{
    run *r = user;

    switch (f->outcome) {
    case MV_RECORDING_WRITTEN:
        if (!r->is_quiet)
            put_result(f->file->result, &f->result);
        break;
    case MV_RECORDING_REFUSED:
        if (r->refused++ >= MOST_FAILURES)
            break;
        mv_complain_of(NULL, "ignored, because %s: %s", f->file->refused, f->file->path);
        break;
    case MV_RECORDING_EMPTY:
        if (!has_reported_reason(r, f->file->pid))
            mv_complain_of(NULL,
                           "process %u recorded nothing: its file is empty (no space, or another "
                           "program truncated it)",
                           f->file->pid);
        break;
    case MV_RECORDING_RUNNING:
        mv_complain_of(NULL, "process %u is still running and recording: %s", f->file->pid,
                       f->file->path);
        break;
    case MV_RECORDING_FAILED:
        mv_complain(f->file->result, &f->err);
        mv_complain_of(NULL, "the recording was left unchanged: %s", f->file->path);
        break;
    }
}

/* An mv_recording_watch.goes_on. Reports a process that is still running and has recorded nothing
 * yet. */
static void put_left(void *user, uint32_t pid)
{
    const run *r = user;

    mv_complain_of(
        NULL,
        "process %u is still running and has recorded nothing so far; later events go to "
        "%s.%u.live, which every report can read",
        pid, r->recording.names.live, pid);
}

/* An mv_finalise_watch.phase. Shows what is being done. */
static void show_phase(void *user, const char *what)
{
    run *r = user;
    char text[80];

    if (what) {
        snprintf(text, sizeof text, "memviz: %s", what);
        mv_progress_start(&r->progress, text, r->is_quiet);
    } else {
        mv_progress_end(&r->progress);
    }
}

static void show_progress(void *user, uint64_t done, uint64_t total)
{
    mv_progress_show(&((run *)user)->progress, done, total);
}

/* Returns the directory that contains the recordings. */
static const char *folder_of(const run *r, int *length)
{
    const char *live = r->recording.names.live;

    *length = (int)(strrchr(live, '/') - live);
    *length = *length ? *length : 1;
    return live;
}

/* Reports processes that had events to record but could not create their file. */
static void put_failures(const run *r, uint32_t failed)
{
    uint32_t pid, shown = 0;
    const char *folder;
    int32_t error;
    int length;

    folder = folder_of(r, &length);
    for (uint32_t i = 0; i < MOST_FAILURES; i++) {
        if (!mv_run_status_failure(&r->recording.status, i, &pid, &error))
            continue;
        shown++;
        if (error == MV_STATUS_FILTERED)
            mv_complain_of(NULL,
                           "process %u recorded nothing: it had a system call filter (seccomp) "
                           "before its first event",
                           pid);
        else
            mv_complain_of(NULL,
                           "process %u recorded nothing: it could not create a file in %.*s: %s",
                           pid, length, folder, strerror(error));
    }
    if (failed > shown)
        mv_complain_of(NULL, "%u more process%s recorded nothing", failed - shown,
                       failed - shown == 1 ? "" : "es");
}

/* Prints the likely reason. Called if no process reported one. */
static void explain_nothing(const run *r, mv_run_counts counts)
{
    const char *why = mv_launch_obstacle(r->cli->options.file[0]), *folder;
    bool cpu = mv_option_given(&r->cli->options, MV_HAS(CPU));
    int length;

    folder = folder_of(r, &length);
    if (counts.opened)
        mv_complain_of(NULL,
                       "nothing was recorded: %u recording%s removed from %.*s while the program "
                       "ran",
                       counts.opened, counts.opened == 1 ? " was" : "s were", length, folder);
    else if (why)
        mv_complain_of(NULL, "nothing was recorded: %s", why);
    else if (!counts.loaded)
        mv_complain_of(NULL, "nothing was recorded: no process loaded the recorder (a cleared "
                             "environment, another user or root, a static or setuid program)");
    else
        mv_complain_of(NULL,
                       "nothing was recorded: no CUDA call and no PyTorch allocation%s was seen in "
                       "the %u process%s that reported (processes in other containers cannot%s)",
                       cpu ? "" : " on a GPU", counts.loaded, counts.loaded == 1 ? "" : "es",
                       cpu ? "" : "; tensors on the CPU are recorded with --cpu");
}

/* An mv_finalise_edit. Removes the pauses that the program, its user or an option made. */
static mv_code leave_out_pauses(void *user, mv_arena *arena, mv_trace *trace, mv_err *err)
{
    const mv_options *o = user;
    mv_pauses pauses;
    mv_thinned thinned;

    if (mv_pauses_find(arena, trace, o->start_after, o->stop_after, &pauses, err) != MV_OK ||
        mv_thin_pauses(arena, trace, &pauses, &thinned, err) != MV_OK)
        return err->code;
    *trace = thinned.trace;
    return MV_OK;
}

/* Reads $MEMVIZ_... if the option was not given. Returns false, with a message, if the value does
 * not name a point in time. */
static bool read_moment(const char **moment, const char *variable, const char *option)
{
    if (!*moment)
        *moment = getenv(variable);
    if (*moment && !**moment)
        *moment = NULL;
    if (!*moment || mv_pause_moment_is_valid(*moment))
        return true;
    mv_complain_usage("run",
                      "'%s' is not a moment for %s: expected a time (90s), a mark (NAME or "
                      "NAME#K) or the number of a step",
                      *moment, option);
    return false;
}

/* A failure here only prints a message, because the exit status is always that of the program. */
static void collect(run *r, uint64_t max_size)
{
    char size[MV_SIZE_TEXT];
    mv_recording_watch watch = {
        .file = put_file,
        .goes_on = r->is_quiet ? NULL : put_left,
        .finalise = {.phase = show_phase, .progress = show_progress, .user = r},
        .user = r};
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_run_counts counts;
    uint32_t count;

    if (mv_recording_collect(&r->recording, &watch, &count, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return;
    }
    if (r->recording.rings.fault)
        mv_complain_of(NULL, "older events could not be folded any more%s%s: %s",
                       max_size ? ", --max-size " : "",
                       max_size ? mv_size_text(size, max_size) : "", r->recording.rings.fault);
    if (r->refused > MOST_FAILURES)
        mv_complain_of(NULL, "%u more files were ignored too", r->refused - MOST_FAILURES);
    counts = mv_run_status_counts(&r->recording.status);
    if (counts.failed)
        put_failures(r, counts.failed);
    else if (count == 0 && !r->is_quiet)
        explain_nothing(r, counts);
}

/* Runs the program without recording it, because a recording would need more file descriptors than
 * the process may open. */
static int run_plainly(char *const *argv)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    int status;

    mv_complain_of(NULL, "nothing is recorded: the limit on open files (ulimit -n) is too low; the "
                         "program runs without the recorder");
    status = mv_launch_plainly(argv, &err);
    mv_complain(NULL, &err);
    return status;
}

/* ---- bounds and conditions ---------------------------------------------------------------- */

/* Returns the value of an option's environment variable. Returns NULL if it is empty or the command
 * line contains the option. The variable exists for programs whose command line the user cannot
 * change. */
static const char *twin_of(const mv_options *o, mv_option_set option, const char *variable)
{
    const char *value = mv_option_given(o, option) ? NULL : getenv(variable);

    return value && *value ? value : NULL;
}

static bool refuse(const char *variable, const char *value, const char *wanted)
{
    mv_complain_of(NULL, "%s: '%s' is not %s", variable, value, wanted);
    return false;
}

static bool take_size(const mv_options *o, mv_option_set option, const char *variable,
                      uint64_t *bytes)
{
    const char *value = twin_of(o, option, variable);

    return !value || (mv_size_parse(value, bytes) && *bytes >= MV_RING_LEAST_SIZE) ||
           refuse(variable, value, "a size of 16M or more, such as 512M");
}

static bool take_time(const mv_options *o, mv_option_set option, const char *variable, uint64_t *us)
{
    const char *value = twin_of(o, option, variable);

    return !value || mv_duration_read(value, us) || refuse(variable, value, "a time, such as 10m");
}

static bool take_number(const mv_options *o, mv_option_set option, const char *variable,
                        uint32_t *number)
{
    const char *value = twin_of(o, option, variable);
    uint64_t wide = 0;

    if (value && (!mv_number_read(value, &wide) || wide > UINT32_MAX))
        return refuse(variable, value, "a number");
    *number = value ? (uint32_t)wide : *number;
    return true;
}

static bool take_conditions(const mv_options *o, mv_trigger_opts *t)
{
    const char *value = twin_of(o, MV_HAS(ON), "MEMVIZ_ON"), *wrong;

    value = o->on ? o->on : value;
    wrong = value ? mv_trigger_parse(value, t) : NULL;
    if (wrong)
        return refuse(o->on ? "--on" : "MEMVIZ_ON", wrong,
                      "a condition: oom, used>90%, used>70G, high, growth>1G/10m, SIGUSR2, exit");
    t->after_us = mv_option_given(o, MV_HAS(AFTER)) ? o->after_us : t->after_us;
    t->cooldown_us = mv_option_given(o, MV_HAS(COOLDOWN)) ? o->cooldown_us : t->cooldown_us;
    t->keep = mv_option_given(o, MV_HAS(KEEP)) ? (uint32_t)o->keep : t->keep;
    return take_time(o, MV_HAS(AFTER), "MEMVIZ_AFTER", &t->after_us) &&
           take_time(o, MV_HAS(COOLDOWN), "MEMVIZ_COOLDOWN", &t->cooldown_us) &&
           take_number(o, MV_HAS(KEEP), "MEMVIZ_KEEP", &t->keep);
}

/* An mv_recording_kept. Prints one line with the name of the file and the reason why it was
 * kept. */
static void put_kept(void *user, const char *path, const char *why, uint64_t bytes,
                     const mv_err *err)
{
    char size[MV_SIZE_TEXT];

    (void)user;
    if (err->code != MV_OK)
        mv_complain(*path ? path : NULL, err);
    else
        mv_complain_of(NULL, "kept %s (%s): %s", path, mv_size_text(size, bytes), why);
}

/* Folded steps are not counted, so a given step number may never be reached. */
static bool can_count(const char *moment, const mv_ring_bounds *bounds)
{
    uint64_t step;

    if (!moment || !mv_number_read(moment, &step) || (!bounds->max_size && !bounds->max_age_us))
        return true;
    mv_complain_usage("run",
                      "step %s: a recording with --max-size or --max-age does not count the steps "
                      "that it folds; give a time or a mark",
                      moment);
    return false;
}

int mv_cmd_run(mv_cli *cli)
{
    mv_options *o = &cli->options;
    run r = {.cli = cli, .is_quiet = mv_option_given(o, MV_HAS(QUIET))};
    mv_recorded_program program = {.argv = o->file,
                                   .stacks = o->stacks ? o->stacks : "python",
                                   .cpu = mv_option_given(o, MV_HAS(CPU)),
                                   .wait_free = mv_option_given(o, MV_HAS(WAIT_FREE)),
                                   .nvtx_all = mv_option_given(o, MV_HAS(NVTX_ALL)),
                                   .bounds = {o->max_size, o->max_age_us}};
    mv_err err = {.offset = MV_NO_OFFSET};
    int status = MV_EXIT_FAILED;

    if (!read_moment(&o->start_after, "MEMVIZ_START_AFTER", "--start-after") ||
        !read_moment(&o->stop_after, "MEMVIZ_STOP_AFTER", "--stop-after") ||
        !take_size(o, MV_HAS(MAX_SIZE), "MEMVIZ_MAX_SIZE", &program.bounds.max_size) ||
        !take_time(o, MV_HAS(MAX_AGE), "MEMVIZ_MAX_AGE", &program.bounds.max_age_us) ||
        !take_conditions(o, &program.triggers) || !can_count(o->start_after, &program.bounds) ||
        !can_count(o->stop_after, &program.bounds))
        return MV_EXIT_USAGE;
    if (!mv_launch_has_room())
        return run_plainly(o->file);
    if (mv_recording_open(&r.recording, &cli->arena, o->output, &err) != MV_OK)
        return mv_complain(NULL, &err);
    r.recording.edit = leave_out_pauses;
    r.recording.user = o;
    mv_recording_watch_kept(&r.recording, put_kept, NULL);
    if (mv_recording_run(&r.recording, &program, &status, &err) == MV_OK)
        collect(&r, program.bounds.max_size);
    else if (!mv_complain_of_start("run", o->file[0], status))
        mv_complain(NULL, &err);
    mv_recording_close(&r.recording);
    return status;
}
