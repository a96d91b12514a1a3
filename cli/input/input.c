#include "cli/input/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "analyze/advice/without_sites.h"
#include "analyze/events/recorder.h"
#include "analyze/join/join.h"
#include "analyze/levels/levels.h"
#include "analyze/lives/position.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/texts.h"
#include "cli/complain.h"
#include "cli/input/kept_files.h"
#include "cli/input/moment_option.h"
#include "cli/input/pieces.h"
#include "cli/progress.h"
#include "cli/report/table.h"
#include "parse/model/sums.h"
#include "parse/pieces.h"
#include "parse/readers.h"

const char *mv_input_name(const mv_cli *cli)
{
    return cli->options.file[0];
}

/* Reports a level that the user did not ask for. */
static void take_level(mv_cli *cli, const char *path, mv_trace *trace, mv_err *err)
{
    mv_level level = mv_level_default(trace);
    mv_trace *as_read = mv_push_struct(&cli->arena, mv_trace);
    /* A file can be described even if its calls make no sense. */
    bool describes = cli->command->needs_no_events && !cli->options.level;

    if (cli->command->copies_tables && !cli->options.level)
        return;
    if (!as_read) {
        mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
        return;
    }
    *as_read = *trace;
    if (mv_level_take_named(&cli->arena, trace, cli->options.level, err) != MV_OK ||
        (describes && mv_sums_check(trace, err) != MV_OK)) {
        if (describes && err->code != MV_NOMEM) {
            *trace = *as_read;
            *err = (mv_err){.offset = MV_NO_OFFSET};
        }
        return;
    }
    cli->as_read = trace->origin.level ? as_read : NULL;
    if (!cli->command->needs_no_events) /* the events may be missing */
        cli->start_us = mv_position_start_us(trace);
    cli->level = cli->options.level ? cli->options.level : mv_level_name_of(trace, level);
    if (!cli->options.level && level != MV_LEVEL_PYTORCH &&
        !mv_option_given(&cli->options, MV_HAS(QUIET)))
        mv_complain_of(
            path, "%s; this is %s (--level %s)",
            mv_level_missing_text(mv_trace_allocator(trace) ? MV_LEVEL_ALL : MV_LEVEL_PYTORCH),
            mv_level_about(cli->level), cli->level);
}

static void refuse_for(const mv_command *command, const mv_trace *trace, mv_err *err)
{
    const mv_recorder *recorder = mv_recorder_of(trace);
    bool is_of_other = mv_trace_is_missing_reserved(trace);

    mv_fail(err, MV_ABSENT, MV_NO_OFFSET, "%s needs %s; this file is from %s", command->name,
            is_of_other && command->run != mv_cmd_ledger ? "PyTorch's allocator" : command->needs,
            is_of_other ? recorder->allocator : recorder->writer);
}

bool mv_input_is_file(const mv_cli *cli, const char *path)
{
    const mv_options *o = &cli->options;

    for (int i = 0; !cli->kept && i < o->named_files; i++)
        if (strcmp(o->named_file[i], path) == 0)
            return false;
    return true;
}

/* Reports from other tools that people pass by mistake, and that cannot be recognized by their
 * first bytes. */
static void name_other_tool(const char *path, mv_err *err)
{
    static const char *const endings[] = {".nsys-rep", ".qdrep", ".ncu-rep"};

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (err->code == MV_FORMAT && mv_text_has_ending(path, endings[i]))
            mv_fail(err, MV_FORMAT, 0,
                    "this is an NVIDIA Nsight report, which contains no PyTorch allocations; "
                    "record them with memviz run -- CMD, or memviz.record");
}

/* Whether --at names a position rather than a kind of event such as a peak. */
static bool names_place(const mv_cli *cli)
{
    return cli->options.at && mv_position_is_valid(cli->options.at);
}

