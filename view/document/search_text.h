/* The search for a frame: the text that a click on a box, a row or a finding puts into the search
 * field. */
#ifndef MV_SEARCH_TEXT_H
#define MV_SEARCH_TEXT_H

#include "analyze/filter/filter.h"

/* A filter (analyze/filter/filter.h) that matches every stack with this frame:
 * "train.py:62:forward", in quotation marks if a filter would read it as a term. Frames in other
 * folders with the same file name, line and function also match; if the text had to be cut to fit,
 * so do frames with the same beginning. "" for MV_NO_FRAME. Returns `out`. */
const char *mv_search_of_frame(const mv_trace *trace, mv_frame_id frame, char *out, size_t size);

#endif
