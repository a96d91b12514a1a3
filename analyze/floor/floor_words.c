#include "analyze/floor/floor.h"
#include "base/size.h"
#include "base/text.h"

const char *mv_minimum_verdict(mv_arena *arena, const mv_minimum *f)
{
    char reserved[MV_SIZE_TEXT], lower[MV_SIZE_TEXT], apart[MV_SIZE_TEXT], rest[MV_SIZE_TEXT];

    if (!f->is_known)
        return mv_arena_printf(arena, "the floor is unknown: %s", f->why);
    return mv_arena_printf(
        arena,
        "%s reserved at the peak = %s that any allocator needs + %s for separate "
        "streams and pools + %s for placement and cache",
        mv_size_text(reserved, f->reserved), mv_size_text(lower, f->lower),
        mv_size_text(apart, f->separation), mv_size_text(rest, f->placement));
}

const char *mv_minimum_line(mv_arena *arena, const mv_minimum *f)
{
    char reserved[MV_SIZE_TEXT], lower[MV_SIZE_TEXT], apart[MV_SIZE_TEXT], rest[MV_SIZE_TEXT];

    if (!f->is_known || f->reserved == 0)
        return "";
    return mv_arena_printf(
        arena,
        "any allocator needs %s of the %s reserved at the peak; separate streams "
        "and pools take %s, placement and cache %s (memviz floor)",
        mv_size_text(lower, f->lower), mv_size_text(reserved, f->reserved),
        mv_size_text(apart, f->separation), mv_size_text(rest, f->placement));
}

static const char *describe_placement(mv_arena *arena, const mv_minimum *f)
{
    char upper[MV_SIZE_TEXT], more[MV_SIZE_TEXT];

    if (f->ideal)
        return mv_arena_printf(
            arena,
            "the bound is reached: a placement of all %u blocks in %s was found and "
            "checked, so no allocator could reserve less",
            f->block_count, mv_size_text(upper, f->upper));
    return mv_arena_printf(
        arena,
        "the best checked placement of the %u blocks takes %s, %s (%.2f%%) more than the bound",
        f->block_count, mv_size_text(upper, f->upper), mv_size_text(more, f->upper - f->lower),
        100.0 * (double)(f->upper - f->lower) / (double)f->lower);
}

static const char *describe_moment(mv_arena *arena, const mv_minimum *f)
{
    char lower[MV_SIZE_TEXT];

    if (f->load_event == MV_BEFORE)
        return mv_arena_printf(arena, "%s was in use before the first event",
                               mv_size_text(lower, f->lower));
    return mv_arena_printf(arena, "%s was in use after event %u", mv_size_text(lower, f->lower),
                           f->load_event);
}

const char *mv_minimum_sentence(mv_arena *arena, const mv_minimum *f, uint32_t which)
{
    if (!f->is_known)
        return "";
    switch (which) {
    case 0:
        return describe_moment(arena, f);
    case 1:
        return describe_placement(arena, f);
    default:
        return f->note;
    }
}
