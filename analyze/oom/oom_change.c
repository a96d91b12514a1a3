#include "analyze/oom/oom_change.h"
#include "base/sort.h"

#include <stdlib.h>

typedef struct {
    uint64_t size, used;
    uint32_t segment;
} candidate;

static uint64_t used_of(const mv_heap_map *map, uint32_t piece)
{
    return map->piece_row[piece] == MV_NO_ROW ? 0 : map->piece_size[piece];
}

/* Adds the blocks in pieces [first, end) to the change. */
static void add_blocks(const mv_heap_map *map, uint32_t first, uint32_t end, mv_oom_change *out)
{
    uint64_t most = 0;

    for (uint32_t i = first; i < end; i++) {
        if (map->piece_row[i] == MV_NO_ROW)
            continue;
        out->free_blocks++;
        out->free_bytes += map->piece_size[i];
        if (out->biggest == MV_NO_ROW || map->piece_size[i] > most) {
            most = map->piece_size[i];
            out->biggest = map->piece_row[i];
        }
    }
}

/* ---- a hole that is large enough ----------------------------------------------------------- */

/* The pieces [first, end) of one segment. */
typedef struct {
    uint32_t first, end;
    uint64_t used;
} window;

/* Finds, in one segment, the window of pieces that spans `bytes` with the fewest used bytes, and
 * stores it in *best if it has fewer used bytes than *best. */
static void open_hole(const mv_heap_map *map, uint32_t segment, uint64_t bytes, window *best)
{
    uint32_t end = map->first_piece[segment + 1], low = map->first_piece[segment];
    uint64_t span = 0, used = 0;

    for (uint32_t high = low; high < end; high++) {
        span += map->piece_size[high];
        used += used_of(map, high);
        while (low < high && span - map->piece_size[low] >= bytes) {
            span -= map->piece_size[low];
            used -= used_of(map, low++);
        }
        if (span >= bytes && (best->end == 0 || used < best->used))
            *best = (window){low, high + 1, used};
    }
}

/* ---- segments to release ----------------------------------------------------------------- */

static int by_worth(const void *a, const void *b, const void *context)
{
    const candidate *x = a, *y = b;
    double left = (double)x->used * (double)y->size, right = (double)y->used * (double)x->size;

    (void)context;
    if (left < right || left > right)
        return left < right ? -1 : 1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

/* Lists the segments that could be released. Only segments of the default pool are listed, because
 * the allocator releases unused segments of this pool before a request fails. */
static uint32_t list_candidates(const mv_heap *heap, const mv_heap_map *map, candidate *out)
{
    const mv_segment_lives *s = &heap->lives->segments;
    uint32_t count = 0;

    for (uint32_t i = 0; i < map->count; i++)
        if (mv_domain_pool(s->pool[map->segment[i]]).row == MV_DEFAULT_POOL.row)
            out[count++] = (candidate){map->size[i], map->size[i] - map->free[i], i};
    return count;
}

static void give_back(const mv_heap_map *map, const candidate *of, uint32_t count, uint64_t bytes,
                      mv_oom_change *best)
{
    mv_oom_change change = {.biggest = MV_NO_ROW};
    uint64_t given = 0;

    for (uint32_t i = 0; i < count && given < bytes; i++) {
        given += of[i].size;
        change.free_segments++;
        add_blocks(map, map->first_piece[of[i].segment], map->first_piece[of[i].segment + 1],
                   &change);
    }
    if (given >= bytes && (best->free_segments == 0 || change.free_bytes < best->free_bytes))
        *best = change;
}

/* ---- all changes ------------------------------------------------------------------------- */

static void find_blocks(const mv_heap *heap, const mv_heap_map *map, mv_oom_need need,
                        candidate *room, mv_oom_change *out)
{
    uint32_t count = list_candidates(heap, map, room);
    window best = {0};

    for (uint32_t i = 0; i < map->count && need.domain != MV_NO_ROW; i++)
        if (map->size[i] >= need.requested &&
            heap->domains.of_segment[map->segment[i]] == need.domain)
            open_hole(map, i, need.requested, &best);
    if (best.end) {
        out->free_segments = 1;
        add_blocks(map, best.first, best.end, out);
    }
    mv_sort_by(NULL, room, count, sizeof *room, by_worth, NULL);
    give_back(map, room, count, need.segment > need.available ? need.segment - need.available : 0,
              out);
}

mv_code mv_oom_change_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                           mv_oom_need need, mv_oom_change *out, mv_err *err)
{
    mv_arena scratch;
    candidate *room;

    *out = (mv_oom_change){.biggest = MV_NO_ROW};
    mv_arena_init(&scratch, arena->budget);
    room = mv_push_array(&scratch, candidate, map->count);
    if (room)
        find_blocks(heap, map, need, room, out);
    mv_arena_release(&scratch);
    if (!room)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "what would have helped");
    if (need.fits && need.fits < need.requested)
        out->smaller_by = need.requested - need.fits;
    if (need.segment > need.available)
        out->more_memory = need.segment - need.available;
    return MV_OK;
}
