/* The search for a frame: the text that a click on a box, a row or a finding puts into the search
 * field. */
#ifndef MV_SEARCH_TEXT_H
#define MV_SEARCH_TEXT_H

#include "analyze/code/sites.h"
#include "analyze/filter/filter.h"

enum { MV_SEARCH_LINE = 512 };

/* A filter (analyze/filter/filter.h) that matches every stack with this frame:
 * "train.py:62:forward", in quotation marks if a filter would read it as a term. Frames in other
 * folders with the same file name, line and function also match; if the text had to be cut to fit,
 * so do frames with the same beginning. "" for MV_NO_FRAME. Returns `out`. */
const char *mv_search_of_frame(const mv_trace *trace, mv_frame_id frame, char *out, size_t size);

/* The lines of code that a frame alone identifies: of_group[g] is the frame that is the culprit of
 * all stacks of that group of `sites` and of no other; MV_NO_FRAME: none. NULL when out of memory.
 * O(frames of all stacks). */
const mv_frame_id *mv_frames_of_groups(mv_arena *arena, const mv_trace *trace,
                                       const mv_sites *sites);

/* Terms that match exactly the stacks of this stack's group: `frame` as a line of code if it is the
 * group's only name, else the number of the stack; "nostack" for MV_NO_STACK. O(frames) with a
 * frame. Returns `out`. */
const char *mv_search_of_line(const mv_trace *trace, mv_frame_id frame, mv_stack_id stack,
                              char out[MV_SEARCH_LINE]);

/* " cat:activation", " cat:"cuBLAS"": appended to a search. Returns `out`. */
const char *mv_search_of_category(const char *name, char out[MV_SEARCH_LINE]);

/* "block:3,7-9" for rows of allocations in rising order; "" if the text does not fit. */
const char *mv_search_of_rows(const uint32_t *rows, uint32_t count, char *out, size_t size);

#endif
