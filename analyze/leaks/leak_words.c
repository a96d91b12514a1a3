#include "analyze/leaks/leak_words.h"

#include <stdio.h>

#include "analyze/leaks/driver_growth.h"
#include "analyze/lives/position.h"
#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "parse/model/event_times.h"
#include "parse/model/living.h"

const char *mv_leaks_why(const mv_leaks *leaks, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", leaks->why, *leaks->settle ? ": " : "", leaks->settle);
    return out;
}

const char *mv_leaks_of_driver(const mv_leaks *leaks, char *out, size_t size)
{
    const mv_driver_growth *driver = mv_driver_leak(leaks);

    *out = 0;
    if (leaks->count == 0 && driver)
        snprintf(out, size, "the driver's memory for %llu %s, in no block of this level",
                 (unsigned long long)driver->objects, driver->what);
    return out;
}

const char *mv_leaks_under_way(const mv_leaks *leaks, char *out, size_t size)
{
    char bytes[MV_SIZE_TEXT];

    *out = 0;
    if (leaks->in_progress.bytes > 0)
        snprintf(out, size, "in the unfinished step: %s in %u block%s",
                 mv_size_text(bytes, leaks->in_progress.bytes), leaks->in_progress.blocks,
                 mv_plural(leaks->in_progress.blocks));
    return out;
}

/* Writes " (1.234 s)", the time of an event since the start of the trace; "" if the time is
 * unknown. */
static const char *time_of(char text[48], const mv_trace *trace, uint32_t device, uint32_t event)
{
    mv_events e = mv_trace_events(trace, device);
    int64_t start = mv_position_start_us(trace);

    *text = 0;
    if (event < e.count && mv_event_time(&e, event) != MV_NO_TIME && start != MV_NO_TIME)
        snprintf(text, 48, " (%.3f s)", (double)(mv_event_time(&e, event) - start) / 1e6);
    return text;
}

const char *mv_leak_outlook_text(const mv_trace *trace, uint32_t device,
                                 const mv_leak_outlook *outlook, char *out, size_t size)
{
    char capacity[MV_SIZE_TEXT], time[48], after[64] = "";

    *out = 0;
    mv_size_text(capacity, outlook->capacity);
    if (outlook->oom_event != MV_NEVER) {
        bool is_known = outlook->capacity != MV_NO_BYTES;
        snprintf(out, size, "memory ran out at event %u%s%s%s%s%s",
                 mv_event_number(trace, device, outlook->oom_event),
                 time_of(time, trace, device, outlook->oom_event), is_known ? ", with " : "",
                 is_known && outlook->is_least ? "at least " : "", is_known ? capacity : "",
                 is_known ? " in all" : "");
        return out;
    }
    if (outlook->steps == MV_NO_BYTES)
        return out;
    if (outlook->time_us != MV_NO_TIME)
        snprintf(after, sizeof after, " (%s)", mv_duration_text(time, outlook->time_us));
    snprintf(out, size, "at this rate %s is full after %llu more step%s%s, or sooner", capacity,
             (unsigned long long)outlook->steps, mv_plural(outlook->steps), after);
    return out;
}

const char *mv_verdict_line(const mv_trace *trace, const uint8_t *kinds, const mv_leaks *leaks,
                            char *out, size_t size)
{
    char label[256], step[MV_SIZE_TEXT], kept[MV_SIZE_TEXT], under_way[128];

    if (leaks->count == 0) {
        mv_leaks_under_way(leaks, under_way, sizeof under_way);
        snprintf(out, size, "%s%s%s%s",
                 leaks->verdict == MV_VERDICT_CLEAN  ? "no leak: "
                 : leaks->verdict == MV_VERDICT_LEAK ? "leak: "
                                                     : "leaks unknown: ",
                 leaks->why, *under_way ? "; " : "", under_way);
        return out;
    }
    mv_leak_label(trace, kinds, &leaks->leaks[0], label, sizeof label);
    snprintf(out, size, "leak: %s keeps %s a step, %s at the end%s", label,
             mv_size_text(step, leaks->leaks[0].bytes_per_step),
             mv_size_text(kept, leaks->leaks[0].bytes),
             leaks->count > 1 ? ", and there are more" : "");
    return out;
}
