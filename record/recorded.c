#include "record/recorded.h"

uint64_t mv_recorded_count(const mv_trace *trace)
{
    uint64_t records = trace->api_calls.count + trace->heap_calls.count + trace->annotations.count;
    const mv_events *host = &trace->host_events;

    for (uint32_t i = 0; i < trace->device_count; i++)
        for (uint32_t k = 0; k < trace->devices[i].events.count; k++) {
            uint8_t action = trace->devices[i].events.action[k];
            records += action == MV_ACTION_ALLOC || action == MV_ACTION_FREE_REQUESTED ||
                       action == MV_ACTION_OOM;
        }
    for (uint32_t k = 0; k < host->count; k++)
        records +=
            host->action[k] == MV_ACTION_ALLOC || host->action[k] == MV_ACTION_FREE_REQUESTED;
    return records;
}
