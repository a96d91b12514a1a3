/* Source lines shown in a report, if the files that a snapshot names exist on this machine.
 *
 * A path from a snapshot is only ever read as a regular file of limited size, and cannot lead out
 * of the folder that --source names. */
#ifndef MV_SOURCE_TEXT_H
#define MV_SOURCE_TEXT_H

#include "parse/model/trace.h"

typedef struct {
    mv_string_id file;
    mv_span text;    /* contents of the file; empty: the file does not exist here */
    bool is_foreign; /* the user was warned that it is a different version */
} mv_source_file;

typedef struct {
    mv_arena *arena;
    const char *folder; /* NULL: paths are used unchanged */
    mv_source_file *files;
    uint32_t count, capacity;
} mv_source_text;

/* `where` is the argument of --source: "auto", or a folder in which a file is searched by its path,
 * and then without the first components of the path: FOLDER/a/b/c.py, FOLDER/b/c.py, FOLDER/c.py.
 * Fails if the folder does not exist. */
mv_code mv_source_text_init(mv_source_text *source, mv_arena *arena, const char *where,
                            mv_err *err);

/* The text of a frame's line without the blanks around it; empty if there is none. */
mv_span mv_source_text_line(mv_source_text *source, const mv_trace *trace, mv_frame_id frame);

/* Whether the found file is clearly not the version that ran: the frame's line is after its end, is
 * blank or a comment, or, in Python, is not within a function of that name. `why` is the reason. */
bool mv_source_text_differs(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                            char *why, size_t size);

/* As above, but only once for each file: false if the user was already warned. */
bool mv_source_text_report(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                           char *why, size_t size);

#endif
