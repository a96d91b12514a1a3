/* --by: what a device holds, by what the file says of allocations besides their stack. */
#ifndef MV_BY_GROUP_H
#define MV_BY_GROUP_H

#include "analyze/peak/grouping.h"
#include "cli/report/report.h"

typedef struct {
    mv_grouping grouping;
    mv_group_rows rows;
} mv_grouped;

/* Whether --by was given. False with a message, and *status, when its word is for pictures. */
bool mv_by_wanted(const mv_cli *cli, bool *wanted, int *status);

/* How, when it was. */
mv_group_by mv_by_what(const mv_cli *cli);

/* What each group holds after `event`. */
mv_code mv_by_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const uint8_t *kinds,
                   uint32_t event, mv_grouped *out, mv_err *err);

/* [{"name","bytes","blocks","share","frames"}], most first. */
cJSON *mv_by_json(mv_report *r, const mv_trace *trace, const mv_grouped *grouped, uint64_t limit);

/* The same as a table; its last column is headed by the grouping's name. */
void mv_by_put(mv_cli *cli, const mv_grouped *grouped, uint64_t limit);

#endif
