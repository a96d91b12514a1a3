#include "base/escape.h"

static const char hex[] = "0123456789abcdef";

/* Writes \xNN for each byte. */
static uint32_t put_bytes(const uint8_t *c, uint32_t bytes, char *out)
{
    uint32_t length = 0;

    for (uint32_t i = 0; i < bytes; i++) {
        out[length++] = '\\';
        out[length++] = 'x';
        out[length++] = hex[c[i] >> 4];
        out[length++] = hex[c[i] & 15];
    }
    return length;
}

static uint32_t put_pair(char first, char second, char *out)
{
    out[0] = first;
    out[1] = second;
    return 2;
}

static uint32_t put_unit(uint32_t unit, char *out)
{
    put_pair('\\', 'u', out);
    for (uint32_t i = 0; i < 4; i++)
        out[2 + i] = hex[unit >> (12 - 4 * i) & 15];
    return 6;
}

/* Writes a code point in UTF-16, as \uNNNN. */
static uint32_t put_code(uint32_t code, char *out)
{
    if (code < 0x10000)
        return put_unit(code, out);
    code -= 0x10000;
    put_unit(0xd800 + (code >> 10), out);
    return 6 + put_unit(0xdc00 + (code & 0x3ff), out + 6);
}

/* Writes the escape of the character at `at`, which has `bytes` bytes, or of an invalid byte
 * (`bytes` is 0). Returns its length; 0 if no escape is needed. */
static uint32_t escape_of(mv_span text, uint64_t at, uint32_t bytes, mv_escape manner, char *out)
{
    const uint8_t *c = text.data + at;
    uint32_t code;

    if (bytes == 0 && manner == MV_ESCAPE_JSON) {
        out[0] = '\\';
        return 1 + put_bytes(c, 1, out + 1);
    }
    if (bytes == 0)
        return put_bytes(c, 1, out);
    code = mv_utf8_next(text, &at);
    if (manner == MV_ESCAPE_CSV && code == '"')
        return put_pair('"', '"', out);
    if ((manner == MV_ESCAPE_QUOTED || manner == MV_ESCAPE_JSON) && (code == '"' || code == '\\'))
        return put_pair('\\', (char)code, out);
    if (manner == MV_ESCAPE_DATABASE)
        return code == 0 ? put_bytes(c, 1, out) : 0;
    if (!mv_utf8_is_hidden(code) || (manner == MV_ESCAPE_LINES && (code == '\n' || code == '\t')))
        return 0;
    if (manner != MV_ESCAPE_JSON)
        return put_bytes(c, bytes, out);
    return code == '\n' ? put_pair('\\', 'n', out) : put_code(code, out);
}

/* Returns true if no mode escapes the character. Nearly all characters are plain, and reports
 * contain millions of strings, so this is checked first. */
static bool is_plain(uint8_t c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

bool mv_escape_next(mv_span text, uint64_t *at, mv_escape manner, mv_escaped *piece)
{
    uint64_t begin = *at, end = begin;

    piece->length = 0;
    if (begin == text.length) /* the data of an empty string may be NULL */
        return false;
    while (end < text.length && piece->length == 0) {
        uint32_t bytes;
        if (is_plain(text.data[end])) {
            end++;
            continue;
        }
        bytes = mv_utf8_length(text, end);
        piece->length = escape_of(text, end, bytes, manner, piece->escape);
        *at = end + (bytes ? bytes : 1);
        if (piece->length == 0)
            end = *at;
    }
    piece->plain = (mv_span){text.data + begin, end - begin};
    if (piece->length == 0)
        *at = end;
    return true;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Returns true if a character starts a formula, including the fullwidth forms that some
 * spreadsheets also accept. */
static bool is_sign(uint32_t code)
{
    return code != MV_UTF8_BAD && code != 0 &&
           (code < 0x80 ? strchr("=+-@\t\r\n", (int)code) != NULL
                        : code == 0xff1d || code == 0xff0b || code == 0xff0d || code == 0xff20);
}

bool mv_escape_is_formula(mv_span text)
{
    uint64_t at = 0;

    while (at < text.length && text.data[at] == '\'')
        at++;
    return at < text.length && is_sign(mv_utf8_next(text, &at));
}

bool mv_escape_needs_quotes(mv_span text)
{
    if (text.length == 0 || mv_escape_is_formula(text))
        return true;
    for (uint64_t i = 0; i < text.length; i++)
        if (memchr("\",;\r\n\t", text.data[i], 6))
            return true;
    return false;
}
