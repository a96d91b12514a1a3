/* Implements --by: a device's memory, grouped by facts that the file contains about allocations,
 * other than their stacks. */
#pragma once

#include "analyze/peak/grouping.h"
#include "cli/report/table.h"

typedef struct {
    mv_grouping grouping;
    mv_group_rows rows;
    const mv_trace *trace;
    uint64_t limit; /* number of rows to list */
} mv_grouped;

/* Returns the grouping that --by names. --by must have been given. */
mv_group_by mv_by_what(const mv_cli *cli);

/* Finds each group's memory after `event`. The report will list `limit` groups. */
mv_code mv_by_find(mv_cli *cli, const mv_trace *trace, const mv_lives *lives, const uint8_t *kinds,
                   uint32_t event, uint64_t limit, mv_grouped *out, mv_err *err);

/* Lists one row for each group, largest first. The table's function receives an mv_grouped. */
extern const mv_table mv_group_table;
