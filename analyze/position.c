#include "analyze/position.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t mv_position_start_us(const mv_trace *trace)
{
    int64_t start = MV_NO_TIME;

    for (uint32_t i = 0; i < trace->device_count; i++) {
        const mv_events *e = &trace->devices[i].events;
        if (e->count == 0 || e->time_us[0] == MV_NO_TIME)
            continue;
        if (start == MV_NO_TIME || e->time_us[0] < start)
            start = e->time_us[0];
    }
    return start;
}

static uint32_t first_at(const mv_events *events, int64_t time_us)
{
    uint32_t i = 0;

    while (i < events->count && events->time_us[i] < time_us)
        i++;
    return i;
}

/* The time of the k-th start or mark of the annotation called `name`, from 1; MV_NO_TIME: none. */
static int64_t annotation_start(const mv_trace *trace, mv_span name, uint64_t k)
{
    const mv_annotations *a = &trace->annotations;

    for (uint32_t i = 0; i < a->count; i++) {
        mv_span text = mv_string_span(trace, a->name[i]);
        if ((a->stage[i] != MV_STAGE_START && a->stage[i] != MV_STAGE_MARK) ||
            text.length != name.length || memcmp(text.data, name.data, name.length) != 0)
            continue;
        if (--k == 0)
            return a->time_us[i];
    }
    return MV_NO_TIME;
}

static int64_t annotation_time(const mv_trace *trace, const char *text)
{
    mv_span name = {(const uint8_t *)text, strlen(text)};
    int64_t time = annotation_start(trace, name, 1);
    const char *hash = strrchr(text, '#');
    uint64_t k;
    char *end;

    if (time != MV_NO_TIME || !hash || !isdigit((unsigned char)hash[1]))
        return time;
    k = strtoull(hash + 1, &end, 10);
    if (*end || k == 0)
        return MV_NO_TIME;
    name.length = (uint64_t)(hash - text);
    return annotation_start(trace, name, k);
}

/* Microseconds in one of a time's unit; 0 when it is none. */
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

/* The decimal point of the argument, whatever the locale: strtod runs in the C locale here. */
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

static mv_position position_at_time(const mv_events *events, int64_t time_us)
{
    return (mv_position){first_at(events, time_us),
                         time_us == INT64_MAX ? events->count : first_at(events, time_us + 1)};
}

static bool find_annotation(const mv_trace *trace, const mv_events *events, const char *x,
                            mv_position *out, char *why, uint32_t why_size)
{
    int64_t time = annotation_time(trace, x + 1);

    if (time == MV_NO_TIME) {
        snprintf(why, why_size, "no such start of an annotation: %s", x);
        return false;
    }
    out->event = out->behind = first_at(events, time);
    return true;
}

bool mv_position_find(const mv_trace *trace, uint32_t device, const char *x, mv_position *out,
                      char *why, uint32_t why_size)
{
    mv_events events = mv_trace_events(trace, device);
    int64_t start = mv_position_start_us(trace), time = 0;
    uint64_t number;
    char *end;

    if (*x == '@')
        return find_annotation(trace, &events, x, out, why, why_size);
    if (read_time(x, &time)) {
        if (start == MV_NO_TIME) {
            snprintf(why, why_size, "the events have no times, so %s means nothing", x);
            return false;
        }
        *out = position_at_time(&events,
                                time > INT64_MAX - start && start > 0 ? INT64_MAX : start + time);
        return true;
    }
    errno = 0;
    number = strtoull(x, &end, 10);
    if (!isdigit((unsigned char)*x) || *end) {
        snprintf(why, why_size, "%s is no event number, time (1.5s) or annotation (@NAME)", x);
        return false;
    }
    if (errno || number >= events.count)
        *out = (mv_position){events.count, events.count};
    else
        *out = (mv_position){(uint32_t)number, (uint32_t)number + 1};
    return true;
}
