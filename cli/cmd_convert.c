/* memviz convert: writes a snapshot in a different format. */
#include "analyze/lives/digests.h"
#include "analyze/ranks/summary.h"
#include "base/sort.h"
#include "base/texts.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/pieces.h"
#include "cli/pictures/pictures.h"
#include "cli/progress.h"
#include "cli/report/table.h"
#include "parse/model/sums.h"
#include "parse/model/tables.h"

typedef mv_code write_fn(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                         mv_sink *sink, mv_err *err);

static const struct {
    const char *ending;
    write_fn *write; /* function that writes the format; NULL: a page */
} formats[] = {
    {".bin", mv_snapshot_write},
    {".msgpack", mv_plain_write},
    {".html", NULL},
};

/* Returns OUT, which is the second argument or the argument of -o. */
static const char *out_of(const mv_cli *cli)
{
    return cli->options.output ? cli->options.output : cli->options.file[1];
}

/* Returns the writer for OUT's suffix. Returns false, with a message, if there is none. */
static bool choose(const mv_cli *cli, write_fn **write)
{
    const char *path = out_of(cli);
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!mv_text_has_ending(path, formats[i].ending))
            continue;
        *write = formats[i].write;
        return true;
    }
    if (mv_text_has_ending(path, ".pickle") || mv_text_has_ending(path, ".pkl"))
        mv_complain_usage("convert",
                          "%s: pickles can be read but not written; write .bin or .msgpack", path);
    else
        mv_complain_usage("convert", "%s: the name must end in .bin, .msgpack or .html", path);
    return false;
}

static mv_code write_page(mv_cli *cli, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_page_gap *gap, mv_err *err)
{
    mv_viewer_page_opts page = {.write = *opts};

    mv_page_init(cli, &page);
    for (uint32_t i = 0; i < mv_trace_devices(trace); i++) {
        mv_arena work;
        mv_lives lives;
        if (!mv_device_is_used(trace, i))
            continue;
        mv_arena_init(&work, &cli->budget);
        if (mv_input_lives(cli, &work, trace, i, &lives, err) == MV_OK)
            mv_viewer_page_evaluate(&cli->arena, &work, trace, &lives, &page, err);
        mv_arena_release(&work);
        if (err->code != MV_OK)
            return err->code;
    }
    return mv_page_put(cli, trace, &page, out_of(cli), sink, gap, err);
}

typedef struct {
    const char *path;
    uint64_t events, bytes_in, bytes_out; /* number of events in the trace */
    mv_page_gap gap;                      /* number of events missing from OUT */
} written;

/* Computes the container's digests, which make `info` fast. Returns NULL, so that the container has
 * none, if sums overflow or there is not enough memory, because the conversion itself needs much
 * less memory. */
static const mv_digest *find_digests(mv_cli *cli, const mv_trace *trace, write_fn *write,
                                     const mv_spans **spans)
{
    bool lacked = cli->budget.lacked;
    const mv_digest *digests;
    mv_err ignored = {0};

    if (write != mv_snapshot_write || mv_sums_check(trace, &ignored) != MV_OK)
        return NULL;
    digests = mv_digests_make(&cli->arena, trace, spans, &ignored);
    cli->budget.lacked = lacked;
    return digests;
}

/* ---- pieces ------------------------------------------------------------------------------ */

typedef struct {
    mv_cli *cli;
    mv_snapshot_writer *writer;
} piece_writer;

/* Whether the writer has the same live rows as the file that is read, and the piece fills its
 * chunks. The lives of a device with a single piece may be uncertain. */
static bool fits(const mv_living_columns *alive, const mv_living *l, uint32_t rows)
{
    uint32_t chunk = mv_table_find(MV_WIRE_EVENTS)->chunk_rows;

    return (l->count > 0 || l->is_cut) && alive->rows.count == l->count &&
           (!l->is_cut || (rows - l->count) % chunk == 0) &&
           (l->count == 0 || memcmp(alive->event, l->event, l->count * sizeof *l->event) == 0);
}

