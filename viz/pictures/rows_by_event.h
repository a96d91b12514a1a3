/* Rows grouped by an event, such as their free, for a sweep over the events:
 *
 *     for (uint32_t i = freed.first[event]; i; i = freed.next[i - 1])
 *         ... row i - 1 ...
 *
 * The last row comes first. */
#ifndef MV_ROWS_BY_EVENT_H
#define MV_ROWS_BY_EVENT_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct {
    uint32_t *first; /* [events] a row, + 1; 0: none */
    uint32_t *next;  /* [rows] the next row of the same event, + 1 */
} mv_rows_by_event;

/* `at` has the event of each row; rows whose event is `events` or later (including MV_BEFORE and
 * MV_NEVER) are omitted. False when out of memory. */
bool mv_rows_by_event_make(mv_arena *arena, const uint32_t *at, uint32_t rows, uint32_t events,
                           mv_rows_by_event *out);

#endif
