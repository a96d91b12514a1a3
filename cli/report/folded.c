#include "cli/report/folded.h"

#include "base/utf8.h"

void mv_folded_put_frame(mv_sink *sink, const char *text, bool is_first)
{
    char clean[512];

    snprintf(clean, sizeof clean, "%s", text);
    mv_utf8_sanitize(clean);
    for (char *c = clean; *c; c++)
        if (*c == ';')
            *c = ':';
    if (!is_first)
        mv_sink_write(sink, ";", 1);
    mv_sink_write(sink, clean, strlen(clean));
}

void mv_folded_put_stack(mv_sink *sink, const mv_trace *trace, const uint8_t *kinds,
                         mv_stack_id stack, bool all_frames, bool is_first)
{
    uint32_t count, shown = 0;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    mv_frame_kind shows = mv_stack_shows(trace, kinds, stack);
    char label[512];

    for (uint32_t i = count; i-- > 0;) {
        if (!all_frames && !mv_frame_is_shown(trace, kinds, shows, frames[i]))
            continue;
        mv_folded_put_frame(sink, mv_frame_label(trace, frames[i], label, sizeof label),
                            is_first && shown == 0);
        shown++;
    }
    if (shown == 0)
        mv_folded_put_frame(sink, mv_culprit_label(trace, kinds, stack, label, sizeof label),
                            is_first);
}
