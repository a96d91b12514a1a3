#include "parse/model/sums.h"

#include "parse/model/digest.h"

/* A sum in two halves, which cannot overflow with 2^32 rows. */
typedef struct {
    uint64_t low, high;
} sum;

typedef enum {
    ALLOCATIONS,
    FREES,
    SEGMENTS_GIVEN,
    SEGMENTS_GIVEN_BACK,
    FINAL_SEGMENTS,
    FINAL_BLOCKS,
    SUMS,
    NO_SUM = SUMS
} sum_of;

static const char *const names[SUMS] = {
    [ALLOCATIONS] = "the allocations",
    [FREES] = "the freed sizes",
    [SEGMENTS_GIVEN] = "the reserved segments",
    [SEGMENTS_GIVEN_BACK] = "the released segments",
    [FINAL_SEGMENTS] = "the segments of the final heap",
    [FINAL_BLOCKS] = "the blocks of the final heap",
};

static const uint8_t sum_of_action[MV_ACTION_COUNT] = {
    [MV_ACTION_ALLOC] = ALLOCATIONS,
    [MV_ACTION_FREE_REQUESTED] = FREES,
    [MV_ACTION_FREE_COMPLETED] = FREES,
    [MV_ACTION_SEGMENT_ALLOC] = SEGMENTS_GIVEN,
    [MV_ACTION_SEGMENT_FREE] = SEGMENTS_GIVEN_BACK,
    [MV_ACTION_SEGMENT_MAP] = SEGMENTS_GIVEN,
    [MV_ACTION_SEGMENT_UNMAP] = SEGMENTS_GIVEN_BACK,
    [MV_ACTION_OOM] = NO_SUM,
    [MV_ACTION_SNAPSHOT] = NO_SUM,
    [MV_ACTION_ANNOTATE] = NO_SUM,
    [MV_ACTION_OTHER] = NO_SUM,
};

static void add(sum *s, uint64_t bytes)
{
    s->low += bytes & UINT32_MAX;
    s->high += bytes >> 32;
}

static void add_events(sum *sums, const mv_events *e)
{
    for (uint32_t i = 0; i < e->count; i++) {
        uint8_t which = sum_of_action[e->action[i]];
        if (which != NO_SUM)
            add(&sums[which], e->size[i]);
    }
}

/* Returns true if the sums would be below the limit even if every size were as large as the largest
 * one. */
static bool is_small(const mv_trace *trace)
{
    uint64_t bits = 0, rows = 0, most;

    for (uint32_t d = 0; d < trace->device_count; d++) {
        const mv_events *e = &trace->devices[d].events;
        for (uint32_t i = 0; i < e->count; i++)
            bits |= e->size[i];
        rows += e->count;
    }
    return !__builtin_mul_overflow(bits, rows, &most) && most < MV_SUM_LIMIT;
}

static void add_digest(sum *sums, const mv_digest *d)
{
    for (unsigned i = 0; i < MV_ACTION_COUNT; i++)
        if (sum_of_action[i] != NO_SUM)
            add(&sums[sum_of_action[i]], d->bytes[i]);
}

mv_code mv_sums_check(const mv_trace *trace, mv_err *err)
{
    sum sums[SUMS] = {0};
    bool has_events = !trace->digests || trace->living,
         skips_events = has_events && is_small(trace);

    for (uint32_t i = 0; i < trace->device_count; i++)
        if (!has_events)
            add_digest(sums, &trace->digests[i]);
        else if (!skips_events)
            add_events(sums, &trace->devices[i].events);
    for (uint32_t i = 0; i < trace->segments.count; i++)
        add(&sums[FINAL_SEGMENTS], trace->segments.total_size[i]);
    for (uint32_t i = 0; i < trace->blocks.count; i++)
        add(&sums[FINAL_BLOCKS], trace->blocks.size[i]);
    for (unsigned i = 0; i < SUMS; i++)
        if (sums[i].high + (sums[i].low >> 32) >= MV_SUM_LIMIT >> 32)
            return mv_fail(err, MV_RANGE, MV_NO_OFFSET, "%s add up to 1 EiB or more", names[i]);
    return MV_OK;
}
