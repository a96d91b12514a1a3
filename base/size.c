#include "base/size.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/numbers.h"

const char *const mv_size_units[MV_SIZE_UNITS] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/* Does not use printf, because `trace` prints millions of sizes. */
const char *mv_size_text(char text[MV_SIZE_TEXT], uint64_t bytes)
{
    static const uint32_t tens[] = {1, 10, 100};
    double value = (double)bytes;
    uint32_t unit = 0, decimals = 0, scaled = (uint32_t)bytes, at;

    if (bytes >= 1024) {
        /* 1023.5 would be printed as 1024. */
        for (value /= 1024, unit = 1; value >= 1023.5; unit++)
            value /= 1024;
        decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        scaled = (uint32_t)(value * tens[decimals] + 0.5);
    }
    at = mv_digits(text, scaled / tens[decimals]);
    if (decimals) {
        text[at++] = '.';
        mv_digits_padded(text + at, decimals, scaled % tens[decimals]);
        at += decimals;
    }
    text[at++] = ' ';
    memcpy(text + at, mv_size_units[unit], strlen(mv_size_units[unit]) + 1);
    return text;
}

const char *mv_size_signed_text(char text[MV_SIZE_TEXT], int64_t bytes)
{
    text[0] = '-';
    mv_size_text(text + (bytes < 0), bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
    return text;
}

const char *mv_size_change_text(char text[MV_SIZE_TEXT], int64_t bytes)
{
    text[0] = '+';
    mv_size_signed_text(text + (bytes > 0), bytes);
    return text;
}

const char *mv_percent_text(char text[MV_SIZE_TEXT], uint64_t part, uint64_t whole)
{
    double percent = whole ? 100 * (double)part / (double)whole : 0;

    snprintf(text, MV_SIZE_TEXT, percent < 1 && part ? "%.1f %%" : "%.0f %%", percent);
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
