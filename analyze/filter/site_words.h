/* The term site: of a filter: the line of code that a stack is charged to (its culprit,
 * analyze/code/culprit.h), and no other frame of it.
 *
 *     site:train.py:62            that line of every file of this name
 *     site:lib/train.py:62        of those in a folder of this name
 *     site:train.py:62:forward    of those with this function
 *     site:train.py               every line of it
 *     site:at::empty              a frame without a file, by its function
 *
 * Letters count: Train.py is another file. */
#ifndef MV_SITE_WORDS_H
#define MV_SITE_WORDS_H

#include "parse/model/trace.h"

/* Whether the word, without "site:" and quotation marks, names this frame. */
bool mv_site_is(const mv_trace *trace, mv_frame_id frame, mv_span word);

/* The shortest term that names this frame and no other of the trace, such as "site:train.py:62";
 * "" when there is none or it does not fit. O(frames). Returns `out`. */
const char *mv_site_term(const mv_trace *trace, mv_frame_id frame, char *out, size_t size);

#endif
