/* Compares the end of the forward sweep with the final heap, which is the truth. */
#include "analyze/lives/lives_sweep.h"

/* Whether a row can end at the last event, which must not be its birth, nor event 0, where it would
 * be taken for one that waited since before the trace. */
static bool is_before_last(const mv_lives_sweep *r, uint32_t row)
{
    uint32_t birth = r->lives->allocs.birth[row];

    return r->ev.count > 1 && (birth == MV_BEFORE || birth < r->ev.count - 1);
}

/* The final heap and the events disagree on whether a block was freed and waits for a stream. In a
 * file without any free_requested it was, at a moment that is not known. */
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

/* Compares a block of the final heap with the allocation that the events have there. */
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

/* Whether there is nothing to compare with: the file has no final heap, or this is the CPU in a
 * capture, whose tensors are in no segment. */
static bool is_heapless(const mv_lives_sweep *r)
{
    return r->lives->has_no_heap || (r->is_captured && !mv_lives_has_segments(r));
}

/* The final heap lacks a block that the events have. Without any free in the file (skip_actions
 * can leave out both kinds) it was freed, at a moment that is not known. */
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
            settle_block(r, r->alloc_row[rank], r->final_block[rank]);
        else if (is_used && !is_heapless(r))
            settle_over(r, r->alloc_row[rank]);
        else if (is_final)
            r->lives->doubts.final_mismatches++;
    }
}

/* Sums up the blocks of the final heap, also those without addresses. */
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

void mv_lives_settle(mv_lives_sweep *r)
{
    const mv_alloc_lives *a = &r->lives->allocs;

    settle_blocks(r);
    mv_lives_settle_segments(r);
    for (uint32_t i = 0; i < a->count; i++)
        r->lives->doubts.inexact_blocks += a->inexact[i];
    if (r->ev.count)
        find_residuals(r);
}
