#include "analyze/thin/pauses.h"

#include "analyze/lives/position.h"
#include "analyze/steps/steps.h"
#include "base/duration.h"
#include "base/numbers.h"
#include "base/search.h"
#include "parse/live/read_live.h"

/* Returns NAME of "@NAME#K" or "NAME#K". *number is set to K, or to 1 if there is no K. */
static mv_span name_of(const char *x, uint64_t *number)
{
    const char *hash;
    uint64_t k;

    x += *x == '@';
    hash = strrchr(x, '#');
    *number = 1;
    if (!hash || !mv_number_read(hash + 1, &k) || k == 0)
        return (mv_span){(const uint8_t *)x, strlen(x)};
    *number = k;
    return (mv_span){(const uint8_t *)x, (uint64_t)(hash - x)};
}

bool mv_pause_moment_is_valid(const char *x)
{
    uint64_t number;

    if (mv_number_read(x, &number))
        return number > 0;
    return name_of(x, &number).length > 0;
}

static bool is_named(const mv_trace *trace, uint32_t row, mv_span name)
{
    const mv_annotations *a = &trace->annotations;
    mv_span is = mv_string_span(trace, a->name[row]);

    return (a->stage[row] == MV_STAGE_MARK || a->stage[row] == MV_STAGE_START) &&
           is.length == name.length && memcmp(is.data, name.data, name.length) == 0;
}

static int64_t time_of_name(const mv_trace *trace, const char *x)
{
    uint64_t number;
    mv_span name = name_of(x, &number);

    for (uint32_t i = 0; i < trace->annotations.count; i++)
        if (is_named(trace, i, name) && --number == 0)
            return trace->annotations.time_us[i];
    return INT64_MAX;
}

/* Finds the time of a step on the first device that has this many steps. */
static mv_code time_of_step(mv_arena *arena, const mv_trace *trace, uint64_t number, int64_t *out,
                            mv_err *err)
{
    mv_lives lives;
    mv_steps steps;

    *out = INT64_MAX;
    for (uint32_t i = 0; i < trace->device_count && *out == INT64_MAX; i++) {
        if (mv_lives_find(arena, trace, i, &lives, err) != MV_OK ||
            mv_steps_find(arena, trace, &lives, &steps, err) != MV_OK)
            return err->code;
        if (number <= steps.count && steps.at[number - 1] < lives.events.count)
            *out = lives.events.time_us[steps.at[number - 1]];
    }
    return MV_OK;
}

static mv_code time_of(mv_arena *arena, const mv_trace *trace, const char *x, int64_t *out,
                       mv_err *err)
{
    int64_t start = mv_live_folded_since_us(trace);
    uint64_t number;

    start = start == MV_NO_TIME ? mv_position_start_us(trace) : start;
    if (mv_duration_read(x, &number))
        *out = start == MV_NO_TIME ? INT64_MAX : start + (int64_t)number;
    else if (mv_number_read(x, &number))
        return time_of_step(arena, trace, number, out, err);
    else
        *out = time_of_name(trace, x);
    return MV_OK;
}

/* Appends a pause, or extends the last pause if the two meet. */
static void add(mv_pauses *out, int64_t from_us, int64_t to_us)
{
    mv_pause *last = out->count ? &out->pauses[out->count - 1] : NULL;

    if (last && from_us <= last->to_us)
        last->to_us = to_us > last->to_us ? to_us : last->to_us;
    else if (out->pauses && from_us < to_us)
        out->pauses[out->count++] = (mv_pause){from_us, to_us};
}

static bool is_mark(const mv_trace *trace, uint32_t row, const char *name)
{
    return trace->annotations.stage[row] == MV_STAGE_MARK &&
           strcmp(mv_string_text(trace, trace->annotations.name[row]), name) == 0;
}

static void add_marked(const mv_trace *trace, int64_t end_us, mv_pauses *out)
{
    const mv_annotations *a = &trace->annotations;
    int64_t from_us = INT64_MAX;

    for (uint32_t i = 0; i < a->count && a->time_us[i] < end_us; i++)
        if (from_us == INT64_MAX && is_mark(trace, i, MV_MARK_PAUSE)) {
            from_us = a->time_us[i];
        } else if (from_us != INT64_MAX && is_mark(trace, i, MV_MARK_RESUME)) {
            add(out, from_us, a->time_us[i]);
            from_us = INT64_MAX;
        }
    if (from_us != INT64_MAX)
        add(out, from_us, INT64_MAX);
}

mv_code mv_pauses_find(mv_arena *arena, const mv_trace *trace, const char *start_after,
                       const char *stop_after, mv_pauses *out, mv_err *err)
{
    int64_t start_us = INT64_MIN, end_us = INT64_MAX;

    *out = (mv_pauses){
        .pauses = mv_push_array(arena, mv_pause, (uint64_t)trace->annotations.count / 2 + 3)};
    if (!out->pauses)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pauses");
    if ((start_after && time_of(arena, trace, start_after, &start_us, err) != MV_OK) ||
        (stop_after && time_of(arena, trace, stop_after, &end_us, err) != MV_OK))
        return err->code;
    if (start_after)
        add(out, INT64_MIN, start_us);
    add_marked(trace, end_us, out);
    if (stop_after)
        add(out, end_us, INT64_MAX);
    return MV_OK;
}

uint32_t mv_pause_at(const mv_pauses *pauses, int64_t time_us)
{
    mv_bisect b = mv_bisect_over(0, pauses->count);

    while (mv_bisect_next(&b))
        mv_bisect_narrow(&b, pauses->pauses[b.middle].to_us <= time_us);
    return b.low < pauses->count && pauses->pauses[b.low].from_us <= time_us ? (uint32_t)b.low
                                                                             : MV_NO_ROW;
}
