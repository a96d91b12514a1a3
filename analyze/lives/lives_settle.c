/* Compares the state after the forward sweep with the final heap, which is authoritative. */
#include "analyze/lives/alive.h"
#include "analyze/lives/lives_sweep.h"

/* Whether a row can end at the last event. This event must not be the row's birth. It must not be
 * event 0 either, because that would mean that the block has been waiting since before the
 * trace. */
static bool is_before_last(const mv_lives_sweep *r, uint32_t row)
{
    uint32_t birth = r->lives->allocs.birth[row];

    return r->ev.count > 1 && (birth == MV_BEFORE || birth < r->ev.count - 1);
}

/* Settles a block if the final heap and the events disagree on whether it was freed and waits for a
 * stream. In a file without any free_requested event, the block was freed at an unknown time. */
static void settle_pending(mv_lives_sweep *r, uint32_t row, bool is_pending)
{
    if (is_pending && !r->has_requested && is_before_last(r, row)) {
        r->lives->allocs.freed[row] = r->ev.count - 1;
        r->lives->doubts.unrequested++;
        r->lives->doubts.ended_last++;
        return;
    }
    r->lives->doubts.final_mismatches++;
    r->lives->doubts.final_over += is_pending;
}

/* Compares a block of the final heap with the allocation at its address that is still alive after
 * all events. */
static void settle_block(mv_lives_sweep *r, uint32_t row, uint32_t block)
{
    mv_alloc_lives *a = &r->lives->allocs;
    const mv_blocks *b = &r->trace->blocks;
    bool is_pending = b->state[block] == MV_BLOCK_PENDING_FREE;

    if (a->block[row] != b->size[block] && !a->inexact[row])
        r->lives->doubts.resized_blocks++;
    a->block[row] = b->size[block];
    a->inexact[row] = 0;
    if (r->ev.count && is_pending != (a->freed[row] != MV_NEVER))
        settle_pending(r, row, is_pending);
    if (a->stack[row].row == MV_NO_ROW)
        a->stack[row] = mv_block_stack(r->trace, block);
}

/* Whether a comparison is impossible. This is the case if the file has no final heap, or if the
 * device is the CPU in a capture, because CPU tensors do not lie in segments. */
static bool is_heapless(const mv_lives_sweep *r)
{
    return r->lives->has_no_heap || (r->is_captured && !mv_lives_has_segments(r));
}

/* Settles a block that is still in use after all events but is missing from the final heap. In a
 * file without any free events (skip_actions can exclude both kinds), the block was freed at an
 * unknown time. */
static void settle_over(mv_lives_sweep *r, uint32_t row)
{
    mv_alloc_lives *a = &r->lives->allocs;
    bool has_places = mv_rankset_next(&r->final.starts, 0) != MV_NO_RANK;

    if (!r->has_requested && !r->has_completed && has_places && is_before_last(r, row)) {
        a->freed[row] = a->completed[row] = r->ev.count - 1;
        r->lives->doubts.lost_frees++;
        r->lives->doubts.ended_last++;
        return;
    }
    r->lives->doubts.final_mismatches++;
    r->lives->doubts.final_over++;
}

static void settle_blocks(mv_lives_sweep *r)
{
    for (uint32_t rank = 0; rank < r->ranks.count; rank++) {
        bool is_used = mv_rankset_has(&r->used, rank);
        bool is_final = r->final_block[rank] != MV_NO_ROW;

        if (is_used && is_final)
            settle_block(r, r->places[rank].alloc, r->final_block[rank]);
        else if (is_used && !is_heapless(r))
            settle_over(r, r->places[rank].alloc);
        else if (is_final)
            r->lives->doubts.final_mismatches++;
    }
}

/* Adds up the blocks and segments of the final heap, including those without addresses. */
static void sum_final(const mv_lives_sweep *r, uint64_t *allocated, uint64_t *reserved)
{
    const mv_segments *s = &r->trace->segments;
    const mv_blocks *b = &r->trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        if (s->device[i] != (int64_t)r->lives->device)
            continue;
        *reserved += s->total_size[i];
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++)
            if (b->state[k] == MV_BLOCK_ALLOCATED)
                *allocated += b->size[k];
    }
}

