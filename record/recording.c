#include "record/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/numbers.h"
#include "record/launch.h"

/* Milliseconds between two samples. The interval is short while memory use changes, and long while
 * it is constant. */
enum { SOON_MS = 20, LATE_MS = 100, PATIENCE_MS = 1000, PAUSE_MS = 50 };
enum { MOST_LEFT = 8 }; /* maximum number of running processes reported to the user */

mv_code mv_recording_open(mv_recording *r, mv_arena *arena, const char *output, mv_err *err)
{
    *r = (mv_recording){.arena = arena};
    if (mv_run_names_make(output, &r->names, err) == MV_OK) {
        mv_run_status_open(&r->status);
        mv_control_open(&r->control, &r->status, mv_steering_answer, r);
    }
    return err->code;
}

void mv_recording_close(mv_recording *r)
{
    mv_control_close(&r->control);
    mv_nvml_close(&r->nvml);
    mv_run_status_close(&r->status);
    mv_run_names_close(&r->names);
}

typedef enum { NOT_OF_RUN, OF_RUN, MAY_BE_OF_RUN } membership;

/* Tells whether this run started a process, judging by the process's initial environment. A process
 * may belong to this run if its environment cannot be read (because it belongs to another user or
 * is not dumpable), or is empty because of a concurrent exec. */
static membership membership_of(const mv_recording *r, uint32_t pid)
{
    static const char name[] = "MEMVIZ_STATUS=";
    char path[32], *word = NULL;
    size_t room = 0;
    bool is_found = false, is_empty = true;
    FILE *words;

    snprintf(path, sizeof path, "/proc/%u/environ", pid);
    words = r->status.page ? fopen(path, "re") : NULL;
    if (!words)
        return !r->status.page || errno != ENOENT ? MAY_BE_OF_RUN : NOT_OF_RUN;
    errno = 0;
    for (; !is_found && getdelim(&word, &room, 0, words) > 0; is_empty = false)
        is_found = strncmp(word, name, sizeof name - 1) == 0 &&
                   strcmp(word + sizeof name - 1, r->status.where) == 0;
    is_empty |= errno != 0;
    free(word);
    fclose(words);
    return is_found ? OF_RUN : is_empty ? MAY_BE_OF_RUN : NOT_OF_RUN;
}

/* Returns true if a process belongs to this run. In a container, the library may return process ids
 * that do not exist here or that belong to other processes. */
static bool is_of_run(void *user, uint32_t pid)
{
    return membership_of(user, pid) != NOT_OF_RUN;
}

/* Takes a sample, and returns the time until the next one. NVML is loaded only after the program
 * has started, because loading takes a while and must not delay the program. */
static uint32_t sample(void *user)
{
    mv_recording *r = user;
    bool is_changed;

    if (!r->is_sampling)
        mv_nvml_open(r->arena, is_of_run, r, &r->nvml);
    r->is_sampling = true;
    is_changed = mv_nvml_sample(&r->nvml);
    r->pause_ms = is_changed || !r->pause_ms ? SOON_MS : 2 * r->pause_ms;
    if (r->pause_ms > LATE_MS)
        r->pause_ms = LATE_MS;
    if (r->rings.bounds.max_size) /* the files may grow between two ticks */
        r->pause_ms = SOON_MS;
    mv_rings_update(&r->rings);
    mv_triggers_update(&r->triggers);
    if (r->rings.is_behind)
        return 0;
    return r->pause_ms;
}

/* ---- files of conditions ----------------------------------------------------------------- */

/* Removes all files of a condition except the newest `keep` files. Returns whether a file was
 * removed. */
static bool remove_older(const mv_recording *r, const mv_trigger_shot *shot, const char *result)
{
    char word[64], path[PATH_MAX + 64], *name;

    if (shot->number <= r->triggers.opts.keep)
        return false;
    snprintf(word, sizeof word, "%s.%u", mv_trigger_text(shot->kind),
             shot->number - r->triggers.opts.keep);
    mv_run_names_insert(result, word, path, sizeof path);
    name = strrchr(path, '/');
    return unlinkat(r->names.folder, name ? name + 1 : path, 0) == 0;
}

