/* Traces in which every string is hostile. */
#pragma once

#include "parse/model/trace.h"

/* Puts each string of the trace between two of the `harms`, which are used in rotation. Unless
 * `all_strings` is set, the keys of facts and settings stay as they are; if they changed, a report
 * would not mention their values. */
void mvt_poison(mv_arena *arena, mv_trace *t, const mv_span *harms, uint32_t count,
                bool all_strings);
