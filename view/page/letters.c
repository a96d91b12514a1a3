#include "view/page/letters.h"

static const char letters[] = "!\"#$%'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`"
                              "abcdefghijklmnopqrstuvwxyz{|}~";
enum { LETTERS = sizeof letters - 1, BITS = 13, PIECE = 13 * 1024 };

void mv_letters_write(mv_sink *sink, const uint8_t *data, uint64_t length)
{
    char text[PIECE / 13 * 16 + 2];
    uint32_t bits = 0, have = 0, used = 0;

    for (uint64_t i = 0; i < length; i++) {
        bits |= (uint32_t)data[i] << have;
        have += 8;
        if (have < BITS)
            continue;
        text[used++] = letters[(bits & 8191) % LETTERS];
        text[used++] = letters[(bits & 8191) / LETTERS];
        bits >>= BITS;
        have -= BITS;
        if (used + 2 > sizeof text) {
            mv_sink_write(sink, text, used);
            used = 0;
        }
    }
    if (have > 0)
        text[used++] = letters[bits % LETTERS];
    if (have > 6)
        text[used++] = letters[bits / LETTERS];
    mv_sink_write(sink, text, used);
}
