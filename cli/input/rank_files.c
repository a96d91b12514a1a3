#include "cli/input/rank_files.h"

#include "analyze/ranks/summary_bytes.h"
#include "base/parallel_for.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "parse/model/sums.h"
#include "parse/readers.h"

/* Up to this many files, sequences are kept completely. With more files, each sequence is shortened
 * to the 40 KB that a summary file uses, so that hundreds of ranks with 100,000 allocations each
 * need only tens of megabytes. */
#define FILES_IN_DETAIL 64

typedef struct {
    mv_rank_files *files;
    const mv_cli *cli;
} job;

/* ---- one file ---------------------------------------------------------------------------- */

static mv_code keep_named(mv_rank_file *file, int64_t device)
{
    uint32_t kept = 0;
    char contained[MV_DEVICES_TEXT];

    for (uint32_t i = 0; i < file->count; i++)
        if (device == MV_ALL_DEVICES || file->summaries[i].device == device)
            file->summaries[kept++] = file->summaries[i];
    if (kept == 0 && file->count > 0)
        return mv_fail(&file->err, MV_ABSENT, MV_NO_OFFSET, "no device %lld; the file contains %s",
                       (long long)device,
                       mv_devices_text(contained, file->summaries[file->count - 1].device + 1));
    file->count = kept;
    return MV_OK;
}

static mv_code summarize_device(mv_rank_file *file, const mv_trace *trace, uint32_t device,
                                const mv_options *options)
{
    uint32_t most_points =
        options->files > FILES_IN_DETAIL ? MV_SUMMARY_FILE_POINTS : MV_SUMMARY_POINTS;
    char why[MV_WHY];
    mv_window window;

    if (!mv_window_read(trace, device, options->from, options->to, &window, why, sizeof why))
        return mv_fail(&file->err, MV_ABSENT, MV_NO_OFFSET, "%s", why);
    if (mv_summary_make(&file->arena, trace, device, window, most_points, file->path,
                        &file->summaries[file->count], &file->err) == MV_OK)
        file->count++;
    return file->err.code;
}

static mv_code summarize_trace(mv_rank_file *file, const mv_trace *trace, const mv_options *options)
{
    uint32_t devices = mv_trace_devices(trace);
    char why[MV_WHY];

    if (mv_window_is_empty(trace, 0, devices, options->from, options->to, why, sizeof why))
        return mv_fail(&file->err, MV_ABSENT, MV_NO_OFFSET, "%s", why);
    file->summaries = mv_push_array(&file->arena, mv_summary, devices);
    if (!file->summaries)
        return mv_fail(&file->err, MV_NOMEM, MV_NO_OFFSET, "summary");
    for (uint32_t i = 0; i < devices; i++) {
        if (!mv_device_is_used(trace, i))
            continue;
        if (summarize_device(file, trace, i, options) != MV_OK)
            return file->err.code;
    }
    if (file->count == 0)
        return mv_fail(&file->err, MV_ABSENT, MV_NO_OFFSET,
                       "no device has PyTorch events or memory");
    return MV_OK;
}

/* Standard input can be read only once, so its bytes are kept in memory. */
static mv_code read_trace(mv_rank_file *file, mv_source *source, mv_arena *work, const mv_cli *cli)
{
    const mv_options *options = &cli->options;
    mv_read_opts opts = {.files_only = file->is_file};
    mv_trace trace;
    mv_span bytes;
    mv_code code;

    if (strcmp(file->path, "-") != 0)
        code = mv_input_read_part(cli, work, file->path, opts, &trace, &file->err);
    else if ((code = mv_source_rest(source, &bytes, &file->err)) == MV_OK)
        code = mv_trace_read_bytes(work, bytes, &trace, &file->err);
    if (code == MV_OK)
        code = mv_level_take_named(work, &trace, options->level, &file->err);
    if (code == MV_OK)
        code = mv_sums_check(&trace, &file->err);
    if (code == MV_OK)
        file->damaged = trace.notes[MV_NOTE_DAMAGED];
    return code == MV_OK ? summarize_trace(file, &trace, options) : code;
}

