#include "view/document/trace_marks.h"

#include "parse/model/event_times.h"

typedef struct {
    mv_trace_marks *out;
    uint32_t events;
    uint32_t open[MV_LANDMARK_DEEPEST]; /* rows of the open ranges' marks, innermost last */
    uint32_t depth;
} nesting;

static void begin(nesting *n, mv_string_id name, uint32_t event, bool is_moment)
{
    mv_mark *mark = &n->out->marks[n->out->mark_count];

    if (!is_moment && n->depth == MV_LANDMARK_DEEPEST)
        return;
    *mark = (mv_mark){.from = event,
                      .to = is_moment ? event : n->events,
                      .depth = (uint8_t)n->depth,
                      .is_moment = is_moment,
                      .name = name};
    if (!is_moment)
        n->open[n->depth++] = n->out->mark_count;
    n->out->mark_count++;
}

/* Ends the innermost range with that name. Unfinished ranges inside it stay open. */
static void end(nesting *n, mv_string_id name, uint32_t event)
{
    for (uint32_t i = n->depth; i > 0; i--) {
        mv_mark *mark = &n->out->marks[n->open[i - 1]];
        if (mark->name.row != name.row)
            continue;
        mark->to = event;
        for (uint32_t j = i; j < n->depth; j++)
            n->open[j - 1] = n->open[j];
        n->depth--;
        return;
    }
}

static void find_marks(const mv_trace *trace, const mv_lives *lives, mv_trace_marks *out)
{
    const mv_annotations *a = &trace->annotations;
    nesting n = {.out = out, .events = lives->events.count};

    for (uint32_t i = 0; i < a->count; i++) {
        bool is_here = a->device[i] < 0 || (uint32_t)a->device[i] == lives->device;
        uint32_t event;
        if (!is_here || a->time_us[i] == MV_NO_TIME)
            continue;
        event = mv_event_from(&lives->events, a->time_us[i]);
        if (a->stage[i] == MV_STAGE_END)
            end(&n, a->name[i], event);
        else
            begin(&n, a->name[i], event, a->stage[i] != MV_STAGE_START);
    }
}

mv_code mv_trace_marks_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            mv_trace_marks *out, mv_err *err)
{
    const mv_events *e = &lives->events;
    uint32_t ooms = 0;

    *out = (mv_trace_marks){0};
    for (uint32_t i = 0; i < e->count; i++)
        ooms += e->action[i] == MV_ACTION_OOM;
    out->ooms = mv_push_array(arena, uint32_t, ooms);
    out->marks = mv_push_array(arena, mv_mark, trace->annotations.count);
    if (!out->ooms || !out->marks)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "trace_marks");
    for (uint32_t i = 0; i < e->count; i++)
        if (e->action[i] == MV_ACTION_OOM)
            out->ooms[out->oom_count++] = i;
    if (e->count && mv_event_time(e, 0) != MV_NO_TIME)
        find_marks(trace, lives, out);
    return MV_OK;
}