/* Returns the position at which the needed events start; NULL: at the first event. */
static const char *part_begin(const mv_cli *cli)
{
    static const char last[] = "18446744073709551615"; /* after every event, which selects the last
                                                        * part */
    const mv_options *o = &cli->options;

    if (cli->command->reads_part == MV_PART_DEVICE)
        return NULL;
    if (cli->command->reads_part != MV_PART_MOMENT)
        return o->from;
    if (!o->at || strcmp(o->at, "end") == 0)
        return o->to ? o->to : last;
    if (mv_at_is_peak(cli))
        return o->from;
    return names_place(cli) && !o->from && !o->to ? o->at : NULL;
}

/* Whether the report depends on all events: groups, a filter, a page, or a picture of a moment, which
 * shows verdicts. */
static bool shows_all(const mv_cli *cli)
{
    const mv_command *c = cli->command;
    const char *to = cli->options.output;
    bool draws = c->writes_file && (to || c->writes_beside);

    if (mv_option_given(&cli->options, MV_HAS(BY) | MV_HAS(FILTER)))
        return true;
    if (c->reads_part == MV_PART_DEVICE)
        return draws && (!to || mv_text_has_ending(to, ".html"));
    return c->reads_part == MV_PART_MOMENT && draws && !mv_text_has_ending(to, ".folded");
}

/* Whether --at names a moment that does not depend on the window, and may be after its end. */
static bool is_beyond_window(const mv_cli *cli)
{
    const char *at = cli->options.at;

    return at && strcmp(at, "end") != 0 && !mv_at_is_peak(cli) && mv_moment_oom_number(at) == 0;
}

/* Whether the command needs only a part of the events. It always needs all of them on other levels,
 * or with a joined file. */
