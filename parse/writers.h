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
    uint32_t chunk_rows;      /* of events in a chunk, each with what is alive before it: for tests;
                               * 0: as many as in other tables, and less often */
    const char *name;         /* of the input file, for a format that stores it; NULL: none */
} mv_write_opts;

/* memviz's own container (docs/internals/snapshot-format.md). Lossless for the whole model. */
mv_code mv_snapshot_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_err *err);

/* The same with events that come in pieces, for traces larger than memory:
 *
 *     mv_snapshot_begin, mv_snapshot_put for the pieces of each device, by device, mv_snapshot_end
 *
 * The trace has all other rows, and of the events their number. Each piece is as parse/pieces.h
 * gives it: the rows before it are those of mv_snapshot_alive, which are valid until it is put, if
 * its lives are known. All pieces but the last one of a device are whole chunks. Failures are
 * reported at the end, which accepts NULL. */
typedef struct mv_snapshot_writer mv_snapshot_writer;

typedef struct {
    uint32_t device;
    const mv_events *events;
    uint32_t before;       /* rows before the piece */
    const mv_spans *spans; /* lives of these events; NULL: not known */
} mv_snapshot_piece;

mv_snapshot_writer *mv_snapshot_begin(mv_arena *scratch, const mv_trace *trace,
                                      const mv_write_opts *opts, mv_sink *sink);
void mv_snapshot_put(mv_snapshot_writer *writer, mv_snapshot_piece piece);
const mv_living_columns *mv_snapshot_alive(const mv_snapshot_writer *writer);
mv_code mv_snapshot_end(mv_snapshot_writer *writer, mv_err *err);

/* msgpack of PyTorch's own dict, with every stack written out: what
 * msgpack.packb(pickle.load(file)) gives. Lossless except for the identity of stack objects
 * (mv_events.call). */
mv_code mv_plain_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                       mv_sink *sink, mv_err *err);

#endif
