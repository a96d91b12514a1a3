/* Checks that every output of the program must pass, for fuzz targets. Each function stops the
 * process (mvt_stop) if the output is wrong. */
#pragma once

#include <cjson/cJSON.h>

#include "base/cursor.h"

/* Checks that the text is UTF-8 whose only control characters are line ends. */
void mvt_check_text(const char *what, mv_span text);

/* Checks that the text is one JSON value in such UTF-8, in which no object has a key twice. Returns
 * the value, which the caller deletes. */
cJSON *mvt_check_json(const char *what, mv_span text);

/* Checks that the text consists of RFC 4180 records, each with as many fields as the first one, and
 * that no field looks like a formula to a spreadsheet. */
void mvt_check_csv(const char *what, mv_span text);

/* Checks messages on standard error: every line begins with "memviz: ". If `status` is a failure,
 * there must be at least one line; for wrong usage, exactly one. */
void mvt_check_messages(int status, mv_span text);

/* Checks the framing of protocol buffers: fields lie within fields, and no bytes are left over. */
void mvt_check_protobuf(const char *what, mv_span bytes);

/* Checks that the bytes are a complete database. */
void mvt_check_sqlite(mv_span bytes);

/* Checks that each line consists of frames and a number. */
void mvt_check_folded(mv_span text);
