/* Reads and writes the digests of devices in a file. Digests in a file are not trusted: if a digest
 * contradicts itself or the numbers of rows, it is ignored, and the events are read. */
#include "parse/container/wire_load.h"

static_assert((int)MV_ACTION_COUNT <= (int)MV_WIRE_DIGEST_ACTIONS, "raise MV_DIGEST_RULES");
static_assert((int)MV_DIGEST_WHY == (int)MV_WIRE_DIGEST_WHY, "raise MV_DIGEST_RULES");

/* Returns true if `text` is a printable sentence. */
static bool is_sentence(const char *text, uint64_t size)
{
    uint64_t length = strnlen(text, size);

    for (uint64_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return length < size;
}

static bool is_sound(const mv_load *load, const mv_wire_digest *d)
{
    uint64_t events = 0;

    for (unsigned i = 0; i < MV_WIRE_DIGEST_ACTIONS; i++) {
        if (i >= MV_ACTION_COUNT && d->count[i] > 0)
            return false;
        events += d->count[i];
    }
    return d->rules == MV_DIGEST_RULES && d->device < load->totals.devices && events > 0 &&
           events == d->events && d->unsorted < events && d->events_with_stack <= events &&
           d->stacks <= d->events_with_stack && d->history < MV_DIGEST_HISTORIES &&
           is_sentence(d->why, sizeof d->why);
}

static mv_digest digest_of(const mv_wire_digest *d)
{
    mv_digest out = {.first_us = d->first_us,
                     .last_us = d->last_us,
                     .stacks = d->stacks,
                     .events_with_stack = d->events_with_stack,
                     .unsorted = d->unsorted,
                     .first_unsorted = d->first_unsorted,
                     .history = d->history,
                     .ring = d->ring};

    memcpy(out.count, d->count, sizeof out.count);
    memcpy(out.bytes, d->bytes, sizeof out.bytes);
    memcpy(out.history_why, d->why, sizeof out.history_why);
    return out;
}

/* Returns true if each device with events has exactly one digest with the correct number of
 * events. */
static bool covers(const mv_load *load, const uint64_t *events)
{
    uint32_t lists = 0;

    for (uint32_t i = 0; i < load->totals.tables; i++) {
        const mv_wire_table *t = &load->total_rows[i];
        if (t->kind != MV_WIRE_EVENTS)
            continue;
        if (t->device >= load->totals.devices || events[t->device] != t->rows)
            return false;
        lists++;
    }
    return lists == load->stored_digest_count;
}

mv_code mv_digests_take(mv_load *load, mv_err *err)
{
    mv_digest *digests = mv_push_array(load->arena, mv_digest, load->totals.devices);
    uint64_t *events = mv_push_array(&load->scratch, uint64_t, load->totals.devices);

    if (!digests || !events)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u devices", load->totals.devices);
    if (load->damaged || !load->has_totals || load->stored_digest_count == 0)
        return MV_OK;
    for (uint32_t i = 0; i < load->stored_digest_count; i++) {
        mv_wire_digest d;
        memcpy(&d, load->stored_digests + i * sizeof d, sizeof d);
        if (!is_sound(load, &d) || events[d.device] > 0)
            return MV_OK;
        events[d.device] = d.events;
        digests[d.device] = digest_of(&d);
    }
    if (covers(load, events))
        load->digests = digests;
    return MV_OK;
}

bool mv_digests_may_show_failures(const mv_load *load)
{
    for (uint32_t i = 0; i < load->totals.tables; i++)
        if (load->total_rows[i].kind == MV_WIRE_API_CALLS && load->total_rows[i].rows > 0)
            return true;
    for (uint32_t i = 0; load->digests && i < load->totals.devices; i++) {
        const uint32_t *count = load->digests[i].count;
        if (count[MV_ACTION_OOM] || count[MV_ACTION_SEGMENT_FREE] || count[MV_ACTION_SEGMENT_UNMAP])
            return true;
    }
    return false;
}
