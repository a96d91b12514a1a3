/* Finds the lines of code that hold a device's memory now: how much they hold, how much more that
 * is than a while ago, and for how long they have held it. No steps are needed, so the report also
 * works on a recording that is still growing.
 *
 * The line of an allocation is its culprit (analyze/code/culprit.h). Every allocated byte belongs
 * to one line:
 *
 *     sum of bytes = listed                          blocks at least `older_us` old
 *     listed + younger = allocated                   all are sizes of blocks
 *     sum of grown = allocated - allocated at `since_us`, over all lines, even if not listed
 *
 * "Now" is the state after the last event, at the time `now_us`. If the program is still running
 * but allocates nothing, `now_us` is later than the last event. */
#pragma once

#include "analyze/code/culprit.h"
#include "analyze/lives/lives.h"

typedef struct {
    int64_t now_us;   /* the present time; MV_NO_TIME: the time of the last event */
    int64_t grown_us; /* length of the period over which growth counts, which ends now */
    int64_t older_us; /* minimum age of listed blocks; 0: list blocks of any age. Blocks of
                       * unknown age count as younger */
} mv_top_query;

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    int64_t grown;     /* growth of all blocks of the line, old and young */
    int64_t age_us;    /* age of the oldest block; MV_NO_TIME: events have no times */
    bool is_least_age; /* the oldest block existed before the first event, so it is older than
                        * age_us */
    mv_stack_id stack; /* stack that holds the most bytes; MV_NO_STACK: not recorded */
} mv_top_line;

typedef struct {
    uint64_t allocated, listed, younger;
    int64_t now_us;   /* the present time; MV_NO_TIME: events have no times */
    int64_t since_us; /* start of the period over which growth counts; MV_NO_TIME: before the
                       * first event */
    int64_t grown;    /* growth of all lines together */
    uint32_t count;
    mv_top_line *lines; /* [count] lines sorted by bytes, largest first */
} mv_top;

/* Finds the lines that hold memory. O(allocations + frames of all stacks). `kinds` comes from
 * mv_frame_kinds. Fails only when out of memory. */
mv_code mv_top_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                    const uint8_t *kinds, mv_top_query ask, mv_top *out, mv_err *err);
