#include "analyze/heap/heap.h"

static uint32_t rank_of_alloc(const mv_heap *h, uint32_t row)
{
    uint32_t birth = h->lives->allocs.birth[row];

    if (birth != MV_BEFORE && h->ranks.of_event)
        return h->ranks.of_event[birth];
    return mv_address_rank(&h->ranks, h->lives->allocs.addr[row]);
}

static mv_heap_sums *domain_of_alloc(mv_heap *h, uint32_t row)
{
    uint32_t segment = h->lives->allocs.segment[row];

    return segment == MV_NO_ROW ? NULL : &h->of[h->domains.of_segment[segment]];
}

static void hold(mv_heap *h, uint32_t segment)
{
    uint64_t size = h->lives->segments.size[segment];

    h->all.reserved += size;
    h->of[h->domains.of_segment[segment]].reserved += size;
    mv_holes_hold(&h->now, segment);
    if (h->defers)
        mv_holes_hold(&h->settled, segment);
}

static void unhold(mv_heap *h, uint32_t segment)
{
    uint64_t size = h->lives->segments.size[segment];

    h->all.reserved -= size;
    h->of[h->domains.of_segment[segment]].reserved -= size;
    mv_holes_unhold(&h->now, segment);
    if (h->defers)
        mv_holes_unhold(&h->settled, segment);
}

static uint64_t rounding_of(const mv_heap *h, uint32_t row)
{
    const mv_alloc_lives *a = &h->lives->allocs;

    return a->block[row] > a->requested[row] ? a->block[row] - a->requested[row] : 0;
}

static void add_block(mv_heap *h, mv_heap_sums *sums, uint32_t row, bool pending)
{
    if (pending)
        sums->pending += h->lives->allocs.block[row];
    else
        sums->allocated += h->lives->allocs.block[row];
    sums->rounding += rounding_of(h, row);
}

static void begin_block(mv_heap *h, uint32_t row, bool pending)
{
    mv_heap_sums *domain = domain_of_alloc(h, row);
    uint32_t rank = rank_of_alloc(h, row);

    add_block(h, &h->all, row, pending);
    if (!domain || rank >= h->ranks.count)
        return;
    add_block(h, domain, row, pending);
    mv_holes_fill(&h->now, rank, row);
    if (h->defers && !pending)
        mv_holes_fill(&h->settled, rank, row);
}

static void free_block(mv_heap *h, uint32_t row)
{
    uint64_t size = h->lives->allocs.block[row];
    mv_heap_sums *domain = domain_of_alloc(h, row);

    h->all.allocated -= size;
    h->all.pending += size;
    if (domain) {
        domain->allocated -= size;
        domain->pending += size;
    }
    if (h->defers && domain)
        mv_holes_clear(&h->settled, rank_of_alloc(h, row), row);
}

static void end_block(mv_heap *h, uint32_t row)
{
    uint64_t size = h->lives->allocs.block[row];
    mv_heap_sums *domain = domain_of_alloc(h, row);

    h->all.pending -= size;
    h->all.rounding -= rounding_of(h, row);
    if (!domain)
        return;
    domain->pending -= size;
    domain->rounding -= rounding_of(h, row);
    mv_holes_clear(&h->now, rank_of_alloc(h, row), row);
}

static void apply(mv_heap *h, const mv_level_step *step)
{
    switch ((mv_step_kind)step->kind) {
    case MV_STEP_FREED:
        free_block(h, step->row);
        break;
    case MV_STEP_COMPLETED:
        end_block(h, step->row);
        break;
    case MV_STEP_UNHOLD:
        unhold(h, step->row);
        break;
    case MV_STEP_HOLD:
        hold(h, step->row);
        break;
    case MV_STEP_ALLOC:
        begin_block(h, step->row, false);
        break;
    }
}

/* ---- moving ------------------------------------------------------------------------------ */

static bool has_deferred(const mv_lives *lives)
{
    const mv_alloc_lives *a = &lives->allocs;

    for (uint32_t i = 0; i < a->count; i++)
        if (a->freed[i] != MV_NEVER && a->completed[i] - a->freed[i] > 1)
            return true;
    return false;
}

static void fill_before(mv_heap *h)
{
    const mv_segment_lives *s = &h->lives->segments;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->birth[i] == MV_BEFORE)
            hold(h, i);
    for (uint32_t i = 0; i < h->lives->allocs.preexisting; i++)
        begin_block(h, i, mv_alloc_was_pending(h->lives, i));
}

static bool make(mv_arena *arena, mv_heap *h)
{
    if (!mv_domains_find(arena, h->lives, &h->domains) ||
        !mv_level_steps_init(arena, h->lives, &h->steps) ||
        !mv_holes_init(arena, h->lives, &h->ranks, &h->domains, &h->now))
        return false;
    h->of = mv_push_array(arena, mv_heap_sums, h->domains.count);
    return h->of &&
           (!h->defers || mv_holes_init(arena, h->lives, &h->ranks, &h->domains, &h->settled));
}

mv_code mv_heap_init(mv_arena *arena, const mv_trace *trace, const mv_lives *lives, mv_heap *out,
                     mv_err *err)
{
    mv_code code = MV_OK;

    *out = (mv_heap){.lives = lives, .event = MV_BEFORE};
    out->defers = has_deferred(lives);
    if (lives->ranks)
        out->ranks = *lives->ranks;
    else
        code = mv_address_ranks_find(arena, trace, lives->device, &out->ranks, err);
    if (code != MV_OK)
        return code;
    if (!make(arena, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the heap");
    fill_before(out);
    return MV_OK;
}

bool mv_heap_next(mv_heap *heap)
{
    uint32_t next = heap->event + 1; /* MV_BEFORE + 1 is 0 */
    mv_level_step step;

    if (next >= heap->lives->events.count)
        return false;
    heap->event = next;
    while (mv_level_steps_next(&heap->steps, next, &step))
        apply(heap, &step);
    return true;
}

/* Whether a block is alive before event `first` or after event `last`. Blocks for which this is
 * false need not be placed. */
static bool stays(const mv_heap *h, uint32_t row, uint32_t first, uint32_t last)
{
    const mv_alloc_lives *a = &h->lives->allocs;

    return a->birth[row] == MV_BEFORE || a->birth[row] < first || a->completed[row] > last;
}

void mv_heap_advance(mv_heap *heap, uint32_t event)
{
    uint32_t count = heap->lives->events.count, first = heap->event + 1;
    mv_level_step step;

    if (event == MV_BEFORE || count == 0)
        return;
    if (event >= count)
        event = count - 1;
    for (uint32_t i = first; i <= event; i++) {
        uint32_t row = mv_level_own_row(heap->lives, i);
        if (!mv_level_steps_prepared(&heap->steps, i) &&
            (row == MV_NO_ROW || !stays(heap, row, first, event)))
            continue;
        while (mv_level_steps_next(&heap->steps, i, &step))
            if (step.kind == MV_STEP_HOLD || step.kind == MV_STEP_UNHOLD ||
                stays(heap, step.row, first, event))
                apply(heap, &step);
    }
    heap->event = event;
}
