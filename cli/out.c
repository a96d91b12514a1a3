#include "cli/out.h"

#include <stdarg.h>
#include <stdio.h>

mv_code mv_out_open(mv_out *out, const char *path, mv_err *err)
{
    out->used = 0;
    out->color = false;
    out->columns = out->rows = 0;
    return mv_sink_open(&out->sink, path ? path : "-", err);
}

static void flush(mv_out *out)
{
    mv_sink_write(&out->sink, out->buffer, out->used);
    out->used = 0;
}

mv_code mv_out_close(mv_out *out, mv_err *err)
{
    if (!out->sink.file)
        return MV_OK;
    flush(out);
    return mv_sink_commit(&out->sink, err);
}

void mv_out_abort(mv_out *out)
{
    out->used = 0;
    mv_sink_abort(&out->sink);
}

void mv_out_bytes(mv_out *out, const void *data, uint64_t length)
{
    if (length > MV_OUT_BUFFER - out->used)
        flush(out);
    if (length > MV_OUT_BUFFER) {
        mv_sink_write(&out->sink, data, length);
        return;
    }
    memcpy(out->buffer + out->used, data, length);
    out->used += (uint32_t)length;
}

void mv_out_text(mv_out *out, const char *text)
{
    mv_out_bytes(out, text, strlen(text));
}

void mv_out_char(mv_out *out, char c)
{
    if (out->used == MV_OUT_BUFFER)
        flush(out);
    out->buffer[out->used++] = c;
}

void mv_out_spaces(mv_out *out, int64_t count)
{
    while (count-- > 0)
        mv_out_char(out, ' ');
}

uint32_t mv_digits(char digits[20], uint64_t value)
{
    char reversed[20];
    uint32_t count = 0;

    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    for (uint32_t i = 0; i < count; i++)
        digits[i] = reversed[count - 1 - i];
    return count;
}

void mv_out_u64_wide(mv_out *out, uint64_t value, int width)
{
    char digits[20];
    uint32_t count = mv_digits(digits, value);

    mv_out_spaces(out, width - (int)count);
    mv_out_bytes(out, digits, count);
}

void mv_out_u64(mv_out *out, uint64_t value)
{
    mv_out_u64_wide(out, value, 0);
}

void mv_out_i64(mv_out *out, int64_t value)
{
    if (value < 0)
        mv_out_char(out, '-');
    mv_out_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void mv_out_hex(mv_out *out, uint64_t value)
{
    char text[18];
    uint32_t at = sizeof text;

    do {
        text[--at] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value);
    text[--at] = 'x';
    text[--at] = '0';
    mv_out_bytes(out, text + at, sizeof text - at);
}

void mv_out_format(mv_out *out, const char *format, ...)
{
    char line[2048];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0) {
        out->sink.failed = true;
        return;
    }
    mv_out_bytes(out, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
}

void mv_out_style(mv_out *out, mv_style style)
{
    static const char *const codes[MV_STYLE_COUNT] = {"\033[0m",  "\033[1m",  "\033[2m",
                                                      "\033[31m", "\033[32m", "\033[33m"};

    if (out->color)
        mv_out_text(out, codes[style]);
}

/* Controls of ASCII and of Latin-1 (U+0080 to U+009F), which terminals obey as well. */
static bool is_control(const uint8_t *c, uint32_t length)
{
    return (length == 1 && (c[0] < 0x20 || c[0] == 0x7f)) ||
           (length == 2 && c[0] == 0xc2 && c[1] < 0xa0);
}

static void put_escaped(mv_out *out, mv_span text, bool quoted)
{
    uint64_t plain = 0; /* start of the run that needs no escape */

    for (uint64_t at = 0; at < text.length;) {
        const uint8_t *c = text.data + at;
        uint32_t length = mv_utf8_length(text, at);
        uint32_t bytes = length ? length : 1;
        bool escape = quoted && (*c == '"' || *c == '\\');
        if (length && !escape && !is_control(c, length)) {
            at += length;
            continue;
        }
        mv_out_bytes(out, text.data + plain, at - plain);
        for (uint32_t i = 0; i < bytes; i++) {
            if (escape)
                mv_out_format(out, "\\%c", c[i]);
            else
                mv_out_format(out, "\\x%02x", c[i]);
        }
        at += bytes;
        plain = at;
    }
    mv_out_bytes(out, text.data + plain, text.length - plain);
}

void mv_out_clean(mv_out *out, mv_span text)
{
    put_escaped(out, text, false);
}

void mv_out_quoted(mv_out *out, mv_span text)
{
    mv_out_char(out, '"');
    put_escaped(out, text, true);
    mv_out_char(out, '"');
}
