/* Writes a trace to a file through mv_sink, so that the file is either complete or absent.
 * mv_sink_commit reports failed writes. */
#pragma once

#include "parse/model/living.h"
#include "parse/readers.h"
#include "parse/source/sink.h"

/* The size of a container. */
typedef enum {
    MV_WRITE_QUICK,
    MV_WRITE_SMALL,   /* a tenth smaller; takes 0.2 s of CPU time more per million events */
    MV_WRITE_SMALLEST /* a fifth smaller; takes a second of CPU time per million events */
} mv_write_size;

typedef struct {
    mv_progress_fn *progress; /* called with the number of events written so far and in total; NULL:
                               * none */
    void *user;
    mv_write_size size;       /* mv_snapshot_write only */
    const mv_digest *digests; /* [device_count] digests to store in the container
                               * (analyze/lives/digests.h); NULL: none are stored */
    const mv_spans *spans;    /* [device_count] lifetimes from which LIVING chunks are written;
                               * NULL: none are written. Ignored without digests */
    uint32_t chunk_rows;      /* for tests: events per chunk, with a LIVING chunk before each of
                               * them; 0: as many as other tables have rows per chunk, with fewer
                               * LIVING chunks */
    const char *name;         /* name of the input file, for formats that store it; NULL: none */
} mv_write_opts;

/* memviz's own container (docs/internals/snapshot-format.md). Lossless for the whole model. */
mv_code mv_snapshot_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                          mv_sink *sink, mv_err *err);

/* Writes a container whose events arrive in pieces, for traces larger than memory:
 *
 *     mv_snapshot_begin, mv_snapshot_put for each piece of each device in turn, mv_snapshot_end
 *
 * The trace contains all rows of the other tables, but only the number of events. parse/pieces.h
 * describes pieces. If lifetimes are known, a piece begins with the live rows returned by
 * mv_snapshot_alive, which stay valid until the piece is passed to mv_snapshot_put. Every piece
 * except a device's last one must consist of whole chunks. mv_snapshot_end reports failures, and
 * accepts NULL. */
typedef struct mv_snapshot_writer mv_snapshot_writer;

typedef struct {
    uint32_t device;
    const mv_events *events;
    uint32_t before;       /* number of live rows at the beginning of the piece */
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
