/* A session as text: the open files and how they are shown. This code reads and writes no files.
 *
 *     memviz session 1
 *     path /data/train.pickle
 *     device 0
 *     main timeline
 *     pinned 77
 *     search train.py:62
 *     bookmark 0 0 4000 3900 4100 none the spike
 *     end
 *
 * A line contains the name of a member of view_state.def and its value, which is "yes" or "no", a
 * word, a number, "none" for no row, or text up to the end of the line. Missing members keep their
 * defaults. Empty lines and lines that begin with # are ignored. In text, control bytes, invalid
 * UTF-8, backslashes and ';' are written as \xNN.
 *
 * Temporary state is omitted. This is the keyboard focus (MV_STATE_MOMENT in view_state.def),
 * unconfirmed text in fields, rows selected in open lists, and the position of the keyboard's mark,
 * which depends on the size of the last frame. Text in the search field counts as confirmed,
 * because it is the member `search`. Like a new window, a session opens with every list and field
 * closed and the keyboard focus in the lower pane. The history of Back also starts anew, so Back
 * once leaves the session.
 *
 * --state takes the same lines separated by ';', without the first line, the paths and the last
 * line. */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"
#include "parse/readers.h"
#include "view/state/bookmarks.h"
#include "view/state/view_state.h"

enum { MV_SESSION_MOST = 4 << 20 /* maximum length of a session */, MV_SESSION_FILES = 1024 };

typedef struct {
    uint32_t file_count;
    char **files; /* [file_count] paths, in the order of mv_view_state.file */
    mv_view_state now;
    mv_view_desk desk; /* setup of the window; only members that are kept in sessions */
    mv_bookmarks bookmarks;
    bool is_given[MV_STATE_MOST]; /* true for each row of mv_state_members that the text contains */
} mv_session;

/* Records that the text contains a member. `member` points to it in session->now or
 * session->desk. */
void mv_session_give(mv_session *session, const void *member);

/* Return the session as text, or as one line for --state; NULL when out of memory. mv_session_line
 * writes only given members, and bookmarks. */
const char *mv_session_text(mv_arena *arena, const mv_session *session);
const char *mv_session_line(mv_arena *arena, const mv_session *session);

/* Read a session strictly. An unknown or repeated member, a value out of range or a missing end is
 * an error, which is reported with its byte offset and a sentence, and leaves *out unchanged.
 * Strings are copied. Values that depend on the file, such as event numbers, are not checked. */
mv_code mv_session_read(mv_arena *arena, mv_span text, mv_session *out, mv_err *err);
mv_code mv_session_read_line(mv_arena *arena, mv_span line, mv_session *out, mv_err *err);
