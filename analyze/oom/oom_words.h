/* Writes the sentences of the report on failed requests: why each request failed, what to do about
 * it, which change would have been sufficient, and how many requests failed. Commands, pages and
 * the viewer print the sentences unchanged. */
#pragma once

#include "analyze/oom/oom_evaluate.h"

/* Sets `why` and `advice` of a failure that has a verdict. Returns false when out of memory. */
bool mv_oom_words(const mv_oom_case *this_case, mv_oom *oom);

/* Sets `enough` from `change`. Returns false when out of memory. */
bool mv_oom_change_words(const mv_oom_case *this_case, mv_oom *oom);

/* Sets the sentences about all failures from their figures. Returns false when out of memory. */
bool mv_ooms_words(mv_arena *arena, const mv_lives *lives, mv_window window, mv_ooms *out);
