/* Makes the ledger for intervals of time, as needed for pictures. The bytes held by calls are known
 * at every moment, but the bytes in use on the device are known only at its samples.
 *
 *     samples    o         o                  o         o
 *     columns    |....|....|....|....|....|....|....|....|       [edges[c], edges[c + 1])
 *     moment       x    x    x                                   when calls hold the most
 *
 * A column contains the figures of mv_ledger_find at the column's moment. */
#pragma once

#include "analyze/ledger/ledger_series.h"

typedef struct {
    int64_t time_us; /* time of the column's moment */
    uint64_t held;   /* bytes held by calls: the sum of `by` */
    uint64_t used;   /* bytes in use by the process; MV_NO_BYTES: there are no samples */
    int64_t context_estimate, unexplained;
    uint64_t most_used; /* highest use at any sample in the column; `used` if there is no sample */
    uint32_t samples;   /* number of samples in the column */
    bool is_measured;   /* calls held the same bytes at the sample from which `used` comes;
                         * otherwise the use may have changed since then */
} mv_ledger_column;

typedef struct {
    mv_ledger_series series; /* the series over all samples */
    uint32_t count;
    mv_ledger_column *columns; /* [count] */
    uint64_t *by; /* [count * series.library_count] bytes of each library in each column */
} mv_ledger_columns;

/* Returns the bytes of each library at the moment of a column, [series.library_count]. */
static inline const uint64_t *mv_ledger_columns_by(const mv_ledger_columns *columns, uint32_t c)
{
    return columns->by + (uint64_t)c * columns->series.library_count;
}

/* Makes the columns. `edges` contains count + 1 times in ascending order. `trace` must be the
 * original trace. The time is linear in the number of calls and samples, and in the number of
 * columns times libraries. Fails only when out of memory. */
mv_code mv_ledger_columns_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                               const int64_t *edges, uint32_t count, mv_ledger_columns *out,
                               mv_err *err);
