/* Fixture traces as files, and files as traces. */
#include "parse/writers.h"
#include "tests/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef mv_code write_fn(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                         mv_sink *sink, mv_err *err);

static mv_span written_by(mv_arena *arena, const mv_trace *trace, write_fn *write)
{
    mv_write_opts opts = {0};
    mv_sink sink = {0};
    mv_span bytes = {0};
    size_t length = 0;
    char *data = NULL;
    mv_err err = {0};

    sink.file = open_memstream(&data, &length);
    cr_assert_not_null(sink.file);
    cr_assert_eq(write(arena, trace, &opts, &sink, &err), MV_OK, "%s", err.detail);
    cr_assert_eq(mv_sink_commit(&sink, &err), MV_OK, "%s", err.detail);
    bytes.data = (const uint8_t *)mv_arena_text(arena, data, length);
    bytes.length = length;
    cr_assert_not_null(bytes.data);
    free(data);
    return bytes;
}

mv_span mvt_snapshot_of(mv_arena *arena, const mv_trace *trace)
{
    return written_by(arena, trace, mv_snapshot_write);
}

mv_span mvt_compact_of(mv_arena *arena, const mv_trace *trace)
{
    return written_by(arena, trace, mv_compact_write);
}

mv_span mvt_plain_of(mv_arena *arena, const mv_trace *trace)
{
    return written_by(arena, trace, mv_plain_write);
}

mv_span mvt_snapshot_bytes(mvt_trace *t)
{
    return mvt_snapshot_of(mvt_arena(t), mvt_done(t));
}

mv_span mvt_compact_bytes(mvt_trace *t)
{
    return mvt_compact_of(mvt_arena(t), mvt_done(t));
}

mv_span mvt_plain_bytes(mvt_trace *t)
{
    return mvt_plain_of(mvt_arena(t), mvt_done(t));
}
