/* memviz summarize: writes summaries of snapshots to one small file, which `ranks` reads instead of
 * the snapshots. */

#include "analyze/ranks/summary_bytes.h"
#include "base/texts.h"
#include "cli/complain.h"
#include "cli/input/overwrite.h"
#include "cli/input/rank_files.h"
#include "cli/report/table.h"

/* Collects every file's summaries. Returns NULL if memory runs out. */
static const mv_summary **gather(mv_cli *cli, const mv_rank_files *files, uint32_t *count)
{
    const mv_summary **all;

    *count = 0;
    for (uint32_t i = 0; i < files->count; i++)
        *count += files->files[i].count;
    all = mv_push_array(&cli->arena, const mv_summary *, *count);
    for (uint32_t i = 0, at = 0; all && i < files->count; i++)
        for (uint32_t k = 0; k < files->files[i].count; k++)
            all[at++] = &files->files[i].summaries[k];
    return all;
}

typedef struct {
    const char *path;
    uint32_t summaries;
    uint64_t bytes;
} written;

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)         \
    MEMBER("written", mv_value_text(w->path))       \
    MEMBER("summaries", mv_value_u64(w->summaries)) \
    MEMBER("bytes", mv_value_u64(w->bytes))

MV_LIST_REPORT(list_report, written, w, REPORT_FIELDS)

const mv_table mv_report_summarize = {MV_TABLE(REPORT_FIELDS, list_report)};

static int put_report(mv_cli *cli, const written *w)
{
    char size[MV_SIZE_TEXT];

    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, w);
    mv_out_clean(&cli->out, mv_text_span(w->path));
    mv_out_format(&cli->out, ": %u summar%s, %s\n", w->summaries, w->summaries == 1 ? "y" : "ies",
                  mv_size_text(size, w->bytes));
    return MV_EXIT_DONE;
}

static int write_file(mv_cli *cli, const char *path, mv_span bytes)
{
    mv_sink *sink = mv_push_struct(&cli->arena, mv_sink);
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!sink)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    if (mv_sink_open(sink, path, &err) == MV_OK) {
        mv_sink_write(sink, bytes.data, bytes.length);
        mv_sink_commit(sink, &err);
    }
    mv_sink_abort(sink);
    return err.code == MV_OK ? MV_EXIT_DONE : mv_complain(NULL, &err);
}

static int write_all(mv_cli *cli, const mv_rank_files *files)
{
    char beside[4096];
    const char *path = cli->options.output;
    mv_err err = {.offset = MV_NO_OFFSET};
    uint32_t count;
    const mv_summary **all = gather(cli, files, &count);
    mv_span bytes;

    if (!all || mv_summaries_encode(&cli->arena, all, count, &bytes, &err) != MV_OK)
        return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
    if (!path && strcmp(cli->options.file[0], "-") == 0)
        return mv_complain_usage("summarize", "standard input has no name: -o FILE is needed");
    if (!path) {
        snprintf(beside, sizeof beside, "%s.summary", cli->options.file[0]);
        path = beside;
        if (mv_overwrite_by(cli, path))
            return MV_EXIT_USAGE;
    }
    if (write_file(cli, path, bytes) != MV_EXIT_DONE)
        return MV_EXIT_FAILED;
    if (strcmp(path, "-") == 0)
        return MV_EXIT_DONE;
    return put_report(cli, &(written){path, count, bytes.length});
}

int mv_cmd_summarize(mv_cli *cli)
{
    mv_rank_files files;
    int status = MV_EXIT_FAILED;

    if (!mv_rank_files_read(cli, &files))
        return MV_EXIT_FAILED;
    for (uint32_t i = 0; i < files.count; i++)
        if (files.files[i].err.code != MV_OK)
            mv_complain(files.files[i].path, &files.files[i].err);
    if (files.failed == 0)
        status = write_all(cli, &files);
    mv_rank_files_release(&files);
    return status;
}
