#include "analyze/totals/totals_audit.h"

#include "analyze/lives/block_size.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_NOTES = 24 };

typedef struct {
    mv_arena *arena;
    mv_audit *audit;
    bool ok;
} note_list;

__attribute__((format(printf, 2, 3))) static void note(note_list *list, const char *format, ...)
{
    const char *copy;
    va_list args;

    va_start(args, format);
    copy = mv_arena_vprintf(list->arena, format, args);
    va_end(args);
    list->ok &= copy != NULL;
    if (copy && list->audit->count < MOST_NOTES)
        list->audit->notes[list->audit->count++] = copy;
}

static void count_note(note_list *list, uint64_t count, const char *one, const char *many)
{
    if (count)
        note(list, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void note_history(note_list *list, const mv_trace *trace, const mv_lives *lives)
{
    const char *effect =
        trace->notes[MV_NOTE_LOST_EVENTS].count > 0
            ? "peaks may be higher, and totals are without the missing events"
            : "peaks before event 0 are unknown, and totals are without the memory freed before it";

    switch (lives->history) {
    case MV_HISTORY_COMPLETE:
    case MV_HISTORY_COUNT:
        break;
    case MV_HISTORY_LATE:
    case MV_HISTORY_TRUNCATED:
        note(list, "history is %s (%s): %s", mv_history_name(lives->history), lives->history_why,
             effect);
        break;
    case MV_HISTORY_NONE:
        note(list, "%s: peaks and totals are unknown", lives->history_why);
        break;
    }
}

static void note_residual(note_list *list, const char *measure, uint64_t final, uint64_t end)
{
    if (final > end)
        note(list, "the final heap has %" PRIu64 " bytes %s more than the events account for",
             final - end, measure);
    else if (final < end)
        note(list, "the final heap has %" PRIu64 " bytes %s less than the events account for",
             end - final, measure);
}

static void note_residuals(note_list *list, const mv_levels *final, const mv_levels *end)
{
    note_residual(list, "allocated", final->allocated, end->allocated);
    note_residual(list, "active", final->active, end->active);
    note_residual(list, "requested", final->requested, end->requested);
    note_residual(list, "reserved", final->reserved, end->reserved);
}

static void note_doubts(note_list *list, const mv_lives *lives)
{
    if (lives->has_no_heap)
        note(list, "the file has no final heap: the current figures follow from the events");
    if (lives->is_missing_allocs)
        note(list, "allocations are missing (recorded with skip_actions?): allocated memory is "
                   "only known by its end, or not at all");
    count_note(
        list, lives->doubts.inexact_blocks,
        "block was split off before event 0 or under unknown rules; its size is a lower bound",
        "blocks were split off before event 0 or under unknown rules; their sizes are lower "
        "bounds");
    count_note(list, lives->doubts.resized_blocks,
               "block does not have its size by the final settings; corrected",
               "blocks do not have their sizes by the final settings; corrected");
    count_note(list, lives->doubts.misplaced, "allocation does not start where free memory started",
               "allocations do not start where free memory started");
    count_note(list, lives->doubts.outside, "allocation is outside all known segments",
               "allocations are outside all known segments");
    count_note(list, lives->doubts.lone_frees, "free of an address without an allocation",
               "frees of addresses without an allocation");
    count_note(list, lives->doubts.lost_frees,
               "allocation ended without a free event: its memory was used again, or is free in "
               "the final heap",
               "allocations ended without a free event: their memory was used again, or is free in "
               "the final heap");
    count_note(list, lives->doubts.unrequested,
               "allocation has no free_requested (recorded with skip_actions?): it counts as "
               "allocated for too long",
               "allocations have no free_requested (recorded with skip_actions?): they count as "
               "allocated for too long");
    count_note(list, lives->doubts.unproven_ends,
               "allocation is only known by its free, and the file contains no allocations "
               "(recorded with skip_actions?): it may not have existed before the first event",
               "allocations are only known by their frees, and the file contains no allocations "
               "(recorded with skip_actions?): they may not have existed at once");
    count_note(list, lives->doubts.unproven_segments,
               "segment may have been added after the first event: the file records released "
               "segments, but not added ones (recorded with skip_actions?)",
               "segments may have been added after the first event: the file records released "
               "segments, but not added ones (recorded with skip_actions?)");
    count_note(list, lives->doubts.uncompleted,
               "allocation has no free_completed (recorded with skip_actions?): it may have waited "
               "for a stream",
               "allocations have no free_completed (recorded with skip_actions?): some may have "
               "waited for a stream");
    count_note(list, lives->doubts.lone_segments, "segment event contradicts the memory held then",
               "segment events contradict the memory held then");
    count_note(list, lives->doubts.final_mismatches,
               "block differs between the final heap and the end of the events",
               "blocks differ between the final heap and the end of the events");
}

static void note_rounding(note_list *list, const mv_trace *trace)
{
    mv_rounding r = mv_rounding_of(trace);

    if (r.is_npu && r.blocks > 0)
        note(list,
             "sizes follow torch_npu, which rounds a request + %u bytes up to %u: that fits %u of "
             "%u "
             "blocks; CUDA's rule fits %u",
             MV_NPU_PAD, MV_MIN_BLOCK, r.npu_fits, r.blocks, r.cuda_fits);
    else if (r.is_npu)
        note(list,
             "sizes follow torch_npu, which is named in the stacks: a request + %u bytes, "
             "rounded up to %u",
             MV_NPU_PAD, MV_MIN_BLOCK);
}

static void note_file(note_list *list, const mv_trace *trace, const mv_totals_findings *found)
{
    note_rounding(list, trace);
    count_note(list, found->uneven_segments, "final segment does not match the sums of its blocks",
               "final segments do not match the sums of their blocks");
    if (found->has_private_pools)
        count_note(list, found->unknown_pools,
                   "released segment may have been in a private pool; it is counted in the "
                   "default pool",
                   "released segments may have been in private pools; they are counted in the "
                   "default pool");
    if (trace->notes[MV_NOTE_THINNED].count > 0)
        note(list, "%llu events of small or short-lived blocks were removed from the file: %s",
             (unsigned long long)trace->notes[MV_NOTE_THINNED].count,
             trace->notes[MV_NOTE_THINNED].first);
    if (mv_fact_find(trace, MV_FACT_BUFFERS))
        note(list, "the file has %s buffers; buffers of one stack count as one allocation",
             mv_fact_find(trace, MV_FACT_BUFFERS));
    if (mv_fact_find(trace, MV_FACT_UNSIZED_EXECUTABLES))
        note(list, "the sizes of %s executables are not in the file: they count as 0 B",
             mv_fact_find(trace, MV_FACT_UNSIZED_EXECUTABLES));
    count_note(list, trace->notes[MV_NOTE_UNSORTED_TIME].count,
               "event in the file is earlier than the one before it: the order may be wrong",
               "events in the file are earlier than those before them: the order may be wrong");
}

static mv_bound bound_of(mv_bound bound, uint64_t final, uint64_t end)
{
    return bound | mv_bound_of_residual((int64_t)(final - end));
}

static void find_peak_bounds(mv_audit *a, const mv_trace *trace, const mv_lives *lives,
                             const mv_levels *final, const mv_levels *end)
{
    mv_bounds b = mv_bounds_of(lives);

    a->peak = (mv_bounds){.allocated = bound_of(b.allocated, final->allocated, end->allocated),
                          .active = bound_of(b.active, final->active, end->active),
                          .requested = bound_of(b.requested, final->requested, end->requested),
                          .reserved = bound_of(b.reserved, final->reserved, end->reserved)};
    a->total = bound_of(b.blocks, final->allocated, end->allocated);
    if (trace->notes[MV_NOTE_THINNED].count > 0)
        a->total |= MV_BOUND_LEAST;
    if (a->total & MV_BOUND_MOST) /* memory that is not known to be freed may have been freed */
        a->total = MV_BOUND_ABOUT;
}

static bool is_exact(const mv_bounds *b)
{
    return (b->allocated | b->active | b->requested | b->reserved) == MV_BOUND_EXACT;
}

bool mv_totals_audit(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                     const mv_totals_findings *found, mv_totals *out)
{
    mv_audit *a = &out->audit;
    const mv_levels *final = &out->current.bytes;
    note_list list = {arena, a, true};

    a->notes = mv_push_array(arena, const char *, MOST_NOTES);
    if (!a->notes)
        return false;
    a->residual = (int64_t)(final->allocated - found->end.allocated);
    find_peak_bounds(a, trace, lives, final, &found->end);
    a->exact = is_exact(&a->peak) && found->uneven_segments == 0;
    note_history(&list, trace, lives);
    note_residuals(&list, final, &found->end);
    note_doubts(&list, lives);
    note_file(&list, trace, found);
    if (a->count == 0 && !a->exact)
        note(
            &list,
            "no event is about memory (recorded with skip_actions?): only the final heap is known");
    return list.ok;
}
