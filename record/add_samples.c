#include "record/add_samples.h"

#include <stdio.h>

#include "parse/live/read_live.h"

/* Returns a set of the devices that the process used, with one bit for each device. */
static uint64_t devices_used(const mv_trace *trace)
{
    uint64_t used = 0;

    for (uint32_t i = 0; i < trace->device_count && i < 64; i++)
        used |= trace->devices[i].events.count ? 1ull << i : 0;
    for (uint32_t i = 0; i < trace->api_calls.count; i++) {
        int32_t device = trace->api_calls.device[i];
        used |= device >= 0 && device < 64 ? 1ull << device : 0;
    }
    return used;
}

mv_code mv_add_samples(mv_arena *arena, const mv_nvml_process *process, const mv_nvml *nvml,
                       uint64_t also, mv_trace *trace, mv_err *err)
{
    mv_note *note = &trace->notes[MV_NOTE_FILE_NOTE];
    uint64_t wanted = devices_used(trace) | also;
    const char *why;

    if (!nvml || !nvml->calls)
        return MV_OK;
    why = wanted ? mv_nvml_why_unknown(nvml, process) : NULL;
    if (why && note->count++ == 0)
        snprintf(note->first, sizeof note->first, "%s", why);
    if (!mv_nvml_samples(arena, nvml, process, wanted, &trace->samples))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "samples");
    for (uint32_t i = 0; i < trace->samples.count; i++)
        trace->samples.time_us[i] += mv_live_to_epoch_us(trace);
    return MV_OK;
}
