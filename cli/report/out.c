#include "cli/report/out.h"

#include <stdarg.h>

#include "base/texts.h"

mv_code mv_out_open(mv_out *out, const char *path, mv_err *err)
{
    out->used = 0;
    out->color = out->is_paged = false;
    out->columns = out->rows = 0;
    out->pager = (mv_pager){0};
    return mv_sink_open(&out->sink, path ? path : "-", err);
}

/* Returns how many terminal lines the buffered text takes up. A text line that is too wide takes up
 * several. */
static uint64_t lines_of(const mv_out *out)
{
    uint64_t lines = 0, columns = 0;

    for (uint32_t i = 0; i < out->used; i++) {
        if (out->buffer[i] == '\n') {
            lines +=
                1 + (columns > out->columns && out->columns ? (columns - 1) / out->columns : 0);
            columns = 0;
        } else {
            columns += !mv_utf8_is_tail(out->buffer[i]);
        }
    }
    return lines;
}

static void write_out(mv_out *out, const void *data, uint64_t length)
{
    if (out->is_paged)
        fwrite(data, 1, length, out->pager.input); /* this fails if the user has quit the pager */
    else
        mv_sink_write(&out->sink, data, length);
}

/* On the first call, decides whether the pager is needed. One line of the terminal is reserved for
 * the prompt. */
static void flush(mv_out *out, bool is_last)
{
    if (!out->is_paged && out->pager.input) {
        out->is_paged = !is_last || lines_of(out) >= out->rows;
        if (out->is_paged)
            mv_pager_take();
        else
            mv_pager_end(&out->pager);
    }
    write_out(out, out->buffer, out->used);
    out->used = 0;
}

void mv_out_flush(mv_out *out)
{
    if (!out->is_paged)
        mv_pager_end(&out->pager);
    flush(out, false);
    if (out->sink.file && fflush(out->sink.file) != 0)
        mv_sink_fail(&out->sink);
}

bool mv_out_is_lost(const mv_out *out)
{
    return out->sink.failed || (out->is_paged && ferror(out->pager.input));
}

mv_code mv_out_close(mv_out *out, mv_err *err)
{
    if (!out->sink.file)
        return MV_OK;
    flush(out, true);
    mv_pager_end(&out->pager);
    return mv_sink_commit(&out->sink, err);
}

void mv_out_abort(mv_out *out)
{
    out->used = 0;
    mv_pager_end(&out->pager);
    mv_sink_abort(&out->sink);
}

void mv_out_bytes(mv_out *out, const void *data, uint64_t length)
{
    if (length > MV_OUT_BUFFER - out->used)
        flush(out, false);
    if (length > MV_OUT_BUFFER) {
        write_out(out, data, length);
        return;
    }
    memcpy(out->buffer + out->used, data, length);
    out->used += (uint32_t)length;
}

void mv_out_char(mv_out *out, char c)
{
    if (out->used == MV_OUT_BUFFER)
        flush(out, false);
    out->buffer[out->used++] = c;
}

void mv_out_spaces(mv_out *out, int64_t count)
{
    while (count > 0) {
        uint32_t room = MV_OUT_BUFFER - out->used;
        uint32_t now = count < room ? (uint32_t)count : room;
        memset(out->buffer + out->used, ' ', now);
        out->used += now;
        count -= now;
        if (count > 0)
            flush(out, false);
    }
}

void mv_out_u64_wide(mv_out *out, uint64_t value, int width)
{
    char digits[MV_DIGITS];
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
    char digits[MV_DIGITS + 1];

    mv_out_bytes(out, digits, mv_digits_signed(digits, value));
}

void mv_out_hex(mv_out *out, uint64_t value)
{
    char digits[16];

    mv_out_bytes(out, "0x", 2);
    mv_out_bytes(out, digits, mv_digits_hex(digits, value));
}

void mv_out_style(mv_out *out, mv_style style)
{
    static const char *const codes[MV_STYLE_COUNT] = {"\033[0m",  "\033[1m",  "\033[2m",
                                                      "\033[31m", "\033[32m", "\033[33m"};

    if (out->color)
        mv_out_bytes(out, codes[style], strlen(codes[style]));
}

void mv_out_styled(mv_out *out, mv_style style, const char *text)
{
    mv_out_style(out, style);
    mv_out_text(out, text);
    mv_out_style(out, MV_STYLE_NONE);
}

/* ---- texts: only mv_out_style sends control characters to the terminal -------------------- */

void mv_out_escaped(mv_out *out, mv_span text, mv_escape manner)
{
    mv_escaped piece;

    for (uint64_t at = 0; mv_escape_next(text, &at, manner, &piece);) {
        mv_out_bytes(out, piece.plain.data, piece.plain.length);
        mv_out_bytes(out, piece.escape, piece.length);
    }
}

static bool is_plain(char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

/* Reports contain millions of strings, nearly all of them plain ASCII, so this case must be
 * fast. */
void mv_out_text(mv_out *out, const char *text)
{
    size_t plain = 0;

    while (is_plain(text[plain]))
        plain++;
    mv_out_bytes(out, text, plain);
    if (text[plain])
        mv_out_escaped(out, mv_text_span(text + plain), MV_ESCAPE_LINES);
}

void mv_out_format(mv_out *out, const char *format, ...)
{
    char line[2048];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0)
        mv_sink_fail(&out->sink);
    else
        mv_out_text(out, line);
}

void mv_out_clean(mv_out *out, mv_span text)
{
    mv_out_escaped(out, text, MV_ESCAPE_WORD);
}

void mv_out_clean_text(mv_out *out, const char *text)
{
    mv_out_clean(out, mv_text_span(text));
}

void mv_out_quoted(mv_out *out, mv_span text)
{
    mv_out_char(out, '"');
    mv_out_escaped(out, text, MV_ESCAPE_QUOTED);
    mv_out_char(out, '"');
}
