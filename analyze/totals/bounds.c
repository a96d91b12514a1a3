#include "analyze/totals/bounds.h"

static const struct {
    const char *name, *words, *sign;
} bound_texts[] = {{"exact", "", ""},
                   {"at least", "at least ", ">= "},
                   {"at most", "at most ", "<= "},
                   {"about", "about ", "~ "}};

const char *mv_bound_name(mv_bound bound)
{
    return bound_texts[bound & MV_BOUND_ABOUT].name;
}

const char *mv_bound_words(mv_bound bound)
{
    return bound_texts[bound & MV_BOUND_ABOUT].words;
}

const char *mv_bound_sign(mv_bound bound)
{
    return bound_texts[bound & MV_BOUND_ABOUT].sign;
}

static unsigned if_any(uint64_t count, unsigned bound)
{
    return count ? bound : MV_BOUND_EXACT;
}

mv_bound mv_bound_of_residual(int64_t residual)
{
    return residual > 0 ? MV_BOUND_LEAST : residual < 0 ? MV_BOUND_MOST : MV_BOUND_EXACT;
}

/* Doubts about the existence and times of allocations. */
static unsigned of_allocations(const mv_lives *lives)
{
    uint64_t under = lives->doubts.final_mismatches - lives->doubts.final_over;

    return if_any(lives->doubts.lone_frees + under, MV_BOUND_LEAST) |
           if_any(lives->doubts.lost_frees + lives->doubts.final_over, MV_BOUND_MOST);
}

/* Doubts about block sizes. A block that ended late takes bytes away from later blocks. If segments
 * are not recorded, a block may have been in a different segment from the one that the final heap
 * has at its address. */
static unsigned of_sizes(const mv_lives *lives)
{
    return if_any(lives->doubts.inexact_blocks + lives->doubts.misplaced + lives->doubts.outside,
                  MV_BOUND_LEAST) |
           if_any(lives->doubts.resized_blocks + lives->doubts.lost_frees +
                      lives->is_missing_segment_events,
                  MV_BOUND_ABOUT);
}

/* Doubts about the existence and times of segments. An allocation outside all known segments was in
 * an unknown segment. If one segment ended without an event, other segments may have ended before
 * the first event. */
static unsigned of_segments(const mv_lives *lives)
{
    uint64_t lost = lives->doubts.residual_reserved < 0;

    return if_any(lives->doubts.lone_segments + lives->doubts.unproven_segments + lost,
                  MV_BOUND_ABOUT) |
           if_any(lives->doubts.outside, MV_BOUND_LEAST);
}

/* Collects the bounds. `before` contains doubts about the time before the first event. */
static mv_bounds bounds_of(const mv_lives *lives, unsigned before)
{
    unsigned blocks = before | of_allocations(lives);
    unsigned sized = blocks | of_sizes(lives) | mv_bound_of_residual(lives->doubts.residual);
    unsigned late = if_any(lives->doubts.ended_last, MV_BOUND_LEAST);
    unsigned gone = if_any(lives->doubts.lost_frees, late);
    unsigned uncompleted = if_any(lives->doubts.uncompleted, MV_BOUND_LEAST);
    unsigned unproven = if_any(lives->doubts.unproven, MV_BOUND_ABOUT);
    unsigned ends = gone | uncompleted | if_any(lives->doubts.unproven_ends, MV_BOUND_ABOUT);

    return (mv_bounds){.allocated = sized | late | unproven |
                                    if_any(lives->doubts.unrequested, MV_BOUND_MOST),
                       .blocks = sized,
                       .active = sized | ends,
                       .requested = blocks | ends,
                       .reserved = before | of_segments(lives) |
                                   mv_bound_of_residual(lives->doubts.residual_reserved)};
}

static bool has_free(const mv_events *events)
{
    for (uint32_t i = 0; i < events->count; i++)
        if (events->action[i] == MV_ACTION_FREE_REQUESTED ||
            events->action[i] == MV_ACTION_FREE_COMPLETED)
            return true;
    return false;
}

/* Whether a kind of event that would show blocks from before the first event was not recorded:
 * allocs, frees, or all memory events. */
static bool hides_past(const mv_lives *lives)
{
    const mv_events *events = &lives->events;
    uint64_t ended = lives->doubts.lost_frees + lives->doubts.final_over;

    return lives->is_missing_allocs || (ended > 0 && !has_free(events)) ||
           lives->is_missing_memory_events;
}

mv_bounds mv_bounds_of(const mv_lives *lives)
{
    return bounds_of(lives,
                     if_any(mv_lives_are_missing_past(lives) || hides_past(lives), MV_BOUND_LEAST));
}

mv_bound mv_bound_of_end(const mv_lives *lives)
{
    uint64_t under = lives->doubts.final_mismatches - lives->doubts.final_over;

    return if_any(under, MV_BOUND_LEAST) | if_any(lives->doubts.final_over, MV_BOUND_MOST) |
           mv_bound_of_residual(lives->doubts.residual) |
           if_any(lives->has_no_heap, mv_bounds_of(lives).allocated);
}

mv_bounds mv_bounds_within(const mv_lives *lives)
{
    mv_bounds bounds = bounds_of(lives, MV_BOUND_EXACT);

    bounds.reserved |= if_any(lives->is_missing_segment_events, MV_BOUND_ABOUT);
    return bounds;
}

mv_bounds mv_bounds_after(const mv_lives *lives, uint32_t event)
{
    mv_bounds bounds = mv_bounds_within(lives);

    if (event + 1 == lives->events.count) {
        bounds.allocated = mv_bound_of_end(lives);
        bounds.reserved = mv_bound_of_residual(lives->doubts.residual_reserved);
    }
    return bounds;
}
