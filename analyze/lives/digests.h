/* Digests of devices, with the history of their lives (parse/model/digest.h). */
#ifndef MV_DIGESTS_H
#define MV_DIGESTS_H

#include "analyze/lives/lives.h"
#include "parse/model/living.h"

/* The digest of one device: from the file if the events were left out, else computed in O(n log n).
 * Temporary memory comes from the arena's budget. Fails as mv_lives_find does. */
mv_code mv_digest_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_digest *out,
                       mv_err *err);

/* Digests of all event lists, [trace->device_count] in the arena, for mv_write_opts; also their
 * lives, unless `spans` is NULL. NULL on failure. */
const mv_digest *mv_digests_make(mv_arena *arena, const mv_trace *trace, const mv_spans **spans,
                                 mv_err *err);

/* The lives of a piece of a trace (parse/model/living.h); they must be beyond doubt. */
mv_spans mv_spans_of(const mv_lives *lives);

#endif
