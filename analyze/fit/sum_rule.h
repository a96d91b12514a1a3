/* The buffers of PyTorch's sums over rows, such as [rows, outputs] -> [outputs] for the gradient of
 * a bias. From a number of rows, the kernel needs a buffer for parts of the sum, and semaphores,
 * which are allocated just after the result (ATen/native/cuda/Reduce.cuh):
 *
 *     group         outputs per group of threads: 128, fewer if there are few outputs or their
 *                   number is not divisible by 4
 *     lanes         512 / group: rows that a group of threads reads at once
 *     buffer if     rows / lanes >= 256, such as from 1021 rows
 *     its bytes     4 * outputs * group * (rows / lanes / 16), or fewer if the device runs fewer
 *                   groups at once
 *     semaphores    4 bytes for each group of outputs
 */
#pragma once

#include "analyze/lives/lives.h"

/* Returns the number of outputs of `element` bytes each; 0: this is not a sum that is recognized.
 * With fewer than 32 outputs, buffers are small, and any small block could be their semaphores. */
static inline uint64_t mv_sum_outputs(uint64_t bytes, uint64_t element)
{
    uint64_t outputs = bytes % element == 0 ? bytes / element : 0;

    return outputs >= 32 && outputs <= UINT32_MAX ? outputs : 0;
}

bool mv_sum_needs_buffer(uint64_t outputs, uint64_t rows);

/* Returns the maximum size of the buffer. */
uint64_t mv_sum_buffer_bytes(uint64_t outputs, uint64_t rows);

uint64_t mv_sum_semaphore_bytes(uint64_t outputs);

/* Whether an allocation and the next one, both in rows [1, end), are the buffer and the semaphores
 * of a sum whose result is the allocation before them. Both are freed before the next
 * allocation. */
bool mv_is_sum_buffer(const mv_alloc_lives *allocs, uint32_t row, uint32_t end);
