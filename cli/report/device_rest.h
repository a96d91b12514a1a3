/* Device memory in use beyond what a report on --level all adds up: the context and code, and
 * unexplained memory (analyze/ledger/device_use.h). It is called the rest below. */
#pragma once

#include "analyze/ledger/device_use.h"
#include "cli/report/table.h"

/* Whether the command covers all memory of the device. */
bool mv_rest_is_wanted(const mv_cli *cli);

/* Finds the rest near a time at which the report accounts for `held` bytes. On levels other than
 * `all` there is no rest, and *out is not set. */
mv_code mv_rest_find(mv_cli *cli, uint32_t device, int64_t time_us, uint64_t held,
                     mv_device_rest *out, mv_err *err);

/* Prints a sentence about the rest, indented. Prints nothing on levels other than `all`. */
void mv_rest_put(mv_cli *cli, const mv_device_rest *rest);

/* Returns the sentence about the rest. Returns NULL on levels other than `all`, and if memory runs
 * out. */
const char *mv_rest_text(mv_cli *cli, const mv_device_rest *rest);

/* JSON members for the rest: null if there is no sample near the time, and absent on levels other
 * than `all`. */
#define MV_REST_FIELDS(MEMBER, cli, rest)                                                       \
    MEMBER("device_use.used", !mv_rest_is_wanted(cli)       ? mv_value_of(MV_VALUE_NO_OBJECT)   \
                              : (rest)->used == MV_NO_BYTES ? mv_value_of(MV_VALUE_NULL_OBJECT) \
                                                            : mv_value_u64((rest)->used))       \
    MEMBER("device_use.sample_us", mv_value_time((rest)->sample_us))                            \
    MEMBER("device_use.held", (rest)->held)                                                     \
    MEMBER("device_use.context_estimate", mv_value_i64((rest)->context))                        \
    MEMBER("device_use.unexplained", mv_value_i64((rest)->unexplained))
