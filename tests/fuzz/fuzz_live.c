/* libFuzzer target: any bytes as a live file, with all analyses of each level. A live file is
 * mostly zeros, so inputs that begin with 'c' leave them out (live_form.h). */
#include "analyze/levels/levels.h"
#include "analyze/totals/totals.h"
#include "parse/model/sums.h"
#include "tests/fixture/soundness.h"
#include "tests/fuzz/live_form.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_totals(mv_arena *arena, const mv_trace *trace)
{
    mv_err err;

    if (mv_sums_check(trace, &err) != MV_OK)
        return;
    for (uint32_t i = 0; i < mv_trace_devices(trace) && i < 8; i++) {
        mv_lives lives;
        mv_totals totals;
        if ((mv_lives_find(arena, trace, i, &lives, &err) != MV_OK ||
             mv_totals_find(arena, trace, &lives, &totals, &err) != MV_OK) &&
            err.code != MV_NOMEM) {
            fprintf(stderr, "an analyzer fails: %s\n", err.detail);
            abort();
        }
    }
}

static void analyze(mv_arena *arena, const mv_trace *trace)
{
    mv_level_list list = mv_levels_of(trace);
    mv_err err;

    find_totals(arena, trace);
    for (uint32_t i = 0; i < list.count; i++) {
        mv_trace level = *trace;
        if (mv_level_take_named(arena, &level, list.name[i], &err) == MV_OK)
            find_totals(arena, &level);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file;
    size_t length;

    if (size == 0 || data[0] != 'c')
        return mvt_one_input(data, size, mv_snapshot_read);
    file = mvt_live_expand((mv_span){data, size}, &length);
    if (!file)
        return 0;
    mvt_one_input(file, length, mv_snapshot_read);
    mvt_with_trace(file, length, analyze);
    free(file);
    return 0;
}
