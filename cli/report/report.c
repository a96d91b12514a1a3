#include "cli/report/report.h"

#include <math.h>
#include <stdio.h>

#include "cli/complain.h"

/* ---- texts ------------------------------------------------------------------------------- */

/* Six characters are the most that a byte becomes. */
#define MOST_ESCAPE 6

/* One character, or one byte that belongs to none, as JSON. Returns the bytes it took. */
static uint32_t escape_one(mv_span text, uint64_t at, char escaped[8], uint32_t *length)
{
    const uint8_t *c = text.data + at;
    uint32_t bytes = mv_utf8_length(text, at);

    if (bytes == 0) { /* \udcXX would be no character: many parsers refuse it */
        *length = (uint32_t)snprintf(escaped, 8, "\\\\x%02x", c[0]);
        return 1;
    }
    if (*c == '"' || *c == '\\') {
        *length = (uint32_t)snprintf(escaped, 8, "\\%c", *c);
    } else if (mv_utf8_is_control(c, bytes)) {
        *length = (uint32_t)snprintf(escaped, 8, "\\u%04x", c[bytes - 1]);
    } else {
        memcpy(escaped, c, bytes);
        *length = bytes;
    }
    return bytes;
}

cJSON *mv_json_span(mv_report *report, mv_span text)
{
    mv_arena_mark here = mv_arena_here(report->scratch);
    char *raw = NULL;
    uint64_t used = 0;
    uint32_t length;
    cJSON *value = NULL;

    if (text.length < UINT64_MAX / MOST_ESCAPE - 1)
        raw = mv_arena_push(report->scratch, text.length + 1, MOST_ESCAPE);
    if (raw) {
        raw[used++] = '"';
        for (uint64_t at = 0; at < text.length; used += length) {
            char escaped[8];
            at += escape_one(text, at, escaped, &length);
            memcpy(raw + used, escaped, length);
        }
        raw[used++] = '"';
        raw[used] = 0;
        value = cJSON_CreateRaw(raw);
    }
    if (!value)
        report->failed = true;
    mv_arena_rewind(report->scratch, here);
    return value;
}

cJSON *mv_json_string(mv_report *report, const mv_trace *trace, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        return cJSON_CreateNull();
    return mv_json_span(report, mv_string_span(trace, id));
}

/* ---- numbers ----------------------------------------------------------------------------- */

cJSON *mv_json_u64(uint64_t value)
{
    char digits[21];

    digits[mv_digits(digits, value)] = 0;
    return cJSON_CreateRaw(digits);
}

cJSON *mv_json_i64(int64_t value)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)value);
    return cJSON_CreateRaw(digits);
}

cJSON *mv_json_bytes(uint64_t value)
{
    return value == MV_NO_BYTES ? cJSON_CreateNull() : mv_json_u64(value);
}

cJSON *mv_json_time(int64_t time_us)
{
    return time_us == MV_NO_TIME ? cJSON_CreateNull() : mv_json_i64(time_us);
}

cJSON *mv_json_real(double value)
{
    char digits[40];

    if (!isfinite(value))
        return cJSON_CreateNull();
    snprintf(digits, sizeof digits, "%.17g", value);
    return cJSON_CreateRaw(digits);
}

/* ---- trees ------------------------------------------------------------------------------- */

void mv_json_add(mv_report *report, cJSON *parent, const char *key, cJSON *value)
{
    bool added =
        key ? cJSON_AddItemToObject(parent, key, value) : cJSON_AddItemToArray(parent, value);

    if (added)
        return;
    report->failed = true;
    cJSON_Delete(value);
}

cJSON *mv_json_object(mv_report *report, cJSON *parent, const char *key)
{
    cJSON *object = cJSON_CreateObject();

    if (!object)
        report->failed = true;
    else if (parent && !(key ? cJSON_AddItemToObject(parent, key, object)
                             : cJSON_AddItemToArray(parent, object))) {
        report->failed = true;
        cJSON_Delete(object);
        object = NULL;
    }
    return object;
}