static bool needs_part(const mv_cli *cli, const char *path)
{
    const mv_options *o = &cli->options;
    bool is_window = cli->command->reads_part == MV_PART_EVENTS;
    struct stat st;

    if (cli->command->reads_part == MV_PART_NONE || cli->kept || o->level || o->with ||
        (!is_window && shows_all(cli)) || (o->to && is_beyond_window(cli)))
        return false;
    return (part_begin(cli) || o->device != MV_ALL_DEVICES ||
            (o->to && cli->command->reads_part != MV_PART_DEVICE)) &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Whether a digest of the events may be enough for the command. It is not enough for a window, or
 * with a joined or kept file. */
static bool needs_digest(const mv_cli *cli)
{
    const mv_options *o = &cli->options;

    return !cli->kept && ((cli->command->needs_no_events && !o->level) ||
                          (cli->command->needs_failures && !o->with && !o->from && !o->to));
}

/* Returns the event number of a position, or its time if `trace` is given. Returns false if it
 * can be found only by reading all events. */
static bool find_place(const mv_trace *trace, const char *x, uint64_t *event, int64_t *time_us)
{
    char why[MV_WHY];

    if (!x || mv_number_read(x, event))
        return true;
    return trace && mv_position_time(trace, 0, x, time_us, why, sizeof why) && *time_us > 0;
}

static bool find_part(const mv_cli *cli, const mv_trace *trace, mv_read_part *part)
{
    const mv_options *o = &cli->options;

    *part = (mv_read_part){.device = MV_NO_ROW,
                           .end = UINT64_MAX,
                           .has_living = cli->command->reads_part != MV_PART_EVENTS};
    if (o->device != MV_ALL_DEVICES && o->device < MV_NO_ROW && !cli->command->reads_summaries)
        part->device = (uint32_t)o->device;
    if (!find_place(trace, part_begin(cli), &part->first, &part->from_us))
        return false;
    if (cli->command->reads_part == MV_PART_DEVICE)
        return true;
    if (cli->command->reads_part != MV_PART_MOMENT || part_begin(cli) != o->at)
        return find_place(trace, o->to, &part->end, &part->to_us);
    part->end = part->first + 1;
    part->to_us = part->from_us;
    return true;
}

mv_code mv_input_read_part(const mv_cli *cli, mv_arena *arena, const char *path, mv_read_opts opts,
                           mv_trace *trace, mv_err *err)
{
    mv_read_part part, none = {.device = MV_NO_ROW};

    if (!needs_part(cli, path))
        return mv_trace_read(arena, path, &opts, trace, err);
    if (!find_part(cli, NULL, &part)) {
        opts.part = &none;
        if (mv_trace_read(arena, path, &opts, trace, err) != MV_OK || !trace->versions)
            return err->code;
        opts.part = NULL;
        if (!find_part(cli, trace, &part))
            return mv_trace_read(arena, path, &opts, trace, err);
    }
    opts.part = &part;
    return mv_trace_read(arena, path, &opts, trace, err);
}

void mv_input_follows_heap(mv_cli *cli)
{
    cli->columns = MV_EVENT_action | MV_EVENT_stream | MV_EVENT_tag | MV_LIVES_FREED_BY;
    cli->columns_of_few = MV_EVENT_addr | MV_EVENT_size | MV_EVENT_stack | MV_EVENT_call;
}

/* Whether --at names a low point, which leaks find. */
static bool at_is_low(const mv_cli *cli)
{
    uint64_t number;

    return cli->options.at && mv_moment_is_low(cli->options.at, &number);
}

/* Whether the command processes all events, and can do so in pieces. */
static bool takes_pieces(const mv_cli *cli)
{
    const mv_options *o = &cli->options;

    if ((o->from || o->to) && cli->command->reads_part != MV_PART_DEVICE)
        return false;
    return (cli->reads_pieces || (cli->columns && !at_is_low(cli))) && !cli->reads_whole &&
           !cli->kept && !o->level && !o->with && !mv_option_given(o, MV_HAS(BY) | MV_HAS(FILTER));
}

/* Reads the file as it is, without taking a level from it. */
static mv_code read_file(mv_cli *cli, mv_arena *arena, const char *path, mv_trace *trace,
                         mv_err *err)
{
    char what[80];
    mv_progress progress;

    snprintf(what, sizeof what, "memviz: reading %.56s", path);
    mv_progress_start(&progress, what, mv_option_given(&cli->options, MV_HAS(QUIET)));
    mv_read_opts opts = {.progress = mv_progress_show,
                         .user = &progress,
                         .foreign_symbols = mv_option_given(&cli->options, MV_HAS(SYMBOLS)),
                         .errors = cli->errors,
                         .error_arena = &cli->arena,
                         .digest_suffices = needs_digest(cli),
                         .needs_failures = cli->command->needs_failures,
                         .files_only = mv_input_is_file(cli, path)};
    if (takes_pieces(cli))
        cli->pieces = mv_pieces_open(&cli->arena, path, trace);
    if (cli->pieces)
        err->code = MV_OK;
    else if (cli->kept)
        mv_kept_files_read(cli->kept, path, cli->budget.limit, &opts, trace, err);
    else
        mv_input_read_part(cli, arena, path, opts, trace, err);
    mv_progress_end(&progress);
    name_other_tool(path, err);
    return err->code;
}

void mv_input_report_damage(const mv_cli *cli, const char *path, const mv_note *damaged)
{
    if (damaged->count > 0 && !mv_option_given(&cli->options, MV_HAS(QUIET)))
        mv_complain_of(path, "damaged parts of the file were skipped (%s)", damaged->first);
}

/* Prints the first line of a text report about a file that `memviz dry-run` wrote. */
static void put_predicted(mv_cli *cli, const char *path, const mv_trace *trace)
{
    const mv_command *c = cli->command;

    if (!mv_setting_is_on(trace, "dry_run") || !(c->options & MV_HAS(CSV)) ||
        mv_table_is_wanted(cli) || (cli->options.output && (c->writes_file || c->pictures)))
        return;
    mv_out_clean(&cli->out, mv_text_span(path));
    mv_out_words(&cli->out, ": predicted by a dry run");
    if (mv_setting_is_on(trace, "dry_run_at_least"))
        mv_out_words(&cli->out, ", as a lower bound: some sizes are unknown");
    else if (mv_setting_is_on(trace, "dry_run_about"))
        mv_out_words(&cli->out, ", roughly: some sizes are estimates");
    mv_out_words(&cli->out, "\n\n");
}

const char *mv_input_damage(const mv_trace *trace)
{
    const mv_note *damaged = &trace->notes[MV_NOTE_DAMAGED];

    return damaged->count > 0 ? damaged->first : NULL;
}

/* Joins the file that --with names. Returns false, with a message, if that is not possible. */
static bool join(mv_cli *cli, const char *path, mv_trace *trace)
{
    const char *with = cli->options.with;
    mv_trace *profile = mv_push_struct(&cli->arena, mv_trace);
    mv_join *found = mv_push_struct(&cli->arena, mv_join);
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!profile || !found)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    else if (trace->origin.format == MV_FORMAT_KINETO)
        return mv_complain_of(path, "is a trace of torch.profiler itself: --with adds one to a "
                                    "snapshot") == MV_EXIT_DONE;
    else if (read_file(cli, &cli->arena, with, profile, &err) == MV_OK &&
             profile->origin.format != MV_FORMAT_KINETO)
        mv_fail(&err, MV_FORMAT, MV_NO_OFFSET,
                "--with takes a trace of torch.profiler (JSON), and this is a %s",
                mv_format_name(profile->origin.format));
    if (err.code != MV_OK) {
        mv_complain(with, &err);
        return false;
    }
    if (mv_join_trace(&cli->arena, trace, profile, found, &err) != MV_OK) {
        mv_complain_of(with, "%s", *err.detail ? err.detail : mv_code_text(err.code));
        return false;
    }
    cli->with = found;
    if (!mv_option_given(&cli->options, MV_HAS(QUIET)))
        mv_complain_of(with,
                       "%" PRIu64 " of %" PRIu64 " allocations are in the snapshot, %" PRIu64
                       " of them with their operator; %" PRIu64 " are before or after it",
                       found->matched, found->events, found->operators, found->outside);
    return true;
}

