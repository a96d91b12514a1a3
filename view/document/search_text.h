/* The search that a click on a box, a row or a finding puts into the search field. */
#pragma once

#include "analyze/code/sites.h"
#include "analyze/filter/filter.h"

enum { MV_SEARCH_LINE = 512 };

/* Writes a filter (analyze/filter/filter.h) that matches every stack with this frame, such as
 * "train.py:62:forward". The frame is put in quotation marks if it would otherwise be read as a
 * term. Frames in other folders with the same file name, line and function also match. If the
 * filter had to be cut to fit, frames with the same beginning match too. "" for MV_NO_FRAME.
 * Returns `out`. */
const char *mv_search_of_frame(const mv_trace *trace, mv_frame_id frame, char *out, size_t size);

/* Finds the lines of code that a frame can identify. of_group[g] is the frame that is the culprit
 * of all stacks in group g of `sites` and of no other stack; MV_NO_FRAME: there is no such frame.
 * Returns NULL when out of memory. O(frames of all stacks). */
const mv_frame_id *mv_frames_of_groups(mv_arena *arena, const mv_trace *trace,
                                       const mv_sites *sites);

/* Writes terms that match exactly the stacks in the group of `stack`. If `frame` is enough to
 * identify the group, the term is the line of code of `frame`, otherwise the number of the stack;
 * "nostack" for MV_NO_STACK. O(frames) with a frame. Returns `out`. */
const char *mv_search_of_line(const mv_trace *trace, mv_frame_id frame, mv_stack_id stack,
                              char out[MV_SEARCH_LINE]);

/* Writes a term to append to a search, such as " cat:activation" or " cat:"cuBLAS"". Returns
 * `out`. */
const char *mv_search_of_category(const char *name, char out[MV_SEARCH_LINE]);

/* Writes "block:3,7-9" for rows of allocations, which must be in ascending order; "" if the term
 * does not fit. */
const char *mv_search_of_rows(const uint32_t *rows, uint32_t count, char *out, size_t size);
