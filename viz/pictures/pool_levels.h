/* The bytes of each pool envelope (envelopes.h) in each column of a picture, stacked by group.
 *
 *     reserved ┄┄┄┄┄┄┄┄┄┄   the highest level of each column, so that no peak is lost
 *     allocated ▟█▙▖        stacked by groups, such as lines of code, at the instant when most is
 *              ▟████▙       allocated in the column
 *
 * With one envelope for all pools, these are the levels of a device, including the requested
 * bytes. */
#pragma once

#include "analyze/lives/position.h"
#include "viz/pictures/envelopes.h"

/* The group of the rows that a filter leaves out. These rows are not counted. */
#define MV_POOL_HIDDEN UINT8_MAX

/* Maximum number of groups. The last group contains all rows that are in no other group. */
enum { MV_POOL_GROUPS = 24 };

/* The highest levels in a column. */
typedef struct {
    uint64_t held, allocated, requested;
} mv_pool_level;

typedef struct {
    uint32_t envelopes, columns, groups;
    mv_pool_level *levels; /* [envelopes][columns] */
    uint64_t *stacked;     /* [envelopes][columns][groups] bytes, whose sum over the groups is
                              `allocated` */
} mv_pool_levels;

/* Return row e, column c. */
static inline const mv_pool_level *mv_pool_level_of(const mv_pool_levels *l, uint32_t e, uint32_t c)
{
    return &l->levels[(uint64_t)e * l->columns + c];
}

static inline const uint64_t *mv_pool_stack_of(const mv_pool_levels *l, uint32_t e, uint32_t c)
{
    return l->stacked + ((uint64_t)e * l->columns + c) * l->groups;
}

typedef struct {
    const mv_envelopes *envelopes; /* the envelopes to fill; NULL: all pools are merged */
    const mv_window *columns;      /* [column_count] moments [first, end), in ascending order.
                                      `first` may be MV_BEFORE. Each column has at least one moment,
                                      and moments after the last event repeat the last one */
    uint32_t column_count;
    const uint8_t *group_of; /* [allocs.count] a number below `groups`, or MV_POOL_HIDDEN; NULL: all
                                are 0 */
    uint32_t groups;         /* number of groups, 1 to MV_POOL_GROUPS */
} mv_pool_levels_opts;

/* Finds the levels in one pass over the events up to the last column. O(events + envelopes x
 * columns x groups). Fails only when out of memory. */
mv_code mv_pool_levels_find(mv_arena *arena, const mv_lives *lives, const mv_pool_levels_opts *opts,
                            mv_pool_levels *out, mv_err *err);
