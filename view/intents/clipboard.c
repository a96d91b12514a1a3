/* Text for the clipboard. */

#include "base/utf8.h"
#include "view/intents/intents.h"

void mv_do_copy_command(mv_view *view, uint64_t arg)
{
    const char *line = mv_command_line(view, view->ui.frame);

    (void)arg;
    if (!line)
        return;
    mv_view_copy(view, line);
    mv_view_say(view, false, "copied: %.200s", line);
}

/* ---- the stack --------------------------------------------------------------------------- */

mv_stack_id mv_view_pinned_stack(const mv_view *view)
{
    const mv_lives *lives = &mv_view_device(view)->lives;

    if (view->now->pinned < lives->allocs.count)
        return lives->allocs.stack[view->now->pinned];
    if (view->now->pinned_segment < lives->segments.count)
        return lives->segments.stack[view->now->pinned_segment];
    return MV_NO_STACK;
}

/* Writes a whole stack as "file:line function", one frame per line, unless `out` is NULL. Returns
 * its length in bytes. */
static size_t write_stack(const mv_trace *trace, mv_stack_id stack, char *out, size_t size)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    size_t at = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = frames[i].row;
        const char *file = mv_string_text(trace, trace->frames.file[row]);
        const char *function = mv_string_text(trace, trace->frames.function[row]);
        char line[32] = "";
        size_t from = at;
        if (*file)
            snprintf(line, sizeof line, ":%lld ", (long long)trace->frames.line[row]);
        at += (size_t)snprintf(out ? out + at : NULL, out ? size - at : 0, "%s%s%s", file, line,
                               function);
        if (out) { /* one line for each frame, without control characters */
            mv_utf8_sanitize(out + from);
            at = from + strlen(out + from);
            out[at] = '\n';
            out[at + 1] = '\0';
        }
        at++;
    }
    return at;
}

void mv_do_copy_stack(mv_view *view, uint64_t arg)
{
    const mv_trace *trace = &mv_view_document(view)->trace;
    mv_stack_id stack = mv_view_pinned_stack(view);
    size_t size = write_stack(trace, stack, NULL, 0) + 1;
    mv_arena arena;
    char *text;

    (void)arg;
    if (stack.row == MV_NO_ROW) {
        mv_view_say(view, false, "this allocation has no stack: none was recorded");
        return;
    }
    mv_arena_init(&arena, view->budget);
    text = mv_push_array(&arena, char, size);
    if (text) {
        write_stack(trace, stack, text, size);
        mv_view_copy(view, text);
        mv_view_say(view, false, "the stack is copied");
    }
    mv_arena_release(&arena);
}

/* ---- the source ---------------------------------------------------------------------------- */

void mv_do_edit_source(mv_view *view, uint64_t arg)
{
    const mv_trace *trace = &mv_view_document(view)->trace;
    mv_frame_id frame =
        mv_culprit_frame(trace, mv_view_document(view)->sites.kinds, mv_view_pinned_stack(view));
    const char *file;
    char why[MV_SOURCE_WHY];

    (void)arg;
    file = frame.row == MV_NO_ROW ? "" : mv_string_text(trace, trace->frames.file[frame.row]);
    if (!*file)
        mv_view_say(view, false, "no line of code was recorded for it");
    else if (view->opts.sources->edit(file, trace->frames.line[frame.row], why))
        mv_view_say(view, false, "%.150s:%lld is opened in the editor", file,
                    (long long)trace->frames.line[frame.row]);
    else
        mv_view_say(view, true, "%s", why);
}