static mv_code read_source(mv_rank_file *file, mv_source *source, mv_arena *work,
                           mv_shared_parts *shared, const mv_cli *cli)
{
    mv_span bytes;
    mv_code code;

    mv_source_need(source, MV_SUMMARY_MAGIC_BYTES);
    if (!mv_summary_probe((mv_span){source->at, (uint64_t)(source->end - source->at)})) {
        code = read_trace(file, source, work, cli);
        if (code != MV_OK)
            mv_arena_release(&file->arena);
        return code;
    }
    if (cli->options.from || cli->options.to)
        return mv_fail(&file->err, MV_ABSENT, MV_NO_OFFSET,
                       "a summary covers a whole run: --from and --to do not apply");
    code = mv_source_rest(source, &bytes, &file->err);
    if (code != MV_OK)
        return code;
    return mv_summaries_decode(&file->arena, shared, bytes, &file->summaries, &file->count,
                               &file->err);
}

/* A summary file that failed keeps its memory, because other files' summaries may share parts of
 * it. */
static void read_file(mv_rank_file *file, mv_shared_parts *shared, const mv_cli *cli)
{
    mv_budget *budget = file->arena.budget;
    mv_source source = {0};
    mv_err torn;
    mv_arena work;
    mv_code code;

    file->err = (mv_err){.offset = MV_NO_OFFSET};
    file->count = 0;
    mv_arena_init(&work, budget);
    code = file->is_file ? mv_source_open_file(&work, file->path, &source, &file->err)
                         : mv_source_open(&work, file->path, &source, &file->err);
    if (code == MV_OK)
        code = read_source(file, &source, &work, shared, cli);
    if (mv_source_check(&source, &torn) != MV_OK) {
        file->err = torn;
        code = torn.code;
    }
    mv_source_close(&source);
    mv_arena_release(&work);
    if (code == MV_OK)
        code = keep_named(file, cli->options.device);
    file->err.code = code;
    if (code != MV_OK)
        file->count = 0;
}

/* ---- all --------------------------------------------------------------------------------- */

static void read_one(void *user, uint32_t i)
{
    job *j = user;

    read_file(&j->files->files[i], &j->files->shared, j->cli);
}

/* A file that ran out of memory while others were read may fit if it has all of the remaining
 * memory. */
static void read_again_alone(const job *j)
{
    for (uint32_t i = 0; i < j->files->count; i++) {
        mv_rank_file *file = &j->files->files[i];
        if (file->err.code == MV_NOMEM && strcmp(file->path, "-") != 0)
            read_file(file, &j->files->shared, j->cli);
    }
}

bool mv_rank_files_read(mv_cli *cli, mv_rank_files *out)
{
    uint32_t threads = mv_parallel_for_threads((uint32_t)cli->options.files, 0);
    job j = {.files = out, .cli = cli};
    bool lacked;

    *out = (mv_rank_files){.count = (uint32_t)cli->options.files};
    mv_shared_parts_init(&out->shared, &cli->budget);
    out->files = mv_push_array(&cli->arena, mv_rank_file, out->count);
    if (!out->files) {
        mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
        return false;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->files[i] = (mv_rank_file){.path = cli->options.file[i],
                                       .is_file = mv_input_is_file(cli, cli->options.file[i])};
        mv_arena_init(&out->files[i].arena, &cli->budget);
    }
    lacked = cli->budget.lacked;
    mv_parallel_for(out->count, threads, read_one, &j);
    if (threads > 1)
        read_again_alone(&j);
    cli->budget.lacked = lacked; /* each file that runs out of memory reports that itself */
    for (uint32_t i = 0; i < out->count; i++) {
        mv_rank_file *file = &out->files[i];
        if (file->err.code != MV_OK)
            out->failed++;
        else
            mv_input_report_damage(cli, file->path, &file->damaged);
    }
    return true;
}

void mv_rank_files_release(mv_rank_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        mv_arena_release(&files->files[i].arena);
    mv_shared_parts_release(&files->shared);
}
