/* Handles recordings in which steps are missing. In a bounded recording (docs/recorder.md), little
 * is known about the first part of the run. The memory that is still alive is known, but the steps
 * are not, and neither is any memory that was freed. A recording that was paused and never resumed
 * (analyze/thin/pauses.h) has no steps at its end. */
#include "analyze/leaks/leak_state.h"

#include "analyze/thin/thin.h"
#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "parse/live/read_live.h"

/* A pause that lasts until the end hides steps, and also memory that was allocated in these steps
 * and that the program freed at its exit. */
static void check_pause(mv_leak_state *w)
{
    const mv_note *note = &w->trace->notes[MV_NOTE_THINNED];

    if (note->count == 0 || !strstr(note->first, MV_PAUSED_TO_THE_END))
        return;
    w->out->verdict = MV_VERDICT_UNKNOWN;
    w->out->lacks = "the paused end";
    w->out->why =
        "no line keeps memory step after step in the recorded events; but the recording was paused "
        "until the end, and does not contain memory that was freed at the exit";
    w->out->settle = "record a longer part, or without --stop-after";
}

/* Checks with the counters of the folded lines, which show what grew. */
static bool check_lines(mv_leak_state *w)
{
    const mv_grown *line = w->out->grown;
    char size[MV_SIZE_TEXT], label[200], span[MV_DURATION_TEXT];

    if (w->out->grown_count == 0)
        return true;
    mv_culprit_label(w->trace, w->sites.kinds, line->stack, label, sizeof label);
    w->out->verdict = MV_VERDICT_UNKNOWN;
    w->out->lacks = "folded events";
    w->out->why = mv_arena_printf(
        w->arena,
        "no line keeps memory step after step in the last events; but while events were folded, "
        "%s grew by %s, in %u of %u spans of %s, and the steps of that period are unknown",
        label, mv_size_text(size, line->bytes), line->rises, line->spans,
        mv_duration_text(span, (int64_t)line->span_us));
    w->out->settle = "compare two files of --on high or growth with memviz diff";
    return w->out->why != NULL;
}

/* Checks without counters: uses the live memory that was allocated in the second half of the folded
 * time. */
static bool check_blocks(mv_leak_state *w, int64_t until)
{
    const mv_alloc_lives *a = &w->lives->allocs;
    const mv_events *e = &w->lives->events;
    char size[MV_SIZE_TEXT];
    uint64_t bytes = 0;
    uint32_t blocks = 0;
    int64_t middle;

    middle = e->time_us[0] < until ? e->time_us[0] + (until - e->time_us[0]) / 2 : until;
    for (uint32_t i = a->preexisting; i < a->count; i++) {
        int64_t born = a->birth[i] == MV_BEFORE ? MV_NO_TIME : e->time_us[a->birth[i]];
        if (a->freed[i] != MV_NEVER || born <= middle || born > until)
            continue;
        bytes += a->block[i];
        blocks++;
    }
    if (blocks == 0)
        return true;
    w->out->verdict = MV_VERDICT_UNKNOWN;
    w->out->lacks = "folded events";
    w->out->why = mv_arena_printf(
        w->arena,
        "no line keeps memory step after step in the last events; but %u block%s, %s, remain from "
        "the second half of the folded time, whose steps are unknown",
        blocks, mv_plural(blocks), mv_size_text(size, bytes));
    w->out->settle = "compare two files of --on high or growth with memviz diff";
    return w->out->why != NULL;
}

bool mv_folded_time_check(mv_leak_state *w)
{
    int64_t until = mv_live_folded_until_us(w->trace);

    if (w->out->verdict == MV_VERDICT_CLEAN)
        check_pause(w);
    if (w->out->verdict != MV_VERDICT_CLEAN || until == MV_NO_TIME || w->lives->events.count == 0)
        return true;
    return w->out->has_grown ? check_lines(w) : check_blocks(w, until);
}
