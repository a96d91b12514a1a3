#include "base/size.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* `value` in at least `digits` digits; returns their number. */
static uint32_t put_number(char *text, uint32_t value, uint32_t digits)
{
    char reversed[10];
    uint32_t count = 0;

    for (; value || count < digits; value /= 10)
        reversed[count++] = (char)('0' + value % 10);
    for (uint32_t i = 0; i < count; i++)
        text[i] = reversed[count - 1 - i];
    return count;
}

/* Not by printf: `trace` prints millions of sizes. */
const char *mv_size_text(char text[MV_SIZE_TEXT], uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    static const uint32_t tens[] = {1, 10, 100};
    double value = (double)bytes;
    uint32_t unit = 0, decimals, scaled, at;

    if (bytes < 1024) {
        at = put_number(text, (uint32_t)bytes, 1);
        memcpy(text + at, " B", 3);
        return text;
    }
    /* 1023.5 would print as 1024. */
    for (value /= 1024; value >= 1023.5; unit++)
        value /= 1024;
    decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    scaled = (uint32_t)(value * tens[decimals] + 0.5);
    at = put_number(text, scaled / tens[decimals], 1);
    if (decimals) {
        text[at++] = '.';
        at += put_number(text + at, scaled % tens[decimals], decimals);
    }
    text[at++] = ' ';
    text[at++] = units[unit];
    memcpy(text + at, "iB", 3);
    return text;
}

bool mv_size_parse(const char *text, uint64_t *bytes)
{
    static const char letters[] = "KMGTPE";
    char *end;
    double value, scale = 1;

    if (!isdigit((unsigned char)*text))
        return false;
    value = strtod(text, &end);
    while (*end == ' ')
        end++;
    if (*end) {
        const char *letter = strchr(letters, toupper((unsigned char)*end));
        if (letter) {
            scale = ldexp(1, 10 * (int)(letter - letters + 1));
            end++;
            if (*end == 'i' || *end == 'I')
                end++;
        }
        if (*end == 'b' || *end == 'B')
            end++;
    }
    value *= scale;
    if (*end || !(value < 18446744073709551616.0))
        return false;
    *bytes = (uint64_t)value;
    return true;
}
