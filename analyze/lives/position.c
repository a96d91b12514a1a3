#include "analyze/lives/position.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "parse/model/event_times.h"
#include "parse/model/living.h"

enum { CALLS_IN_DISORDER = 64 }; /* maximum number of threads that call at the same time */

static int64_t earlier(int64_t a, int64_t b)
{
    return a == MV_NO_TIME || (b != MV_NO_TIME && b < a) ? b : a;
}

/* Returns the time of a device's first or last event, or MV_NO_TIME. Within a part, times
 * ascend. */
static int64_t time_of_end(const mv_trace *trace, uint32_t device, bool is_last)
{
    const mv_events *e = &trace->devices[device].events;
    mv_living l = mv_living_of(trace, device);
    bool has_all = trace->living || !trace->digests;

    if (mv_living_is_part(&l) || (!has_all && e->count > 0))
        return is_last ? trace->digests[device].last_us : trace->digests[device].first_us;
    return e->count == 0 ? MV_NO_TIME : mv_event_time(e, is_last ? e->count - 1 : 0);
}

/* Returns the time of the earliest first event of any device. */
static int64_t first_event(const mv_trace *trace)
{
    int64_t start = MV_NO_TIME;

    for (uint32_t i = 0; i < trace->device_count; i++)
        start = earlier(start, time_of_end(trace, i, false));
    return start;
}

/* Returns the time of the first call that allocated memory. Calls are in the order in which memory
 * changed hands, so a call of another thread that began slightly earlier is among the next few. */
static int64_t first_call(const mv_trace *trace)
{
    const mv_api_calls *c = &trace->api_calls;
    const mv_heap_calls *h = &trace->heap_calls;
    int64_t start = MV_NO_TIME;

    for (uint32_t i = 0, seen = 0; i < c->count && seen < CALLS_IN_DISORDER; i++)
        if (c->result[i] == 0 && c->size[i] > 0) {
            start = earlier(start, c->time_us[i]);
            seen++;
        }
    for (uint32_t i = 0; i < h->count && i < CALLS_IN_DISORDER; i++)
        start = earlier(start, h->time_us[i]);
    return start;
}

int64_t mv_position_start_us(const mv_trace *trace)
{
    const mv_trace *read = mv_trace_as_read(trace);
    int64_t start = earlier(first_event(trace), first_event(read));

    return start == MV_NO_TIME ? start : earlier(start, first_call(read));
}

/* Returns the first event at or after a time. */
static uint32_t first_at(const mv_trace *trace, uint32_t device, int64_t time_us)
{
    mv_events events = mv_trace_events(trace, device);
    uint32_t i = mv_living_of(trace, device).count;

    while (i < events.count && mv_event_time(&events, i) < time_us)
        i++;
    return i;
}

/* Returns the time of the k-th start or mark of the annotation `name`, counted from 1, or
 * MV_NO_TIME. Sets `starts` to the number of starts. */
static int64_t annotation_start(const mv_trace *trace, mv_span name, uint64_t k, uint64_t *starts)
{
    const mv_annotations *a = &trace->annotations;

    *starts = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        mv_span text = mv_string_span(trace, a->name[i]);
        if ((a->stage[i] != MV_STAGE_START && a->stage[i] != MV_STAGE_MARK) ||
            text.length != name.length || memcmp(text.data, name.data, name.length) != 0)
            continue;
        if (++*starts == k)
            return a->time_us[i];
    }
    return MV_NO_TIME;
}

static int64_t annotation_time(const mv_trace *trace, const char *text)
{
    mv_span name = {(const uint8_t *)text, strlen(text)};
    uint64_t k, starts;
    int64_t time = annotation_start(trace, name, 1, &starts);
    const char *hash = strrchr(text, '#');

    if (time != MV_NO_TIME || !hash || !mv_number_read(hash + 1, &k) || k == 0)
        return time;
    name.length = (uint64_t)(hash - text);
    return annotation_start(trace, name, k, &starts);
}

/* Returns the number of microseconds in a unit of time, or 0 for an unknown unit. */
static double unit_us(const char *unit)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"min", 60e6}};

    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].us;
    return 0;
}

/* Reads a time. Arguments have a decimal point in every locale, so strtod must run in the C
 * locale. */
static bool read_time(const char *x, int64_t *us)
{
    char *end;
    double value = strtod(x, &end);
    double unit = unit_us(end);

    if (!isdigit((unsigned char)*x) || unit == 0 || !(value * unit < 9e18))
        return false;
    *us = (int64_t)(value * unit + 0.5);
    return true;
}

static mv_position position_at_time(const mv_trace *trace, uint32_t device, int64_t time_us)
{
    uint32_t count = mv_trace_events(trace, device).count;

    return (mv_position){first_at(trace, device, time_us),
                         time_us == INT64_MAX ? count : first_at(trace, device, time_us + 1)};
}

enum { NAMES_SHOWN = 6 };

