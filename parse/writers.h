/* From a trace to a file. All write through mv_sink: a complete file or none. mv_sink_commit
 * reports failed writes. */
#ifndef MV_WRITERS_H
#define MV_WRITERS_H

#include "parse/model/living.h"
#include "parse/readers.h"
#include "parse/source/sink.h"

typedef struct {
    mv_progress_fn *progress; /* NULL: none; gets the events written so far and in total */
    void *user;
    bool is_tight; /* the container should be small, and may take half a second per million
                       * events */
    const mv_digest *digests; /* [device_count] for the container (analyze/lives/digests.h); NULL:
                               * without them */
    const mv_spans *spans;    /* [device_count] for what is alive before parts of the events; NULL:
                               * without, as without digests */
    const char *name;         /* of the input file, for a format that stores it; NULL: none */
} mv_write_opts;

/* memviz's own container (docs/internals/snapshot-format.md). Lossless for the whole model. */
mv_code mv_snapshot_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_err *err);

/* msgpack of PyTorch's own dict, with every stack written out: what
 * msgpack.packb(pickle.load(file)) gives. Lossless except for the identity of stack objects
 * (mv_events.call). */
mv_code mv_plain_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                       mv_sink *sink, mv_err *err);

#endif