static void find_residuals(mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    const mv_segment_lives *s = &r->lives->segments;
    uint64_t allocated = 0, reserved = 0;

    if (r->lives->has_no_heap)
        return;
    sum_final(r, &allocated, &reserved);
    for (uint32_t i = 0; i < a->count; i++)
        if (a->freed[i] == MV_NEVER && !is_heapless(r))
            allocated -= a->block[i];
    for (uint32_t i = 0; i < s->count; i++)
        if (s->death[i] == MV_NEVER)
            reserved -= s->size[i];
    r->lives->doubts.residual = (int64_t)allocated;
    r->lives->doubts.residual_reserved = (int64_t)reserved;
}

/* ---- missing events ---------------------------------------------------------------------- */

/* Counts allocations that are known only from their frees. Such an allocation is only certain if
 * the file records allocs. skip_actions applies only to PyTorch's device allocator. */
static void find_unproven(mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;

    if (r->ranks.alloc_events > 0 || r->is_captured || r->fills)
        return;
    for (uint32_t i = 0; i < a->preexisting; i++) {
        r->lives->doubts.unproven += a->freed[i] != MV_NEVER && !mv_alloc_was_pending(r->lives, i);
        r->lives->doubts.unproven_ends += a->completed[i] != MV_NEVER;
    }
}

/* Returns the first event that ends a segment of this kind. Returns MV_NEVER if such segments were
 * also added, because additions are then recorded and all other segments existed before. */
static uint32_t first_end(const mv_lives_sweep *r, mv_action add, mv_action end)
{
    uint32_t first = mv_next_action(&r->ev, 0, end);

    return first == r->ev.count || mv_events_have(&r->ev, add) ? MV_NEVER : first;
}

/* Returns, for each segment, 1 + its first alloc event; 0 if its first allocation is preexisting,
 * or if it has no allocation. */
static uint32_t *first_allocs(mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;
    uint32_t *first = mv_push_array(r->scratch, uint32_t, r->lives->segments.count);

    for (uint32_t i = a->count; first && i-- > 0;) /* in order of birth */
        if (a->segment[i] != MV_NO_ROW)
            first[a->segment[i]] = a->birth[i] + 1;
    return first;
}

/* Whether a segment is the remainder of an older segment, at addresses where a segment of the final
 * heap was added later. */
static bool is_rest(const mv_lives_sweep *r, uint32_t row)
{
    const mv_segment_lives *s = &r->lives->segments;
    uint32_t at = mv_ranges_at(&r->final, mv_address_rank(&r->ranks, s->addr[row]));

    return s->death[row] == MV_NEVER && at != MV_NO_RANK &&
           r->trace->segments.total_size[r->final.row[at]] != s->size[row];
}

/* Counts the segments that may have been added after the first event. A segment is added for a
 * request, and contains the block of that request from then on. Therefore, a segment without an
 * alloc event existed before the first event, and so did a segment with a preexisting block. A
 * segment whose first alloc event comes before the first segment end existed when that segment
 * ended. Nothing is known about expandable segments, because a block may span several pieces.
 * Returns false when out of memory. */
static bool find_unproven_segments(mv_lives_sweep *r)
{
    const mv_segment_lives *s = &r->lives->segments;
    uint32_t ended = first_end(r, MV_ACTION_SEGMENT_ALLOC, MV_ACTION_SEGMENT_FREE);
    uint32_t unmapped = first_end(r, MV_ACTION_SEGMENT_MAP, MV_ACTION_SEGMENT_UNMAP);
    uint32_t *first;

    if ((ended == MV_NEVER && unmapped == MV_NEVER) || r->is_captured || r->fills)
        return true;
    first = first_allocs(r);
    for (uint32_t i = 0; first && i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            r->lives->doubts.unproven_segments +=
                s->is_expandable[i] ? unmapped != MV_NEVER
                                    : ended != MV_NEVER && (r->ranks.alloc_events == 0 ||
                                                            first[i] > ended + 1 || is_rest(r, i));
    return first != NULL;
}

bool mv_lives_settle(mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;

    settle_blocks(r);
    mv_lives_settle_segments(r);
    for (uint32_t i = 0; i < a->count; i++)
        r->lives->doubts.inexact_blocks += a->inexact[i];
    if (r->ev.count)
        find_residuals(r);
    find_unproven(r);
    return find_unproven_segments(r);
}
