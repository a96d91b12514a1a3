/* Makes the command line that reproduces a view. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "view/chrome/chrome.h"

typedef struct {
    char *text; /* [size] */
    size_t length, size;
} words;

__attribute__((format(printf, 2, 3))) static void add(words *w, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(w->text + w->length, w->size - w->length, format, args);
    va_end(args);
    if (length > 0)
        w->length +=
            (size_t)length < w->size - w->length ? (size_t)length : w->size - 1 - w->length;
}

static bool has_hidden(const char *text)
{
    while (*text) {
        uint32_t code = mv_utf8_next_at(&text);
        if (code == MV_UTF8_BAD || mv_utf8_is_hidden(code))
            return true;
    }
    return false;
}

/* Adds a string as $'...', which bash and zsh can read. The line contains no control characters, so
 * pasting it cannot end the paste or run a command. */
static void add_spelled(words *w, const char *text)
{
    add(w, "$'");
    for (; *text; text++)
        if ((uint8_t)*text < 0x20 || (uint8_t)*text >= 0x7f || *text == '\'' || *text == '\\')
            add(w, "\\x%02x", (uint8_t)*text);
        else
            add(w, "%c", *text);
    add(w, "'");
}

static void add_quoted(words *w, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";

    if (*text && strspn(text, plain) == strlen(text)) {
        add(w, "%s", text);
        return;
    }
    if (has_hidden(text)) {
        add_spelled(w, text);
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

/* ---- a session ---------------------------------------------------------------------------- */

/* Makes the path independent of the working directory. */
static char *full_path(mv_arena *arena, const char *path)
{
    char full[PATH_MAX];
    const char *text = realpath(path, full) ? full : path;

    return mv_arena_text(arena, text, strlen(text));
}

bool mv_view_session(const mv_view *view, mv_arena *arena, mv_session *out)
{
    *out = (mv_session){.now = *view->now,
                        .desk = *view->desk,
                        .bookmarks = *view->bookmarks,
                        .file_count = view->document_count,
                        .files = mv_push_array(arena, char *, view->document_count + 1)};
    for (uint32_t i = 0; out->files && i < out->file_count; i++) {
        out->files[i] = full_path(arena, view->documents[i]->path);
        if (!out->files[i])
            return false;
    }
    return out->files != NULL;
}

/* Returns those members of the initial view that depend on the open files. */
static mv_session first_session(const mv_view *view)
{
    const mv_document_device *d = mv_view_device(view);
    mv_session first = {.now = mv_view_state_first, .desk = mv_view_desk_first};

    first.now.main = view->document_count > 1                ? MV_MAIN_RANKS
                     : mv_recording_is_state_only(&d->lives) ? MV_MAIN_STATE
                                                             : MV_MAIN_TIMELINE;
    first.now.cursor = d->peak_event;
    return first;
}

/* Marks the members that differ. Returns false if there are none. */
static bool give_differing(mv_session *session, const mv_session *said)
{
    bool differs = false;

    for (uint32_t i = 0; i < mv_state_member_count; i++) {
        const mv_state_member *m = &mv_state_members[i];
        const char *is = m->is_of_desk ? (const char *)&session->desk : (const char *)&session->now;
        const char *was = m->is_of_desk ? (const char *)&said->desk : (const char *)&said->now;
        session->is_given[i] =
            m->is_kept && memcmp(is + m->offset, was + m->offset, m->size * m->count) != 0;
        differs |= session->is_given[i];
    }
    return differs;
}

/* ---- a command line ----------------------------------------------------------------------- */

/* Adds options for those parts of the view that options can express, and stores the same parts in
 * `said`. */
static void add_options(words *w, const mv_view *view, mv_session *said)
{
    static const char *const mains[MV_MAIN_COUNT] = {
        [MV_MAIN_SEGMENTS] = "segments", [MV_MAIN_STATE] = "state", [MV_MAIN_POOLS] = "pools"};
    const mv_document_device *d = mv_view_device(view);
    const mv_view_state *now = view->now;
    mv_view_state *then = &said->now;
    uint32_t from = (uint32_t)now->from, to = (uint32_t)ceil(now->to);

    if (*now->level) {
        add(w, " --level ");
        add_quoted(w, now->level);
        memcpy(then->level, now->level, sizeof then->level);
    }
    then->device = now->device; /* without an option, the device with the most events is shown */
    if (mv_view_document(view)->device_count > 1)
        add(w, " --device %u", d->device);
    if (mains[now->main]) {
        add(w, " --view %s", mains[now->main]);
        then->main = now->main;
    }
    if (to - from > 1) { /* options cannot express a single event, but --state can */
        if (from > 0)
            add(w, " --from %u", from);
        if (to < d->lives.events.count)
            add(w, " --to %u", to - 1);
        then->from = from;
        then->to = to;
    }
    if (now->cursor != MV_BEFORE) {
        add(w, " --at %u", now->cursor);
        then->cursor = now->cursor;
    }
    if (*now->search) {
        add(w, " --filter ");
        add_quoted(w, now->search);
        memcpy(then->search, now->search, sizeof then->search);
        then->show = MV_SHOW_HIGHLIGHT;
    }
    if (view->desk->is_dark)
        add(w, " --theme dark");
    said->desk.is_dark = view->desk->is_dark;
}

/* Adds --state with the members that options cannot express. */
static void add_state(words *w, mv_arena *arena, mv_session *session, const mv_session *said)
{
    bool differs = give_differing(session, said);
    const char *line =
        differs || session->bookmarks.count > 0 ? mv_session_line(arena, session) : NULL;

    if (!line)
        return;
    add(w, " --state ");
    add_quoted(w, line);
}

/* Returns the maximum length of the line in bytes. A byte in quotes may become four. */
static size_t most_bytes(const mv_session *session)
{
    size_t bytes = 16384 + 4 * 4 * MV_SEARCH_TEXT + /* the strings in the state */
                   session->bookmarks.count * (4 * (MV_BOOKMARK_NAME + MV_BOOKMARK_LEVEL) + 180);

    for (uint32_t i = 0; i < session->file_count; i++)
        bytes += 4 * strlen(session->files[i]) + 4;
    return bytes;
}

const char *mv_command_line(const mv_view *view, mv_arena *arena)
{
    mv_session session, said;
    words w = {0};

    if (!mv_view_device(view) || !mv_view_session(view, arena, &session))
        return NULL;
    said = first_session(view);
    w.size = most_bytes(&session);
    w.text = mv_push_array(arena, char, w.size);
    if (!w.text)
        return NULL;
    add(&w, "memviz view");
    for (uint32_t i = 0; i < session.file_count; i++) {
        add(&w, " ");
        add_quoted(&w, session.files[i]);
    }
    add_options(&w, view, &said);
    add_state(&w, arena, &session, &said);
    return w.text;
}

const char *mv_view_link(const mv_view *view, mv_arena *arena)
{
    const mv_document_device *d = mv_view_device(view);
    mv_session session, first;

    if (!d || !mv_view_session(view, arena, &session))
        return "";
    first = first_session(view);
    first.desk.is_dark = session.desk.is_dark; /* both depend on the screen of whoever opens the
                                                  session */
    first.desk.scale = session.desk.scale;
    if (mv_view_document(view)->device_count == 1)
        first.now.device = session.now.device;
    if (session.now.from <= 0 && session.now.to >= d->lives.events.count) {
        first.now.from = session.now.from;
        first.now.to = session.now.to;
    }
    if (!give_differing(&session, &first) && session.bookmarks.count == 0)
        return "";
    return mv_session_line(arena, &session);
}
