/* A session: which files are open and what is shown of them, as text. No file is read or written
 * here.
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
 * A line is a member of view_state.def and its value: "yes" or "no", a word, a number, "none" for
 * no row, a text up to the end of the line. What is not there stays as a viewer begins. Lines that
 * begin with # and empty lines mean nothing. In texts a byte that is a control, not UTF-8, a
 * backslash or ';' is \xNN.
 *
 * Left out is what lasts for a moment, and means nothing without the rest of it: what has the
 * keyboard (MV_STATE_MOMENT of view_state.def), texts of fields that are not confirmed yet (that of
 * the search is: it is `search`), rows chosen in open lists, and where the keyboard's mark is,
 * which is a thing of the last frame, and of a window of that size. A session opens with every list
 * and field closed and the keyboard in the lower pane, as a window begins. So does the history of
 * Back: one step leads out of a session.
 *
 * The same lines without the first, the paths and the last are what --state has, with ';' between.
 */
#ifndef MV_SESSION_H
#define MV_SESSION_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/err.h"
#include "parse/readers.h"
#include "view/state/bookmarks.h"
#include "view/state/view_state.h"

enum { MV_SESSION_MOST = 4 << 20 /* bytes of a text */, MV_SESSION_FILES = 1024 };

typedef struct {
    uint32_t file_count;
    char **files; /* [file_count] paths, in the order of mv_view_state.file */
    mv_view_state now;
    mv_view_desk desk; /* without what is not kept */
    mv_bookmarks bookmarks;
    bool is_given[MV_STATE_MOST]; /* rows of mv_state_members that the text has */
} mv_session;

/* Notes that the text has the member of session->now or session->desk that is at `member`. */
void mv_session_give(mv_session *session, const void *member);

/* NULL when memory is out. mv_session_line writes only members that are given, and bookmarks. */
const char *mv_session_text(mv_arena *arena, const mv_session *session);
const char *mv_session_line(mv_arena *arena, const mv_session *session);

/* Read strictly: an unknown member, one that is there twice, a value out of its range or a missing
 * end fail with the byte where it is and a sentence; *out is unchanged then. Texts are copied. What
 * only a file can tell, such as how many events there are, is not checked. */
mv_code mv_session_read(mv_arena *arena, mv_span text, mv_session *out, mv_err *err);
mv_code mv_session_read_line(mv_arena *arena, mv_span line, mv_session *out, mv_err *err);

#endif
