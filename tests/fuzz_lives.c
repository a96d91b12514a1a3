/* libFuzzer target: any bytes as a pickle, and what the analyzers make of whatever was read.
 * Traces that no allocator could have written must not upset them. */
#include "analyze/leaks.h"
#include "analyze/totals.h"
#include "tests/soundness.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void analyze(mv_arena *arena, const mv_trace *trace, uint32_t device)
{
    mv_totals totals;
    mv_leaks leaks;
    mv_lives lives;
    mv_err err;

    if (mv_lives_find(arena, trace, device, &lives, &err) != MV_OK ||
        mv_totals_find(arena, trace, &lives, &totals, &err) != MV_OK ||
        mv_leaks_find(arena, trace, &lives, &leaks, &err) != MV_OK) {
        if (err.code == MV_NOMEM)
            return;
        fprintf(stderr, "an analyzer fails: %s %s\n", mv_code_name(err.code), err.detail);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 256 << 20};
    mv_arena arena;
    mv_trace trace;
    mv_err err;

    mv_arena_init(&arena, &budget);
    if (mv_trace_read_bytes(&arena, (mv_span){data, size}, &trace, &err) == MV_OK)
        for (uint32_t i = 0; i < mv_trace_devices(&trace) && i < 8; i++)
            analyze(&arena, &trace, i);
    mv_arena_release(&arena);
    return 0;
}
