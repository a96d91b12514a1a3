#include "analyze/advice/verdict.h"

#include <stdio.h>

#include "base/size.h"

const char *mv_verdict_line(const mv_trace *trace, const uint8_t *kinds, const mv_leaks *leaks,
                            char *out, size_t size)
{
    char label[256], step[MV_SIZE_TEXT], kept[MV_SIZE_TEXT];

    if (leaks->count == 0) {
        char under_way[MV_SIZE_TEXT + 48] = "", bytes[MV_SIZE_TEXT];

        if (leaks->in_progress.bytes > 0)
            snprintf(under_way, sizeof under_way, "; in the step that was under way: %s",
                     mv_size_text(bytes, leaks->in_progress.bytes));
        snprintf(out, size, "%s%s%s",
                 leaks->verdict == MV_VERDICT_CLEAN ? "no leak: " : "leaks unknown: ", leaks->why,
                 under_way);
        return out;
    }
    mv_leak_label(trace, kinds, &leaks->leaks[0], label, sizeof label);
    snprintf(out, size, "leak: %s keeps %s a step, %s at the end%s", label,
             mv_size_text(step, leaks->leaks[0].bytes_per_step),
             mv_size_text(kept, leaks->leaks[0].bytes),
             leaks->count > 1 ? ", and there are more" : "");
    return out;
}