/* Lists the names of the first annotations, each name once. */
static void list_annotations(const mv_trace *trace, char *why, uint32_t size)
{
    const mv_annotations *a = &trace->annotations;
    mv_string_id shown[NAMES_SHOWN];
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        mv_span name = mv_string_span(trace, a->name[i]);
        uint32_t known = 0;
        if ((a->stage[i] != MV_STAGE_START && a->stage[i] != MV_STAGE_MARK) || name.length == 0)
            continue;
        while (known < count && shown[known].row != a->name[i].row)
            known++;
        if (known < count)
            continue;
        if (count == NAMES_SHOWN) {
            mv_text_append(why, size, ", ... (memviz info lists them)");
            return;
        }
        shown[count++] = a->name[i];
        mv_text_append(why, size, "%s %.*s", count == 1 ? "; the file has:" : ",",
                       name.length < 60 ? (int)name.length : 60, (const char *)name.data);
    }
    if (count == 0)
        mv_text_append(why, size, ": the file has none");
}

static bool find_annotation(const mv_trace *trace, const char *x, int64_t *time_us, char *why,
                            uint32_t why_size)
{
    const char *hash = strrchr(x, '#');
    uint64_t starts = 0;

    *time_us = annotation_time(trace, x + 1);
    if (*time_us != MV_NO_TIME)
        return true;
    if (hash && isdigit((unsigned char)hash[1]))
        annotation_start(trace, (mv_span){(const uint8_t *)x + 1, (uint64_t)(hash - x) - 1},
                         UINT64_MAX, &starts);
    *why = 0;
    if (starts > 0) {
        mv_text_append(why, why_size, "no annotation '%s': '%.*s' starts %llu time%s", x + 1,
                       (int)(hash - x) - 1, x + 1, (unsigned long long)starts,
                       starts == 1 ? "" : "s");
    } else {
        mv_text_append(why, why_size, "no annotation '%s'", x + 1);
        list_annotations(trace, why, why_size);
    }
    return false;
}

/* Reads a number. A number that does not fit into 64 bits becomes the maximum. */
static bool read_number(const char *x, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(x, &end, 10);
    return isdigit((unsigned char)*x) && *end == 0;
}

bool mv_position_is_valid(const char *x)
{
    uint64_t number;
    int64_t time;

    return (*x == '@' && x[1]) || read_time(x, &time) || read_number(x, &number);
}

#define NO_TIMES "the events have no times, so %s cannot be found"

static bool find_time(const mv_trace *trace, const char *x, int64_t *time_us, char *why,
                      uint32_t why_size)
{
    int64_t start = mv_position_start_us(trace);

    if (!read_time(x, time_us))
        return false;
    if (start == MV_NO_TIME) {
        snprintf(why, why_size, NO_TIMES, x);
        *time_us = MV_NO_TIME;
    } else {
        *time_us = start > 0 && *time_us > INT64_MAX - start ? INT64_MAX : start + *time_us;
    }
    return true;
}

/* Whether the device has events, but no event has a time. */
static bool is_missing_times(const mv_trace *trace, uint32_t device)
{
    return mv_trace_events(trace, device).count > 0 && mv_position_start_us(trace) == MV_NO_TIME;
}

bool mv_position_time(const mv_trace *trace, uint32_t device, const char *x, int64_t *time_us,
                      char *why, uint32_t why_size)
{
    mv_events events = mv_trace_events(trace, device);
    mv_position at;

    if (*x == '@')
        return find_annotation(trace, x, time_us, why, why_size);
    if (find_time(trace, x, time_us, why, why_size))
        return *time_us != MV_NO_TIME;
    if (!mv_position_find(trace, device, x, &at, why, why_size))
        return false;
    if (at.event < events.count)
        *time_us = mv_event_time(&events, at.event);
    else if (!mv_position_is_beyond(trace, device, x, why, why_size))
        snprintf(why, why_size, "no event %s", x);
    return at.event < events.count;
}

bool mv_position_find(const mv_trace *trace, uint32_t device, const char *x, mv_position *out,
                      char *why, uint32_t why_size)
{
    mv_events events = mv_trace_events(trace, device);
    int64_t time = 0;
    uint64_t number;

    if (*x == '@') {
        if (!find_annotation(trace, x, &time, why, why_size))
            return false;
        if (is_missing_times(trace, device)) {
            snprintf(why, why_size, NO_TIMES, x);
            return false;
        }
        out->event = out->after = first_at(trace, device, time);
        return true;
    }
    if (find_time(trace, x, &time, why, why_size)) {
        if (time == MV_NO_TIME)
            return false;
        *out = position_at_time(trace, device, time);
        return true;
    }
    if (!read_number(x, &number)) {
        snprintf(why, why_size, "'%s' is not an event number, time (1.5s) or annotation (@NAME)",
                 x);
        return false;
    }
    if (number >= mv_event_total(trace, device)) {
        *out = (mv_position){events.count, events.count};
    } else {
        out->event = mv_row_of_event(trace, device, (uint32_t)number);
        out->after = out->event + 1;
    }
    return true;
}

