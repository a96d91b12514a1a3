/* LIVING (docs/internals/snapshot-format.md): the rows of EVENTS that began what is alive before an
 * event, with two more columns. */
#ifndef MV_WIRE_LIVING_H
#define MV_WIRE_LIVING_H

#include "capture/wire.h"
#include "parse/model/living.h"
#include "parse/model/tables.h"

/* In a piece of the events: its first rows, and the number of the event after them. */
typedef struct {
    uint32_t count, first;
    const uint32_t *event; /* [count] numbers */
} mv_living_before;

const mv_model_table *mv_living_layout(mv_model_table *table,
                                       mv_table_column columns[MV_TABLE_COLUMNS]);

/* Following what is alive:
 *
 *     mv_living_init(&l, arena, events, spans)
 *     mv_living_pass(&l, count)                  for each chunk of events; then, if one is wanted,
 *     mv_living_columns_make(&l, arena, &columns) */
typedef struct {
    mv_arena *arena;
    const mv_events *events;
    const mv_spans *spans;
    uint32_t next;           /* row */
    mv_living_before before; /* all zero: rows are numbers */
    struct {
        uint32_t count, capacity, next;
        uint32_t *row; /* [count] of spans, alive before `next` */
    } blocks, segments;
    uint32_t *by_birth; /* [spans->segments] */
} mv_living_now;

/* False when out of memory, as all of these. */
bool mv_living_init(mv_living_now *l, mv_arena *arena, const mv_events *events,
                    const mv_spans *spans);
bool mv_living_pass(mv_living_now *l, uint32_t count);

/* In ascending order of events, blocks from before the first one last. */
bool mv_living_columns_make(const mv_living_now *l, mv_arena *arena, mv_living_columns *out);

/* The most rows. */
static inline uint64_t mv_living_rows(const mv_living_now *l)
{
    return 2 * (uint64_t)l->blocks.count + l->segments.count;
}

#endif
