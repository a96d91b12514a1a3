/* How full each segment is at many moments of a window, that is, how many of its reserved bytes are
 * used. */
#pragma once

#include "base/plain.h"
#include "viz/core/index.h"
#include "viz/scene/fullness_scale.h"

enum { MV_USE_SAMPLES = 1024, MV_USE_CELLS = 32 << 20 };

/* A query; queries are compared byte by byte. */
MV_PLAIN_BEGIN
typedef struct {
    const mv_index *allocs;
    const mv_index *segments; /* index of the lives from mv_segment_lives_as_allocs */
    uint64_t first, end;      /* the window of events [first, end) */
} mv_use_query;
MV_PLAIN_END

typedef struct {
    mv_use_query ask;
    uint32_t count;  /* number of samples */
    uint32_t *event; /* [count] event of each sample, in ascending order */
    uint8_t *level;  /* [count][ranks of segments] 0: the segment does not exist; otherwise 1 +
                        mv_fullness_level */
} mv_segment_use;

/* An mv_job_fn. Returns NULL when out of memory. O(rows alive + events of the window + samples x
 * segments alive). */
void *mv_segment_use_find(mv_arena *arena, void *context, const void *ask);

/* Returns the levels at a moment, or at the nearest sample before it: [ranks of segments]. */
const uint8_t *mv_segment_use_at(const mv_segment_use *use, uint32_t event);

/* Returns the exact number of bytes used in one segment after an event. O(rows alive). */
uint64_t mv_segment_used(const mv_index *allocs, const mv_index *segments, uint32_t rank,
                         uint32_t event);
