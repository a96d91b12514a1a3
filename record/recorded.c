#include "record/recorded.h"

#include "parse/model/digest.h"

/* Returns the number of events, which is taken from the digest if the events were left out. */
static uint64_t count_events(const mv_trace *trace, uint32_t device)
{
    const mv_events *e = &trace->devices[device].events;
    const mv_digest *d = trace->digests ? &trace->digests[device] : NULL;
    uint64_t records = 0;

    if (d)
        return (uint64_t)d->count[MV_ACTION_ALLOC] + d->count[MV_ACTION_FREE_REQUESTED] +
               d->count[MV_ACTION_OOM];
    for (uint32_t i = 0; i < e->count; i++)
        records += e->action[i] == MV_ACTION_ALLOC || e->action[i] == MV_ACTION_FREE_REQUESTED ||
                   e->action[i] == MV_ACTION_OOM;
    return records;
}

uint64_t mv_recorded_count(const mv_trace *trace)
{
    uint64_t records = trace->api_calls.count + trace->heap_calls.count + trace->annotations.count;
    const mv_events *host = &trace->host_events;

    for (uint32_t i = 0; i < trace->device_count; i++)
        records += count_events(trace, i);
    for (uint32_t k = 0; k < host->count; k++)
        records +=
            host->action[k] == MV_ACTION_ALLOC || host->action[k] == MV_ACTION_FREE_REQUESTED;
    return records;
}