/* Writes the file from the live file, which is not removed. */
static mv_trigger_result write_shot(mv_recording *r, const mv_trigger_shot *shot, mv_run_file *file,
                                    char path[PATH_MAX + 64], uint64_t *bytes, mv_err *err)
{
    const char *result = file->result;
    mv_finalised out = {0};
    char word[64];

    snprintf(word, sizeof word, "%s.%u", mv_trigger_text(shot->kind), shot->number);
    mv_run_names_insert(result, word, path, PATH_MAX + 64);
    file->result = path;
    mv_recording_copy(r, file, r->names.folder, &out, err);
    *bytes = out.bytes;
    if (err->code != MV_OK)
        return MV_TRIGGER_NOT_WRITTEN;
    return remove_older(r, shot, result) ? MV_TRIGGER_REPLACED : MV_TRIGGER_ADDED;
}

/* Used as mv_triggers.write: writes a file and reports it. */
static mv_trigger_result keep(void *user, const mv_trigger_shot *shot)
{
    mv_trigger_result outcome = MV_TRIGGER_NOT_WRITTEN;
    mv_recording *r = user;
    mv_run_file *files, *file = NULL;
    char path[PATH_MAX + 64] = "";
    mv_err err = {.offset = MV_NO_OFFSET};
    uint64_t bytes = 0;
    uint32_t count;

    if (mv_run_names_list(r->arena, &r->names, &files, &count, &err) == MV_OK &&
        !mv_run_names_assign(r->arena, &r->names, files, count))
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", shot->name);
    for (uint32_t i = 0; err.code == MV_OK && i < count; i++)
        if (strcmp(strrchr(files[i].path, '/') + 1, shot->name) == 0 && !files[i].refused)
            file = &files[i];
    if (file && !file->is_empty)
        outcome = write_shot(r, shot, file, path, &bytes, &err);
    if (*path || err.code != MV_OK)
        r->kept(r->kept_user, path, shot->why, bytes, &err);
    return outcome;
}

void mv_recording_watch_kept(mv_recording *r, mv_recording_kept *kept, void *user)
{
    r->kept = kept;
    r->kept_user = user;
}

/* Used as mv_launch.signal: takes a signal that is not to be forwarded. */
static bool take_signal(void *user, int number)
{
    mv_recording *r = user;

    if (number != SIGUSR2 || !r->triggers.opts.on[MV_TRIGGER_SIGUSR2])
        return false;
    mv_triggers_signal(&r->triggers);
    return true;
}

static void begin_watching(mv_recording *r, const mv_recorded_program *program)
{
    r->triggers = (mv_triggers){
        .opts = program->triggers, .rings = &r->rings, .nvml = &r->nvml, .write = keep, .user = r};
    mv_rings_open(&r->rings, r->arena->budget, &r->names, &program->bounds);
    mv_triggers_open(&r->triggers, r->arena->budget);
    r->rings.is_watched = mv_triggers_any(&r->triggers);
}

mv_code mv_recording_run(mv_recording *r, const mv_recorded_program *program, int *status,
                         mv_err *err)
{
    char shim[PATH_MAX];
    mv_code code;
    mv_launch launch = {.argv = program->argv,
                        .shim = shim,
                        .live = r->names.live,
                        .stacks = program->stacks,
                        .cpu = program->cpu,
                        .wait_free = program->wait_free,
                        .nvtx_all = program->nvtx_all,
                        .window = mv_ring_window(&program->bounds),
                        .status = &r->status,
                        .control = &r->control,
                        .tick = sample,
                        .signal = take_signal,
                        .user = r};

    if (mv_launch_shim(shim, sizeof shim, err) != MV_OK)
        return err->code;
    begin_watching(r, program);
    code = mv_launch_run(&launch, status, err);
    mv_control_close(&r->control);
    mv_rings_end(&r->rings);
    mv_triggers_end(&r->triggers);
    mv_rings_close(&r->rings);
    mv_steering_finish(&r->steering);
    return code;
}

/* ---- results ----------------------------------------------------------------------------- */

static bool is_any_running(const mv_run_file *files, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (files[i].is_running)
            return true;
    return false;
}

