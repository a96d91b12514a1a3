#include "cli/report/flame_picture.h"

#include "analyze/lives/alive.h"
#include "cli/complain.h"
#include "cli/input/filter_option.h"
#include "cli/input/input.h"
#include "cli/input/moment_option.h"
#include "cli/report/picture.h"
#include "viz/pictures/icicle.h"

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    mv_folded_find find;
    mv_filter filter;
    uint32_t first, end; /* devices */
    mv_sites sites;
    mv_picture picture;
    uint64_t rows, bytes, drawn;
} drawing;

/* What the filter leaves of what is allocated at the moment. */
static mv_heading_part part_of(const drawing *d, const mv_lives *lives, uint32_t event,
                               const mv_filter_bits *kept)
{
    mv_heading_part part = {.filter = d->cli->options.filter};

    for (uint32_t i = 0; kept && i < kept->rows; i++) {
        if (!mv_alloc_is_allocated(lives, i, event))
            continue;
        part.rows++;
        part.all += lives->allocs.block[i];
        part.matches += mv_filter_has(kept, i);
        part.bytes += mv_filter_has(kept, i) ? lives->allocs.block[i] : 0;
    }
    return part;
}

static mv_code draw_moment(drawing *d, const mv_lives *lives, uint32_t event, mv_arena *work,
                           mv_err *err)
{
    const mv_sites *sites = d->cli->options.all_frames ? NULL : &d->sites;
    const mv_options *o = &d->cli->options;
    mv_icicle_opts opts = {.width = o->width,
                           .height = o->height,
                           .is_dark = o->is_dark,
                           .title = d->picture.name,
                           .event = event,
                           .measure = "allocated"};
    const mv_filter_bits *kept;
    mv_flame flame;
    mv_flame_tree tree;
    mv_icicle icicle;
    mv_code code = mv_folded_flame(work, d->cli, &d->filter, d->find, d->trace, lives, event, sites,
                                   &kept, &flame, err);

    if (code == MV_OK)
        code = mv_flame_tree_make(work, d->trace, lives, &flame, sites, d->sites.kinds, &tree, err);
    if (code != MV_OK)
        return code;
    if (flame.map.addr)
        opts.measure = "reserved";
    opts.part = part_of(d, lives, event, kept);
    code =
        mv_icicle_find(&d->cli->arena, d->trace, lives, d->sites.kinds, &tree, &opts, &icicle, err);
    if (code != MV_OK)
        return code;
    for (uint32_t i = 0; i < flame.count; i++)
        d->rows += flame.rows[i].bytes > 0;
    d->bytes += tree.nodes[0].bytes;
    d->drawn += icicle.drawn;
    return mv_picture_append(&d->picture, &icicle.scene, err);
}

/* False, with a message, when it fails. What is found of a device goes before the next one. */
static bool draw_device(drawing *d, uint32_t device)
{
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_arena work;
    mv_lives lives;
    mv_moment at;
    bool is_named = true;

    mv_arena_init(&work, &d->cli->budget);
    if (mv_lives_find(&work, d->trace, device, &lives, &err) == MV_OK) {
        is_named = mv_at_find(d->cli, d->trace, &lives, "end", &at);
        if (is_named)
            draw_moment(d, &lives, at.event, &work, &err);
    }
    mv_arena_release(&work);
    if (err.code != MV_OK)
        mv_complain(mv_input_name(d->cli), &err);
    return is_named && err.code == MV_OK;
}

static bool draw_devices(drawing *d)
{
    for (uint32_t i = d->first; i < d->end; i++)
        if (!mv_at_is_elsewhere(d->cli, d->trace, i) && !draw_device(d, i))
            return false;
    if (d->picture.panels == 0)
        mv_complain_of(mv_input_name(d->cli), "nothing to draw: no device");
    return d->picture.panels > 0;
}

static int report(drawing *d)
{
    mv_report r;

    if (!mv_option_given(&d->cli->options, MV_HAS(JSON))) {
        mv_picture_say(&d->picture);
        return MV_EXIT_DONE;
    }
    mv_report_open(&r, d->cli);
    mv_report_member(&r, "written", mv_picture_json(&d->picture, &r));
    mv_report_member(&r, "stacks", mv_json_u64(d->rows));
    mv_report_member(&r, "bytes", mv_json_u64(d->bytes));
    mv_report_member(&r, "drawn", mv_json_u64(d->drawn));
    return mv_report_close(&r);
}

static int run(drawing *d, mv_trace *trace)
{
    mv_err err = {.offset = MV_NO_OFFSET};

    if (!mv_filter_option_read(d->cli, &d->filter) || !mv_picture_open(&d->picture, d->cli))
        return MV_EXIT_USAGE;
    if (!mv_input_read(d->cli, trace) || !mv_input_devices(d->cli, trace, &d->first, &d->end))
        return MV_EXIT_FAILED;
    if (mv_sites_find(&d->cli->arena, trace, &d->sites, &err) != MV_OK)
        return mv_complain(mv_input_name(d->cli), &err);
    return draw_devices(d) && mv_picture_write(&d->picture) ? report(d) : MV_EXIT_FAILED;
}

int mv_flame_picture_run(mv_cli *cli, mv_folded_find find)
{
    mv_trace trace;
    drawing d = {.cli = cli, .trace = &trace, .find = find};
    int status = run(&d, &trace);

    mv_filter_release(&d.filter);
    return status;
}
