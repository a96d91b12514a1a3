/* The lines of code that hold a device's memory now: how much, how much more than a while ago, and
 * for how long. Steps are not needed, so this also works on a recording that is still growing.
 *
 * The line of an allocation is its culprit (analyze/code/culprit.h). Every allocated byte belongs
 * to one line:
 *
 *     sum of bytes = listed                          blocks at least `older_us` old
 *     listed + younger = allocated                   all are sizes of blocks
 *     sum of grown = allocated - allocated at `since_us`, over all lines, also those not listed
 *
 * "Now" is after the last event, at the time `now_us`, which is later than that event if the
 * program still runs but allocates nothing. */
#ifndef MV_TOP_H
#define MV_TOP_H

#include "analyze/code/culprit.h"
#include "analyze/lives/lives.h"

typedef struct {
    int64_t now_us;   /* MV_NO_TIME: the time of the last event */
    int64_t grown_us; /* the period over which growth counts */
    int64_t older_us; /* 0: blocks of any age. Blocks of unknown age count as younger */
} mv_top_query;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    int64_t grown;     /* of all the line's blocks, old and young */
    int64_t age_us;    /* age of the oldest block; MV_NO_TIME: events have no times */
    bool is_least_age; /* the oldest block is from before the first event: it is older
                        * than age_us */
    mv_stack_id stack; /* the stack with most of the bytes; MV_NO_STACK: not recorded */
} mv_top_line;

typedef struct {
    uint64_t allocated, listed, younger;
    int64_t now_us;   /* MV_NO_TIME: events have no times */
    int64_t since_us; /* start of the period of growth; MV_NO_TIME: before the first event */
    int64_t grown;    /* sum over all lines */
    uint32_t count;
    mv_top_line *lines; /* [count] most bytes first */
} mv_top;

/* O(allocations + frames of all stacks). `kinds` comes from mv_frame_kinds. Fails only when out
 * of memory. */
mv_code mv_top_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                    const uint8_t *kinds, mv_top_query ask, mv_top *out, mv_err *err);

#endif