/* Lists the live files. Waits a little, because worker processes may end slightly later than the
 * program that started them. */
static mv_code list_files(mv_recording *r, mv_run_file **files, uint32_t *count, mv_err *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};

    for (int waited = 0;; waited += PAUSE_MS) {
        mv_code code = mv_run_names_list(r->arena, &r->names, files, count, err);
        if (code != MV_OK || waited >= PATIENCE_MS || !is_any_running(*files, *count))
            return code;
        nanosleep(&pause, NULL);
    }
}

static bool has_file(const mv_run_file *files, uint32_t count, uint32_t pid)
{
    for (uint32_t i = 0; i < count; i++)
        if (files[i].pid == pid)
            return true;
    return false;
}

static uint32_t find_left(const mv_recording *r, const mv_run_file *files, uint32_t count,
                          uint32_t left[MOST_LEFT])
{
    DIR *processes = r->status.page ? opendir("/proc") : NULL;
    struct dirent *entry;
    uint32_t found = 0;
    uint64_t pid;

    while (processes && found < MOST_LEFT && (entry = readdir(processes)))
        if (mv_number_read(entry->d_name, &pid) && pid <= INT32_MAX &&
            membership_of(r, (uint32_t)pid) == OF_RUN && !has_file(files, count, (uint32_t)pid))
            left[found++] = (uint32_t)pid;
    if (processes)
        closedir(processes);
    return found;
}

/* Reports the processes that are still running. Waits a little, because processes may end slightly
 * later than the program. */
static void report_rest(const mv_recording *r, const mv_recording_watch *watch,
                        const mv_run_file *files, uint32_t count)
{
    uint32_t left[MOST_LEFT], found = 0;

    for (int waited = 0; waited <= PATIENCE_MS; waited += PAUSE_MS) {
        const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
        found = find_left(r, files, count, left);
        if (!found)
            return;
        nanosleep(&pause, NULL);
    }
    for (uint32_t i = 0; i < found; i++)
        watch->goes_on(watch->user, left[i]);
}

static mv_code write_file(mv_recording *r, const mv_run_file *file, int folder,
                          const mv_finalise_watch *watch, mv_finalised *out, mv_err *err)
{
    mv_finalise_task task = {.names = &r->names,
                             .file = file,
                             .folder = folder,
                             .nvml = &r->nvml,
                             .marks = &r->steering.marks,
                             .edit = r->edit,
                             .user = r->user};

    return mv_finalise(r->arena->budget, &task, watch, out, err);
}

mv_code mv_recording_copy(mv_recording *r, const mv_run_file *file, int folder, mv_finalised *out,
                          mv_err *err)
{
    return write_file(r, file, folder, &(mv_finalise_watch){0}, out, err);
}

static mv_recording_outcome complete(mv_recording *r, const mv_finalise_watch *watch,
                                     mv_recording_file *out)
{
    const mv_run_file *file = out->file;

    if (file->refused)
        return MV_RECORDING_REFUSED;
    if (file->is_running)
        return MV_RECORDING_RUNNING;
    if (file->is_empty) {
        mv_run_names_remove(&r->names, file);
        return MV_RECORDING_EMPTY;
    }
    if (write_file(r, file, r->names.folder, watch, &out->result, &out->err) != MV_OK)
        return MV_RECORDING_FAILED;
    mv_run_names_remove(&r->names, file);
    return MV_RECORDING_WRITTEN;
}

mv_code mv_recording_collect(mv_recording *r, const mv_recording_watch *watch, uint32_t *count,
                             mv_err *err)
{
    mv_run_file *files;

    if (list_files(r, &files, count, err) != MV_OK)
        return err->code;
    if (!mv_run_names_assign(r->arena, &r->names, files, *count))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the recordings were left unchanged: %s.*.live",
                       r->names.live);
    for (uint32_t i = 0; i < *count; i++) {
        mv_recording_file file = {.file = &files[i]};
        file.outcome = complete(r, &watch->finalise, &file);
        watch->file(watch->user, &file);
    }
    if (watch->goes_on)
        report_rest(r, watch, files, *count);
    return MV_OK;
}
