/* Binary search in keys that are in ascending order.
 *
 *     lower bound: the first row whose key is at least the wanted key, or `count` if there is none
 *     upper bound: the first row whose key is above the wanted key, or `count` if there is none
 *
 * so [lower, upper) are the rows with the wanted key, and upper - 1 is the last row at or before
 * it.
 *
 *     uint32_t row = mv_lower_bound_u64(places->addr, places->count, addr);    _u32, _i64 too
 *
 * For keys that are not a column, the caller compares one row at a time:
 *
 *     mv_bisect b = mv_bisect_over(0, count);
 *     while (mv_bisect_next(&b))
 *         mv_bisect_narrow(&b, rows[b.middle].event < event);
 *     return b.low;
 *
 * All searches take O(log n) and never fail. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t low, high; /* the answer is in [low, high], both included */
    uint64_t middle;    /* row that must be compared next */
} mv_bisect;

/* Begins a search in [low, high). `high` is the answer if all rows are before the wanted
 * position. */
static inline mv_bisect mv_bisect_over(uint64_t low, uint64_t high)
{
    return (mv_bisect){.low = low, .high = high};
}

/* Sets `middle`. Returns false if `low` is the answer. */
static inline bool mv_bisect_next(mv_bisect *b)
{
    b->middle = b->low + (b->high - b->low) / 2;
    return b->low < b->high;
}

/* Tells the search whether row `middle` is before the wanted position. The rows that are before it
 * must all precede the rows that are not. */
static inline void mv_bisect_narrow(mv_bisect *b, bool is_before)
{
    if (is_before)
        b->low = b->middle + 1;
    else
        b->high = b->middle;
}

#define MV_BOUND_LIST(X) \
    X(u32, uint32_t)     \
    X(u64, uint64_t)     \
    X(i64, int64_t)

#define MV_BOUND(name, type)                                                                 \
    static inline uint64_t mv_lower_bound_##name(const type *keys, uint64_t count, type key) \
    {                                                                                        \
        mv_bisect b = mv_bisect_over(0, count);                                              \
        while (mv_bisect_next(&b))                                                           \
            mv_bisect_narrow(&b, keys[b.middle] < key);                                      \
        return b.low;                                                                        \
    }                                                                                        \
    static inline uint64_t mv_upper_bound_##name(const type *keys, uint64_t count, type key) \
    {                                                                                        \
        mv_bisect b = mv_bisect_over(0, count);                                              \
        while (mv_bisect_next(&b))                                                           \
            mv_bisect_narrow(&b, keys[b.middle] <= key);                                     \
        return b.low;                                                                        \
    }
MV_BOUND_LIST(MV_BOUND)
#undef MV_BOUND
