/* Computes the digests of devices, which include the kind of history that the lives have
 * (parse/model/digest.h). */
#pragma once

#include "analyze/lives/lives.h"
#include "parse/model/living.h"

/* Finds the digest of one device. It comes from the file if the events were left out, otherwise it
 * is computed in O(n log n). Temporary memory is taken from the arena's budget. Fails as
 * mv_lives_find does. */
mv_code mv_digest_find(mv_arena *arena, const mv_trace *trace, uint32_t device, mv_digest *out,
                       mv_err *err);

/* Returns the digests of all event lists, [trace->device_count], allocated in the arena, for
 * mv_write_opts; also sets *spans to their lives, unless `spans` is NULL. Returns NULL on
 * failure. */
const mv_digest *mv_digests_make(mv_arena *arena, const mv_trace *trace, const mv_spans **spans,
                                 mv_err *err);

/* Returns the lives for the parts of a trace (parse/model/living.h). The lives must have no
 * doubts. */
mv_spans mv_spans_of(const mv_lives *lives);