/* Whether a picture shows the verdicts of all reports, which find the lives again. */
static bool shows_verdicts(const mv_trace *trace)
{
    return mv_levels_of(trace).count > 1 || trace->samples.count > 0;
}

/* Returns the only device with events; MV_NO_ROW if there is no such device, or if events contain
 * more than the lives show. */
static uint32_t device_to_join(const mv_trace *trace)
{
    uint32_t device = MV_NO_ROW;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        if (mv_trace_events(trace, i).count == 0)
            continue;
        if (device != MV_NO_ROW || trace->digests[i].count[MV_ACTION_OOM] > 0)
            return MV_NO_ROW;
        device = i;
    }
    return device;
}

/* An event takes up to 128 bytes in a piece, 22 in the joined table, and 57 if the file is read as a
 * whole. Two threads have two pieces in memory. So reading the file as a whole takes less memory
 * if a piece has more than a 16th of the events. Two pieces of SMALL_PIECE events take 50 MB; a
 * piece of one chunk has 65,536 events, and the blocks that are alive before it. */
enum { LEAST_PIECES = 8, SMALL_PIECE = 3 * 65536 };

/* Finds the lives of the only device from the pieces of the file. Fails with MV_CORRUPT if the file
 * must be read as a whole. */
static mv_code join_pieces(mv_cli *cli, mv_trace *trace, mv_err *err)
{
    uint32_t device = device_to_join(trace);
    mv_lives *lives = mv_push_struct(&cli->arena, mv_lives);
    mv_lives_kept kept = {.columns = cli->columns, .of_few = cli->columns_of_few};
    uint64_t most;
    uint32_t count;
    bool is_few;

    if (!lives)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (device == MV_NO_ROW || mv_pieces_count(cli->pieces, device) == 1 ||
        (cli->columns_of_few && shows_verdicts(trace)))
        return mv_input_needs_whole(cli, err);
    count = mv_trace_events(trace, device).count;
    most = mv_pieces_most(cli->pieces, device);
    if (count <= cli->whole_events)
        return mv_input_needs_whole(cli, err);
    if (most > SMALL_PIECE && most > count / LEAST_PIECES)
        return mv_input_needs_whole(cli, err);
    is_few = count <= MV_WITHOUT_EVENTS;
    kept.columns |= is_few ? cli->columns_if_few : 0;
    if (mv_input_join_pieces(cli, trace, device, kept, lives, err) != MV_OK)
        return err->code;
    trace->devices[device].events = lives->events;
    trace->digests = NULL; /* all events are there */
    cli->joined = lives;
    return MV_OK;
}

