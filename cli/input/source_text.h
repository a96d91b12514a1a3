/* Shows source lines in a report, if the files that a snapshot names exist on this machine.
 *
 * A path from a snapshot is only ever read as a regular file of limited size, and cannot lead out
 * of the folder that --source names. */
#pragma once

#include "parse/model/trace.h"

typedef struct {
    mv_string_id file;
    mv_span text;    /* contents of the file; empty: the file does not exist on this machine */
    bool is_foreign; /* the user was warned that the file is a different version */
} mv_source_file;

typedef struct {
    mv_arena *arena;
    const char *folder; /* directory that --source names; NULL: paths are used unchanged */
    mv_source_file *files;
    uint32_t count, capacity;
} mv_source_text;

/* `where` is the argument of --source: "auto", or a directory. In a directory, a file is looked up
 * first by its whole path, then without the path's leading components: FOLDER/a/b/c.py,
 * FOLDER/b/c.py, FOLDER/c.py. Fails if the directory does not exist. */
mv_code mv_source_text_init(mv_source_text *source, mv_arena *arena, const char *where,
                            mv_err *err);

/* Returns the text of a frame's line without surrounding blanks. The text is empty if there is
 * none. */
mv_span mv_source_text_line(mv_source_text *source, const mv_trace *trace, mv_frame_id frame);

/* Whether the file on this machine is clearly not the version that ran: the frame's line is after
 * the end of the file, or is blank or a comment, or (in Python) is not within a function of that
 * name. `why` receives the reason. */
bool mv_source_text_differs(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                            char *why, size_t size);

/* Like mv_source_text_differs, but only once for each file: returns false if the user was already
 * warned. */
bool mv_source_text_report(mv_source_text *source, const mv_trace *trace, mv_frame_id frame,
                           char *why, size_t size);
