/* Explains why CUDA calls were refused memory, in captures of programs that do not use PyTorch's
 * allocator. A failure is a call that ran out of memory and was not replaced by a later call.
 *
 *     device   total = in use by this process + by others + free          the sample at the failure
 *     process  in use = held by calls, by library + context + ...         the ledger
 *
 *     capacity     this process holds the missing bytes
 *     outside      others on the device hold them: 2 GiB and 5 % or more, enough for the
 *                  request
 *     unknown      the device has no samples, or it had room, so that a limit which is not in
 *                  the file refused the call
 *
 * The next call of the same library replaces a refused call in two cases: it
 * succeeds with the same size because memory was freed, or it comes from the same source line but
 * requests less, because a pool retries with smaller sizes. */
#pragma once

#include "analyze/oom/oom.h"
#include "analyze/totals/moment.h"

/* Whether the failures of a trace are refused calls. This is the case if PyTorch's allocator was
 * not used and the trace is of level MV_LEVEL_CUDA. */
bool mv_ooms_are_of_calls(const mv_trace *trace);

/* Finds and explains the refused calls. `read` is the original trace; `lives` and `sites` belong to
 * its level MV_LEVEL_CUDA (analyze/levels). In each failure, `event` counts the events of that
 * level, `reserved` and `allocated` are the bytes held by calls, `outside` is the number of bytes
 * used by others, and `holders` are the lines with their libraries. All results are allocated in
 * `arena`. Fails only when out of memory. */
mv_code mv_refused_calls_find(mv_arena *arena, const mv_trace *read, const mv_lives *lives,
                              const mv_sites *sites, mv_window window, mv_ooms *out, mv_err *err);

/* Finds the refused call that `at` ("oom", "oom#K") specifies, within the window, and sets only the
 * fields before `refused_by`. Returns false if the trace contains no calls, or no failure with that
 * number; `why` changes only when out of memory. Temporary memory is taken from the budget. */
bool mv_refused_call_read(mv_budget *budget, const mv_trace *trace, uint32_t device, const char *at,
                          mv_window window, mv_oom *out, char *why, uint32_t why_size);

/* Does the same as mv_moment_read, but for failed requests: in a trace of calls, "oom" and "oom#K"
 * name refused calls. The function also reads "low" and "low#K", for which it needs the device's
 * lives. */
bool mv_failure_moment_read(mv_budget *budget, const mv_trace *trace, uint32_t device,
                            const char *at, mv_window window, mv_moment_query *out, char *why,
                            uint32_t why_size);
