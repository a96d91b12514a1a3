#include "parse/source/base64.h"

enum { PIECE = 3 * 1024 };

static uint32_t encode(const uint8_t *data, uint64_t length, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t at = 0;

    for (uint64_t i = 0; i < length; i += 3) {
        uint64_t left = length - i;
        uint32_t bits = (uint32_t)data[i] << 16;
        bits |= left > 1 ? (uint32_t)data[i + 1] << 8 : 0;
        bits |= left > 2 ? data[i + 2] : 0;
        text[at++] = digits[bits >> 18];
        text[at++] = digits[bits >> 12 & 63];
        text[at++] = left > 1 ? digits[bits >> 6 & 63] : '=';
        text[at++] = left > 2 ? digits[bits & 63] : '=';
    }
    return at;
}

void mv_base64_write(mv_sink *sink, const uint8_t *data, uint64_t length)
{
    char text[PIECE / 3 * 4];

    for (uint64_t done = 0; done < length; done += PIECE) {
        uint64_t left = length - done;
        mv_sink_write(sink, text, encode(data + done, left < PIECE ? left : PIECE, text));
    }
}
