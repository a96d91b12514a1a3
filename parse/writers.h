/* Writes a trace to a file through mv_sink, so the file is complete or absent. mv_sink_commit
 * reports failed writes. */
#ifndef MV_WRITERS_H
#define MV_WRITERS_H

#include "parse/model/living.h"
#include "parse/readers.h"
#include "parse/source/sink.h"

typedef struct {
    mv_progress_fn *progress; /* NULL: none; receives the events written so far and in total */
    void *user;
    bool is_tight; /* make the container smaller; takes up to half a second per million events */
    const mv_digest *digests; /* [device_count] for the container (analyze/lives/digests.h); NULL:
                               * write no digests */
    const mv_spans *spans;    /* [device_count] for LIVING chunks; NULL: write none. Not used
                               * without digests */
    uint32_t chunk_rows;      /* for tests: events per chunk, with a LIVING chunk before each; 0: as
                               * many as for other tables, and fewer LIVING chunks */
    const char *name;         /* name of the input file, for formats that store it; NULL: none */
} mv_write_opts;

/* memviz's own container (docs/internals/snapshot-format.md). Lossless for the whole model. */
mv_code mv_snapshot_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_err *err);

/* The same with events in pieces, for traces larger than memory:
 *
 *     mv_snapshot_begin, mv_snapshot_put for each piece of each device in turn, mv_snapshot_end
 *
 * The trace has all other rows, and only the number of events. Pieces are as parse/pieces.h
 * describes: if lifetimes are known, a piece begins with the live rows of mv_snapshot_alive, which
 * are valid until the piece is put. All pieces except a device's last one must be whole chunks.
 * mv_snapshot_end reports failures, and accepts NULL. */
typedef struct mv_snapshot_writer mv_snapshot_writer;

typedef struct {
    uint32_t device;
    const mv_events *events;
    uint32_t before;       /* number of live rows at the beginning */
    const mv_spans *spans; /* lifetimes of these events; NULL: unknown */
} mv_snapshot_piece;

mv_snapshot_writer *mv_snapshot_begin(mv_arena *scratch, const mv_trace *trace,
                                      const mv_write_opts *opts, mv_sink *sink);
void mv_snapshot_put(mv_snapshot_writer *writer, mv_snapshot_piece piece);
const mv_living_columns *mv_snapshot_alive(const mv_snapshot_writer *writer);
mv_code mv_snapshot_end(mv_snapshot_writer *writer, mv_err *err);

/* Writes PyTorch's own dict as msgpack, with every stack written out, like
 * msgpack.packb(pickle.load(file)). Lossless except for the identity of stack objects
 * (mv_events.call). */
mv_code mv_plain_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                       mv_sink *sink, mv_err *err);

#endif
