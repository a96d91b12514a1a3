/* Summaries as bytes: the .summary files of `memviz summarize`. One file holds any number of them,
 * so files are merged by gathering their summaries. docs/ranks.md describes every byte. */
#ifndef MV_SUMMARY_BYTES_H
#define MV_SUMMARY_BYTES_H

#include "analyze/ranks/summary.h"

#define MV_SUMMARY_VERSION 1
#define MV_SUMMARY_MAGIC   "\xC1MVS\r\n\x1a\n"

enum { MV_SUMMARY_MAGIC_BYTES = 8, MV_SUMMARY_HEADER = 32 };

/* Whether a file that starts so holds summaries. */
bool mv_summary_probe(mv_span head);

/* The bytes of `count` summaries, in `arena`. Sequences are thinned to MV_SUMMARY_FILE_POINTS.
 * Fails only for want of memory. */
mv_code mv_summaries_encode(mv_arena *arena, const mv_summary *const *summaries, uint32_t count,
                            mv_span *out, mv_err *err);

/* Bytes of a file into *count summaries in `arena`. Whatever the bytes are, what comes out keeps
 * the promises of analyze/ranks/summary.h, or it fails: FORMAT, VERSION, CHECKSUM, TRUNCATED,
 * RANGE, NOMEM, LIMIT; err->offset is the byte. */
mv_code mv_summaries_decode(mv_arena *arena, mv_span bytes, mv_summary **out, uint32_t *count,
                            mv_err *err);

#endif
