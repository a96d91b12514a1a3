/* Encodes and decodes summaries as the bytes of .summary files, which `memviz summarize` writes. A
 * file contains any number of summaries, so files are merged by collecting their summaries.
 * docs/ranks.md describes every byte. */
#pragma once

#include "analyze/ranks/shared_parts.h"

#define MV_SUMMARY_VERSION 1
#define MV_SUMMARY_MAGIC   "\xC1MVS\r\n\x1a\n"

enum { MV_SUMMARY_MAGIC_BYTES = 8, MV_SUMMARY_HEADER = 32 };

/* Whether a file that starts with these bytes contains summaries. */
bool mv_summary_probe(mv_span head);

/* Encodes `count` summaries into bytes in `arena`. Sequences are reduced to MV_SUMMARY_FILE_POINTS
 * points. Fails only when out of memory. */
mv_code mv_summaries_encode(mv_arena *arena, const mv_summary *const *summaries, uint32_t count,
                            mv_span *out, mv_err *err);

/* Decodes the bytes of a file into *count summaries in `arena`. Whatever the bytes are, either the
 * result conforms to summary.h, or the call fails with FORMAT, VERSION, CHECKSUM, TRUNCATED, RANGE,
 * NOMEM or LIMIT and the position in err->offset. `shared` may be NULL. Parts that equal a part in
 * `shared` are not decoded again, and other parts are added to `shared`, so `arena` must outlive
 * `shared` even after a failure. */
mv_code mv_summaries_decode(mv_arena *arena, mv_shared_parts *shared, mv_span bytes,
                            mv_summary **out, uint32_t *count, mv_err *err);
