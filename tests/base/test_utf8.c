#include "base/utf8.h"

#include "tests/fixture/fixture_test.h"

/* Encodes a code point as the Unicode standard defines. Writes 0 bytes if the code point has no
 * encoding. */
static uint32_t encode(uint32_t code, uint8_t out[4])
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0}; /* [length] */
    uint32_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4, rest = code;

    for (uint32_t i = length - 1; i > 0; i--, rest >>= 6)
        out[i] = (uint8_t)(0x80 | (rest & 63));
    out[0] = (uint8_t)(marks[length] | rest);
    return (code >= 0xd800 && code < 0xe000) || code > 0x10ffff ? 0 : length;
}

LongTest(utf8, every_code_point_is_read_as_it_was_written)
{
    uint8_t c[5] = {0};

    for (uint32_t code = 1; code < 0x120000; code++) {
        uint32_t length = encode(code, c);
        uint64_t at = 0;
        const char *text = (const char *)c;
        uint32_t shown = length ? length : code < 0x10000 ? 3 : 4;
        c[shown] = 0;
        cr_assert_eq(mv_utf8_length((mv_span){c, shown}, 0), length);
        cr_assert_eq(mv_utf8_length_at(text), length);
        cr_assert_eq(mv_utf8_next((mv_span){c, shown}, &at), length ? code : MV_UTF8_BAD);
        cr_assert_eq(at, length ? length : 1);
        cr_assert_eq(mv_utf8_next_at(&text), length ? code : MV_UTF8_BAD);
        cr_assert_eq(text, (const char *)c + at);
        for (uint32_t cut = 1; cut < length; cut++)
            cr_assert_eq(mv_utf8_length((mv_span){c, cut}, 0), 0, "without its end");
    }
}

/* Checks all two-byte sequences and a sample of four-byte ones: exactly the results of encode()
 * must be valid. */
Test(utf8, no_other_byte_sequence_is_a_character)
{
    uint8_t c[4], back[4];
    uint64_t random = 9;

    for (uint32_t i = 0; i < 3000000; i++) {
        uint64_t at = 0;
        for (uint32_t b = 0; b < 4; b++)
            c[b] = (uint8_t)mvt_random(&random, 256);
        if (i < 65536) {
            c[0] = (uint8_t)i;
            c[1] = (uint8_t)(i >> 8);
        } else {
            c[0] |= 0xc0;
        }
        uint32_t code = mv_utf8_next((mv_span){c, 4}, &at);
        if (code == MV_UTF8_BAD)
            continue;
        uint32_t length = encode(code, back);
        cr_assert_eq(length, at);
        cr_assert(memcmp(back, c, length) == 0);
    }
}

Test(utf8, texts_are_cut_between_characters)
{
    const char *text = "a\xc3\xa9\xe2\x80\xa6\xf0\x9f\x98\x80z";
    static const uint64_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11, 11};

    for (uint64_t most = 0; most < sizeof cuts / sizeof *cuts; most++)
        cr_assert_eq(mv_utf8_cut(text, most), cuts[most], "%u", (unsigned)most);
    cr_assert_eq(mv_utf8_count(text, strlen(text)), 5);
    cr_assert_eq(mv_utf8_cut("ab\xe2\x80", 100), 2, "a character that lost its end");
    cr_assert_eq(mv_utf8_cut("\x80\x80\x80\x80\x80\x80", 5), 5, "no character at all");
}

Test(utf8, texts_are_made_harmless_for_a_terminal)
{
    char text[] = "a\x1b[1m\xc3\xa9\xff\xe2\x80\n\xc2\x9b\x7f.";

    mv_utf8_sanitize(text);
    cr_assert_str_eq(text, "a?[1m\xc3\xa9?????"
                           "?.");
}
