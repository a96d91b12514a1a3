#include "base/duration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

const char *mv_duration_text(char text[MV_DURATION_TEXT], int64_t us)
{
    static const struct {
        double us;
        const char *name;
    } units[] = {{86400e6, "days"}, {3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};

    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        double value = (double)us / units[i].us;
        if (value < 0.9995) /* 999.6 ms would be printed as 1e+03 ms */
            continue;
        snprintf(text, MV_DURATION_TEXT, value < 999.5 ? "%.3g %s" : "%.0f %s", value,
                 units[i].name);
        return text;
    }
    snprintf(text, MV_DURATION_TEXT, "%lld us", (long long)us);
    return text;
}

bool mv_duration_read(const char *text, uint64_t *us)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"us", 1},     {"ms", 1e3},   {"s", 1e6},    {"m", 60e6},
                 {"min", 60e6}, {"h", 3600e6}, {"d", 86400e6}};
    char number[32];
    size_t length = strspn(text, "0123456789.");
    double value;

    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    if (!mv_number_read_double(number, &value))
        return false;
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + length, units[i].name) == 0 &&
            value * units[i].us < 100 * 366 * 86400e6) {
            *us = (uint64_t)llround(value * units[i].us);
            return true;
        }
    return false;
}
