/* The ranks of a job that should hold the same: each rank is compared with its group only.
 *
 *     rank    0 1 2 3 4 5 6 7 8 9 ...      pipeline parallelism: ranks of one stage hold the same,
 *     holds   a a a a b b x b c c ...      ranks of different stages do not; x belongs to b's stage
 *
 * Ranks are in one class if they hold the same bytes at the same places at their peaks (or, where
 * hardly any two do, if they run the same code and their peaks are close). All stages of a job have
 * the same number of ranks, so a class that is far smaller than the usual class is not a stage: its
 * ranks belong to the stage at their numbers, or, if the numbers do not show stages, to the most
 * similar class that is short of ranks. docs/ranks.md has the rules. */
#ifndef MV_RANK_GROUPS_H
#define MV_RANK_GROUPS_H

#include "analyze/ranks/summary.h"

/* Stages by number: rank r of a job is in stage r / inner % stages. `inner` is the number of
 * consecutive ranks in one stage: the product of the sizes that vary faster. stages 0: unknown. */
typedef struct {
    uint32_t stages, inner;
} mv_rank_grid;

typedef struct {
    uint32_t count;
    uint32_t *of;    /* [ranks] group of each rank, numbered in the order of the ranks' numbers */
    uint32_t length; /* ranks of a stage. A larger group has several stages, which hold the same but
                      * may allocate in different orders */
} mv_rank_groups;

/* Parses "tp=8,pp=4": sizes in the order in which they vary from rank to rank, fastest first. The
 * name of the pipeline is pp; a size that is not given (dp) is between the others and pp. False,
 * with the reason in `why`, if the text is malformed or `count` ranks cannot be divided so. */
bool mv_rank_grid_parse(const char *text, uint32_t count, mv_rank_grid *out, char *why,
                        size_t why_size);

/* Groups in `arena`. Rank numbers are the order of names, with numbers in them compared as numbers.
 * Without a grid the groups are found. O(n log n) in the sites of all ranks, and O(divisors of n
 * squared) passes over the ranks. False when out of memory. */
bool mv_rank_groups_find(mv_arena *arena, const mv_summary *const *ranks, uint32_t count,
                         mv_rank_grid grid, mv_rank_groups *out);

#endif