mv_code mv_input_lives(const mv_cli *cli, mv_arena *arena, const mv_trace *trace, uint32_t device,
                       mv_lives *out, mv_err *err)
{
    if (!cli->joined || cli->joined->device != device)
        return cli->columns_of_few ? mv_lives_find_ranked(arena, trace, device, out, err)
                                   : mv_lives_find(arena, trace, device, out, err);
    *out = *cli->joined;
    return MV_OK;
}

void mv_input_close(mv_cli *cli)
{
    mv_pieces_close(cli->pieces);
    cli->pieces = NULL;
    cli->joined = NULL;
}

static bool read_whole(mv_cli *cli, const char *path, mv_trace *trace)
{
    bool is_read;

    mv_input_close(cli);
    cli->reads_whole = true;
    is_read = mv_input_read_file(cli, path, trace);
    cli->reads_whole = false;
    return is_read;
}

bool mv_input_read_file(mv_cli *cli, const char *path, mv_trace *trace)
{
    mv_err err = {0};

    read_file(cli, &cli->arena, path, trace, &err);
    if (err.code == MV_OK && cli->options.with && !join(cli, path, trace))
        return false;
    if (err.code == MV_OK && (cli->command->options & MV_HAS(LEVEL)))
        take_level(cli, path, trace, &err);
    if (err.code == MV_OK && !cli->command->adds_nothing)
        mv_sums_check(trace, &err);
    if (err.code == MV_OK && cli->command->needs && mv_trace_allocator(trace))
        refuse_for(cli->command, trace, &err);
    if (err.code == MV_OK && cli->pieces && cli->columns &&
        join_pieces(cli, trace, &err) == MV_CORRUPT)
        return read_whole(cli, path, trace);
    if (err.code != MV_OK && cli->errors && cli->errors->count)
        return false; /* the file is a text that contains errors */
    if (err.code != MV_OK)
        mv_complain(path, &err);
    else if (!cli->command->lists_notes)
        mv_input_report_damage(cli, path, &trace->notes[MV_NOTE_DAMAGED]);
    if (err.code == MV_OK)
        put_predicted(cli, path, trace);
    return err.code == MV_OK;
}

mv_code mv_input_read_levels(mv_cli *cli, mv_arena *arena, const char *path, mv_trace *read,
                             mv_trace *trace, mv_err *err)
{
    mv_code code = read_file(cli, arena, path, read, err);

    if (code == MV_OK)
        code = mv_sums_check(read, err);
    if (code == MV_OK && cli->pieces && join_pieces(cli, read, err) == MV_CORRUPT) {
        mv_input_close(cli);
        *err = (mv_err){.offset = MV_NO_OFFSET};
        cli->reads_whole = true;
        code = mv_input_read_levels(cli, arena, path, read, trace, err);
        cli->reads_whole = false;
        return code;
    }
    code = err->code;
    *trace = *read;
    if (code == MV_OK)
        code = mv_level_take_named(arena, trace, cli->options.level, err);
    if (code == MV_OK && !cli->joined)
        code = mv_sums_check(trace, err);
    if (code == MV_OK)
        put_predicted(cli, path, read);
    return code;
}

bool mv_input_read(mv_cli *cli, mv_trace *trace)
{
    return mv_input_read_file(cli, mv_input_name(cli), trace);
}

bool mv_input_devices(const mv_cli *cli, const mv_trace *trace, uint32_t *first, uint32_t *end)
{
    uint32_t count = mv_trace_devices(trace);
    char contained[MV_DEVICES_TEXT];

    *first = 0;
    *end = count;
    if (cli->options.device == MV_ALL_DEVICES)
        return true;
    if (cli->options.device >= count) {
        mv_complain_of(mv_input_name(cli), "no device %lld; the file contains %s",
                       (long long)cli->options.device, mv_devices_text(contained, count));
        return false;
    }
    *first = (uint32_t)cli->options.device;
    *end = *first + 1;
    return true;
}
