#include "view/document/ledger_moment.h"

#include <stdio.h>

bool mv_document_has_ledger(const mv_document *d)
{
    const mv_trace *read = mv_trace_as_read(&d->trace);
    const char *level = d->trace.origin.level;

    return (read->samples.count > 0 || read->api_calls.count > 0) &&
           !(level && strcmp(level, mv_level_name(MV_LEVEL_HOST)) == 0);
}

mv_ledger_question mv_ledger_question_at(const mv_document *document,
                                         const mv_document_device *device, uint64_t event)
{
    mv_ledger_question q;

    memset(&q, 0, sizeof q);
    q.event = event;
    q.document = document;
    q.device = device;
    return q;
}

/* Makes the query for the ledger. Event numbers of levels other than PyTorch's have no meaning in
 * the file, so the times of events are used. */
static mv_ledger_query ask_of(const mv_ledger_question *q, const mv_trace *read)
{
    const mv_events *e = &q->device->lives.events;
    uint32_t device = q->device->device, event = (uint32_t)q->event;
    mv_ledger_query ask;

    if (!q->document->trace.origin.level && q->event != MV_LEDGER_OF_TIME)
        return mv_ledger_after_event(read, device, event);
    if (q->event != MV_LEDGER_OF_TIME && e->count == 0)
        return (mv_ledger_query){.when = MV_LEDGER_END};
    ask = mv_ledger_at_time(read, device,
                            q->event == MV_LEDGER_OF_TIME ? q->time_us
                            : event == MV_BEFORE          ? e->time_us[0] - 1
                                                          : e->time_us[event]);
    ask.events = 0; /* this leaves out PyTorch's figures */
    return ask;
}

void *mv_ledger_moment_find(mv_arena *arena, void *context, const void *ask)
{
    mv_ledger_answer *a = mv_push_struct(arena, mv_ledger_answer);
    mv_lives lives;
    mv_err err;

    (void)context;
    if (!a)
        return NULL;
    memcpy(&a->question, ask, sizeof a->question);
    a->trace = mv_trace_as_read(&a->question.document->trace);
    lives = a->question.device->lives;
    if (a->trace != &a->question.document->trace)
        lives = (mv_lives){.device = lives.device};
    return mv_ledger_find(arena, a->trace, &lives, ask_of(&a->question, a->trace), &a->ledger,
                          &err) == MV_OK
               ? a
               : NULL;
}

const char *mv_ledger_distance(const mv_ledger *ledger, char out[MV_LEDGER_DISTANCE])
{
    double us = (double)ledger->sample_us - (double)ledger->time_us;

    if (ledger->time_us == MV_NO_TIME)
        snprintf(out, MV_LEDGER_DISTANCE, "later");
    else
        snprintf(out, MV_LEDGER_DISTANCE, "%.3f s %s", (us < 0 ? -us : us) / 1e6,
                 us > 0 ? "later" : "before");
    return out;
}

uint64_t mv_document_unused(const mv_document *d, mv_pyramid_reader *levels, uint32_t event)
{
    const char *level = d->trace.origin.level;
    mv_levels at;

    if (level && strcmp(level, mv_level_name(MV_LEVEL_ALL)) != 0)
        return MV_NO_BYTES;
    at = mv_pyramid_at(levels, event);
    return at.reserved > at.allocated ? at.reserved - at.allocated : 0;
}
