/* --by: what a device holds, grouped by what the file says about allocations besides their stack.
 */
#ifndef MV_BY_GROUP_H
#define MV_BY_GROUP_H

#include "analyze/peak/grouping.h"
#include "cli/report/report.h"

typedef struct {
    mv_grouping grouping;
    mv_group_rows rows;
} mv_grouped;

/* Whether --by was given. False with a message, and *status set, when its word is one for pictures.
 */
bool mv_by_wanted(const mv_cli *cli, bool *wanted, int *status);

/* What --by groups by; it must have been given. */
mv_group_by mv_by_what(const mv_cli *cli);

/* What each group holds after `event`. */
mv_code mv_by_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const uint8_t *kinds,
                   uint32_t event, mv_grouped *out, mv_err *err);

/* [{"name","bytes","blocks","share","frames"}], the largest first. */
cJSON *mv_by_json(mv_report *r, const mv_trace *trace, const mv_grouped *grouped, uint64_t limit);

/* The same as a table. The heading of the last column is the name of the grouping. */
void mv_by_put(mv_cli *cli, const mv_grouped *grouped, uint64_t limit);

#endif
