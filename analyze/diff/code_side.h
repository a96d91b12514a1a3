/* The code of one side according to its trace: files, functions and lines. Part of mv_frames_match.
 * All tables are sorted by content: files by path, functions by file and name, lines by number. */
#ifndef MV_CODE_SIDE_H
#define MV_CODE_SIDE_H

#include "analyze/diff/frame_match.h"

/* The set of functions that a line calls: one bit per function, by a hash of its name. */
typedef uint64_t mv_callees;

typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    const uint32_t *text; /* [strings.count + 1] text numbers, shared by both sides, in order of the
                           * texts; the last entry is for MV_NO_STRING */
    uint32_t files;
    uint32_t *file_text; /* [files] */
    mv_string_id *file;  /* [files] a string with the file's path */
    uint32_t functions;
    uint32_t *of_file;      /* [functions] row of files */
    uint32_t *name;         /* [functions] number of the text */
    uint64_t *name_hash;    /* [functions] hash of the function's name */
    mv_callees *calls;      /* [functions] callees of all its lines */
    uint32_t *first_line;   /* [functions + 1] rows of lines */
    uint32_t lines;         /* number of distinct lines */
    int64_t *line;          /* [lines] */
    mv_callees *line_calls; /* [lines] */
    uint32_t *line_of;      /* [frames.count] row of lines */
    uint32_t *function_of;  /* [frames.count] row of functions */
} mv_code_side;

/* Fills text[0] and text[1]. False when out of memory. */
bool mv_code_texts(mv_arena *arena, const mv_trace *const trace[2], uint32_t *text[2]);

bool mv_code_side_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                       const uint32_t *text, mv_code_side *out);

#endif
