#include "cli/report/stack_text.h"

#include "analyze/code/culprit.h"
#include "cli/report/prose.h"

/* How many consecutive framework frames are printed; longer runs are only counted. */
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

static void put_count(mv_out *out, uint32_t frames, const char *what, uint32_t indent)
{
    mv_out_spaces(out, indent);
    mv_out_style(out, MV_STYLE_DIM);
    mv_out_format(out, "... %u %s", frames, what);
    mv_out_style(out, MV_STYLE_NONE);
    mv_out_char(out, '\n');
}

void mv_stack_put_more(mv_out *out, uint32_t frames, uint32_t indent)
{
    if (frames > 0)
        put_count(out, frames, "more frames; --json has them", indent);
}

/* The state while printing one stack. */
typedef struct {
    mv_out *out;
    const mv_trace *trace;
    mv_frame_id culprit; /* MV_NO_FRAME after it was printed */
    uint32_t indent;
    uint32_t lines;
    uint32_t left_out; /* number of frames beyond MV_STACK_LINES */
    uint32_t run;      /* number of framework frames that were not printed yet */
    mv_frame_id last;  /* the last of these framework frames */
} stack_lines;

static void put_line(stack_lines *s, mv_frame_id frame)
{
    bool bold = frame.row == s->culprit.row;

    if (s->lines++ >= MV_STACK_LINES) {
        s->left_out++;
        return;
    }
    put_frame(s->out, s->trace, frame, bold, s->indent);
    if (bold)
        s->culprit = MV_NO_FRAME;
}

static void end_run(stack_lines *s)
{
    if (s->run > SHORT_RUN && s->lines++ < MV_STACK_LINES)
        put_count(s->out, s->run, "frames of the framework", s->indent);
    else if (s->run > SHORT_RUN)
        s->left_out += s->run;
    else if (s->run > 0)
        put_line(s, s->last);
    s->run = 0;
}

void mv_stack_put(mv_out *out, const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                  bool all, uint32_t indent)
{
    mv_frame_kind shows = mv_stack_shows(trace, kinds, stack);
    stack_lines s = {.out = out,
                     .trace = trace,
                     .culprit = mv_culprit_frame(trace, kinds, stack),
                     .indent = indent};
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (!all && !mv_frame_is_shown(trace, kinds, shows, frames[i]))
            continue;
        if (!all && kinds[frames[i].row] == MV_FRAME_FRAMEWORK) {
            s.last = frames[i];
            s.run++;
            continue;
        }
        end_run(&s);
        put_line(&s, frames[i]);
    }
    end_run(&s);
    mv_stack_put_more(out, s.left_out, indent);
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
