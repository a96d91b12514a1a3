/* memviz convert: a snapshot in another format. */
#include "base/size.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/progress.h"
#include "cli/report/report.h"
#include "parse/writers.h"

typedef mv_code write_fn(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                         mv_sink *sink, mv_err *err);

static const struct {
    const char *ending;
    write_fn *write;
    write_fn *write_plain; /* with --plain; NULL: there is no such form */
} formats[] = {
    {".bin", mv_snapshot_write, NULL},
    {".msgpack", mv_compact_write, mv_plain_write},
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length > tail && strcmp(text + length - tail, ending) == 0;
}

/* The writer that OUT's ending asks for; NULL, with a message, when there is none. */
static write_fn *choose(const mv_cli *cli)
{
    const char *path = cli->options.file[1];
    bool plain = mv_option_given(&cli->options, MV_HAS(PLAIN));

    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!ends_with(path, formats[i].ending))
            continue;
        if (plain && !formats[i].write_plain)
            mv_complain_usage("convert", "--plain writes .msgpack, not %s", formats[i].ending);
        return plain ? formats[i].write_plain : formats[i].write;
    }
    if (ends_with(path, ".pickle") || ends_with(path, ".pkl"))
        mv_complain_usage("convert", "%s: pickles are only read; write .bin or .msgpack", path);
    else
        mv_complain_usage("convert", "%s: the name must end in .bin or .msgpack", path);
    return NULL;
}

static bool write_file(mv_cli *cli, const mv_trace *trace, write_fn *write, uint64_t *bytes)
{
    const char *path = cli->options.file[1];
    mv_progress progress;
    mv_sink sink;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&sink, path, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    mv_progress_start(&progress, "memviz: writing", mv_option_given(&cli->options, MV_HAS(QUIET)));
    mv_write_opts opts = {.progress = mv_progress_show, .user = &progress};
    if (write(&cli->scratch, trace, &opts, &sink, &err) == MV_OK)
        mv_sink_commit(&sink, &err);
    else
        mv_sink_abort(&sink);
    mv_progress_end(&progress);
    *bytes = sink.bytes;
    if (err.code != MV_OK)
        mv_complain(err.code == MV_IO ? NULL : path, &err);
    return err.code == MV_OK;
}

static uint64_t count_events(const mv_trace *trace)
{
    uint64_t events = trace->host_events.count;

    for (uint32_t i = 0; i < trace->device_count; i++)
        events += trace->devices[i].events.count;
    return events;
}

static int report_json(mv_cli *cli, uint64_t events, uint64_t bytes_in, uint64_t bytes_out)
{
    mv_report report;

    mv_report_open(&report, cli);
    mv_report_member(&report, "written",
                     mv_json_span(&report, (mv_span){(const uint8_t *)cli->options.file[1],
                                                     strlen(cli->options.file[1])}));
    mv_report_member(&report, "events", mv_json_u64(events));
    mv_report_member(&report, "bytes_in", mv_json_u64(bytes_in));
    mv_report_member(&report, "bytes_out", mv_json_u64(bytes_out));
    return mv_report_close(&report);
}

static void report_text(mv_cli *cli, uint64_t events, uint64_t bytes_in, uint64_t bytes_out)
{
    char in[MV_SIZE_TEXT], written[MV_SIZE_TEXT];
    const char *path = cli->options.file[1];

    mv_out_clean(&cli->out, (mv_span){(const uint8_t *)path, strlen(path)});
    mv_out_format(&cli->out, ": %llu events, %s to %s", (unsigned long long)events,
                  mv_size_text(in, bytes_in), mv_size_text(written, bytes_out));
    if (bytes_in > 0)
        mv_out_format(&cli->out, " (%.1f %%)", (double)bytes_out / (double)bytes_in * 100);
    mv_out_char(&cli->out, '\n');
}

/* PyTorch's dict has no place for some of what a capture records. */
static void warn_of_losses(mv_cli *cli, const mv_trace *trace, write_fn *write)
{
    if (write != mv_plain_write || !mv_trace_is_captured(trace) ||
        mv_option_given(&cli->options, MV_HAS(QUIET)))
        return;
    mv_complain_of(cli->options.file[1],
                   "PyTorch's dict has no place for %u API calls, %u samples and %u facts of the "
                   "capture; without --plain they are kept",
                   trace->api_calls.count, trace->samples.count, trace->facts.count);
}

int mv_cmd_convert(mv_cli *cli)
{
    write_fn *write = choose(cli);
    mv_trace trace;
    uint64_t bytes_in, bytes_out, events;

    if (!write)
        return MV_EXIT_USAGE;
    if (!mv_input_read(cli, &trace) || !write_file(cli, &trace, write, &bytes_out))
        return MV_EXIT_FAILED;
    warn_of_losses(cli, &trace, write);
    events = count_events(&trace);
    bytes_in =
        trace.origin.file_bytes == MV_NO_BYTES ? trace.origin.data_bytes : trace.origin.file_bytes;
    if (mv_option_given(&cli->options, MV_HAS(JSON)))
        return report_json(cli, events, bytes_in, bytes_out);
    if (!mv_option_given(&cli->options, MV_HAS(QUIET)))
        report_text(cli, events, bytes_in, bytes_out);
    return MV_EXIT_DONE;
}
