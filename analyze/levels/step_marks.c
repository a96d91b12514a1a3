#include "analyze/levels/step_marks.h"

#include "analyze/ledger/holdings.h"
#include "analyze/steps/steps.h"
#include "base/sort.h"
#include "parse/model/event_times.h"
#include "parse/model/tables.h"

static bool add_text(mv_arena *arena, mv_strings *s, const char *text, mv_string_id *id)
{
    uint64_t length = strlen(text) + 1, bytes = s->count ? s->at[s->count] : 0;
    char *all = mv_push_array(arena, char, bytes + length);
    mv_value_of_END *at = mv_push_array(arena, mv_value_of_END, (uint64_t)s->count + 2);

    if (!all || !at)
        return false;
    if (s->count) {
        memcpy(all, s->bytes, bytes);
        memcpy(at, s->at, ((uint64_t)s->count + 1) * sizeof *at);
    }
    memcpy(all + bytes, text, length);
    *id = (mv_string_id){s->count++};
    at[s->count] = bytes + length;
    s->bytes = (mv_value_of_TEXT_BYTE *)all;
    s->at = at;
    return true;
}

bool mv_step_marks_apply(mv_arena *arena, const mv_step_marks *steps, mv_trace *out)
{
    mv_annotations marks;
    mv_string_id name;

    if (steps->count == 0)
        return true;
    if (!add_text(arena, &out->strings, MV_BEAT_NAME, &name) ||
        !mv_table_copy(arena, mv_table_find(MV_WIRE_ANNOTATIONS), &out->annotations, steps->count,
                       &marks))
        return false;
    for (uint32_t i = 0; i < steps->count; i++) {
        uint32_t at = marks.count++;
        marks.name[at] = name;
        marks.stage[at] = MV_STAGE_MARK;
        marks.device[at] = -1;
        marks.time_us[at] = steps->time_us[i];
    }
    out->annotations = marks;
    return true;
}

/* ---- launches and waits as the clock ----------------------------------------------------- */

/* Minimum number of calls with the same stack that can form a pattern. */
enum { LEAST_CALLS = 6 };

/* Fraction of the gaps that must be between half of the median and twice the median. */
#define EVEN 0.8

/* Minimum of the median gap on each clock. If gaps are smaller, the calls may be part of one loop:
 * one launch fills a tensor, and nothing waits for the device while a list is built. */
typedef enum { LAUNCHES, WAITS, CLOCKS } clock_kind;
static const uint64_t least_between[CLOCKS] = {[LAUNCHES] = 2, [WAITS] = 1};

typedef struct {
    uint32_t stack, library, call;
    uint64_t shown[CLOCKS];
} gain;

/* Whether the gains, which have the same stack, are evenly spaced on the clock. */
static bool is_even(mv_arena *scratch, const gain *gains, uint32_t count, clock_kind clock,
                    uint64_t last)
{
    uint64_t *gaps = mv_push_array(scratch, uint64_t, count), median;
    uint32_t even = 0;

    if (!gaps || count < LEAST_CALLS)
        return false;
    for (uint32_t i = 0; i + 1 < count; i++)
        gaps[i] = gains[i + 1].shown[clock] - gains[i].shown[clock];
    mv_sort_rows(scratch, gaps, count - 1, MV_RISING_VALUES(uint64_t));
    median = gaps[(count - 1) / 2];
    for (uint32_t i = 0; i + 1 < count; i++)
        even += gaps[i] > 0 && gaps[i] >= median / 2 && gaps[i] <= 2 * median;
    return median >= least_between[clock] && even >= EVEN * (count - 1) &&
           last - gains[count - 1].shown[clock] <= 2 * median;
}

/* Takes the times of the calls with the stack that occurs once per step. */
static bool clock_step_marks(mv_arena *arena, mv_arena *scratch, const mv_trace *trace,
                             mv_step_marks *out)
{
    const mv_api_calls *c = &trace->api_calls;
    gain *gains = mv_push_array(scratch, gain, (uint64_t)c->count + 1);
    uint32_t rows = 0, best = 0, last = c->count - 1;

    if (!gains)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->result[i] == 0 && mv_is_alloc(c->action[i]))
            gains[rows++] =
                (gain){c->stack[i].row, c->library[i].row, i, {c->launches[i], c->waits[i]}};
    mv_sort_rows(scratch, gains, rows, MV_RISING(gain, stack), MV_RISING(gain, library));
    for (uint32_t first = 0, end; first < rows; first = end) {
        for (end = first; end < rows && gains[end].stack == gains[first].stack &&
                          gains[end].library == gains[first].library;)
            end++;
        if (end - first <= out->count || gains[first].stack == MV_NO_ROW ||
            (!is_even(scratch, gains + first, end - first, LAUNCHES, c->launches[last]) &&
             !is_even(scratch, gains + first, end - first, WAITS, c->waits[last])))
            continue;
        best = first;
        out->count = end - first;
    }
    out->time_us = mv_push_array(arena, int64_t, (uint64_t)out->count + 1);
    for (uint32_t i = 0; out->time_us && i < out->count; i++)
        out->time_us[i] = c->time_us[gains[best + i].call];
    return out->time_us != NULL;
}

/* ---- both sources of marks --------------------------------------------------------------- */

static bool event_step_marks(mv_arena *arena, const mv_steps *steps, const mv_events *events,
                             mv_step_marks *out)
{
    out->count = steps->count;
    out->time_us = mv_push_array(arena, int64_t, (uint64_t)steps->count + 1);
    for (uint32_t i = 0; out->time_us && i < steps->count; i++)
        out->time_us[i] = mv_event_time(events, steps->at[i]);
    return out->time_us != NULL;
}

/* Returns the device with the most events. */
static uint32_t busiest(const mv_trace *trace)
{
    uint32_t best = 0;

    for (uint32_t d = 1; d < trace->device_count; d++)
        if (trace->devices[d].events.count > trace->devices[best].events.count)
            best = d;
    return best;
}

mv_code mv_step_marks_find(mv_arena *arena, const mv_trace *trace, const mv_trace *whole,
                           mv_step_marks *out, mv_err *err)
{
    uint32_t device = busiest(whole);
    mv_arena scratch;
    mv_lives lives;
    mv_steps steps;
    mv_code code;
    bool is_enough = true;

    *out = (mv_step_marks){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_lives_find(&scratch, whole, device, &lives, err);
    if (code == MV_OK)
        code = mv_steps_find(&scratch, whole, &lives, &steps, err);
    if (code == MV_OK && steps.source == MV_STEPS_INFERRED)
        is_enough = event_step_marks(arena, &steps, &lives.events, out);
    else if (code == MV_OK && steps.source == MV_STEPS_NONE && trace->api_calls.count > 0)
        is_enough = clock_step_marks(arena, &scratch, trace, out);
    if (code == MV_OK && !is_enough)
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "steps");
    mv_arena_release(&scratch);
    return code;
}
