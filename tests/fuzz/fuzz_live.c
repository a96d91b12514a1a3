/* libFuzzer target: any bytes as a live file, and what the analyzers make of each of its levels. A
 * live file is mostly zeros, so inputs that begin with 'c' leave them out: for each chunk its two
 * headers, the length of the records (4 bytes) and the records; headers get their lengths and
 * checksums here. */
#include "analyze/levels/levels.h"
#include "analyze/totals/totals.h"
#include "capture/wire_live.h"
#include "parse/live/read_live.h"
#include "parse/model/sums.h"
#include "tests/fixture/soundness.h"

#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HEADERS = sizeof(mv_wire_chunk) + sizeof(mv_live_head), MOST_CHUNKS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_header(uint8_t *file)
{
    mv_wire_header header = {.version = MV_WIRE_VERSION};

    memcpy(header.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES);
    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    memcpy(file, &header, sizeof header);
}

/* Takes one chunk of the input and puts it at `at`; the input that is left. */
static mv_span put_chunk(uint8_t *file, size_t at, mv_span in)
{
    size_t end = (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES;
    mv_wire_chunk head;
    mv_live_head live;
    uint32_t bytes;

    memcpy(&head, in.data, sizeof head);
    memcpy(&live, in.data + sizeof head, sizeof live);
    bytes = mv_load_u32(in.data + HEADERS);
    in = (mv_span){in.data + HEADERS + 4, in.length - HEADERS - 4};
    bytes = bytes < in.length ? bytes : (uint32_t)in.length;
    bytes = bytes < end - at - HEADERS ? bytes : (uint32_t)(end - at - HEADERS);
    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.raw_bytes = head.stored_bytes = end - at - sizeof head;
    head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
    live.committed = live.committed < bytes ? live.committed : bytes;
    if (live.seal > 1)
        live.seal = XXH3_64bits(in.data, live.committed);
    memcpy(file + at, &head, sizeof head);
    memcpy(file + at + sizeof head, &live, sizeof live);
    memcpy(file + at + HEADERS, in.data, bytes);
    return (mv_span){in.data + bytes, in.length - bytes};
}

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

static void analyze(const uint8_t *file, size_t size)
{
    mv_budget budget = {.limit = 256 << 20};
    mv_arena arena;
    mv_trace trace;
    mv_err err;

    mv_arena_init(&arena, &budget);
    if (mv_trace_read_bytes(&arena, (mv_span){file, size}, &trace, &err) == MV_OK) {
        mv_level_list list = mv_levels_of(&trace);
        find_totals(&arena, &trace);
        for (uint32_t i = 0; i < list.count; i++) {
            mv_trace level = trace;
            if (mv_level_take_named(&arena, &level, list.name[i], &err) == MV_OK)
                find_totals(&arena, &level);
        }
    }
    mv_arena_release(&arena);
}

static void expand(mv_span in)
{
    size_t at = sizeof(mv_wire_header);
    uint8_t *file = calloc(MOST_CHUNKS, MV_LIVE_CHUNK_BYTES);

    if (!file)
        return;
    put_header(file);
    while (in.length >= HEADERS + 4 && at < MOST_CHUNKS * (size_t)MV_LIVE_CHUNK_BYTES) {
        in = put_chunk(file, at, in);
        at = (at / MV_LIVE_CHUNK_BYTES + 1) * MV_LIVE_CHUNK_BYTES;
    }
    mvt_one_input(file, at, mv_snapshot_read);
    analyze(file, at);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == 'c')
        expand((mv_span){data + 1, size - 1});
    else
        mvt_one_input(data, size, mv_snapshot_read);
    return 0;
}
