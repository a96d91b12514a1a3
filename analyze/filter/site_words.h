/* The filter term `site:`, which compares only the line of code to blame for a stack (its culprit,
 * analyze/code/culprit.h), not the stack's other frames.
 *
 *     site:train.py:62            this line in every file of this name
 *     site:lib/train.py:62        this line, only in files in a folder of this name
 *     site:train.py:62:forward    this line, only in this function
 *     site:train.py               every line of this file
 *     site:at::empty              frames without a file in this function
 *
 * Case matters: Train.py is a different file. */
#pragma once

#include "parse/model/trace.h"

/* Whether `word`, which has neither "site:" nor quotation marks, names this frame. */
bool mv_site_is(const mv_trace *trace, mv_frame_id frame, mv_span word);

/* Writes the shortest term that names this frame and no other frame of the trace, such as
 * "site:train.py:62"; "" if there is no such term or it does not fit. O(frames). Returns `out`. */
const char *mv_site_term(const mv_trace *trace, mv_frame_id frame, char *out, size_t size);
