/* Lists the code on one side of a comparison, as shown by its trace: files, functions and lines.
 * Used by mv_frames_match. All tables are sorted by content: files by path, functions by file and
 * name, lines by number. */
#pragma once

#include "analyze/diff/frame_match.h"

/* The set of functions that a line calls, with one bit for each hash of a function name. */
typedef uint64_t mv_callees;

typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    const uint32_t *text; /* [strings.count + 1] number of each string, shared by both sides and
                           * ascending in the order of the strings; the last entry is for
                           * MV_NO_STRING */
    uint32_t files;
    uint32_t *file_text; /* [files] */
    mv_string_id *file;  /* [files] string that contains the file's path */
    uint32_t functions;
    uint32_t *of_file;      /* [functions] the function's row in files */
    uint64_t *name_hash;    /* [functions] hash of the function's name */
    mv_callees *calls;      /* [functions] callees of all lines of the function */
    uint32_t *first_line;   /* [functions + 1] first row of the function in lines */
    uint32_t lines;         /* number of different lines */
    int64_t *line;          /* [lines] */
    mv_callees *line_calls; /* [lines] */
    uint32_t *line_of;      /* [frames.count] the frame's row in lines */
    uint32_t *function_of;  /* [frames.count] the frame's row in functions */
} mv_code_side;

/* Numbers the strings of both traces into text[0] and text[1]. Returns false when out of memory. */
bool mv_code_texts(mv_arena *arena, const mv_trace *const trace[2], uint32_t *text[2]);

bool mv_code_side_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                       const uint32_t *text, mv_code_side *out);
