/* Device memory in use beyond the sum of a report on --level all: context and code, and unexplained
 * memory (analyze/ledger/device_use.h). */
#ifndef MV_DEVICE_REST_H
#define MV_DEVICE_REST_H

#include "analyze/ledger/device_use.h"
#include "cli/report/table.h"

/* Whether the command covers the whole device. */
bool mv_rest_is_wanted(const mv_cli *cli);

/* Finds this memory near a time, where the report accounts for `held` bytes. On other levels there
 * is no such memory, and *out is not set. */
mv_code mv_rest_find(mv_cli *cli, uint32_t device, int64_t time_us, uint64_t held,
                     mv_device_rest *out, mv_err *err);

/* Prints a sentence about it, indented; prints nothing on other levels. */
void mv_rest_put(mv_cli *cli, const mv_device_rest *rest);

/* Returns the sentence; NULL on other levels, and if memory runs out. */
const char *mv_rest_text(mv_cli *cli, const mv_device_rest *rest);

/* The members of this memory in JSON: null if no sample is near, and absent on other levels. */
#define MV_REST_FIELDS(MEMBER, cli, rest)                                                       \
    MEMBER("device_use.used", !mv_rest_is_wanted(cli)       ? mv_value_of(MV_VALUE_NO_OBJECT)   \
                              : (rest)->used == MV_NO_BYTES ? mv_value_of(MV_VALUE_NULL_OBJECT) \
                                                            : mv_value_u64((rest)->used))       \
    MEMBER("device_use.sample_us", mv_value_time((rest)->sample_us))                            \
    MEMBER("device_use.held", (rest)->held)                                                     \
    MEMBER("device_use.context_estimate", mv_value_i64((rest)->context))                        \
    MEMBER("device_use.unexplained", mv_value_i64((rest)->unexplained))

#endif
