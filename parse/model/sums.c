#include "parse/model/sums.h"

/* A sum in two halves: 2^32 rows of a trace overflow neither. */
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
    CALLS,
    HEAP_CALLS,
    SUMS,
    NO_SUM = SUMS
} sum_of;

static const char *const names[SUMS] = {
    [ALLOCATIONS] = "the allocations",
    [FREES] = "the sizes of what is freed",
    [SEGMENTS_GIVEN] = "the segments that devices give",
    [SEGMENTS_GIVEN_BACK] = "the segments that are given back",
    [FINAL_SEGMENTS] = "the segments of the final heap",
    [FINAL_BLOCKS] = "the blocks of the final heap",
    [CALLS] = "the allocations by calls of CUDA",
    [HEAP_CALLS] = "the blocks of the program's own heaps",
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

static const uint8_t sum_of_api_action[MV_API_ACTION_COUNT] = {[0] = NO_SUM,
#define ROW(name, number, text, way, key, memory) \
    [number] = MV_API_MAKES_##memory == MV_API_MAKES_NONE ? NO_SUM : CALLS,
                                                               MV_API_ACTION_LIST(ROW)
#undef ROW
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

static void add_calls(sum *sums, const mv_api_calls *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        uint8_t which =
            c->action[i] < MV_API_ACTION_COUNT ? sum_of_api_action[c->action[i]] : NO_SUM;
        if (which != NO_SUM && c->result[i] == 0)
            add(&sums[which], c->size[i]);
    }
}

static void add_heap_calls(sum *sums, const mv_heap_calls *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->size[i] >> MV_LIVE_SIZE_BITS == 0)
            add(&sums[HEAP_CALLS], c->size[i]);
}

mv_code mv_sums_check(const mv_trace *trace, mv_err *err)
{
    const mv_trace *read = trace->origin.as_read ? trace->origin.as_read : trace;
    sum sums[SUMS] = {0};

    add_calls(sums, &read->api_calls);
    add_heap_calls(sums, &read->heap_calls);
    for (uint32_t i = 0; i < trace->device_count; i++)
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
