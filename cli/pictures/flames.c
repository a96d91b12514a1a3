#include "analyze/filter/isolate.h"
#include "cli/pictures/pictures.h"
#include "cli/report/folded.h"

/* ---- their contents --------------------------------------------------------------------- */

mv_code mv_flame_of_memory(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                           mv_flame *out, mv_err *err)
{
    mv_lives part;

    (void)trace;
    if (kept && mv_isolate_lives(arena, lives, kept, &part, err) != MV_OK)
        return err->code;
    return mv_flame_memory(arena, kept ? &part : lives, event, sites, out, err);
}

/* Blocks that a filter excludes still occupy their segment, so they are drawn as one part of it. */
mv_code mv_flame_of_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                             uint32_t event, const mv_sites *sites, const mv_filter_bits *kept,
                             mv_flame *out, mv_err *err)
{
    uint8_t *is_other = NULL;

    if (kept) {
        is_other = mv_push_array(arena, uint8_t, kept->rows);
        if (!is_other)
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "segments");
        for (uint32_t i = 0; i < kept->rows; i++)
            is_other[i] = !mv_filter_has(kept, i);
    }
    return mv_flame_segments(arena, trace, lives, event, sites, is_other, out, err);
}

/* Returns the sites that shorten stacks to frames that users can act on; NULL: all frames are
 * shown. */
static const mv_sites *sites_of(const mv_drawing *d)
{
    return d->cli->options.all_frames ? NULL : &d->sites;
}

/* Builds the flame graph of the blocks that --filter and --top select. */
static mv_code find_flame(mv_drawing *d, const mv_lives *lives, uint32_t event, mv_arena *work,
                          const mv_filter_bits **kept, mv_flame *out, mv_err *err)
{
    if ((!d->sites.kinds && mv_sites_find(&d->cli->arena, d->trace, &d->sites, err) != MV_OK) ||
        mv_drawing_filter(d, work, lives, NULL, kept, err) != MV_OK ||
        d->picture->flame(work, d->trace, lives, event, sites_of(d), *kept, out, err) != MV_OK)
        return err->code;
    if (d->cli->options.top)
        mv_flame_keep_top(out, (uint32_t)d->cli->options.top);
    return MV_OK;
}

mv_code mv_drawing_tree(mv_drawing *d, const mv_lives *lives, uint32_t event, mv_arena *arena,
                        mv_flame_tree *out, mv_err *err)
{
    const mv_filter_bits *kept = NULL;
    mv_flame flame = {0};

    if (find_flame(d, lives, event, arena, &kept, &flame, err) != MV_OK)
        return err->code;
    return mv_flame_tree_make(arena, d->trace, lives, &flame, sites_of(d), d->sites.kinds, out,
                              err);
}

/* ---- as a picture ------------------------------------------------------------------------ */

mv_code mv_paint_flame(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                       mv_scene *out, mv_err *err)
{
    mv_paper_opts opts = mv_drawing_paper(d, place);
    mv_flame flame = {0};
    mv_flame_tree tree;

    if (find_flame(d, lives, place->event, work, &opts.only, &flame, err) != MV_OK ||
        mv_flame_tree_make(work, d->trace, lives, &flame, sites_of(d), d->sites.kinds, &tree,
                           err) != MV_OK)
        return err->code;
    opts.flame = &tree;
    for (uint32_t i = 0; i < flame.count; i++)
        d->figure[MV_FIGURE_STACKS] += flame.rows[i].bytes > 0;
    d->figure[MV_FIGURE_BYTES] += tree.nodes[0].bytes;
    return mv_drawing_put(d, lives,
                          d->picture->flame == mv_flame_of_segments ? &mv_paper_segment_stacks
                                                                    : &mv_paper_stacks,
                          &opts, out, err);
}

/* ---- as folded stacks -------------------------------------------------------------------- */

static void put_row(mv_drawing *d, const mv_lives *lives, const mv_flame *flame,
                    const mv_flame_row *row)
{
    char prefix[MV_FLAME_PREFIX][MV_FLAME_TEXT];
    uint32_t count = mv_flame_prefix(d->trace, lives, flame, row, prefix);
    bool is_first = d->end - d->first == 1;

    if (!is_first)
        mv_sink_printf(&d->sink, "device %u", lives->device);
    for (uint32_t i = 0; i < count; i++) {
        mv_folded_put_frame(&d->sink, prefix[i], is_first);
        is_first = false;
    }
    if (row->part != MV_FLAME_FREE && row->part != MV_FLAME_OTHER)
        mv_folded_put_stack(&d->sink, d->trace, d->sites.kinds, row->stack,
                            d->cli->options.all_frames, is_first);
    mv_sink_printf(&d->sink, " %llu\n", (unsigned long long)row->bytes);
    d->figure[MV_FIGURE_STACKS]++;
    d->figure[MV_FIGURE_BYTES] += row->bytes;
}

mv_code mv_folded_add(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                      mv_err *err)
{
    const mv_filter_bits *kept = NULL;
    mv_flame flame = {0};

    if (find_flame(d, lives, place->event, work, &kept, &flame, err) != MV_OK)
        return err->code;
    for (uint32_t i = 0; i < flame.count; i++)
        if (flame.rows[i].bytes > 0)
            put_row(d, lives, &flame, &flame.rows[i]);
    return MV_OK;
}
