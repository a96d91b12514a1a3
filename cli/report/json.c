#include "cli/report/json.h"

#include <stdio.h>

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
    } else if (*c == '\n') {
        *length = (uint32_t)snprintf(escaped, 8, "\\n");
    } else if (mv_utf8_is_control(c, bytes)) {
        *length = (uint32_t)snprintf(escaped, 8, "\\u%04x", c[bytes - 1]);
    } else {
        memcpy(escaped, c, bytes);
        *length = bytes;
    }
    return bytes;
}

static bool is_plain(uint8_t c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void mv_json_put_text(mv_out *out, mv_span text)
{
    char escaped[8];
    uint32_t length;

    mv_out_char(out, '"');
    for (uint64_t at = 0; at < text.length;) {
        uint64_t end = at;
        while (end < text.length && is_plain(text.data[end]))
            end++;
        mv_out_bytes(out, text.data + at, end - at);
        at = end;
        if (at < text.length) {
            at += escape_one(text, at, escaped, &length);
            mv_out_bytes(out, escaped, length);
        }
    }
    mv_out_char(out, '"');
}

static void put_string(mv_out *out, const mv_trace *trace, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        mv_out_text(out, "null");
    else
        mv_json_put_text(out, mv_string_span(trace, id));
}

int64_t mv_json_line(const mv_trace *trace, mv_frame_id frame)
{
    int64_t line = trace->frames.line[frame.row];

    return line == MV_NO_LINE ? 0 : line;
}

void mv_json_put_frames(mv_out *out, const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    mv_out_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = frames[i].row;
        mv_out_text(out, i ? ",{\"function\":" : "{\"function\":");
        put_string(out, trace, trace->frames.function[row]);
        mv_out_text(out, ",\"file\":");
        put_string(out, trace, trace->frames.file[row]);
        mv_out_text(out, ",\"line\":");
        mv_out_i64(out, mv_json_line(trace, frames[i]));
        mv_out_char(out, '}');
    }
    mv_out_char(out, ']');
}
