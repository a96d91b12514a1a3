#include "analyze/code/open_range.h"

#include "base/sort.h"
#include "parse/model/event_times.h"

/* The open ranges, outermost first. */
typedef struct {
    const mv_annotations *annotations;
    mv_string_id *open;
    uint32_t depth;
} open_ranges;

/* Passes the start or end of a range. Threads interleave, so the range that ends is not always the
 * innermost range. An end without a start is ignored. */
static void pass(open_ranges *n, uint32_t row)
{
    mv_string_id name = n->annotations->name[row];
    uint32_t at = n->depth;

    if (n->annotations->stage[row] == MV_STAGE_START) {
        n->open[n->depth++] = name;
        return;
    }
    while (at > 0 && n->open[at - 1].row != name.row)
        at--;
    if (at == 0)
        return;
    for (; at < n->depth; at++)
        n->open[at - 1] = n->open[at];
    n->depth--;
}

static bool is_past(const mv_annotations *a, uint32_t row, int64_t time_us)
{
    return a->stage[row] == MV_STAGE_START ? a->time_us[row] <= time_us : a->time_us[row] < time_us;
}

static uint32_t sort_ends(mv_arena *scratch, const mv_annotations *a, mv_annotation_bound *ends)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->count; i++)
        if (a->stage[i] != MV_STAGE_OTHER && a->time_us[i] != MV_NO_TIME)
            ends[count++] = (mv_annotation_bound){a->time_us[i], i};
    mv_sort_rows(scratch, ends, count, MV_RISING(mv_annotation_bound, time_us));
    return count;
}

static mv_string_id metadata_of(const mv_trace *trace, const mv_events *events, uint32_t event)
{
    mv_string_id text = trace->tags.user_metadata[events->tag[event].row];

    /* PyTorch writes an empty string if no metadata is set. */
    return mv_string_span(trace, text).length > 0 ? text : MV_NO_STRING;
}

mv_string_id *mv_within_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                             const uint32_t *event, uint32_t count)
{
    const mv_annotations *a = &trace->annotations;
    mv_events events = mv_trace_events(trace, device);
    mv_string_id *names = mv_push_array(arena, mv_string_id, count);
    mv_arena scratch;
    mv_annotation_bound *ends;
    open_ranges n = {.annotations = a};
    uint32_t at = 0, end_count;

    mv_arena_init(&scratch, arena->budget);
    n.open = mv_push_array(&scratch, mv_string_id, a->count);
    ends = mv_push_array(&scratch, mv_annotation_bound, a->count);
    if (!names || !n.open || !ends) {
        mv_arena_release(&scratch);
        return NULL;
    }
    end_count = sort_ends(&scratch, a, ends);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = MV_NO_STRING;
        if (event[i] >= events.count)
            continue;
        while (at < end_count && is_past(a, ends[at].row, mv_event_time(&events, event[i])))
            pass(&n, ends[at++].row);
        if (n.depth > 0)
            names[i] = n.open[n.depth - 1];
        else if (a->count == 0)
            names[i] = metadata_of(trace, &events, event[i]);
    }
    mv_arena_release(&scratch);
    return names;
}
