/* Code shared by the files that fill tables. Only these files and listing.c include it.
 *
 *     listing_stacks.c    stacks, leaks, sizes
 *     listing_moments.c   fragments, events, markers
 *     listing_interval.c  lines, categories
 *     listing_ledger.c    the ledger */
#pragma once

#include "view/panes/listing.h"

typedef struct {
    mv_text_maker words; /* builds strings in the table's arena */
    mv_arena scratch;
    const mv_listing_query *ask;
    const mv_trace *trace;
    const mv_sites *sites;
    const mv_lives *lives;
    mv_listing *out;
} mv_listing_maker;

/* Sets the columns, and makes room for `rows` rows. */
bool mv_listing_reserve(mv_listing_maker *maker, const mv_listing_column *columns,
                        uint32_t column_count, uint32_t rows);

/* Returns the cells of the next row. The place of this row is maker->out->places[out->count], which
 * is empty. Incrementing out->count adds the row. */
mv_cell *mv_listing_next(mv_listing_maker *maker);

const char *mv_listing_label(mv_listing_maker *maker, mv_stack_id stack); /* returns the label of
                                                                             the stack's culprit */

static inline uint64_t mv_listing_share(uint64_t part, uint64_t all)
{
    return all ? (uint64_t)(1e6 * (double)part / (double)all) : 0;
}

/* Whether an allocation is counted. */
static inline bool mv_listing_counts(const mv_listing_maker *maker, uint32_t alloc)
{
    return !maker->ask->only || mv_filter_has(maker->ask->only, alloc);
}

bool mv_listing_fill_stacks(mv_listing_maker *maker);
bool mv_listing_fill_leaks(mv_listing_maker *maker);
bool mv_listing_fill_sizes(mv_listing_maker *maker);
bool mv_listing_fill_fragments(mv_listing_maker *maker);
bool mv_listing_fill_markers(mv_listing_maker *maker);
bool mv_listing_fill_lines(mv_listing_maker *maker);
bool mv_listing_fill_categories(mv_listing_maker *maker);
bool mv_listing_fill_ledger(mv_listing_maker *maker);

extern const mv_listing_column mv_listing_event_columns[];
enum { MV_LISTING_EVENT_COLUMNS = 7 };

void mv_listing_event_row(mv_arena *arena, const mv_listing_query *ask, uint32_t event,
                          mv_cell *cells, mv_listing_place *place);
