#include "view/timeline/mark_lanes.h"

#include "base/search.h"
#include "base/sort.h"

/* ---- lanes -------------------------------------------------------------------------------- */

/* Puts a mark into a lane. Ranges of several threads may overlap. In that case, a range that began
 * inside the previous one is shortened, so that it begins where that one ends. */
static void put(mv_lane *lane, const mv_mark *mark)
{
    uint32_t from = mark->from;

    if (lane->count && from < lane->rows[lane->count - 1].to)
        from = lane->rows[lane->count - 1].to;
    if (from < mark->to || (mark->is_moment && from == mark->to))
        lane->rows[lane->count++] = (mv_lane_row){from, mark->to, mark->name};
}

static bool find_ranges(mv_arena *arena, const mv_trace_marks *trace_marks, mv_mark_lanes *out)
{
    mv_lane nested[MV_MOST_NESTED + 1] = {{.title = "annotations"}}; /* the last lane is for
                                                                        marks */

    if (trace_marks->mark_count == 0)
        return true;
    for (uint32_t i = 0; i <= MV_MOST_NESTED; i++) {
        nested[i].rows = mv_push_array(arena, mv_lane_row, trace_marks->mark_count);
        if (!nested[i].rows)
            return false;
        nested[i].title = i == 0 ? "annotations" : i == MV_MOST_NESTED ? "marks" : "";
    }
    for (uint32_t i = 0; i < trace_marks->mark_count; i++) {
        const mv_mark *mark = &trace_marks->marks[i];
        if (mark->is_moment)
            put(&nested[MV_MOST_NESTED], mark);
        else if (mark->depth < MV_MOST_NESTED)
            put(&nested[mark->depth], mark);
    }
    for (uint32_t i = 0; i <= MV_MOST_NESTED; i++)
        if (nested[i].count)
            out->lanes[out->count++] = nested[i];
    return true;
}

static bool find_steps(mv_arena *arena, const mv_steps *steps, uint32_t events, mv_mark_lanes *out)
{
    mv_lane *lane = &out->lanes[out->count];
    bool is_reported = steps && steps->source == MV_STEPS_ANNOTATION && out->count > 0;

    if (!steps || steps->count == 0 || is_reported)
        return true;
    *lane = (mv_lane){.title = "steps", .rows = mv_push_array(arena, mv_lane_row, steps->count)};
    if (!lane->rows)
        return false;
    for (uint32_t i = 0; i < steps->count; i++) {
        uint32_t to = i + 1 < steps->count ? steps->at[i + 1] : events;
        lane->rows[lane->count++] = (mv_lane_row){steps->at[i], to, MV_NO_STRING};
    }
    out->count++;
    return true;
}

/* ---- begins ------------------------------------------------------------------------------- */

static bool find_begins(mv_arena *arena, uint32_t events, mv_mark_lanes *out)
{
    uint64_t all = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < out->count; i++)
        all += out->lanes[i].count;
    out->begins = mv_push_array(arena, uint32_t, all);
    if (!out->begins)
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        for (uint32_t k = 0; k < out->lanes[i].count; k++)
            if (out->lanes[i].rows[k].from < events)
                out->begins[count++] = out->lanes[i].rows[k].from;
    mv_sort_rows(arena, out->begins, count, MV_RISING_VALUES(uint32_t));
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || out->begins[i] != out->begins[i - 1])
            out->begins[out->begin_count++] = out->begins[i];
    return true;
}

mv_code mv_mark_lanes_find(mv_arena *arena, const mv_trace_marks *trace_marks,
                           const mv_steps *steps, uint32_t events, mv_mark_lanes *out, mv_err *err)
{
    *out = (mv_mark_lanes){0};
    if (!find_ranges(arena, trace_marks, out) || !find_steps(arena, steps, events, out) ||
        !find_begins(arena, events, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "lanes");
    return MV_OK;
}

/* ---- looking up --------------------------------------------------------------------------- */

uint32_t mv_lane_after(const mv_lane *lane, uint32_t event)
{
    mv_bisect b = mv_bisect_over(0, lane->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, lane->rows[b.middle].to <= event && lane->rows[b.middle].from < event);
    return (uint32_t)b.low;
}

uint32_t mv_listed_event_after(const uint32_t *events, uint32_t count, uint32_t event)
{
    uint64_t at = event == MV_BEFORE ? 0 : mv_upper_bound_u32(events, count, event);

    return at < count ? events[at] : MV_NO_ROW;
}

uint32_t mv_event_before(const uint32_t *events, uint32_t count, uint32_t event)
{
    uint64_t at = event == MV_BEFORE ? 0 : mv_lower_bound_u32(events, count, event);

    return at > 0 ? events[at - 1] : MV_NO_ROW;
}
