/* The ledger in intervals of time, for pictures. Bytes held by calls are known at every moment,
 * bytes in use on the device only at its samples.
 *
 *     samples    o         o                  o         o
 *     columns    |....|....|....|....|....|....|....|....|       [edges[c], edges[c + 1])
 *     moment       x    x    x                                   when calls held most in the column
 *
 * A column has the figures of mv_ledger_find at its moment. */
#ifndef MV_LEDGER_COLUMNS_H
#define MV_LEDGER_COLUMNS_H

#include "analyze/ledger/ledger_series.h"

typedef struct {
    int64_t time_us; /* the moment */
    uint64_t held;   /* held by calls: Σ by */
    uint64_t used;   /* MV_NO_BYTES: no samples */
    int64_t context_estimate, unexplained;
    uint64_t most_used; /* the highest sample in the column; `used` if there is none */
    uint32_t samples;   /* number of samples in the column */
    bool is_measured;   /* calls held the same bytes at the sample of `used`; otherwise the use may
                         * have changed */
} mv_ledger_column;

typedef struct {
    mv_ledger_series series; /* series of all samples */
    uint32_t count;
    mv_ledger_column *columns; /* [count] */
    uint64_t *by;              /* [count * series.library_count] */
} mv_ledger_columns;

/* The bytes of each library at the moment of a column: [series.library_count] */
static inline const uint64_t *mv_ledger_columns_by(const mv_ledger_columns *columns, uint32_t c)
{
    return columns->by + (uint64_t)c * columns->series.library_count;
}

/* `edges` are count + 1 times in ascending order. `trace` must be the original trace. Linear in
 * calls and samples, and in columns times libraries. Fails only when out of memory. */
mv_code mv_ledger_columns_find(mv_arena *arena, const mv_trace *trace, uint32_t device,
                               const int64_t *edges, uint32_t count, mv_ledger_columns *out,
                               mv_err *err);

#endif
