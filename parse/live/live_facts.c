#include "parse/live/live_facts.h"

#include "base/numbers.h"
#include "parse/live/read_live.h"
#include "parse/live/varint.h"

void mv_live_fact_add(mv_build *b, const char *key, const char *value)
{
    mv_build_fact(b, mv_build_string(b, key, strlen(key)),
                  mv_build_string(b, value, strlen(value)));
}

void mv_live_fact_add_number(mv_build *b, const char *key, uint64_t value)
{
    char text[MV_DIGITS + 1];

    text[mv_digits(text, value)] = 0;
    mv_live_fact_add(b, key, text);
}

bool mv_live_facts_read(mv_build *b, mv_span records)
{
    mv_cursor c = mv_cursor_over(records);

    while (c.at < c.span.length) {
        mv_span key = mv_take_text(&c), value = mv_take_text(&c);
        if (c.overrun)
            return false;
        mv_build_fact(b, mv_build_string(b, (const char *)key.data, key.length),
                      mv_build_string(b, (const char *)value.data, value.length));
    }
    return true;
}

static int64_t fact_number(const mv_trace *trace, const char *key)
{
    const char *text = mv_fact_find(trace, key);
    uint64_t value;

    return text && mv_number_read(text, &value) && value < INT64_MAX / 4 ? (int64_t)value : 0;
}

/* The facts contain the same point in time on both clocks. */
int64_t mv_live_to_epoch_us(const mv_trace *trace)
{
    int64_t monotonic = fact_number(trace, "monotonic_us");
    int64_t realtime = fact_number(trace, "realtime_us");

    return monotonic && realtime ? realtime - monotonic : 0;
}

static int64_t fact_time(const mv_trace *trace, const char *key)
{
    int64_t monotonic = fact_number(trace, key);

    return monotonic ? monotonic + mv_live_to_epoch_us(trace) : MV_NO_TIME;
}

int64_t mv_live_folded_since_us(const mv_trace *trace)
{
    return fact_time(trace, MV_FACT_FOLDED_SINCE);
}

int64_t mv_live_folded_until_us(const mv_trace *trace)
{
    return fact_time(trace, MV_FACT_FOLDED_UNTIL);
}

void mv_live_facts_note_lost(mv_build *b, const mv_trace *facts)
{
    int64_t count = fact_number(facts, "lost_bound");

    if (count <= 0)
        return;
    mv_build_note(b, MV_NOTE_LOST,
                  "freed blocks, ranges and marks while the files were at --max-size");
    b->trace->notes[MV_NOTE_LOST].count += (uint64_t)count - 1;
}

bool mv_live_facts_have_end(const mv_trace *trace)
{
    return mv_fact_find(trace, "end_us") || mv_fact_find(trace, "stopped");
}
