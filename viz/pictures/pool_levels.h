/* What each envelope of pools (envelopes.h) holds in each column of a picture, and who holds it.
 *
 *     reserved ┄┄┄┄┄┄┄┄┄┄   the highest level of each column, so that no peak is lost
 *     allocated ▟█▙▖        stacked by groups, such as lines of code, as they are when most is
 *              ▟████▙       allocated in the column
 *
 * With one envelope for all pools these are the levels of a device, among them the requested bytes.
 */
#ifndef MV_POOL_LEVELS_H
#define MV_POOL_LEVELS_H

#include "analyze/lives/position.h"
#include "viz/pictures/envelopes.h"

/* A group that is not counted: rows that a filter leaves out. */
#define MV_POOL_HIDDEN UINT8_MAX

enum { MV_POOL_GROUPS = 24 }; /* most; the last one is for all others */

/* The highest in a column. */
typedef struct {
    uint64_t held, allocated, requested;
} mv_pool_level;

typedef struct {
    uint32_t envelopes, columns, groups;
    mv_pool_level *levels; /* [envelopes][columns] */
    uint64_t *stacked;     /* [envelopes][columns][groups] bytes; their sum is `allocated` */
} mv_pool_levels;

/* Row e, column c. */
static inline const mv_pool_level *mv_pool_level_of(const mv_pool_levels *l, uint32_t e, uint32_t c)
{
    return &l->levels[(uint64_t)e * l->columns + c];
}

static inline const uint64_t *mv_pool_stack_of(const mv_pool_levels *l, uint32_t e, uint32_t c)
{
    return l->stacked + ((uint64_t)e * l->columns + c) * l->groups;
}

typedef struct {
    const mv_envelopes *envelopes; /* NULL: all pools are one */
    const mv_window *columns;      /* [column_count] moments [first, end), ascending; `first` may be
                                      MV_BEFORE; each has at least one moment; those beyond the
                                      last event are like it */
    uint32_t column_count;
    const uint8_t *group_of; /* [allocs.count] below `groups`, or MV_POOL_HIDDEN; NULL: 0 for all */
    uint32_t groups;         /* 1 to MV_POOL_GROUPS */
} mv_pool_levels_opts;

/* One pass over the events up to the last column, O(events + envelopes x columns x groups). Fails
 * only when memory runs out. */
mv_code mv_pool_levels_find(mv_arena *arena, const mv_lives *lives, const mv_pool_levels_opts *opts,
                            mv_pool_levels *out, mv_err *err);

#endif
