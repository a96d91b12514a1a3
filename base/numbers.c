#include "base/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t mv_digits(char digits[MV_DIGITS], uint64_t value)
{
    char reversed[MV_DIGITS];
    uint32_t count = 0;

    for (; value >= 100; value /= 100) {
        uint32_t two = (uint32_t)(value % 100);
        reversed[count++] = (char)('0' + two % 10);
        reversed[count++] = (char)('0' + two / 10);
    }
    reversed[count++] = (char)('0' + value % 10);
    if (value >= 10)
        reversed[count++] = (char)('0' + value / 10);
    for (uint32_t i = 0; i < count; i++)
        digits[i] = reversed[count - 1 - i];
    return count;
}

uint32_t mv_digits_signed(char digits[MV_DIGITS + 1], int64_t value)
{
    if (value >= 0)
        return mv_digits(digits, (uint64_t)value);
    digits[0] = '-';
    return 1 + mv_digits(digits + 1, 0 - (uint64_t)value);
}

void mv_digits_padded(char *digits, uint32_t width, uint64_t value)
{
    for (; width > 0; value /= 10)
        digits[--width] = (char)('0' + value % 10);
}

uint32_t mv_digits_hex(char digits[16], uint64_t value)
{
    uint32_t count = value ? (67 - (uint32_t)__builtin_clzll(value)) / 4 : 1;

    for (uint32_t i = count; i > 0; value >>= 4)
        digits[--i] = "0123456789abcdef"[value & 15];
    return count;
}

const char *mv_count_text(char text[MV_COUNT_TEXT], uint64_t count)
{
    char digits[MV_DIGITS];
    uint32_t length = mv_digits(digits, count), at = 0;

    for (uint32_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    return text;
}

const char *mv_real_text(char text[MV_REAL_TEXT], double real)
{
    double again = 0;

    for (int digits = 9; digits <= 17; digits++) {
        snprintf(text, MV_REAL_TEXT, "%.*g", digits, real);
        if (mv_number_read_double(text, &again) && !(again < real || again > real))
            break;
    }
    return text;
}

/* Returns the value of a digit, or `base` if the character is not a digit. */
static uint32_t digit_of(char c, uint32_t base)
{
    uint32_t digit = base;

    if (c >= '0' && c <= '9')
        digit = (uint32_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
        digit = (uint32_t)(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
        digit = (uint32_t)(c - 'A') + 10;
    return digit < base ? digit : base;
}

bool mv_number_take(const char **at, uint32_t base, uint64_t *out)
{
    const char *end = *at;
    uint64_t value = 0;
    uint32_t digit;

    for (; (digit = digit_of(*end, base)) < base; end++) {
        if (value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    if (end == *at)
        return false;
    *at = end;
    *out = value;
    return true;
}

bool mv_number_read(const char *text, uint64_t *out)
{
    uint64_t value;

    if (!mv_number_take(&text, 10, &value) || *text)
        return false;
    *out = value;
    return true;
}

bool mv_number_read_double(const char *text, double *out)
{
    char *end;
    double value;

    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return false;
    value = strtod(text, &end);
    if (*end || !isfinite(value))
        return false;
    *out = value;
    return true;
}
