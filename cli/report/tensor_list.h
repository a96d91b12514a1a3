/* Named tensors as rows of a report: {"name", "role", "slot", "shape", "dtype", "bytes"}. */
#ifndef MV_TENSOR_LIST_H
#define MV_TENSOR_LIST_H

#include "analyze/peak/site_tensors.h"
#include "cli/report/table.h"

typedef struct {
    const mv_trace *trace;
    const mv_site_tensor *rows; /* [count] */
    uint32_t count;
    uint64_t limit;
} mv_tensor_list;

/* The `one` of these functions is a mv_tensor_list. */
extern const mv_table mv_tensor_table;

/* "named: 291 tensors have 12.3 GiB of it; 4 lie in no block", and the largest tensors. Nothing if
 * the file has no names. */
void mv_tensors_put(mv_cli *cli, const mv_trace *trace, const mv_attribution *found,
                    const mv_site_tensors *tensors, uint64_t limit);

#endif
