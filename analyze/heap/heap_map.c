/* Makes the list of segments and pieces of the heap at a moment. */
#include "analyze/heap/heap.h"

/* Sizes of the pages of expandable segments: kSmallBuffer and kLargeBuffer, PyTorch
 * CUDACachingAllocator.cpp. If large pages have a different size (large_segment_size_mb, since
 * 2.11), the pieces show it. */
#define SMALL_PAGE ((uint64_t)2 << 20)
#define LARGE_PAGE ((uint64_t)20 << 20)

typedef struct {
    const mv_heap *heap;
    mv_heap_map *map;
    uint32_t pieces;
} map_writer;

static void count_rows(const mv_heap *heap, uint64_t *segments, uint64_t *pieces)
{
    const mv_holes *holes = &heap->now;
    uint32_t at;

    *segments = *pieces = 0;
    for (at = mv_rankset_next(&holes->walls, 0); at != MV_NO_RANK;
         at = mv_rankset_next(&holes->walls, at + 1))
        ++*segments;
    for (at = mv_rankset_next(&holes->used, 0); at != MV_NO_RANK;
         at = mv_rankset_next(&holes->used, at + 1))
        *pieces += 2;
    *pieces += *segments;
}

bool mv_heap_map_init(mv_arena *arena, uint64_t segments, uint64_t pieces, mv_heap_map *map)
{
    map->addr = mv_push_array(arena, uint64_t, segments);
    map->size = mv_push_array(arena, uint64_t, segments);
    map->free = mv_push_array(arena, uint64_t, segments);
    map->whole = mv_push_array(arena, uint64_t, segments);
    map->segment = mv_push_array(arena, uint32_t, segments);
    map->first_piece = mv_push_array(arena, uint32_t, segments + 1);
    map->piece_addr = mv_push_array(arena, uint64_t, pieces);
    map->piece_size = mv_push_array(arena, uint64_t, pieces);
    map->piece_whole = mv_push_array(arena, uint64_t, pieces);
    map->piece_row = mv_push_array(arena, uint32_t, pieces);
    return map->addr && map->size && map->free && map->whole && map->segment && map->first_piece &&
           map->piece_addr && map->piece_size && map->piece_whole && map->piece_row;
}

static void add_piece(map_writer *m, uint64_t addr, uint64_t end, uint32_t row)
{
    m->map->piece_addr[m->pieces] = addr;
    m->map->piece_size[m->pieces] = end - addr;
    m->map->piece_row[m->pieces++] = row;
}

uint64_t mv_segment_whole_pages(const mv_segment_lives *segments, uint32_t row, uint64_t low,
                                uint64_t high)
{
    uint64_t page = segments->kind[row] == MV_SEGMENT_LARGE && segments->size[row] % LARGE_PAGE == 0
                        ? LARGE_PAGE
                        : SMALL_PAGE;
    uint64_t base = segments->addr[row];
    uint64_t end = base + segments->size[row] < high ? base + segments->size[row] : high;
    uint64_t first = (low - base + page - 1) / page, last = (end - base) / page;

    return last > first ? (last - first) * page : 0;
}

/* Returns the number of bytes in whole pages within the hole [low, high) of an expandable
 * segment. */
static uint64_t whole_pages(const mv_heap *heap, uint64_t low, uint64_t high)
{
    const mv_holes *holes = &heap->now;
    const mv_segment_lives *s = &heap->lives->segments;
    uint64_t whole = 0;

    for (uint64_t at = low; at < high;) {
        uint32_t rank = mv_address_rank(&heap->ranks, at + 1);
        uint32_t start = rank ? mv_ranges_at(&holes->held, rank - 1) : MV_NO_RANK;
        uint32_t row = start == MV_NO_RANK ? MV_NO_ROW : holes->held.row[start];
        if (row == MV_NO_ROW)
            return whole;
        whole += mv_segment_whole_pages(s, row, at, high);
        at = s->addr[row] + s->size[row];
    }
    return whole;
}

static void add_hole(map_writer *m, uint32_t segment, uint64_t low, uint64_t high)
{
    mv_heap_map *map = m->map;
    uint64_t whole = 0;

    if (low >= high)
        return;
    add_piece(m, low, high, MV_NO_ROW);
    if (high - low == map->size[segment])
        whole = high - low;
    else if (m->heap->lives->segments.is_expandable[map->segment[segment]])
        whole = whole_pages(m->heap, low, high);
    map->free[segment] += high - low;
    map->whole[segment] += whole;
    map->piece_whole[m->pieces - 1] = whole;
}

static void add_segment(map_writer *m, uint32_t wall)
{
    const mv_holes *holes = &m->heap->now;
    const uint64_t *addr = m->heap->ranks.addr;
    uint32_t end = mv_holes_run_end(holes, wall), row = m->map->count++;
    uint64_t at = addr[wall];

    m->map->addr[row] = at;
    m->map->size[row] = addr[end] - at;
    m->map->segment[row] = holes->held.row[wall];
    m->map->first_piece[row] = m->pieces;
    for (uint32_t used = mv_rankset_next(&holes->used, wall); used < end;
         used = mv_rankset_next(&holes->used, used + 1)) {
        uint32_t next = mv_rankset_next(&holes->used, used + 1);
        uint64_t limit = addr[next < end ? next : end], used_end = holes->used_end[used];
        add_hole(m, row, at, addr[used]);
        at = used_end < limit ? used_end : limit;
        add_piece(m, addr[used], at, holes->used_row[used]);
    }
    add_hole(m, row, at, addr[end]);
}

mv_code mv_heap_map_make(mv_arena *arena, const mv_heap *heap, mv_heap_map *out, mv_err *err)
{
    map_writer m = {heap, out, 0};
    uint64_t segments, pieces;

    *out = (mv_heap_map){0};
    count_rows(heap, &segments, &pieces);
    if (!mv_heap_map_init(arena, segments, pieces, out))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the heap's layout");
    for (uint32_t at = mv_rankset_next(&heap->now.walls, 0); at != MV_NO_RANK;
         at = mv_rankset_next(&heap->now.walls, at + 1))
        add_segment(&m, at);
    out->first_piece[out->count] = m.pieces;
    return MV_OK;
}
