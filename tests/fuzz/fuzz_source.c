/* libFuzzer target: any bytes as a plain, gzip or zstd stream. */
#include "parse/source/source.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

enum { MOST = 16 << 20 }; /* because a few kilobytes may unpack to gigabytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 64 << 20};
    mv_arena arena;
    mv_source source;
    mv_err err;
    uint64_t step = 1;

    mv_arena_init(&arena, &budget);
    if (mv_source_over(&arena, (mv_span){data, size}, &source, &err) == MV_OK) {
        while (mv_source_offset(&source) < MOST && mv_source_need(&source, step)) {
            source.at += step;
            step = step * 3 % 65537;
        }
        if (mv_source_fail(&source, &err, "") == MV_OK)
            abort();
    }
    mv_source_close(&source);
    mv_arena_release(&arena);
    if (budget.used != 0)
        abort();
    return 0;
}
