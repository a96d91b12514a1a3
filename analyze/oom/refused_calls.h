/* The reasons why CUDA calls were refused memory, in captures of programs without PyTorch's
 * allocator: each call that ran out of memory and was not replaced by a later call.
 *
 *     device   total = in use by this process + by others + free          the sample at the failure
 *     process  in use = held by calls, by library + context + ...         the ledger
 *
 *     capacity     this process holds the missing bytes
 *     outside      others on the device do: 2 GiB and 5 % or more, enough for the request
 *     unknown      the device has no samples, or had room: a limit that the file does not show
 *
 * The next call of the same library replaces a refused call if it succeeds with the same size
 * (memory was freed), or requests less from the same line (a pool that probes). */
#ifndef MV_REFUSED_CALLS_H
#define MV_REFUSED_CALLS_H

#include "analyze/oom/oom.h"
#include "analyze/totals/moment.h"

/* Whether the failures of a trace are refused calls: PyTorch's allocator was not used, and the
 * trace is of MV_LEVEL_CUDA. */
bool mv_ooms_are_of_calls(const mv_trace *trace);

/* `read` is the original trace; `lives` and `sites` belong to its MV_LEVEL_CUDA (analyze/levels).
 * In each failure, `event` counts events of that level; `reserved` and `allocated` are the bytes
 * held by calls, `outside` the bytes used by others, `holders` the lines with their libraries. All
 * results are in `arena`. Fails only when out of memory. */
mv_code mv_refused_calls_find(mv_arena *arena, const mv_trace *read, const mv_lives *lives,
                              const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err);

/* The refused call that `at` ("oom", "oom#K") names, within the window; only the fields before
 * `refused_by` are set. False if the trace contains no calls, or none with that number; `why`
 * changes only when out of memory. Temporary memory counts towards the budget. */
bool mv_refused_call_read(mv_budget *budget, const mv_trace *trace, uint32_t device, const char *at,
                          mv_window window, mv_oom *out, char *why, uint32_t why_size);

/* mv_moment_read for failed requests, except that in a trace of calls "oom" and "oom#K" name
 * refused calls. It also reads "low" and "low#K", which need the device's lives. */
bool mv_failure_moment_read(mv_budget *budget, const mv_trace *trace, uint32_t device,
                            const char *at, mv_window window, mv_moment_query *out, char *why,
                            uint32_t why_size);

#endif
