/* Reads characters from arbitrary bytes, such as names and paths in files.
 *
 *     for (uint64_t at = 0; at < text.length;) {
 *         uint32_t character = mv_utf8_next(text, &at);      MV_UTF8_BAD: an invalid byte
 *
 * A character is valid UTF-8 as Unicode defines it, without overlong forms, surrogates or anything
 * above U+10FFFF. Any other byte counts as one bad character, so that every reader divides the same
 * bytes into the same characters. Nothing beyond the end is read. */
#pragma once

#include "base/cursor.h"

#define MV_UTF8_BAD UINT32_MAX

/* Replacement for an invalid byte, or for a character that must not be shown. */
#define MV_UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Writes a character, at most 0x10ffff. Returns the number of bytes written. */
uint32_t mv_utf8_put(uint8_t out[4], uint32_t code);

/* Returns the length of the valid UTF-8 character at text[at], 1 to 4 bytes; 0 if there is none. */
uint32_t mv_utf8_length(mv_span text, uint64_t at);

/* Does the same as mv_utf8_length for a NUL-terminated string that is not at its end. */
uint32_t mv_utf8_length_at(const char *text);

/* Returns the code point at text[*at], or MV_UTF8_BAD, and moves `*at` past it. */
uint32_t mv_utf8_next(mv_span text, uint64_t *at);

/* Does the same as mv_utf8_next for a NUL-terminated string that is not at its end. */
uint32_t mv_utf8_next_at(const char **text);

/* Returns true if a byte is the second or a later byte of a character. */
static inline bool mv_utf8_is_tail(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

/* Returns the number of characters in a string, which is the width of the string if each character
 * is one column wide. Exact for valid UTF-8. */
uint64_t mv_utf8_count(const char *text, uint64_t length);

/* Returns the number of bytes of a string to keep, up to `most`, so that no character is split. */
uint64_t mv_utf8_cut(const char *text, uint64_t most);

/* Returns true if a character must never be shown unescaped, because it is invisible but has an
 * effect. Such a character controls the terminal (ASCII control characters and U+0080 to U+009F),
 * ends a line (U+2028, U+2029), changes the reading order of the text around it (U+202A to U+202E,
 * U+2066 to U+2069), or carries invisible text (tags, U+E0000 to U+E007F). */
static inline bool mv_utf8_is_hidden(uint32_t code)
{
    if (code < 0xa0)
        return code < 0x20 || (code >= 0x7f && code < 0xa0);
    return (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           (code >= 0xe0000 && code <= 0xe007f);
}

/* Replaces every hidden character (including line ends) and every byte that is not UTF-8 with a
 * question mark. */
void mv_utf8_sanitize(char *text);
