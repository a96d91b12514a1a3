/* LIVING (docs/internals/snapshot-format.md): copies of the EVENTS rows that allocated the blocks
 * and segments alive before an event, with two more columns. */
#pragma once

#include "capture/wire.h"
#include "parse/model/living.h"
#include "parse/model/tables.h"

/* The live rows at the beginning of a piece, and the number of the first event after them. Used
 * only if the events are written in pieces. */
typedef struct {
    uint32_t count, first;
    const uint32_t *event; /* [count] event number of each live row */
} mv_living_before;

const mv_model_table *mv_living_layout(mv_model_table *table,
                                       mv_table_column columns[MV_TABLE_COLUMNS]);

/* Tracks the blocks and segments that are alive:
 *
 *     mv_living_init(&l, arena, events, spans)
 *     mv_living_pass(&l, count)                  for each chunk of events; for a LIVING chunk:
 *     mv_living_columns_make(&l, arena, &columns) */
typedef struct {
    mv_arena *arena;
    const mv_events *events;
    const mv_spans *spans;
    uint32_t next;           /* row */
    mv_living_before before; /* live rows before the events; all zero: rows are event numbers */
    struct {
        uint32_t count, capacity, next;
        uint32_t *row; /* [count] rows of spans that are alive before `next` */
    } blocks, segments;
    uint32_t *by_birth; /* [spans->segments] */
} mv_living_now;

/* These functions return false when out of memory. */
bool mv_living_init(mv_living_now *l, mv_arena *arena, const mv_events *events,
                    const mv_spans *spans);
bool mv_living_pass(mv_living_now *l, uint32_t count);

/* Makes the columns of a LIVING chunk, with rows in ascending order of their events; blocks from
 * before the first event come last. */
bool mv_living_columns_make(const mv_living_now *l, mv_arena *arena, mv_living_columns *out);

/* Returns an upper bound for the number of rows that mv_living_columns_make returns. */
static inline uint64_t mv_living_rows(const mv_living_now *l)
{
    return 2 * (uint64_t)l->blocks.count + l->segments.count;
}
