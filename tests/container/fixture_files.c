#include "tests/container/fixture_files.h"

#include "analyze/lives/digests.h"

const char *mvt_path_of(const char *name)
{
    return mvt_format("%s/%s", mvt_folder_path(), name);
}

mv_span mvt_bytes_of(const char *name)
{
    return mvt_file(mvt_memory(), mvt_path_of(name));
}

void mvt_put_trace(const char *name, const mv_trace *trace, const mv_write_opts *opts)
{
    mv_sink sink;

    mvt_ok(mv_sink_open(&sink, mvt_path_of(name), mvt_err()));
    mvt_ok(mv_snapshot_write(mvt_memory(), trace, opts, &sink, mvt_err()));
    mvt_ok(mv_sink_commit(&sink, mvt_err()));
}

void mvt_put_with_digests(const char *name, const mv_trace *trace, uint32_t chunk_rows)
{
    mv_write_opts opts = {.chunk_rows = chunk_rows};

    opts.digests = mv_digests_make(mvt_memory(), trace, &opts.spans, mvt_err());
    cr_assert_not_null(opts.digests);
    mvt_put_trace(name, trace, &opts);
}

mv_trace mvt_trace_of(const char *name, const mv_read_opts *opts)
{
    mv_trace trace;

    mvt_ok(mv_trace_read(mvt_memory(), mvt_path_of(name), opts, &trace, mvt_err()));
    return trace;
}

mvt_container *mvt_container_of(const char *name)
{
    return mvt_take_apart(mvt_memory(), mvt_bytes_of(name));
}

void mvt_put_container(const char *name, mvt_container *c)
{
    mvt_folder_put(name, mvt_assemble(mvt_memory(), c, MVT_WITH_INDEX));
}
