#include "viz/scene/axis.h"

#include <stdio.h>

uint64_t mv_axis_byte_step(uint64_t most)
{
    uint64_t step = 1;

    while (most / step > 8)
        step *= 2;
    return step;
}

uint32_t mv_axis_byte_ticks(uint64_t most, uint64_t ticks[MV_BYTE_TICKS])
{
    uint64_t step = mv_axis_byte_step(most);
    uint32_t count = (uint32_t)(most / step) + 1;

    for (uint32_t i = 0; i < count; i++)
        ticks[i] = i * step;
    return count;
}

const char *mv_axis_bytes(uint64_t bytes, char text[MV_TICK_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;

    while (value >= 1024 && unit < 6) {
        value /= 1024;
        unit++;
    }
    if (bytes == 0)
        snprintf(text, MV_TICK_TEXT, "0");
    else
        snprintf(text, MV_TICK_TEXT, "%.4g %s", value, units[unit]);
    return text;
}

uint64_t mv_axis_count_step(uint64_t count, uint32_t ticks)
{
    static const uint64_t factors[] = {1, 2, 5};

    for (uint64_t power = 1;; power *= 10)
        for (int i = 0; i < 3; i++)
            if (power > UINT64_MAX / 10 || count / (power * factors[i]) < ticks)
                return power * factors[i];
}

const char *mv_axis_time(int64_t microseconds, int64_t longest, char text[MV_TICK_TEXT])
{
    double us = (double)microseconds;

    if (us < 0)
        snprintf(text, MV_TICK_TEXT, "?");
    else if (microseconds == 0)
        snprintf(text, MV_TICK_TEXT, "0");
    else if (longest < 1000)
        snprintf(text, MV_TICK_TEXT, "%.0f us", us);
    else if (longest < 1000000)
        snprintf(text, MV_TICK_TEXT, longest < 100000 ? "%.2f ms" : "%.1f ms", us / 1e3);
    else
        snprintf(text, MV_TICK_TEXT, longest < 100000000 ? "%.3f s" : "%.1f s", us / 1e6);
    return text;
}
