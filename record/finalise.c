#include "record/finalise.h"

#include <stdio.h>
#include <unistd.h>

#include "base/numbers.h"
#include "parse/live/read_live.h"
#include "parse/writers.h"
#include "record/recorded.h"

/* A bit for each device that the process used. */
static uint64_t devices_used(const mv_trace *trace)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < trace->device_count && i < 64; i++)
        used |= trace->devices[i].events.count ? 1ull << i : 0;
    for (uint32_t i = 0; i < trace->api_calls.count; i++) {
        int32_t device = trace->api_calls.device[i];
        used |= device >= 0 && device < 64 ? 1ull << device : 0;
    }
    return used;
}

static mv_code add_samples(mv_arena *arena, const mv_run_file *file, const mv_nvml *nvml,
                           mv_trace *trace, mv_err *err)
{
    mv_nvml_process process = {
        .pid = file->pid, .visible = file->visible, .order = file->device_order};
    mv_note *note = &trace->notes[MV_NOTE_FILE_NOTE];
    uint64_t wanted = devices_used(trace);
    const char *why;

    if (!nvml || !nvml->calls)
        return MV_OK;
    why = wanted ? mv_nvml_why_unknown(nvml, &process) : NULL;
    if (why && note->count++ == 0)
        snprintf(note->first, sizeof note->first, "%s", why);
    if (!mv_nvml_samples(arena, nvml, &process, wanted, &trace->samples))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "samples");
    for (uint32_t i = 0; i < trace->samples.count; i++)
        trace->samples.time_us[i] += mv_live_to_epoch_us(trace);
    return MV_OK;
}

static mv_code write_result(mv_arena *scratch, const mv_run_names *names, const mv_trace *trace,
                            const char *path, const mv_write_opts *opts, uint64_t *bytes,
                            mv_err *err)
{
    mv_sink sink;

    if (mv_sink_open_in(&sink, names->folder, path, err) != MV_OK)
        return err->code;
    if (mv_snapshot_write(scratch, trace, opts, &sink, err) == MV_OK)
        mv_sink_commit(&sink, err);
    else
        mv_sink_abort(&sink);
    *bytes = sink.bytes;
    return err->code;
}

/* Opens the file by its descriptor, because its name may now refer to another file. */
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

static mv_code write_capture(mv_arena *scratch, const mv_run_names *names, const mv_run_file *file,
                             const mv_finalise_watch *watch, const mv_trace *trace, uint64_t *bytes,
                             mv_err *err)
{
    mv_write_opts opts = {.progress = watch->progress, .user = watch->user};

    begin_phase(watch, "writing");
    write_result(scratch, names, trace, file->result, &opts, bytes, err);
    begin_phase(watch, NULL);
    return err->code;
}

/* Events without a number: the file was not open yet, or had no space for them. */
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

mv_code mv_finalise(mv_budget *budget, const mv_run_names *names, const mv_run_file *file,
                    const mv_nvml *nvml, const mv_finalise_watch *watch, mv_finalised *out,
                    mv_err *err)
{
    mv_arena arena, scratch;
    const char *stopped;
    mv_trace trace = {0};

    mv_arena_init(&arena, budget);
    mv_arena_init(&scratch, budget);
    *err = (mv_err){.offset = MV_NO_OFFSET};
    if (read_capture(&arena, names, file, watch, &trace, err) == MV_OK &&
        add_samples(&arena, file, nvml, &trace, err) == MV_OK &&
        write_capture(&scratch, names, file, watch, &trace, &out->bytes, err) == MV_OK) {
        out->events = mv_recorded_count(&trace);
        out->lost = trace.notes[MV_NOTE_LOST].count + unnumbered(&trace);
        stopped = mv_fact_find(&trace, "stopped");
        snprintf(out->stopped, sizeof out->stopped, "%s", stopped ? stopped : "");
        if (!watch->keeps_live)
            mv_run_names_remove(names, file);
    }
    mv_arena_release(&scratch);
    mv_arena_release(&arena);
    return err->code;
}
