#include "cli/report/folded.h"

#include <stdio.h>

#include "analyze/filter/isolate.h"
#include "base/utf8.h"
#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/report/flame_picture.h"
#include "cli/report/picture.h"
#include "cli/report/report.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    const uint8_t *kinds; /* of frames */
    mv_sites sites;       /* unless all frames are wanted */
    mv_folded_find find;
    mv_filter filter;
    uint32_t first, end; /* devices */
    mv_sink sink;
    uint64_t rows, bytes; /* written */
} folder;

/* ---- where to ---------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length > tail && strcmp(text + length - tail, ending) == 0;
}

/* False, with a message, when -o names nothing that is written. */
static bool check_path(const mv_cli *cli)
{
    const char *path = cli->options.output, *name = cli->command->name;

    if (!path) {
        mv_complain_usage(name,
                          "say where with -o X.svg, X.html or X.folded (-o - is folded stacks "
                          "on standard output)");
        return false;
    }
    if (strcmp(path, "-") == 0 && mv_option_given(&cli->options, MV_HAS(JSON))) {
        mv_complain_usage(name, "--json and the stacks cannot both go to standard output");
        return false;
    }
    if (strcmp(path, "-") != 0 && !ends_with(path, ".folded") &&
        !mv_option_given(&cli->options, MV_HAS(FORMAT))) {
        mv_complain_usage(name, "%s: only .folded, .svg, .png and .html are written", path);
        return false;
    }
    return true;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* A frame must not contain what separates frames and lines, nor what steers a terminal. */
static void put_frame(folder *f, const char *text)
{
    char clean[512];

    snprintf(clean, sizeof clean, "%s", text);
    mv_utf8_tame(clean);
    for (char *c = clean; *c; c++)
        if (*c == ';')
            *c = ':';
    mv_sink_write(&f->sink, clean, strlen(clean));
}

/* Behind a first frame, which is there already when `has_first`. */
static void put_stack(folder *f, mv_stack_id stack, bool has_first)
{
    uint32_t count, shown = 0;
    const mv_frame_id *frames = mv_stack_frames(f->trace, stack, &count);
    char label[512];

    for (uint32_t i = count; i-- > 0;) {
        if (!f->cli->options.all_frames && !mv_frame_is_shown(f->trace, f->kinds, stack, i))
            continue;
        if (has_first || shown > 0)
            mv_sink_write(&f->sink, ";", 1);
        put_frame(f, mv_frame_label(f->trace, frames[i], label, sizeof label));
        shown++;
    }
    if (shown > 0)
        return;
    if (has_first)
        mv_sink_write(&f->sink, ";", 1);
    put_frame(f, mv_culprit_label(f->trace, f->kinds, stack, label, sizeof label));
}

static void put_row(folder *f, const mv_lives *lives, const mv_flame *flame,
                    const mv_flame_row *row)
{
    char prefix[MV_FLAME_PREFIX][MV_FLAME_TEXT];
    uint32_t count = mv_flame_prefix(f->trace, lives, flame, row, prefix);
    bool has_first = f->end - f->first > 1;

    if (has_first)
        mv_sink_printf(&f->sink, "device %u", lives->device);
    for (uint32_t i = 0; i < count; i++) {
        if (has_first)
            mv_sink_write(&f->sink, ";", 1);
        put_frame(f, prefix[i]);
        has_first = true;
    }
    if (row->part != MV_FLAME_FREE && row->part != MV_FLAME_OTHER)
        put_stack(f, row->stack, has_first);
    mv_sink_printf(&f->sink, " %llu\n", (unsigned long long)row->bytes);
    f->rows++;
    f->bytes += row->bytes;
}

/* ---- all --------------------------------------------------------------------------------- */

mv_code mv_folded_memory(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                         uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                         mv_flame *out, mv_err *err)
{
    mv_code code = MV_OK;
    mv_lives part;

    (void)trace;
    if (kept)
        code = mv_isolate_lives(arena, lives, kept, &part, err);
    if (code != MV_OK)
        return code;
    return mv_flame_memory(arena, kept ? &part : lives, event, sites, out, err);
}

mv_code mv_folded_flame(mv_arena *arena, mv_cli *cli, const mv_filter *filter, mv_folded_find find,
                        const mv_trace *trace, const mv_lives *lives, uint32_t event,
                        const mv_sites *sites, const mv_filter_bits **kept, mv_flame *out,
                        mv_err *err)
{
    mv_filter_bits *bits = mv_push_struct(arena, mv_filter_bits);
    mv_code code = MV_OK;

    *kept = cli->options.filter ? bits : NULL;
    if (!bits)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "filter");
    if (*kept)
        code = mv_filter_allocs(arena, trace, lives, NULL, filter, bits, err);
    if (code == MV_OK)
        code = find(arena, trace, lives, event, sites, *kept, out, err);
    if (code == MV_OK && cli->options.top)
        mv_flame_keep_top(out, cli->options.top);
    return code;
}

