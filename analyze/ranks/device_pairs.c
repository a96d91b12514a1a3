#include "analyze/ranks/device_pairs.h"

static bool is_used(const mv_trace *trace, uint32_t device)
{
    return device < mv_trace_devices(trace) && mv_device_is_used(trace, device);
}

/* Returns the only device that a file uses, if the file uses exactly one device. */
static uint32_t lone_device(const mv_trace *trace)
{
    uint32_t lone = MV_NO_DEVICE;

    for (uint32_t i = 0; i < mv_trace_devices(trace); i++) {
        if (!mv_device_is_used(trace, i))
            continue;
        if (lone != MV_NO_DEVICE)
            return MV_NO_DEVICE;
        lone = i;
    }
    return lone;
}

uint32_t mv_device_pairs_find(const mv_trace *before, const mv_trace *after, mv_device_pair *out)
{
    uint32_t devices[2] = {mv_trace_devices(before), mv_trace_devices(after)}, count = 0;
    uint32_t most = devices[0] > devices[1] ? devices[0] : devices[1];
    uint32_t lone[2] = {lone_device(before), lone_device(after)};

    if (lone[0] != MV_NO_DEVICE && lone[1] != MV_NO_DEVICE) {
        *out = (mv_device_pair){{lone[0], lone[1]}};
        return 1;
    }
    for (uint32_t i = 0; i < most; i++) {
        uint32_t a = is_used(before, i) ? i : MV_NO_DEVICE;
        uint32_t b = is_used(after, i) ? i : MV_NO_DEVICE;
        if (a != MV_NO_DEVICE || b != MV_NO_DEVICE)
            out[count++] = (mv_device_pair){{a, b}};
    }
    return count;
}