cJSON *mv_json_array(mv_report *report, cJSON *parent, const char *key)
{
    cJSON *array = cJSON_CreateArray();

    if (!array)
        report->failed = true;
    else if (parent && !(key ? cJSON_AddItemToObject(parent, key, array)
                             : cJSON_AddItemToArray(parent, array))) {
        report->failed = true;
        cJSON_Delete(array);
        array = NULL;
    }
    return array;
}

void mv_json_add_u64(mv_report *report, cJSON *parent, const char *key, uint64_t value)
{
    mv_json_add(report, parent, key, mv_json_u64(value));
}

void mv_json_add_i64(mv_report *report, cJSON *parent, const char *key, int64_t value)
{
    mv_json_add(report, parent, key, mv_json_i64(value));
}

void mv_json_add_text(mv_report *report, cJSON *parent, const char *key, const char *value)
{
    if (!value)
        mv_json_add(report, parent, key, cJSON_CreateNull());
    else
        mv_json_add(report, parent, key,
                    mv_json_span(report, (mv_span){(const uint8_t *)value, strlen(value)}));
}

void mv_json_add_bool(mv_report *report, cJSON *parent, const char *key, bool value)
{
    mv_json_add(report, parent, key, cJSON_CreateBool(value));
}

/* ---- frames ------------------------------------------------------------------------------ */

cJSON *mv_json_frames(mv_report *report, const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    cJSON *array;

    if (stack.row == MV_NO_ROW)
        return cJSON_CreateNull();
    array = mv_json_array(report, NULL, NULL);
    for (uint32_t i = 0; i < count; i++) {
        cJSON *frame = mv_json_object(report, array, NULL);
        uint32_t row = frames[i].row;
        mv_json_add(report, frame, "function",
                    mv_json_string(report, trace, trace->frames.function[row]));
        mv_json_add(report, frame, "file", mv_json_string(report, trace, trace->frames.file[row]));
        mv_json_add_i64(report, frame, "line", mv_json_line(trace, frames[i]));
    }
    return array;
}

/* ---- the envelope ------------------------------------------------------------------------ */

static void put_key(mv_out *out, const char *key)
{
    mv_out_text(out, ",\n\"");
    mv_out_text(out, key);
    mv_out_text(out, "\":");
}

static mv_span text_span(const char *text)
{
    return (mv_span){(const uint8_t *)text, strlen(text)};
}

void mv_report_open(mv_report *report, mv_cli *cli)
{
    *report = (mv_report){.out = &cli->out, .scratch = &cli->scratch};
    mv_out_text(report->out, "{\"memviz\":\"" MV_PROGRAM_VERSION "\"");
    put_key(report->out, "command");
    mv_json_put_text(report->out, text_span(cli->command->name));
    put_key(report->out, "file");
    mv_json_put_text(report->out, text_span(cli->options.file[0]));
}

int mv_report_close(mv_report *report)
{
    mv_out_text(report->out, "\n}\n");
    if (!report->failed)
        return MV_EXIT_DONE;
    return mv_complain_of(NULL, "%s", mv_code_text(MV_NOMEM));
}

void mv_report_key(mv_report *report, const char *key)
{
    put_key(report->out, key);
}

void mv_report_member(mv_report *report, const char *key, cJSON *value)
{
    char *text = value ? cJSON_PrintUnformatted(value) : NULL;

    put_key(report->out, key);
    if (text)
        mv_out_bytes(report->out, text, strlen(text));
    else
        report->failed = true;
    cJSON_free(text);
    cJSON_Delete(value);
}

void mv_report_rows(mv_report *report, const char *key)
{
    put_key(report->out, key);
    mv_out_char(report->out, '[');
    report->has_row = false;
}

void mv_report_row(mv_report *report)
{
    mv_out_text(report->out, report->has_row ? ",\n" : "\n");
    report->has_row = true;
}

void mv_report_rows_end(mv_report *report)
{
    mv_out_char(report->out, ']');
}
