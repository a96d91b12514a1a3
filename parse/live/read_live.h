/* From a live file (capture/wire_live.h) to the model: what mv_snapshot_read does when a `.bin` is
 * that of a capture which is still running, or whose process was killed.
 *
 *     live_chunks   the chunks that hold, and how far
 *     live_names    ids to strings, frames and stacks; lines and symbols
 *     live_events   the records of all threads, in the order of their numbers
 *     live_ranges   what threads mark: moments and nested ranges
 *     live_heap     what is alive: the allocator's segments, and the blocks in them
 *     read_live.c   records to rows
 *
 * docs/capture.md, "Reading", says what becomes of what. */
#ifndef MV_READ_LIVE_H
#define MV_READ_LIVE_H

#include "parse/model/build.h"
#include "parse/readers.h"

/* What whoever finalises a capture knows besides. */
typedef struct {
    const char *key, *value;
} mv_live_fact;

typedef struct {
    const mv_live_fact *facts; /* [fact_count] in place of the file's own of the same key */
    uint32_t fact_count;
    bool looks_here; /* for libraries, though the capture is of another machine */
} mv_live_opts;

/* Whether a `.bin` is a live one: the first chunk header in it that is whole says so. */
bool mv_live_probe(mv_span file);

/* Fills `out` but for its origin; temporary memory comes from the arena's budget. `opts` may be
 * NULL. Damage and losses
 * are notes; it fails for want of memory or rows, or when no chunk can be used. The file may grow
 * meanwhile. */
mv_code mv_live_read(mv_arena *arena, mv_span file, const mv_live_opts *opts, mv_trace *out,
                     mv_err *err);

#endif
