/* JSON reports of the program, for tests. */
#ifndef MV_FIXTURE_JSON_H
#define MV_FIXTURE_JSON_H

#include <cjson/cJSON.h>

#include "tests/fixture_program.h"

/* Runs the command as mvt_sh does, expects `status` and one JSON object with the envelope
 * (memviz, command, file). The caller deletes it. */
cJSON *mvt_json(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails the test unless `object` has every one of the keys, given as words. */
void mvt_json_has(const cJSON *object, const char *keys);

/* A member's number, text; fails the test when there is none. */
double mvt_json_number(const cJSON *object, const char *key);
const char *mvt_json_text(const cJSON *object, const char *key);

#endif
