/* Reports as JSON: the envelope that every command shares, and values that are exact.
 *
 * Small things are built as cJSON trees and written member by member; long arrays are written row
 * by row, so that a report of millions of rows needs no memory. cJSON's numbers are doubles, hence
 * integers and texts go into the tree as raw, already printed JSON. A failure (memory) sticks and
 * mv_report_close reports it. */
#ifndef MV_REPORT_H
#define MV_REPORT_H

#include <cjson/cJSON.h>

#include "cli/commands.h"
#include "cli/report/json.h"

typedef struct {
    mv_out *out;
    mv_arena *scratch;
    bool failed;
    bool has_row; /* in the array that is open */
} mv_report;

/* {"memviz":VERSION,"command":...,"file":... */
void mv_report_open(mv_report *report, mv_cli *cli);

/* Ends the object. Returns the exit status: failed, with a message, when memory was out. */
int mv_report_close(mv_report *report);

/* A member of the report; `value` is consumed. */
void mv_report_member(mv_report *report, const char *key, cJSON *value);

/* The key of a member whose value the caller writes to report->out. */
void mv_report_key(mv_report *report, const char *key);

/* A member that is an array: mv_report_row before each row, which the caller writes to
 * report->out. */
void mv_report_rows(mv_report *report, const char *key);
void mv_report_row(mv_report *report);
void mv_report_rows_end(mv_report *report);

/* Members of an object, elements of an array. All tolerate a NULL parent. */
cJSON *mv_json_object(mv_report *report, cJSON *parent, const char *key);
cJSON *mv_json_array(mv_report *report, cJSON *parent, const char *key);
void mv_json_add(mv_report *report, cJSON *parent, const char *key, cJSON *value);
void mv_json_add_u64(mv_report *report, cJSON *parent, const char *key, uint64_t value);
void mv_json_add_i64(mv_report *report, cJSON *parent, const char *key, int64_t value);
void mv_json_add_text(mv_report *report, cJSON *parent, const char *key, const char *value);
void mv_json_add_bool(mv_report *report, cJSON *parent, const char *key, bool value);

/* Values: null for MV_NO_BYTES, MV_NO_TIME, MV_NO_STRING and NULL. */
cJSON *mv_json_u64(uint64_t value);
cJSON *mv_json_i64(int64_t value);
cJSON *mv_json_bytes(uint64_t value);
cJSON *mv_json_time(int64_t time_us);
cJSON *mv_json_span(mv_report *report, mv_span text);
cJSON *mv_json_string(mv_report *report, const mv_trace *trace, mv_string_id id);

/* A float that reads back as the same value; null when it is not finite. */
cJSON *mv_json_real(double value);

/* [{"function":...,"file":...,"line":N}...], innermost first; null for MV_NO_STACK. */
cJSON *mv_json_frames(mv_report *report, const mv_trace *trace, mv_stack_id stack);

#endif
