/* Text about private pools, for printed pictures of memory by pool. */
#include "base/size.h"
#include "view/paper/paper.h"
#include "viz/pictures/envelopes.h"

static const char *verdict(mv_view *view, const mv_envelopes *found)
{
    const mv_pools *pools = &mv_view_document(view)->trace.pools;
    uint64_t held = 0, used = 0;
    uint32_t count = 0;
    char most[MV_SIZE_TEXT], part[MV_SIZE_TEXT];

    for (uint32_t i = 0; i < found->count; i++) {
        const mv_pool_envelope *e = &found->envelopes[i];
        uint32_t row = e->pool.row;
        if (e->pools == 1 && (row >= pools->count || (!pools->a[row] && !pools->b[row])))
            continue;
        count += e->pools;
        held += e->held;
        used += e->allocated;
    }
    if (found->count == 0)
        return "nothing was reserved";
    if (count == 0 && found->envelopes[0].pool.row == MV_NO_ROW)
        return "no pools are recorded: PyTorch before 2.1, or everything was released before the "
               "snapshot";
    if (count == 0 && found->count > 1)
        return "no private pools are recorded; segments released before the snapshot have no "
               "pool";
    if (count == 0)
        return "no private pools: everything is in the default pool";
    return mv_scene_format(&view->ui.scene,
                           "%u private pool%s: at most %s reserved and %s allocated; no other pool "
                           "can use the idle memory in %s",
                           count, count == 1 ? "" : "s", mv_size_text(most, held),
                           mv_size_text(part, used), count == 1 ? "it" : "them");
}

void mv_paper_add_pools(mv_view *view, mv_paper_heading *out)
{
    const mv_document *d = mv_view_document(view);
    mv_window window = view->sheet->opts.window;
    mv_envelopes found;
    mv_arena scratch;
    mv_err err;

    mv_arena_init(&scratch, view->budget);
    if (mv_envelopes_lay(&scratch, &d->trace, &mv_view_device(view)->lives, window.first,
                         window.end, d->trace.pools.count + 1, &found, &err) == MV_OK)
        mv_paper_add_verdict(out, verdict(view, &found), false);
    else
        view->ui.ran_out_of_memory = true;
    mv_arena_release(&scratch);
}
