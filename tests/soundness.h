/* Whether a trace keeps the promises of parse/trace.h: every row number points into its table,
 * every range lies inside. Readers must keep them whatever bytes they are given. */
#ifndef MV_SOUNDNESS_H
#define MV_SOUNDNESS_H

#include "parse/readers.h"

/* The first column that breaks a promise ("events.stack"), or NULL. */
const char *mvt_unsound(const mv_trace *trace);

/* For fuzz targets: reads bytes with one reader in at most 256 MiB and aborts when the trace is
 * unsound, or when a failure comes without a code or with an offset behind the input. Always 0. */
typedef mv_code mvt_read_fn(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                            mv_trace *out, mv_err *err);
int mvt_one_input(const uint8_t *data, size_t size, mvt_read_fn *read);

#endif
