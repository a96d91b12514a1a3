/* Finds sums whose buffers a recording does not show, or shows although other sizes do not need
 * them.
 *
 * The backward pass of a linear layer allocates the gradient of its weight and then that of its
 * bias, which is the sum of a gradient [rows, outputs] over its rows (sum_rule.h). Whether the rule
 * is true of the recorded version and device is not known, so predictions cover both: with and
 * without the buffer. */
#pragma once

#include "analyze/fit/size_functions.h"
#include "analyze/replay/replay_script.h"

typedef struct {
    uint32_t row;      /* allocation of the sum. If it has a buffer, the next two are the buffer and
                        * the semaphores */
    uint32_t gradient; /* allocation that is summed */
    uint64_t outputs;
    bool has_buffer;
} mv_bias_sum;

typedef struct {
    const mv_size_functions *functions;
    uint32_t count, capacity;
    mv_bias_sum *at; /* [count] ascending by row */
} mv_sum_buffers;

/* Finds the sums of the recording that `functions` describes. O(rows). Returns false when out of
 * memory. */
bool mv_sum_buffers_find(mv_arena *arena, const mv_size_functions *functions, mv_sum_buffers *out);

/* Returns the bytes of the largest buffer that the recording has and a size may not need, or that
 * the recording does not have and a size may need. 0: there is none. */
uint64_t mv_sum_buffers_doubt(const mv_sum_buffers *sums, mv_input at);

/* Removes these buffers from a listed script, or adds them. Returns false when out of memory. */
bool mv_sum_buffers_switch(mv_arena *arena, const mv_sum_buffers *sums, mv_input at,
                           mv_replay_script *script);