static mv_code put_piece(void *user, const mv_trace *piece, const mv_lives *lives, mv_err *err)
{
    const piece_writer *w = user;
    mv_living l = mv_living_of(piece, lives->device);
    mv_spans spans = mv_spans_of(lives);

    if (!fits(mv_snapshot_alive(w->writer), &l, lives->events.count))
        return mv_input_needs_whole(w->cli, err);
    mv_snapshot_put(w->writer, (mv_snapshot_piece){.device = lives->device,
                                                   .events = &lives->events,
                                                   .before = l.count,
                                                   .spans = &spans});
    return MV_OK;
}

/* Writes a container from the pieces of another. */
static mv_code write_pieces(mv_cli *cli, const mv_trace *trace, const mv_write_opts *opts,
                            mv_sink *sink, mv_err *err)
{
    piece_writer w = {cli, mv_snapshot_begin(&cli->scratch, trace, opts, sink)};
    mv_err ended = {0};

    for (uint32_t i = 0; w.writer && err->code == MV_OK && i < trace->device_count; i++)
        if (trace->devices[i].events.count > 0)
            mv_input_each_piece(cli, trace, i, put_piece, &w, err);
    mv_snapshot_end(w.writer, err->code == MV_OK ? err : &ended);
    return err->code;
}

static bool write_file(mv_cli *cli, const mv_trace *trace, write_fn *write, written *w)
{
    const char *path = out_of(cli), *input = mv_input_name(cli);
    const char *slash = strrchr(input, '/');
    bool in_pieces = cli->pieces && write;
    mv_progress progress;
    const mv_spans *spans = NULL;
    mv_sink sink;
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&sink, path, &err) != MV_OK) {
        mv_complain(NULL, &err);
        return false;
    }
    mv_progress_start(&progress, "memviz: writing", mv_option_given(&cli->options, MV_HAS(QUIET)));
    mv_write_opts opts = {.progress = mv_progress_show,
                          .user = &progress,
                          .digests =
                              in_pieces ? trace->digests : find_digests(cli, trace, write, &spans),
                          .name = slash && slash[1] ? slash + 1 : input};
    opts.spans = spans;
    if ((in_pieces ? write_pieces(cli, trace, &opts, &sink, &err)
         : write   ? write(&cli->scratch, trace, &opts, &sink, &err)
                   : write_page(cli, trace, &opts, &sink, &w->gap, &err)) == MV_OK)
        mv_sink_commit(&sink, &err);
    else
        mv_sink_abort(&sink);
    mv_progress_end(&progress);
    w->bytes_out = sink.bytes;
    if (err.code != MV_OK && !cli->reads_whole)
        mv_complain(err.code == MV_IO ? NULL : path, &err);
    return err.code == MV_OK;
}

#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                   \
    MEMBER("written", mv_value_text(w->path))                 \
    MEMBER("events", mv_value_u64(w->events - w->gap.events)) \
    MEMBER("left_out", mv_value_u64(w->gap.events))           \
    MEMBER("bytes_in", mv_value_u64(w->bytes_in))             \
    MEMBER("bytes_out", mv_value_u64(w->bytes_out))

MV_LIST_REPORT(list_report, written, w, REPORT_FIELDS)

const mv_table mv_report_convert = {MV_TABLE(REPORT_FIELDS, list_report)};

static void report_text(mv_out *out, const written *w)
{
    char in[MV_SIZE_TEXT], size[MV_SIZE_TEXT];

    mv_out_clean(out, mv_text_span(w->path));
    mv_out_format(out, ": %llu", (unsigned long long)(w->events - w->gap.events));
    if (w->gap.events > 0)
        mv_out_format(out, " of %llu", (unsigned long long)w->events);
    mv_out_format(out, " events, %s to %s", mv_size_text(in, w->bytes_in),
                  mv_size_text(size, w->bytes_out));
    if (w->bytes_in > 0)
        mv_out_format(out, " (%.1f %%)", (double)w->bytes_out / (double)w->bytes_in * 100);
    mv_out_char(out, '\n');
}

typedef struct {
    uint32_t count, *call;
} call_list;