static bool put_flame(folder *f, const mv_lives *lives, mv_arena *arena)
{
    const mv_sites *sites = f->cli->options.all_frames ? NULL : &f->sites;
    mv_err err = {.offset = MV_NO_OFFSET};
    const mv_filter_bits *kept;
    mv_moment at;
    mv_flame flame;

    if (!mv_at_find(f->cli, f->trace, lives, "end", &at))
        return false;
    if (mv_folded_flame(arena, f->cli, &f->filter, f->find, f->trace, lives, at.event, sites, &kept,
                        &flame, &err) != MV_OK) {
        mv_complain(mv_input_name(f->cli), &err);
        return false;
    }
    for (uint32_t i = 0; i < flame.count; i++)
        if (flame.rows[i].bytes > 0)
            put_row(f, lives, &flame, &flame.rows[i]);
    return true;
}

static bool put_devices(folder *f)
{
    bool is_done = true;

    for (uint32_t i = f->first; i < f->end && is_done; i++) {
        mv_err err = {.offset = MV_NO_OFFSET};
        mv_arena arena;
        mv_lives lives;
        if (mv_at_is_elsewhere(f->cli, f->trace, i))
            continue;
        mv_arena_init(&arena, &f->cli->budget);
        if (mv_lives_find(&arena, f->trace, i, &lives, &err) == MV_OK)
            is_done = put_flame(f, &lives, &arena);
        else
            is_done = mv_complain(mv_input_name(f->cli), &err) == MV_EXIT_DONE;
        mv_arena_release(&arena);
    }
    return is_done;
}

static bool write_file(folder *f)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    if (mv_sink_open(&f->sink, f->cli->options.output, &err) == MV_OK) {
        if (!put_devices(f)) {
            mv_sink_abort(&f->sink);
            return false;
        }
        mv_sink_commit(&f->sink, &err);
    }
    if (err.code != MV_OK)
        mv_complain(NULL, &err);
    return err.code == MV_OK;
}

static int report(const folder *f)
{
    const char *path = f->cli->options.output;
    mv_span name = {(const uint8_t *)path, strlen(path)};
    mv_report r;

    if (!mv_option_given(&f->cli->options, MV_HAS(JSON))) {
        if (strcmp(path, "-") != 0) {
            mv_out_clean(&f->cli->out, name);
            mv_out_char(&f->cli->out, '\n');
        }
        return MV_EXIT_DONE;
    }
    mv_report_open(&r, f->cli);
    mv_report_member(&r, "written", mv_json_span(&r, name));
    mv_report_member(&r, "stacks", mv_json_u64(f->rows));
    mv_report_member(&r, "bytes", mv_json_u64(f->bytes));
    return mv_report_close(&r);
}

static int run(folder *f, mv_trace *trace)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!check_path(f->cli) || !mv_filter_option_read(f->cli, &f->filter))
        return MV_EXIT_USAGE;
    if (!mv_input_read(f->cli, trace) || !mv_input_devices(f->cli, trace, &f->first, &f->end))
        return MV_EXIT_FAILED;
    if (mv_sites_find(&f->cli->arena, trace, &f->sites, &err) != MV_OK)
        return mv_complain(mv_input_name(f->cli), &err);
    f->kinds = f->sites.kinds;
    return write_file(f) ? report(f) : MV_EXIT_FAILED;
}

int mv_folded_run(mv_cli *cli, mv_folded_find find)
{
    mv_trace trace;
    folder f = {.cli = cli, .trace = &trace, .find = find};
    int status;

    if (cli->options.output && !mv_option_given(&cli->options, MV_HAS(FORMAT)) &&
        mv_picture_is_written(cli->options.output))
        return mv_flame_picture_run(cli, find);
    status = run(&f, &trace);
    mv_filter_release(&f.filter);
    return status;
}
