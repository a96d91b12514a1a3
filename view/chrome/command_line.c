/* The command line that shows a view again. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/chrome/chrome.h"

enum { LINE = 65536 };

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

/* Wherever the line is typed. */
static void add_file(words *w, const mv_document *document)
{
    char path[PATH_MAX];

    add_quoted(w, realpath(document->path, path) ? path : document->path);
}

const char *mv_command_line(const mv_view *view, mv_arena *arena)
{
    const mv_document_device *d = mv_view_device(view);
    const mv_view_state *now = view->now;
    static const char *const mains[MV_MAIN_COUNT] = {
        [MV_MAIN_SEGMENTS] = "segments", [MV_MAIN_STATE] = "state", [MV_MAIN_POOLS] = "pools"};
    words w = {.text = mv_push_array(arena, char, LINE)};
    uint32_t from = (uint32_t)now->from, to = (uint32_t)ceil(now->to);
    if (!w.text || !d)
        return NULL;
    add(&w, "memviz view ");
    add_file(&w, mv_view_document(view));
    for (uint32_t i = 0; now->main == MV_MAIN_RANKS && i < view->document_count; i++)
        if (i != now->file) {
            add(&w, " ");
            add_file(&w, view->documents[i]);
        }
    if (mv_view_document(view)->device_count > 1)
        add(&w, " --device %u", d->device);
    if (now->main != MV_MAIN_TIMELINE && now->main != MV_MAIN_RANKS)
        add(&w, " --view %s", mains[now->main]);
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
