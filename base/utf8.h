/* Characters in bytes that may be anything: names and paths out of files.
 *
 *     for (uint64_t at = 0; at < text.length;) {
 *         uint32_t character = mv_utf8_next(text, &at);      MV_UTF8_BAD: a byte that is none
 *
 * A character is valid UTF-8 as Unicode has it: no overlong forms, no surrogates, nothing above
 * U+10FFFF. A byte outside of all characters counts as a bad character of one byte, so every reader
 * splits the same bytes in the same way. Nothing beyond the end is read. */
#ifndef MV_BASE_UTF8_H
#define MV_BASE_UTF8_H

#include "base/cursor.h"

#define MV_UTF8_BAD UINT32_MAX

/* Is shown instead of a byte that is not a character, or a character that must not be shown. */
#define MV_UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the valid UTF-8 character at text[at], 1 to 4; 0 when there is none. */
uint32_t mv_utf8_length(mv_span text, uint64_t at);

/* The same for a text that ends in NUL, and is not at its end. */
uint32_t mv_utf8_length_at(const char *text);

/* The code point at text[*at], or MV_UTF8_BAD; moves `*at` past it. */
uint32_t mv_utf8_next(mv_span text, uint64_t *at);

/* The same for a text that ends in NUL, and is not at its end. */
uint32_t mv_utf8_next_at(const char **text);

/* Whether a byte continues a character that began before it. */
static inline bool mv_utf8_is_tail(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

/* How many characters a text has: its width, when each is one column wide. Exact for valid UTF-8.
 */
uint64_t mv_utf8_count(const char *text, uint64_t length);

/* How many bytes to keep of a text, at most `most`, so that no character is cut in two. */
uint64_t mv_utf8_cut(const char *text, uint64_t most);

/* Whether a character is never shown as it is, since it would do something else than be seen: a
 * terminal obeys it (the controls of ASCII, and those of Latin-1, U+0080 to U+009F), it ends a line
 * (U+2028, U+2029), it changes the order in which the text around it is read (U+202A to U+202E,
 * U+2066 to U+2069), or it carries a text that is not seen (tags, U+E0000 to U+E007F). */
static inline bool mv_utf8_is_hidden(uint32_t code)
{
    if (code < 0xa0)
        return code < 0x20 || (code >= 0x7f && code < 0xa0);
    return (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           (code >= 0xe0000 && code <= 0xe007f);
}

/* Puts a question mark in the place of every hidden character, line ends too, and of every byte
 * that is not UTF-8. */
void mv_utf8_tame(char *text);

#endif
