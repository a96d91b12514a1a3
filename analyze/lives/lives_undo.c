/* Undoes the events, from the last to the first, starting with the final heap. */
#include "analyze/lives/lives_sweep.h"
#include "parse/model/living.h"

static uint32_t *filled(mv_arena *arena, uint32_t count)
{
    uint32_t *column = mv_push_unset(arena, uint32_t, count);

    for (uint32_t i = 0; column && i < count; i++)
        column[i] = UINT32_MAX;
    return column;
}

/* Whether the trace contains events of this kind; for a part, events before the part count, too. */
static bool has_action(const mv_lives_sweep *r, mv_action action)
{
    return r->trace->living && r->lives->device < r->trace->device_count
               ? r->trace->digests[r->lives->device].count[action] > 0
               : mv_events_have(&r->ev, action);
}

static void find_actions(mv_lives_sweep *r)
{
    r->adds_segments =
        has_action(r, MV_ACTION_SEGMENT_ALLOC) || has_action(r, MV_ACTION_SEGMENT_MAP);
    r->has_requested = has_action(r, MV_ACTION_FREE_REQUESTED);
    r->has_completed = has_action(r, MV_ACTION_FREE_COMPLETED);
}

static void place_final_heap(mv_lives_sweep *r, uint32_t device)
{
    const mv_segments *s = &r->trace->segments;
    const mv_blocks *b = &r->trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t low, high, next;
        if (s->device[i] != (int64_t)device || s->address[i] == MV_NO_BYTES)
            continue;
        low = mv_address_rank(&r->ranks, s->address[i]);
        high = mv_address_rank(&r->ranks, mv_range_end(s->address[i], s->total_size[i]));
        next = mv_rankset_next(&r->final.starts, low);
        if (mv_ranges_at(&r->final, low) != MV_NO_RANK || (next != MV_NO_RANK && next < high))
            continue;
        mv_ranges_add(&r->final, low, high, i);
        for (uint32_t k = s->first_block[i]; k < s->first_block[i] + s->blocks[i]; k++)
            if (mv_block_is_active(r->trace, k) && b->address[k] != MV_NO_BYTES)
                r->final_block[mv_address_rank(&r->ranks, b->address[k])] = k;
    }
}

bool mv_lives_init(mv_lives_sweep *r)
{
    uint32_t device = r->lives->device, count = r->ranks.count;
    mv_living living = mv_living_of(r->trace, device);
    mv_arena *scratch = r->scratch;

    r->ev = mv_trace_events(r->trace, device);
    r->is_captured = mv_trace_is_captured(r->trace) || mv_trace_allocator(r->trace);
    /* on other levels of a snapshot (pinned memory), a segment is a single block */
    r->fills =
        mv_trace_allocator(r->trace) || (r->trace->origin.level && !mv_trace_is_captured(r->trace));
    r->is_thinned = r->trace->notes[MV_NOTE_THINNED].count > 0 || living.first > 0;
    r->recorded = r->ev.count + r->trace->notes[MV_NOTE_THINNED].count;
    r->rules = mv_block_rules_of(r->trace);
    for (uint32_t i = 0; i < MV_ROUNDUP_STEPS; i++)
        r->has_divisions = r->has_divisions || r->rules.divisions[i] > 1;
    find_actions(r);
    r->lives->events = r->ev;
    r->lives->has_no_heap = mv_trace_is_missing_heap(r->trace) || living.is_cut;
    r->final_block = filled(scratch, count);
    r->first_free = filled(scratch, count);
    r->places = mv_push_array(scratch, mv_lives_place, count);
    r->layout = 1;
    if (!r->final_block || !r->first_free || !r->places ||
        !mv_ranges_init(scratch, count, &r->final) ||
        !mv_ranges_init(scratch, count, &r->before_held) ||
        !mv_ranges_init(scratch, count, &r->held) || !mv_rankset_init(scratch, count, &r->before) ||
        !mv_rankset_init(scratch, count, &r->edges) || !mv_rankset_init(scratch, count, &r->used))
        return false;
    if (!living.is_cut)
        place_final_heap(r, device);
    return true;
}

static void drop_ranges(mv_ranges *ranges, uint32_t low, uint32_t high)
{
    uint32_t at;

    mv_ranges_cut(ranges, low);
    mv_ranges_cut(ranges, high);
    while ((at = mv_rankset_next(&ranges->starts, low)) < high)
        mv_rankset_drop(&ranges->starts, at);
}

static void undo_segment(mv_lives_sweep *r, uint32_t event)
{
    uint32_t low = r->ranks.of_event[event];
    uint64_t end = mv_range_end(r->ev.addr[event], r->ev.size[event]);
    uint32_t high = mv_address_rank_after(&r->ranks, low, end);
    uint8_t action = r->ev.action[event];
    uint32_t at;

    drop_ranges(&r->before_held, low, high);
    if (action == MV_ACTION_SEGMENT_FREE || action == MV_ACTION_SEGMENT_UNMAP) {
        mv_ranges_add(&r->before_held, low, high, event);
        return;
    }
    /* a block is never older than its segment */
    while ((at = mv_rankset_next(&r->before, low)) < high)
        mv_rankset_drop(&r->before, at);
}

static void undo_event(mv_lives_sweep *r, uint32_t event)
{
    uint32_t rank = r->ranks.of_event[event];

    switch (r->ev.action[event]) {
    case MV_ACTION_ALLOC:
        mv_rankset_drop(&r->before, rank);
        break;
    case MV_ACTION_FREE_REQUESTED:
    case MV_ACTION_FREE_COMPLETED:
        mv_rankset_add(&r->before, rank);
        r->first_free[rank] = event;
        break;
    default:
        undo_segment(r, event);
    }
}

void mv_lives_undo(mv_lives_sweep *r)
{
    uint32_t at = 0;

    while ((at = mv_rankset_next(&r->final.starts, at)) != MV_NO_RANK) {
        mv_ranges_add(&r->before_held, at, r->final.end[at], MV_NEVER);
        at++;
    }
    for (uint32_t i = 0; i < r->ranks.count; i++)
        if (r->final_block[i] != MV_NO_ROW)
            mv_rankset_add(&r->before, i);
    for (uint64_t i = r->ranks.basis_count; i-- > 0;)
        undo_event(r, r->ranks.basis[i]);
}
