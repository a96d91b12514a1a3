#include "tests/fixture_json.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cJSON *mvt_json(int status, const char *format, ...)
{
    char command[2048];
    va_list args;
    mvt_run run;
    cJSON *report;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    run = mvt_sh("%s", command);
    cr_assert_eq(run.status, status, "%s: status %d: %s", command, run.status, run.err);
    cr_assert(*run.err == 0, "%s: %s", command, run.err);
    report = cJSON_ParseWithLengthOpts(run.out, run.out_length + 1, NULL, 1);
    cr_assert(report != NULL, "%s: not JSON: %.2000s", command, run.out);
    mvt_json_has(report, "memviz command file");
    mvt_run_drop(&run);
    return report;
}

void mvt_json_has(const cJSON *object, const char *keys)
{
    while (*keys) {
        char key[64];
        size_t length = strcspn(keys, " ");

        cr_assert(length < sizeof key);
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        cr_assert(cJSON_HasObjectItem(object, key), "no member %s", key);
        keys += length;
        keys += *keys == ' ';
    }
}

double mvt_json_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    cr_assert(cJSON_IsNumber(item), "%s is no number", key);
    return item->valuedouble;
}

const char *mvt_json_text(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    cr_assert(cJSON_IsString(item), "%s is no text", key);
    return item->valuestring;
}
