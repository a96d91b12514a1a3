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

/* Which allocations there were, and when. */
static unsigned of_allocations(const mv_lives *lives)
{
    uint64_t under = lives->doubts.final_mismatches - lives->doubts.final_over;

    return if_any(lives->doubts.lone_frees + under, MV_BOUND_LEAST) |
           if_any(lives->doubts.lost_frees + lives->doubts.final_over, MV_BOUND_MOST);
}

/* How large their blocks were. A block that ended late takes room from those after it. */
static unsigned of_sizes(const mv_lives *lives)
{
    return if_any(lives->doubts.inexact_blocks + lives->doubts.misplaced + lives->doubts.outside,
                  MV_BOUND_LEAST) |
           if_any(lives->doubts.resized_blocks + lives->doubts.lost_frees, MV_BOUND_ABOUT);
}

mv_bounds mv_bounds_of(const mv_lives *lives)
{
    unsigned before =
        if_any(lives->history != MV_HISTORY_COMPLETE || lives->has_no_heap, MV_BOUND_LEAST);
    unsigned blocks = before | of_allocations(lives);
    unsigned sized = blocks | of_sizes(lives) | mv_bound_of_residual(lives->doubts.residual);
    unsigned late = if_any(lives->doubts.ended_last, MV_BOUND_LEAST);
    unsigned gone = if_any(lives->doubts.lost_frees, late);
    unsigned uncompleted = if_any(lives->doubts.uncompleted, MV_BOUND_LEAST);

    return (mv_bounds){.allocated = sized | late | if_any(lives->doubts.unrequested, MV_BOUND_MOST),
                       .blocks = sized,
                       .active = sized | gone | uncompleted,
                       .requested = blocks | gone | uncompleted,
                       .reserved = before | if_any(lives->doubts.lone_segments, MV_BOUND_ABOUT) |
                                   mv_bound_of_residual(lives->doubts.residual_reserved)};
}
