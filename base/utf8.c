#include "base/utf8.h"

uint32_t mv_utf8_put(uint8_t out[4], uint32_t code)
{
    static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
    uint32_t tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

    out[0] = (uint8_t)(heads[tails] | code >> 6 * tails);
    for (uint32_t i = 1; i <= tails; i++)
        out[i] = (uint8_t)(0x80 | (code >> 6 * (tails - i) & 0x3f));
    return tails + 1;
}

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

uint32_t mv_utf8_length_at(const char *text)
{
    return mv_utf8_length((mv_span){(const uint8_t *)text, strnlen(text, 4)}, 0);
}

uint32_t mv_utf8_next(mv_span text, uint64_t *at)
{
    const uint8_t *c = text.data + *at;
    uint32_t length = mv_utf8_length(text, *at), code;

    *at += length ? length : 1;
    if (length < 2)
        return length ? c[0] : MV_UTF8_BAD;
    code = c[0] & (0x7fu >> length);
    for (uint32_t i = 1; i < length; i++)
        code = code << 6 | (c[i] & 0x3fu);
    return code;
}

uint32_t mv_utf8_next_at(const char **text)
{
    uint64_t at = 0;
    uint32_t code = mv_utf8_next((mv_span){(const uint8_t *)*text, strnlen(*text, 4)}, &at);

    *text += at;
    return code;
}

uint64_t mv_utf8_count(const char *text, uint64_t length)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < length; i++)
        count += !mv_utf8_is_tail(text[i]);
    return count;
}

/* Leaves out the last character if not all of its bytes fit. */
uint64_t mv_utf8_cut(const char *text, uint64_t most)
{
    uint64_t cut = strnlen(text, most), begin = cut;
    uint8_t lead;

    if (cut == 0)
        return 0;
    do
        begin--;
    while (begin > 0 && cut - begin < 4 && mv_utf8_is_tail(text[begin]));
    lead = (uint8_t)text[begin];
    return cut - begin < (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 0) ? begin : cut;
}

void mv_utf8_sanitize(char *text)
{
    mv_span whole = {(const uint8_t *)text, strlen(text)};
    char *to = text;

    for (uint64_t at = 0; at < whole.length;) {
        uint64_t from = at;
        uint32_t code = mv_utf8_next(whole, &at);
        if (code == MV_UTF8_BAD || mv_utf8_is_hidden(code)) {
            *to++ = '?';
        } else {
            memmove(to, text + from, at - from);
            to += at - from;
        }
    }
    *to = 0;
}
