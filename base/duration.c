#include "base/duration.h"

#include <stdio.h>

const char *mv_duration_text(char text[MV_DURATION_TEXT], int64_t us)
{
    static const struct {
        double us;
        const char *name;
    } units[] = {{86400e6, "days"}, {3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};

    for (unsigned i = 0; i < sizeof units / sizeof *units; i++) {
        double value = (double)us / units[i].us;
        if (value < 0.9995) /* 999.6 ms would print as 1e+03 ms */
            continue;
        snprintf(text, MV_DURATION_TEXT, value < 999.5 ? "%.3g %s" : "%.0f %s", value,
                 units[i].name);
        return text;
    }
    snprintf(text, MV_DURATION_TEXT, "%lld us", (long long)us);
    return text;
}
