/* Characters in bytes that may be anything. */
#ifndef MV_UTF8_H
#define MV_UTF8_H

#include "base/cursor.h"

/* Bytes of the valid UTF-8 character at text[at], 1 to 4; 0 when there is none. Surrogates and
 * overlong forms are not valid. */
uint32_t mv_utf8_length(mv_span text, uint64_t at);

/* Whether a character of `length` bytes is one that a terminal obeys: the controls of ASCII, and
 * those of Latin-1 (U+0080 to U+009F). */
static inline bool mv_utf8_is_control(const uint8_t *c, uint32_t length)
{
    return (length == 1 && (c[0] < 0x20 || c[0] == 0x7f)) ||
           (length == 2 && c[0] == 0xc2 && c[1] < 0xa0);
}

/* Puts a question mark in the place of every control, line ends too, and of every byte that is not
 * UTF-8. */
void mv_utf8_tame(char *text);

#endif
