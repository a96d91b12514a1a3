/* Letters must decode to the bytes from which they were made, and no letter may have a meaning in a
 * page. */
#include "view/page/letters.h"

#include "tests/fixture/fixture.h"

static const char alphabet[] = "!\"#$%'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`"
                               "abcdefghijklmnopqrstuvwxyz{|}~";

static mv_span written(const uint8_t *data, uint64_t length)
{
    const char *path = mvt_temp_file((mv_span){0});
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, path, mvt_err()));
    mv_letters_write(&sink, data, length);
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
    return mvt_file(mvt_memory(), path);
}

/* Bit by bit. */
static uint64_t read_back(mv_span text, uint8_t *out)
{
    uint64_t bits = 0;

    memset(out, 0, text.length);
    for (uint64_t i = 0; i < text.length; i += 2) {
        bool is_pair = i + 1 < text.length;
        unsigned number = (unsigned)(strchr(alphabet, text.data[i]) - alphabet);
        if (is_pair)
            number += 91 * (unsigned)(strchr(alphabet, text.data[i + 1]) - alphabet);
        for (unsigned bit = 0; bit < (is_pair ? 13 : 6); bit++, bits++)
            out[bits / 8] |= (uint8_t)((number >> bit & 1) << bits % 8);
    }
    return bits / 8;
}

/* Lengths around those at which the last letter stands alone or a whole piece is written. */
Test(letters, any_bytes_are_read_back)
{
    static uint8_t data[70000], back[90000];
    uint32_t state = 1;

    for (uint32_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
    for (uint32_t length = 0; length < sizeof data; length += length < 60    ? 1
                                                              : length == 60 ? 13240
                                                                             : 1 + length / 50) {
        mv_span text = written(data, length);
        for (uint64_t i = 0; i < text.length; i++)
            cr_assert(text.data[i] && strchr(alphabet, text.data[i]));
        cr_assert_leq(text.length, (length * 16 + 12) / 13 + 1);
        cr_assert_eq(read_back(text, back), length);
        cr_assert_eq(memcmp(back, data, length), 0);
    }
    memset(data, 255, 100);
    cr_assert_eq(read_back(written(data, 100), back), 100);
    cr_assert_eq(memcmp(back, data, 100), 0);
}

Test(letters, none_of_them_means_anything_in_a_page)
{
    cr_expect_eq(strlen(alphabet), 91);
    cr_expect_null(strpbrk(alphabet, "<& \\\n\r\t"));
}
