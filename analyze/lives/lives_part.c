/* Lives in a part of a trace that begins with the blocks and segments alive before the part. Only
 * traces without doubts are stored in parts, so a doubt can only be due to the cut: blocks that
 * ended before the part are missing from it. */
#include "analyze/lives/lives_sweep.h"
#include "base/sort.h"
#include "parse/model/living.h"

/* Whether the events contradict the recorded live blocks. The sizes and starts of blocks are not
 * compared, because they depend on earlier blocks that may be missing. */
static bool is_contradicted(const mv_lives *lives)
{
    return lives->doubts.lone_frees || lives->doubts.lost_frees || lives->doubts.outside ||
           lives->doubts.lone_segments || lives->doubts.final_mismatches;
}

/* Sets the sizes of the preexisting allocations. Both lists are in ascending order of addresses
 * once the recorded blocks are sorted. */
static bool size_older(mv_lives_sweep *r, const mv_living *l)
{
    mv_alloc_lives *a = &r->lives->allocs;
    uint32_t *order = mv_order_u64(r->scratch, l->older_addr, l->older), row = 0;

    if (!order || l->older != a->preexisting)
        return false;
    for (uint32_t i = 0; i < l->older; i++, row++) {
        if (a->addr[row] != l->older_addr[order[i]])
            return false;
        a->block[row] = l->older_block[order[i]];
        a->inexact[row] = 0;
    }
    return true;
}

static bool size_living(mv_lives_sweep *r, const mv_living *l)
{
    mv_alloc_lives *a = &r->lives->allocs;

    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t row = r->lives->alloc_of[i];
        if (r->ev.action[i] != MV_ACTION_ALLOC)
            continue;
        if (row == MV_NO_ROW || row >= a->count)
            return false;
        a->block[row] = l->block[i];
        a->inexact[row] = 0;
    }
    return size_older(r, l);
}

mv_code mv_lives_of_part(mv_lives_sweep *r, mv_err *err)
{
    static const mv_lives sure;
    mv_lives *lives = r->lives;
    mv_living l = mv_living_of(r->trace, lives->device);
    const mv_digest *digest = &r->trace->digests[lives->device];

    if (r->ev.count == 0)
        return MV_OK;
    lives->history = digest->history;
    lives->history_why = digest->history_why;
    lives->ring = digest->ring;
    if (!mv_living_is_part(&l))
        return MV_OK;
    if (is_contradicted(lives) || !size_living(r, &l))
        return mv_fail(err, MV_CORRUPT, MV_NO_OFFSET,
                       "the events of device %u from %u on contradict what the file says was "
                       "alive: convert the file again (memviz convert)",
                       lives->device, l.first);
    lives->is_missing_allocs = lives->is_missing_memory_events = false;
    lives->is_missing_segment_events = lives->has_no_heap = false;
    lives->doubts = sure.doubts;
    return MV_OK;
}
