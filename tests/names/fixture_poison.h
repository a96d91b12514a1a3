/* Traces in which every string is hostile. */
#ifndef MV_FIXTURE_POISON_H
#define MV_FIXTURE_POISON_H

#include "base/cursor.h"
#include "parse/model/trace.h"

/* Puts each string of the trace between two of `harms`, used in rotation. Without `all_strings`,
 * the keys of facts and settings stay: if they changed, a report would not mention the values. */
void mvt_poison(mv_arena *arena, mv_trace *t, const mv_span *harms, uint32_t count,
                bool all_strings);

#endif
