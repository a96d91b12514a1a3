/* Finds groups of a job's ranks that should hold the same memory. Each rank is compared only with
 * the ranks of its group.
 *
 *     rank    0 1 2 3 4 5 6 7 8 9 ...      pipeline parallelism: ranks of one stage hold the same
 *     holds   a a a a b b x b c c ...      memory, other ranks do not; x belongs to b's stage
 *
 * Ranks are in one class if they hold the same bytes at the same sites at their peaks. If this is
 * true of hardly any two ranks, ranks are in one class if they run the same code and their peaks
 * are close. All stages of a job have the same number of ranks, so a class that is far smaller than
 * usual is not a stage. Its ranks belong to the stage that their numbers suggest or, if numbers do
 * not show stages, to the most similar class that has too few ranks. docs/ranks.md has the
 * rules. */
#pragma once

#include "analyze/ranks/summary.h"

/* Stages by rank number: rank r of a job is in stage r / inner % stages. `inner` is the number of
 * consecutive ranks in one stage, which is the product of the sizes of all dimensions that vary
 * faster. stages 0: unknown. */
typedef struct {
    uint32_t stages, inner;
} mv_rank_grid;

typedef struct {
    uint32_t count;
    uint32_t *of;    /* [ranks] group of each rank; groups are numbered in the order of their
                      * first ranks */
    uint32_t length; /* number of ranks in a stage. A larger group combines several stages that
                      * hold the same memory but may allocate in a different order */
} mv_rank_groups;

/* Parses "tp=8,pp=4", which lists the sizes of dimensions, fastest-varying first. The pipeline
 * is called pp; an omitted dimension (dp) is between the listed dimensions and pp. If the string
 * is malformed or `count` is not divisible by the sizes, returns false, and `why` receives the
 * reason. */
bool mv_rank_grid_parse(const char *text, uint32_t count, mv_rank_grid *out, char *why,
                        size_t why_size);

/* Finds groups, in `arena`. Ranks are numbered in the order of their names, and numbers in names
 * are compared as numbers. If `grid` is zero, the stages are inferred. O(n log n) in the sites of
 * all ranks, plus O(divisors of n squared) passes over the ranks. Returns false when out of
 * memory. */
bool mv_rank_groups_find(mv_arena *arena, const mv_summary *const *ranks, uint32_t count,
                         mv_rank_grid grid, mv_rank_groups *out);