/* ---- the range of a trace ---------------------------------------------------------------- */

/* Returns the time of the last event of any device, counted from the start; MV_NO_TIME if no event
 * has a time. */
static int64_t length_us(const mv_trace *trace)
{
    int64_t start = mv_position_start_us(trace), last = MV_NO_TIME;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        int64_t time = time_of_end(trace, i, true);
        if (time != MV_NO_TIME && start != MV_NO_TIME && time >= start &&
            (last == MV_NO_TIME || time - start > last))
            last = time - start;
    }
    return last;
}

/* Appends a sentence such as "; the file has events 0 to 812, 0 s to 4.215678 s". */
static void say_range(const mv_trace *trace, uint32_t first, uint32_t end, char *why, uint32_t size)
{
    int64_t length = length_us(trace);
    uint32_t most = first;

    for (uint32_t i = first; i < end; i++)
        if (mv_event_total(trace, i) > mv_event_total(trace, most))
            most = i;
    if (mv_event_total(trace, most) == 0) {
        mv_text_append(why, size, "; the file has no events%s",
                       trace->device_count > 1 ? " there" : "");
        return;
    }
    if (trace->device_count > 1)
        mv_text_append(why, size, "; device %u has events 0 to %u", most,
                       mv_event_total(trace, most) - 1);
    else
        mv_text_append(why, size, "; the file has events 0 to %u", mv_event_total(trace, most) - 1);
    if (length != MV_NO_TIME)
        mv_text_append(why, size, ", 0 s to %.6f s", (double)length / 1e6);
}

/* Printed times are rounded to the millisecond, so a time that is later by less than this still
 * counts as the end. */
enum { ROUNDED_US = 1000 };

bool mv_position_is_beyond(const mv_trace *trace, uint32_t device, const char *x, char *why,
                           uint32_t why_size)
{
    uint32_t events = mv_event_total(trace, device);
    int64_t time, length = length_us(trace);
    bool is_beyond = false;
    uint64_t number;

    if (read_time(x, &time))
        is_beyond =
            length == MV_NO_TIME ? !is_missing_times(trace, device) : time > length + ROUNDED_US;
    else if (read_number(x, &number))
        is_beyond = number >= events;
    if (!is_beyond)
        return false;
    snprintf(why, why_size, "%s is beyond the end", x);
    say_range(trace, device, device + 1, why, why_size);
    return true;
}

/* ---- windows ----------------------------------------------------------------------------- */

static bool place(const mv_trace *trace, uint32_t device, const char *x, uint32_t *event, char *why,
                  uint32_t why_size)
{
    mv_position position;

    if (!x)
        return true;
    if (!mv_position_find(trace, device, x, &position, why, why_size))
        return false;
    *event = position.event;
    return true;
}

bool mv_window_read(const mv_trace *trace, uint32_t device, const char *from, const char *to,
                    mv_window *out, char *why, uint32_t why_size)
{
    *out = (mv_window){0, mv_trace_events(trace, device).count};
    if (!place(trace, device, from, &out->first, why, why_size) ||
        !place(trace, device, to, &out->end, why, why_size))
        return false;
    if (out->end < out->first)
        out->end = out->first;
    return true;
}

/* Whether `from` is after `to`, judged by their strings or, failing that, by the device's
 * events. */
static bool is_reversed(const mv_trace *trace, uint32_t device, const char *from, const char *to)
{
    mv_position first, end;
    int64_t from_us, to_us;
    uint64_t from_event, to_event;
    char why[8];

    if (read_time(from, &from_us) && read_time(to, &to_us))
        return from_us > to_us;
    if (read_number(from, &from_event) && read_number(to, &to_event))
        return from_event > to_event;
    return mv_position_find(trace, device, from, &first, why, sizeof why) &&
           mv_position_find(trace, device, to, &end, why, sizeof why) && first.event > end.event;
}

bool mv_window_is_empty(const mv_trace *trace, uint32_t first, uint32_t end, const char *from,
                        const char *to, char *why, uint32_t why_size)
{
    bool is_reached = false; /* there is an event at or after `from` */
    mv_window window;

    if (!from && !to)
        return false;
    for (uint32_t i = first; i < end; i++) {
        if (!mv_window_read(trace, i, from, to, &window, why, why_size) ||
            window.end > window.first)
            return false;
        is_reached = is_reached || window.first < mv_trace_events(trace, i).count;
    }
    if (from && to && is_reversed(trace, first, from, to))
        snprintf(why, why_size, "--from %s is after --to %s", from, to);
    else if (from && !is_reached)
        snprintf(why, why_size, "--from %s is beyond the end", from);
    else if (from && to)
        snprintf(why, why_size, "no event is in the window from %s to before %s", from, to);
    else
        snprintf(why, why_size, "no event is before --to %s", to ? to : from);
    say_range(trace, first, end, why, why_size);
    return true;
}
