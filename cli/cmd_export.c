/* memviz export: converts a snapshot for use with other tools. */
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/pictures/pictures.h"
#include "cli/progress.h"
#include "export/export.h"

static const struct {
    const char *ending;
    mv_export_format format;
} endings[] = {
    {".perfetto-trace", MV_EXPORT_PERFETTO},
    {".pftrace", MV_EXPORT_PERFETTO},
    {".json", MV_EXPORT_SPEEDSCOPE},
    {".folded", MV_EXPORT_FOLDED},
    {".csv", MV_EXPORT_CSV},
    {".sqlite", MV_EXPORT_SQLITE},
    {".db", MV_EXPORT_SQLITE},
};

typedef struct {
    mv_cli *cli;
    mv_trace trace;
    mv_export_format format;
    mv_sites sites;
    mv_export export;
    mv_sink sink;
} exporting;

/* ---- usage ------------------------------------------------------------------------------- */

/* Chooses the output format. Returns false, with a message, if none is given. */
static bool choose_format(exporting *x)
{
    const mv_options *o = &x->cli->options;

    x->format = o->format;
    if (mv_option_given(o, MV_HAS(FORMAT)))
        return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (mv_text_has_ending(o->output, endings[i].ending)) {
            x->format = endings[i].format;
            return true;
        }
    }
    mv_complain_usage("export", "%s: name the output format with --format", o->output);
    return false;
}

static bool check_usage(exporting *x)
{
    const mv_options *o = &x->cli->options;
    bool is_at_moment;

    if (!o->output) {
        mv_complain_usage("export", "name the output with -o OUT (-o - is standard output)");
        return false;
    }
    if (!choose_format(x))
        return false;
    is_at_moment = x->format == MV_EXPORT_SPEEDSCOPE || x->format == MV_EXPORT_FOLDED;
    if (o->table && x->format != MV_EXPORT_CSV) {
        mv_complain_usage("export", "--table applies to csv only");
        return false;
    }
    if (o->at && !is_at_moment) {
        mv_complain_usage(
            "export",
            "--at applies to speedscope and folded; the other formats contain all moments");
        return false;
    }
    if (strcmp(o->output, "-") == 0 && mv_option_given(o, MV_HAS(JSON))) {
        mv_complain_usage("export", "--json and the export cannot both go to standard output");
        return false;
    }
    return true;
}

/* ---- devices ----------------------------------------------------------------------------- */

static bool find_device(exporting *x, uint32_t device, mv_export_device *out)
{
    mv_cli *cli = x->cli;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_moment at;

    if (mv_lives_find(&cli->arena, &x->trace, device, &out->lives, &err) != MV_OK ||
        mv_totals_series(&cli->arena, &out->lives, &out->series, &err) != MV_OK ||
        mv_leaks_find(&cli->arena, &x->trace, &out->lives, &out->leaks, &err) != MV_OK ||
        mv_categories_find(&cli->arena, &x->trace, &out->lives, x->sites.kinds, NULL,
                           &out->categories, &err) != MV_OK) {
        mv_complain(mv_input_name(cli), &err);
        return false;
    }
    if (!mv_at_find(cli, &x->trace, &out->lives, "end", &at))
        return false;
    out->event = at.event;
    return true;
}

static bool find_devices(exporting *x)
{
    mv_cli *cli = x->cli;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_export_device *devices;
    uint32_t first, end;

    if (!mv_input_devices(cli, &x->trace, &first, &end))
        return false;
    devices = mv_push_array(&cli->arena, mv_export_device, end - first);
    x->export.devices = devices;
    for (uint32_t i = first; devices && i < end; i++) {
        if (mv_at_is_elsewhere(cli, &x->trace, i))
            continue;
        if (!find_device(x, i, &devices[x->export.device_count]))
            return false;
        x->export.device_count++;
    }
    if (!devices || !mv_export_prepare(&cli->arena, &x->export)) {
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "export");
        mv_complain(mv_input_name(cli), &err);
        return false;
    }
    return true;
}

/* ---- all --------------------------------------------------------------------------------- */

static mv_code write_format(exporting *x, mv_err *err)
{
    const char *table = x->cli->options.table;

    switch (x->format) {
    case MV_EXPORT_PERFETTO:
        mv_perfetto_write(&x->export, &x->sink);
        return MV_OK;
    case MV_EXPORT_SPEEDSCOPE:
        return mv_speedscope_write(&x->cli->scratch, &x->export, &x->sink, err);
    case MV_EXPORT_CSV:
        mv_csv_write(&x->export, mv_export_table_find(table ? table : "allocations"), &x->sink);
        return MV_OK;
    default:
        return mv_sqlite_write(&x->cli->budget, &x->export, &x->sink, err);
    }
}

static bool write_file(exporting *x)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_progress progress;

    if (mv_sink_open(&x->sink, x->cli->options.output, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    mv_progress_start(&progress, "memviz: writing",
                      mv_option_given(&x->cli->options, MV_HAS(QUIET)));
    x->export.progress = mv_progress_show;
    x->export.user = &progress;
    if (write_format(x, &err) == MV_OK)
        mv_sink_commit(&x->sink, &err);
    else
        mv_sink_abort(&x->sink);
    mv_progress_end(&progress);
    if (err.code != MV_OK)
        mv_complain(err.code == MV_IO ? NULL : mv_input_name(x->cli), &err);
    return err.code == MV_OK;
}

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                  \
    MEMBER("written", mv_value_text(x->cli->options.output)) \
    MEMBER("bytes", mv_value_u64(x->sink.bytes))

MV_LIST_REPORT(list_report, exporting, x, REPORT_FIELDS)

const mv_table mv_report_export = {MV_TABLE(REPORT_FIELDS, list_report)};

int mv_cmd_export(mv_cli *cli)
{
    exporting x = {.cli = cli};
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!check_usage(&x))
        return MV_EXIT_USAGE;
    if (x.format == MV_EXPORT_FOLDED)
        return mv_picture_run(cli, MV_PICTURE_STACKS, ".folded");
    if (!mv_input_read(cli, &x.trace))
        return MV_EXIT_FAILED;
    if (mv_sites_find(&cli->arena, &x.trace, &x.sites, &err) != MV_OK)
        return mv_complain(mv_input_name(cli), &err);
    x.export = (mv_export){.trace = &x.trace,
                           .name = mv_input_name(cli),
                           .kinds = x.sites.kinds,
                           .all_frames = cli->options.all_frames,
                           .is_part = cli->options.device != MV_ALL_DEVICES};
    if (!find_devices(&x) || !write_file(&x))
        return MV_EXIT_FAILED;
    return mv_table_put_written(cli, cli->options.output, &mv_report_export, &x);
}
