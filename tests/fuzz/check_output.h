/* Requirements for every output of the program, for fuzz targets. Each function stops the process
 * (mvt_stop) if the output is wrong. */
#ifndef MV_CHECK_OUTPUT_H
#define MV_CHECK_OUTPUT_H

#include <cjson/cJSON.h>

#include "base/cursor.h"

/* UTF-8 whose only control characters are line ends. */
void mvt_check_text(const char *what, mv_span text);

/* One JSON value in such UTF-8; no object has a key twice. The caller deletes it. */
cJSON *mvt_check_json(const char *what, mv_span text);

/* Records of RFC 4180 with as many fields as the first record; no field looks like a formula to
 * a spreadsheet. */
void mvt_check_csv(const char *what, mv_span text);

/* Messages on standard error: lines that begin with "memviz: ", at least one if `status` is a
 * failure, exactly one for wrong usage. */
void mvt_check_messages(int status, mv_span text);

/* Protocol buffers as far as the framing goes: fields within fields, without a rest. */
void mvt_check_protobuf(const char *what, mv_span bytes);

/* A whole database. */
void mvt_check_sqlite(mv_span bytes);

/* Lines of frames and a number. */
void mvt_check_folded(mv_span text);

#endif
