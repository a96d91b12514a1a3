/* Texts for the clipboard: the stack of an allocation, and the command line that shows a view
 * again. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/culprit.h"
#include "view/chrome/chrome.h"

enum { LINE = 8192 };

typedef struct {
    char *text; /* [LINE] */
    size_t length;
} words;

static void add(words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(words *w, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(w->text + w->length, LINE - w->length, format, args);
    va_end(args);
    if (length > 0)
        w->length += (size_t)length < LINE - w->length ? (size_t)length : LINE - 1 - w->length;
}

/* A word of a shell, in quotes where it needs them. */
static void add_quoted(words *w, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";

    if (*text && strspn(text, plain) == strlen(text)) {
        add(w, "%s", text);
        return;
    }
    add(w, "'");
    for (; *text; text++)
        if (*text == '\'')
            add(w, "'\\''");
        else
            add(w, "%c", *text);
    add(w, "'");
}

const char *mv_command_line(const mv_view *view, mv_arena *arena)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_view_state *now = view->now;
    static const char *const mains[] = {"timeline", "segments", "state"};
    words w = {.text = mv_push_array(arena, char, LINE)};
    uint32_t from = (uint32_t)now->from, to = (uint32_t)ceil(now->to);
    char path[PATH_MAX]; /* wherever it is typed */

    if (!w.text || !d)
        return NULL;
    add(&w, "memviz view ");
    add_quoted(&w,
               realpath(mv_view_document(view)->path, path) ? path : mv_view_document(view)->path);
    if (mv_view_document(view)->device_count > 1)
        add(&w, " --device %u", d->device);
    if (now->main != MV_MAIN_TIMELINE)
        add(&w, " --view %s", mains[now->main % 3]);
    if (from > 0)
        add(&w, " --from %u", from);
    if (to < d->lives.events.count)
        add(&w, " --to %u", to > 0 ? to - 1 : 0);
    if (now->cursor != MV_BEFORE)
        add(&w, " --at %u", now->cursor);
    if (*now->search) {
        add(&w, " --filter ");
        add_quoted(&w, now->search);
    }
    return w.text;
}

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

static mv_stack_id pinned_stack(const mv_view *view)
{
    const mv_lives *lives = &mv_view_device(view)->lives;

    if (view->now->pinned < lives->allocs.count)
        return lives->allocs.stack[view->now->pinned];
    if (view->now->pinned_segment < lives->segments.count)
        return lives->segments.stack[view->now->pinned_segment];
    return MV_NO_STACK;
}

/* "file:line function", one frame a line, the whole stack: returns its bytes; written unless `out`
 * is NULL. */
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
        if (*file)
            snprintf(line, sizeof line, ":%lld ", (long long)trace->frames.line[row]);
        at += (size_t)snprintf(out ? out + at : NULL, out ? size - at : 0, "%s%s%s\n", file, line,
                               function);
    }
    return at;
}

void mv_do_copy_stack(mv_view *view, uint64_t arg)
{
    const mv_trace *trace = &mv_view_document(view)->trace;
    mv_stack_id stack = pinned_stack(view);
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
