/* One side's code as a trace shows it: files, the functions in them, the lines of those. Part of
 * mv_frames_match. Everything is in order of content, not of rows: files by path, functions by
 * file and name, lines by number. */
#ifndef MV_CODE_SIDE_H
#define MV_CODE_SIDE_H

#include "analyze/diff/frame_match.h"

/* What a line calls, as a set: one bit for each function, by a hash of its name. */
typedef uint64_t mv_callees;

typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    const uint32_t *text; /* [strings.count + 1] numbers of texts that both sides share, in order
                           * of the texts; the last is that of MV_NO_STRING */
    uint32_t files;
    uint32_t *file_text; /* [files] */
    mv_string_id *file;  /* [files] a string of that text */
    uint32_t functions;
    uint32_t *of_file;      /* [functions] row of files */
    uint32_t *name;         /* [functions] number of the text */
    uint64_t *name_hash;    /* [functions] of the name alone */
    mv_callees *calls;      /* [functions] of all its lines */
    uint32_t *first_line;   /* [functions + 1] rows of lines */
    uint32_t lines;         /* distinct ones */
    int64_t *line;          /* [lines] */
    mv_callees *line_calls; /* [lines] */
    uint32_t *line_of;      /* [frames.count] row of lines */
    uint32_t *function_of;  /* [frames.count] row of functions */
} mv_code_side;

/* Fills text[0] and text[1]. False when memory is out. */
bool mv_code_texts(mv_arena *arena, const mv_trace *const trace[2], uint32_t *text[2]);

bool mv_code_side_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                       const uint32_t *text, mv_code_side *out);

#endif
