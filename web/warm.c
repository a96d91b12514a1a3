#include "web/warm.h"

#include "parse/readers.h"
#include "viz/core/index.h"
#include "viz/core/pyramid.h"
#include "web/exports.h"

static mv_code read_sample(mv_arena *arena, mv_err *err)
{
    mv_trace trace;
    mv_lives lives;
    mv_index index;
    mv_pyramid pyramid;
    mv_code code =
        mv_trace_read_bytes(arena, (mv_span){mv_warm_sample, mv_warm_sample_length}, &trace, err);

    if (code == MV_OK)
        code = mv_lives_find(arena, &trace, 0, &lives, err);
    if (code == MV_OK)
        code = mv_index_make(arena, &lives, MV_INDEX_ALLOCATED, &index, err);
    if (code == MV_OK)
        code = mv_pyramid_find(arena, &lives, &pyramid, err);
    return code;
}

/* Reads the sample once; takes well below a millisecond. False: it cannot be read. */
bool EXPORT(mv_web_warm)(void)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_arena arena;
    mv_err err = {.offset = MV_NO_OFFSET};
    mv_code code;

    mv_arena_init(&arena, &budget);
    code = read_sample(&arena, &err);
    mv_arena_release(&arena);
    return code == MV_OK;
}
