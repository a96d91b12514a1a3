/* libFuzzer target: any bytes as summaries, which are then compared with each other. The hash would
 * reject nearly all changes, so the hashes in inputs that begin with 'r' are corrected first. */
#include "analyze/ranks/ranks.h"
#include "analyze/ranks/summary_bytes.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void make_right(uint8_t *bytes, size_t size)
{
    uint64_t payload = size - MV_SUMMARY_HEADER;
    uint64_t hash = XXH3_64bits(bytes + MV_SUMMARY_HEADER, payload);

    memcpy(bytes, MV_SUMMARY_MAGIC, MV_SUMMARY_MAGIC_BYTES);
    memcpy(bytes + 16, &payload, sizeof payload);
    memcpy(bytes + 24, &hash, sizeof hash);
}

static void compare(mv_arena *arena, const mv_summary *summaries, uint32_t count)
{
    const mv_summary *ranks[8];
    mv_ranks found;
    mv_err err;

    for (uint32_t i = 0; i < count && i < 8; i++)
        ranks[i] = &summaries[i];
    if (count > 0 &&
        mv_ranks_compare(arena, ranks, count < 8 ? count : 8, (mv_rank_grid){0}, &found, &err) !=
            MV_OK &&
        err.code != MV_NOMEM)
        mvt_finding("comparing fails", err.detail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mv_budget budget = {.limit = 256 << 20};
    bool right = size > MV_SUMMARY_HEADER && data[0] == 'r'; /* at least a header must follow */
    uint8_t *copy = malloc(size + 1);
    mv_arena arena;
    mv_shared_parts shared;
    mv_summary *summaries;
    uint32_t count;
    mv_err err = {0};

    if (!copy)
        return 0;
    memcpy(copy, data + right, size - right);
    if (right)
        make_right(copy, size - 1);
    mv_arena_init(&arena, &budget);
    mv_shared_parts_init(&shared, &budget);
    if (mv_summaries_decode(&arena, &shared, (mv_span){copy, size - right}, &summaries, &count,
                            &err) == MV_OK)
        compare(&arena, summaries, count);
    mv_shared_parts_release(&shared);
    mv_arena_release(&arena);
    free(copy);
    return 0;
}