static void take_calls(call_list *l, const uint32_t *call, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (call[i] != MV_NO_CALL)
            l->call[l->count++] = call[i];
}

/* Returns the number of calls that have more than one row. The plain format writes out the stack of
 * each row, so rows of one call cannot be distinguished from others. */
static uint32_t count_shared_calls(mv_arena *scratch, const mv_trace *trace)
{
    call_list list = {0};
    uint64_t rows = (uint64_t)trace->host_events.count + trace->segments.count +
                    trace->blocks.count + trace->history.count;
    uint32_t shared = 0;

    for (uint32_t i = 0; i < trace->device_count; i++)
        rows += trace->devices[i].events.count;
    list.call = mv_push_array(scratch, uint32_t, rows);
    if (!list.call)
        return 0;
    for (uint32_t i = 0; i < trace->device_count; i++)
        take_calls(&list, trace->devices[i].events.call, trace->devices[i].events.count);
    take_calls(&list, trace->host_events.call, trace->host_events.count);
    take_calls(&list, trace->segments.call, trace->segments.count);
    take_calls(&list, trace->blocks.call, trace->blocks.count);
    take_calls(&list, trace->history.call, trace->history.count);
    mv_sort_rows(scratch, list.call, list.count, MV_RISING_VALUES(uint32_t));
    for (uint32_t i = 1; i < list.count; i++)
        shared += (i < 2 || list.call[i - 2] != list.call[i]) && list.call[i] == list.call[i - 1];
    return shared;
}

/* Without these notes, reports would mistake the remaining events for the whole history. */
static uint32_t count_doubts(const mv_trace *trace)
{
    uint64_t count = trace->notes[MV_NOTE_LOST_EVENTS].count;

    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* PyTorch's dict cannot store calls, nor some data from captures and from other tools. */
static void warn_of_losses(mv_cli *cli, const mv_trace *trace)
{
    const struct {
        uint32_t rows;
        const char *what;
    } lost[] = {{count_shared_calls(&cli->scratch, trace), "allocator calls with several rows"},
                {trace->api_calls.count, "API calls"},
                {trace->heap_calls.count, "heap calls"},
                {trace->samples.count, "samples"},
                {trace->facts.count, "facts"},
                {count_doubts(trace), "notes about damaged or missing events"}};
    char list[300];
    size_t length = 0;

    for (unsigned i = 0; i < sizeof lost / sizeof *lost; i++)
        if (lost[i].rows > 0)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%u %s",
                                       length > 0 ? ", " : "", lost[i].rows, lost[i].what);
    if (length > 0)
        mv_complain_of(out_of(cli), "PyTorch's dict has no place for %s; .bin keeps them", list);
}

int mv_cmd_convert(mv_cli *cli)
{
    write_fn *write;
    mv_trace trace;
    written w = {0};

    if (cli->options.files == 2 && cli->options.output)
        return mv_complain_usage("convert", "OUT is given twice: %s, and %s with -o",
                                 cli->options.file[1], cli->options.output);
    if (cli->options.files == 1 && !cli->options.output)
        return mv_complain_usage("convert", "expected IN OUT");
    if (!choose(cli, &write))
        return MV_EXIT_USAGE;
    w.path = out_of(cli);
    cli->reads_pieces = write == mv_snapshot_write;
    if (!write)
        mv_page_reads(cli);
    if (!mv_input_read(cli, &trace) || !write_file(cli, &trace, write, &w))
        return MV_EXIT_FAILED;
    if (write == mv_plain_write && !mv_option_given(&cli->options, MV_HAS(QUIET)))
        warn_of_losses(cli, &trace);
    w.events = trace.host_events.count + mv_events_of_all(&trace);
    w.bytes_in =
        trace.origin.file_bytes == MV_NO_BYTES ? trace.origin.data_bytes : trace.origin.file_bytes;
    if (mv_table_is_wanted(cli))
        return mv_table_put(cli, &w);
    if (!mv_option_given(&cli->options, MV_HAS(QUIET)))
        report_text(&cli->out, &w);
    return MV_EXIT_DONE;
}
