/* Lists named tensors as rows of a report: {"name", "role", "slot", "shape", "dtype", "bytes"}. */
#pragma once

#include "analyze/peak/site_tensors.h"
#include "cli/report/table.h"

typedef struct {
    const mv_trace *trace;
    const mv_site_tensor *rows; /* [count] */
    uint32_t count;
    uint64_t limit;
} mv_tensor_list;

/* These functions receive an mv_tensor_list as `one`. */
extern const mv_table mv_tensor_table;

/* Prints "named: 291 tensors have 12.3 GiB of it; 4 lie in no block" and the largest tensors.
 * Prints nothing if the file contains no names. */
void mv_tensors_put(mv_cli *cli, const mv_trace *trace, const mv_attribution *found,
                    const mv_site_tensors *tensors, uint64_t limit);
