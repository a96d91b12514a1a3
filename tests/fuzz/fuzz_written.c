/* libFuzzer target: any bytes as a file in any format. The trace is written in each format, and
 * reading that file must give the same trace. */
#include "parse/writers.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

enum { MOST_ROWS = 100000 };

typedef mv_code write_fn(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                         mv_sink *sink, mv_err *err);

/* Writes into memory from malloc. Returns NULL if memory is out. */
static mv_span written(mv_budget *budget, const mv_trace *trace, write_fn *write, bool is_tight)
{
    mv_write_opts opts = {.size = is_tight ? MV_WRITE_SMALLEST : MV_WRITE_QUICK};
    mv_sink sink = {0};
    size_t length = 0;
    char *data = NULL;
    mv_arena scratch;
    mv_err err = {0};

    sink.file = open_memstream(&data, &length);
    if (!sink.file)
        return (mv_span){0};
    mv_arena_init(&scratch, budget);
    if (write(&scratch, trace, &opts, &sink, &err) != MV_OK ||
        mv_sink_commit(&sink, &err) != MV_OK) {
        if (err.code != MV_NOMEM)
            mvt_finding(mv_code_name(err.code), err.detail);
        mv_sink_abort(&sink);
        free(data);
        data = NULL;
    }
    mv_arena_release(&scratch);
    return (mv_span){(const uint8_t *)data, length};
}

/* Returns false if memory is out. */
static bool read_back(mv_arena *arena, mv_span bytes, const char *form, mv_trace *out)
{
    mv_err err;

    if (mv_trace_read_bytes(arena, bytes, out, &err) != MV_OK && err.code != MV_NOMEM)
        mvt_finding(form, err.detail);
    return err.code != MV_NOMEM;
}

static void keeps_all(mv_budget *budget, const mv_trace *trace, const char *form, write_fn *write,
                      bool is_tight)
{
    mv_span bytes = written(budget, trace, write, is_tight);
    const char *difference;
    mv_arena arena;
    mv_trace back;

    mv_arena_init(&arena, budget);
    if (bytes.data && read_back(&arena, bytes, form, &back)) {
        difference = mvt_unsound(&back);
        difference = difference ? difference : mvt_difference(trace, &back);
        if (difference)
            mvt_finding(form, difference);
    }
    mv_arena_release(&arena);
    free((void *)bytes.data);
}

/* The plain format has no place for some parts of the model. The other parts must be equal when the
 * trace is written again. */
static void keeps_dict(mv_budget *budget, const mv_trace *trace)
{
    mv_span bytes = written(budget, trace, mv_plain_write, false), again = {0};
    mv_arena arena;
    mv_trace back;

    mv_arena_init(&arena, budget);
    if (bytes.data && read_back(&arena, bytes, "plain msgpack", &back))
        again = written(budget, &back, mv_plain_write, false);
    if (again.data &&
        (again.length != bytes.length || memcmp(again.data, bytes.data, bytes.length) != 0))
        mvt_finding("plain msgpack", "written again it differs");
    mv_arena_release(&arena);
    free((void *)bytes.data);
    free((void *)again.data);
}

static void keeps(mv_arena *arena, const mv_trace *trace)
{
    if (mvt_rows(trace) > MOST_ROWS)
        return;
    keeps_all(arena->budget, trace, "bin", mv_snapshot_write, false);
    keeps_all(arena->budget, trace, "tight bin", mv_snapshot_write, true);
    keeps_dict(arena->budget, trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mvt_with_trace(data, size, keeps);
    return 0;
}
