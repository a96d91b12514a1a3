/* Prints the outlines of a snapshot as PyTorch's viewer draws them, one JSON line a device, for
 * scripts/test-parity:
 *
 *     print_polygons FILE MOST [segments]
 *
 *     {"device":0,"rows":3,"ticks":9,"polygons":[{"bytes":512,"x":[0,4,7],"offset":[0,0,0]}, ...]}
 *
 * Prints the MOST largest allocations, in order of birth. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/readers.h"
#include "viz/core/polygon.h"
#include "viz/core/pytorch_lives.h"

static void print_polygon(const mv_polygon *p, bool is_first)
{
    printf("%s{\"bytes\":%llu,\"x\":[", is_first ? "" : ",", (unsigned long long)p->bytes);
    for (uint32_t i = 0; i < p->count; i++)
        printf("%s%lld", i ? "," : "", (long long)p->point[i].x);
    printf("],\"offset\":[");
    for (uint32_t i = 0; i < p->count; i++)
        printf("%s%llu", i ? "," : "", (unsigned long long)p->point[i].offset);
    printf("]}");
}

static mv_code print_device(mv_arena *arena, const mv_trace *trace, uint32_t device, uint32_t most,
                            mv_pytorch_view view, mv_err *err)
{
    mv_lives lives;
    mv_index index;
    mv_drawn drawn;
    bool is_first = true;

    if (mv_pytorch_lives(arena, trace, device, view, &lives, err) != MV_OK ||
        mv_index_make(arena, &lives, MV_INDEX_REQUESTED, &index, err) != MV_OK ||
        mv_drawn_largest(arena, &index, most, &drawn, err) != MV_OK)
        return err->code;
    printf("{\"device\":%u,\"rows\":%u,\"ticks\":%llu,\"polygons\":[", device, index.count,
           (unsigned long long)mv_drawn_ticks(&drawn));
    for (uint32_t r = 0; r < index.count; r++) {
        mv_arena scratch;
        mv_polygon p;
        mv_arena_init(&scratch, arena->budget);
        if (mv_polygon_find(&scratch, &drawn, MV_CLOCK_TICKS, r, 0, index.events, &p, err) != MV_OK)
            return err->code;
        if (p.count)
            print_polygon(&p, is_first);
        is_first = is_first && p.count == 0;
        mv_arena_release(&scratch);
    }
    printf("]}\n");
    return MV_OK;
}

int main(int argc, char **argv)
{
    mv_budget budget = {.limit = (uint64_t)16 << 30};
    mv_read_opts opts = {0};
    mv_pytorch_view view = MV_PYTORCH_ALLOCS;
    mv_err err = {0};
    mv_arena arena;
    mv_trace trace;
    uint32_t most;

    if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "segments") != 0)) {
        fprintf(stderr, "usage: print_polygons FILE MOST [segments]\n");
        return 2;
    }
    most = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc == 4)
        view = MV_PYTORCH_SEGMENTS;
    mv_arena_init(&arena, &budget);
    if (mv_trace_read(&arena, argv[1], &opts, &trace, &err) == MV_OK)
        for (uint32_t d = 0; d < mv_trace_devices(&trace) && err.code == MV_OK; d++)
            print_device(&arena, &trace, d, most, view, &err);
    if (err.code != MV_OK)
        fprintf(stderr, "%s: %s: %s\n", argv[1], mv_code_text(err.code), err.detail);
    mv_arena_release(&arena);
    return err.code != MV_OK;
}
