/* Source lines beside a report, where the files that a snapshot mentions are here.
 *
 * A path out of a snapshot is only ever read as a regular file of bounded size, and never climbs
 * out of the folder that --source names. */
#ifndef MV_SOURCE_TEXT_H
#define MV_SOURCE_TEXT_H

#include "parse/model/trace.h"

typedef struct {
    mv_string_id file;
    mv_span text;    /* empty: it is not here */
    bool is_foreign; /* somebody was told that it is another version */
} mv_source_file;

typedef struct {
    mv_arena *arena;
    const char *folder; /* NULL: paths are taken as they are */
    mv_source_file *files;
    uint32_t count, capacity;
} mv_source_text;

/* `where` is the argument of --source: "auto", or a folder in which a file is looked for under its
 * path, then without the first parts of it: FOLDER/a/b/c.py, FOLDER/b/c.py, FOLDER/c.py. Fails when
 * there is no such folder. */
mv_code mv_source_text_init(mv_source_text *source, mv_arena *arena, const char *where,
                            mv_err *err);

/* The text of a frame's line without the blanks around it; empty where there is none. */
mv_span mv_source_text_line(mv_source_text *source, const mv_trace *trace, mv_frame_id frame);

/* Whether the file that was found is evidently another version than the one that ran: the frame's
 * line is behind its end, blank or a comment, or of Python not within a function of that name.
 * `why` says which. */
bool mv_source_text_differs(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                            char *why, size_t size);

/* The same, once a file: false when it was told before. */
bool mv_source_text_tells(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                          char *why, size_t size);

#endif
