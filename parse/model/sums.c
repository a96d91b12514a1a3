#include "parse/model/sums.h"

/* A sum in two halves: 2^32 rows of a trace overflow neither. */
typedef struct {
    uint64_t low, high;
} sum;

static void add(sum *s, uint64_t bytes)
{
    s->low += bytes & UINT32_MAX;
    s->high += bytes >> 32;
}

static mv_code check(const sum *s, const char *what, mv_err *err)
{
    if (s->high + (s->low >> 32) <= UINT32_MAX)
        return MV_OK;
    return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s add up to 16 EiB or more", what);
}

static mv_code check_events(const mv_events *e, mv_err *err)
{
    sum allocations = {0}, segments = {0};

    for (uint32_t i = 0; i < e->count; i++) {
        uint8_t action = e->action[i];
        if (action == MV_ACTION_ALLOC)
            add(&allocations, e->size[i]);
        else if (action == MV_ACTION_SEGMENT_ALLOC || action == MV_ACTION_SEGMENT_MAP)
            add(&segments, e->size[i]);
    }
    if (check(&allocations, "the allocations of a device", err) != MV_OK)
        return err->code;
    return check(&segments, "the segments that a device gives", err);
}

mv_code mv_sums_check(const mv_trace *trace, mv_err *err)
{
    sum segments = {0}, blocks = {0};

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (check_events(&trace->devices[i].events, err) != MV_OK)
            return err->code;
    for (uint32_t i = 0; i < trace->segments.count; i++)
        add(&segments, trace->segments.total_size[i]);
    for (uint32_t i = 0; i < trace->blocks.count; i++)
        add(&blocks, trace->blocks.size[i]);
    if (check(&segments, "the segments of the final heap", err) != MV_OK)
        return err->code;
    return check(&blocks, "the blocks of the final heap", err);
}
