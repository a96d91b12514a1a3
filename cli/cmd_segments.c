/* memviz segments: reserved bytes by segment, what is in it, and stack, for flame graphs. */
#include "cli/report/folded.h"
#include "cli/report/page.h"

/* What a filter leaves out still fills its segment: it is there as one part. */
static mv_code find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, uint32_t event,
                    const mv_sites *sites, const mv_filter_bits *kept, mv_flame *out, mv_err *err)
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

int mv_cmd_segments(mv_cli *cli)
{
    if (cli->options.output && mv_page_is_named(cli->options.output))
        return mv_page_run(cli, MV_PAGE_SEGMENT_STACKS, "end");
    return mv_folded_run(cli, find);
}
