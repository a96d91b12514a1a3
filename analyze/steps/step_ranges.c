#include "analyze/steps/step_ranges.h"

#include "analyze/code/open_range.h"
#include "base/search.h"
#include "base/sort.h"

static bool is_bound(const mv_trace *trace, uint32_t row)
{
    static const char start[] = "Optimizer.step";
    const mv_annotations *a = &trace->annotations;

    return a->time_us[row] != MV_NO_TIME &&
           (a->stage[row] == MV_STAGE_START || a->stage[row] == MV_STAGE_END) &&
           strncmp(mv_string_text(trace, a->name[row]), start, sizeof start - 1) == 0;
}

/* Pairs starts with ends. Ends without a start, which may occur because the trace begins within a
 * range, are ignored. */
static void pair(const mv_annotations *a, const mv_annotation_bound *bounds, uint32_t count,
                 mv_step_ranges *out)
{
    uint32_t depth = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (a->stage[bounds[i].row] == MV_STAGE_START) {
            if (depth++ > 0)
                continue;
            out->start_us[out->count] = bounds[i].time_us;
            out->end_us[out->count++] = MV_STEP_OPEN;
        } else if (depth > 0 && --depth == 0) {
            out->end_us[out->count - 1] = bounds[i].time_us;
        }
    }
}

mv_code mv_step_ranges_find(mv_arena *arena, const mv_trace *trace, mv_step_ranges *out,
                            mv_err *err)
{
    const mv_annotations *a = &trace->annotations;
    uint32_t count = 0;
    mv_arena scratch;
    mv_annotation_bound *bounds;

    *out = (mv_step_ranges){0};
    mv_arena_init(&scratch, arena->budget);
    bounds = mv_push_array(&scratch, mv_annotation_bound, a->count);
    for (uint32_t i = 0; bounds && i < a->count; i++)
        if (is_bound(trace, i))
            bounds[count++] = (mv_annotation_bound){a->time_us[i], i};
    out->start_us = mv_push_array(arena, int64_t, count);
    out->end_us = mv_push_array(arena, int64_t, count);
    if (bounds && out->start_us && out->end_us) {
        mv_sort_rows(&scratch, bounds, count, MV_RISING(mv_annotation_bound, time_us));
        pair(a, bounds, count, out);
    }
    mv_arena_release(&scratch);
    if (!bounds || !out->start_us || !out->end_us)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u annotations", a->count);
    return MV_OK;
}

uint32_t mv_step_ranges_at(const mv_step_ranges *ranges, int64_t time_us)
{
    uint32_t low = (uint32_t)mv_upper_bound_i64(ranges->start_us, ranges->count, time_us);

    return low > 0 && time_us <= ranges->end_us[low - 1] ? low - 1 : MV_NO_ROW;
}
