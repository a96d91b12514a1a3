#include "viz/verdict.h"

#include <stdio.h>

#include "analyze/size.h"

const char *mv_verdict_line(const mv_trace *trace, const uint8_t *kinds, const mv_leaks *leaks,
                            char *out, size_t size)
{
    char label[256], step[MV_SIZE_TEXT], kept[MV_SIZE_TEXT];

    if (leaks->count == 0) {
        snprintf(out, size, "%s%s",
                 leaks->verdict == MV_VERDICT_CLEAN ? "no leak: " : "leaks: unknown, ", leaks->why);
        return out;
    }
    mv_leak_label(trace, kinds, &leaks->leaks[0], label, sizeof label);
    snprintf(out, size, "leak: %s keeps %s a step, %s at the end%s", label,
             mv_size_text(step, leaks->leaks[0].bytes_per_step),
             mv_size_text(kept, leaks->leaks[0].bytes),
             leaks->count > 1 ? ", and there are more" : "");
    return out;
}
