#include "cli/report/stack_text.h"

#include <stdio.h>

#include "analyze/code/culprit.h"
#include "cli/report/prose.h"

/* The most frames of the framework in a row that are shown; longer runs are only counted. */
#define SHORT_RUN 1

static void put_frame(mv_out *out, const mv_trace *trace, mv_frame_id frame, bool bold,
                      uint32_t indent)
{
    char label[512];

    mv_frame_label(trace, frame, label, sizeof label);
    mv_out_spaces(out, indent);
    if (bold)
        mv_out_style(out, MV_STYLE_BOLD);
    mv_prose_put_cut(out, mv_prose_room(out, indent), label);
    if (bold)
        mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
}

/* How many shown frames in a row, from frame i on, are the framework's; *end is the frame after
 * them. */
static uint32_t run_of_framework(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                                 uint32_t i, uint32_t *end)
{
    uint32_t count, shown = 0;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (; i < count; i++) {
        if (!mv_frame_is_shown(trace, kinds, stack, i))
            continue;
        if (kinds[frames[i].row] != MV_FRAME_FRAMEWORK)
            break;
        shown++;
    }
    *end = i;
    return shown;
}

static void put_count(mv_out *out, uint32_t frames, uint32_t indent)
{
    mv_out_spaces(out, indent);
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "... %u frames of the framework", frames);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
}

void mv_stack_put(mv_out *out, const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                  bool all, uint32_t indent)
{
    mv_frame_id culprit = mv_culprit_frame(trace, kinds, stack);
    bool marked = false;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (!all) {
            uint32_t end, run = run_of_framework(trace, kinds, stack, i, &end);
            if (run > SHORT_RUN) {
                put_count(out, run, indent);
                i = end - 1;
                continue;
            }
            if (!mv_frame_is_shown(trace, kinds, stack, i))
                continue;
        }
        bool bold = !marked && frames[i].row == culprit.row;
        marked = marked || bold;
        put_frame(out, trace, frames[i], bold, indent);
    }
}

const char *mv_stack_label(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                           char *out, uint32_t size)
{
    uint32_t count, at = 0;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    mv_frame_id culprit = mv_culprit_frame(trace, kinds, stack);
    char inner[256];
    size_t used;

    mv_culprit_label(trace, kinds, stack, out, size);
    if (count == 0 || kinds[culprit.row] != MV_FRAME_USER)
        return out;
    while (kinds[frames[at].row] > MV_FRAME_PACKAGE)
        at++;
    used = strlen(out);
    if (kinds[frames[at].row] == MV_FRAME_PACKAGE)
        snprintf(out + used, size - used, " > %s",
                 mv_frame_label(trace, frames[at], inner, sizeof inner));
    return out;
}
