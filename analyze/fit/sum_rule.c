#include "analyze/fit/sum_rule.h"

/* Constants of Reduce.cuh. */
enum { THREADS = 512, WARP = 32, MOST_VECTOR = 4, LEAST_VALUES = 16, MOST_VALUES = 256 };

static uint64_t divided(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t power_of_two_up_to(uint64_t n)
{
    uint64_t power = 1;

    while (power <= n / 2)
        power *= 2;
    return power;
}

/* Returns the outputs of a group of threads. */
static uint64_t group_of(uint64_t outputs)
{
    uint64_t vector = MOST_VECTOR, width;

    while (outputs % vector != 0)
        vector /= 2;
    width = power_of_two_up_to(outputs / vector);
    return vector * (width < WARP ? width : WARP);
}

bool mv_sum_needs_buffer(uint64_t outputs, uint64_t rows)
{
    return divided(rows, THREADS / group_of(outputs)) >= MOST_VALUES;
}

uint64_t mv_sum_buffer_bytes(uint64_t outputs, uint64_t rows)
{
    uint64_t group = group_of(outputs), values = divided(rows, THREADS / group);

    return 4 * outputs * group * divided(values, LEAST_VALUES);
}

uint64_t mv_sum_semaphore_bytes(uint64_t outputs)
{
    return 4 * divided(outputs, group_of(outputs));
}

/* Whether a block is freed before a later one is allocated. */
static bool is_freed_before(const mv_alloc_lives *a, uint32_t row, uint32_t later)
{
    return a->freed[row] != MV_NEVER && (later >= a->count || a->freed[row] < a->birth[later]);
}

bool mv_is_sum_buffer(const mv_alloc_lives *allocs, uint32_t row, uint32_t end)
{
    const uint64_t *bytes = allocs->requested + row;

    if (row == 0 || row + 1 >= end || bytes[1] >= bytes[-1] || bytes[-1] >= bytes[0] ||
        !is_freed_before(allocs, row, row + 2) || !is_freed_before(allocs, row + 1, row + 2))
        return false;
    for (uint64_t element = 2; element <= 4; element += 2) {
        uint64_t outputs = mv_sum_outputs(bytes[-1], element);
        if (outputs && bytes[1] == mv_sum_semaphore_bytes(outputs) &&
            bytes[0] % (4 * outputs * group_of(outputs)) == 0)
            return true;
    }
    return false;
}
