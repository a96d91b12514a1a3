#include "base/utf8.h"

#include <string.h>

static bool is_tail(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

uint32_t mv_utf8_length(mv_span text, uint64_t at)
{
    const uint8_t *c = text.data + at;
    uint64_t left = text.length - at;

    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4 || left < 2 || !is_tail(c[1]))
        return 0;
    if (c[0] < 0xe0)
        return 2;
    if (left < 3 || !is_tail(c[2]))
        return 0;
    if (c[0] < 0xf0) {
        bool overlong = c[0] == 0xe0 && c[1] < 0xa0;
        bool surrogate = c[0] == 0xed && c[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (left < 4 || !is_tail(c[3]))
        return 0;
    return (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90) ? 0 : 4;
}

void mv_utf8_tame(char *text)
{
    mv_span whole = {(const uint8_t *)text, strlen(text)};
    char *to = text;

    for (uint64_t at = 0; at < whole.length;) {
        uint32_t length = mv_utf8_length(whole, at);
        if (length && !mv_utf8_is_control(whole.data + at, length)) {
            memmove(to, text + at, length);
            to += length;
        } else {
            *to++ = '?';
        }
        at += length ? length : 1;
    }
    *to = 0;
}
