#include "parse/error_text/error_window.h"

/* Returns the end of the terminal escape sequence that begins at `at`. */
static const uint8_t *escape_end(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *p = at + 1;

    if (p == end || *p != '[')
        return p;
    for (p++; p < end && (*p < 0x40 || *p > 0x7e); p++)
        if (*p < 0x20 || *p > 0x7e)
            return at + 1;
    return p < end ? p + 1 : p;
}

/* Returns true if a character is kept: it is printable ASCII, and none of the characters that
 * appear inside a sentence without belonging to it. */
static bool is_kept(uint8_t c)
{
    return (uint8_t)(c - '!') < 0x7f - '!' && c != '"' && c != '`' && c != '*';
}

uint32_t mv_error_squeeze(mv_span text, char *out, uint32_t *from)
{
    const uint8_t *at = text.data, *end = at + text.length;
    uint32_t count = 0;

    while (at < end) {
        out[count] = (char)*at;
        if (from)
            from[count] = (uint32_t)(at - text.data);
        if (*at == '\\' && end - at > 1 && at[1] && strchr("ntr\"", at[1])) {
            at += 2;
        } else if (*at == 0x1b) {
            at = escape_end(at, end);
        } else {
            count += is_kept(*at);
            at++;
        }
    }
    return count;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* Copies the text without its escape sequences, but with its blanks and line ends. */
static uint32_t uncolour(mv_span text, char *out)
{
    const uint8_t *at = text.data, *end = at + text.length;
    uint32_t count = 0;

    while (at < end) {
        if (*at == 0x1b) {
            at = escape_end(at, end);
        } else {
            if (*at != '\r' && *at != 0)
                out[count++] = (char)*at;
            at++;
        }
    }
    return count;
}

/* Returns the length of the prefix that the line shares with `first`, the line of the error. All
 * digits count as equal, because times and line numbers differ. The prefix ends with a blank or a
 * bracket. */
static uint32_t prefix_of(const char *first, uint32_t most, const char *line, uint32_t length)
{
    uint32_t same = 0, end = 0;

    while (same < most && same < length &&
           (first[same] == line[same] ||
            (mv_error_digit(first[same]) && mv_error_digit(line[same])))) {
        if (strchr(" \t]):|>#", line[same]))
            end = same + 1;
        same++;
    }
    return end;
}

static void add(mv_error_window *out, const char *text, uint32_t length)
{
    mv_span span = {(const uint8_t *)text, length};
    uint32_t room = MV_ERROR_BYTES - out->length;

    if (span.length > room)
        span.length = room;
    out->length += mv_error_squeeze(span, out->text + out->length, NULL);
}

void mv_error_window_make(mv_span text, uint64_t line, uint64_t at, uint64_t until,
                          mv_error_window *out)
{
    char after[MV_ERROR_BYTES] = ""; /* clang-tidy does not see that memchr stays inside the text */
    uint64_t length = until - at;
    const char *p = after, *end;
    uint32_t begin = 0;

    if (at - line > MV_ERROR_LINE)
        line = at - MV_ERROR_LINE;
    if (length > MV_ERROR_BYTES)
        length = MV_ERROR_BYTES;
    out->length = 0;
    out->line_length = uncolour((mv_span){text.data + line, at - line}, out->line);
    for (uint32_t i = 0; i < out->line_length; i++)
        begin = out->line[i] == '\n' ? i + 1 : begin;
    memmove(out->line, out->line + begin, out->line_length -= begin);
    out->line[out->line_length] = 0;
    add(out, out->line, out->line_length);
    out->begins = out->length;
    end = after + uncolour((mv_span){text.data + at, length}, after);
    for (const char *next; p < end; p = next) {
        const char *feed = memchr(p, '\n', (size_t)(end - p));
        uint32_t rest = (uint32_t)((feed ? feed : end) - p);
        uint32_t skipped = p == after ? 0 : prefix_of(out->line, out->line_length, p, rest);
        add(out, p + skipped, rest - skipped);
        next = feed ? feed + 1 : end;
    }
    out->text[out->length] = 0;
}
