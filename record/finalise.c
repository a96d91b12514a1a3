#include "record/finalise.h"

#include <unistd.h>

#include "base/numbers.h"
#include "parse/writers.h"
#include "record/add_samples.h"
#include "record/recorded.h"

static mv_code write_result(mv_arena *scratch, int folder, const mv_trace *trace, const char *path,
                            const mv_write_opts *opts, uint64_t *bytes, mv_err *err)
{
    mv_sink sink;

    if (mv_sink_open_in(&sink, folder, path, err) != MV_OK)
        return err->code;
    if (mv_snapshot_write(scratch, trace, opts, &sink, err) == MV_OK)
        mv_sink_commit(&sink, err);
    else
        mv_sink_abort(&sink);
    *bytes = sink.bytes;
    return err->code;
}

/* Reads a live file. The file is opened by its descriptor, because its name may now refer to a
 * different file. */
static mv_code read_live(mv_arena *arena, const mv_run_names *names, const mv_run_file *file,
                         const mv_read_opts *opts, mv_trace *trace, mv_err *err)
{
    int fd = mv_run_names_open(names, file), folded;
    char path[64];

    if (fd < 0)
        return mv_fail(err, MV_IO, MV_NO_OFFSET, "%s was replaced by another file", file->path);
    folded = mv_run_names_open_folded(names, file);
    if (folded >= 0) {
        mv_trace_read_bounded(arena, fd, folded, opts, trace, err);
        close(folded);
        close(fd);
        return err->code;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    mv_trace_read(arena, access(path, R_OK) == 0 ? path : file->path, opts, trace, err);
    close(fd);
    return err->code;
}

static void begin_phase(const mv_finalise_watch *watch, const char *what)
{
    if (watch->phase)
        watch->phase(watch->user, what);
}

static mv_code read_capture(mv_arena *arena, const mv_run_names *names, const mv_run_file *file,
                            const mv_finalise_watch *watch, mv_trace *trace, mv_err *err)
{
    mv_read_opts opts = {.progress = watch->progress, .user = watch->user, .foreign_symbols = true};

    begin_phase(watch, "reading the capture");
    read_live(arena, names, file, &opts, trace, err);
    begin_phase(watch, NULL);
    return err->code;
}

static mv_code write_capture(mv_arena *scratch, const mv_finalise_task *task,
                             const mv_finalise_watch *watch, const mv_trace *trace, uint64_t *bytes,
                             mv_err *err)
{
    mv_write_opts opts = {.progress = watch->progress, .user = watch->user};

    begin_phase(watch, "writing");
    write_result(scratch, task->folder, trace, task->file->result, &opts, bytes, err);
    begin_phase(watch, NULL);
    return err->code;
}

/* Returns the number of events that were not numbered because the file was not open yet or had no
 * space for them. */
static uint64_t unnumbered(const mv_trace *trace)
{
    static const char *const keys[] = {"lost_opening", "lost_space", "lost_folded"};
    uint64_t sum = 0, count;

    for (uint32_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *text = mv_fact_find(trace, keys[i]);
        if (text && mv_number_read(text, &count))
            sum += count;
    }
    return sum;
}

static mv_code edit(mv_arena *arena, const mv_finalise_task *task, mv_trace *trace, mv_err *err)
{
    return task->edit ? task->edit(task->user, arena, trace, err) : MV_OK;
}

mv_code mv_finalise(mv_budget *budget, const mv_finalise_task *task, const mv_finalise_watch *watch,
                    mv_finalised *out, mv_err *err)
{
    const mv_run_file *file = task->file;
    mv_nvml_process process = {
        .pid = file->pid, .visible = file->visible, .order = file->device_order};
    mv_arena arena, scratch;
    const char *stopped;
    mv_trace trace = {0};

    mv_arena_init(&arena, budget);
    mv_arena_init(&scratch, budget);
    *err = (mv_err){.offset = MV_NO_OFFSET};
    if (read_capture(&arena, task->names, file, watch, &trace, err) == MV_OK &&
        mv_add_samples(&arena, &process, task->nvml, 0, &trace, err) == MV_OK &&
        mv_run_marks_apply(&arena, task->marks, &trace, err) == MV_OK &&
        edit(&arena, task, &trace, err) == MV_OK &&
        write_capture(&scratch, task, watch, &trace, &out->bytes, err) == MV_OK) {
        out->events = mv_recorded_count(&trace);
        out->lost = trace.notes[MV_NOTE_LOST].count + unnumbered(&trace);
        stopped = mv_fact_find(&trace, "stopped");
        snprintf(out->stopped, sizeof out->stopped, "%s", stopped ? stopped : "");
    }
    mv_arena_release(&scratch);
    mv_arena_release(&arena);
    return err->code;
}
