#include "analyze/flame/flame.h"

#include <stdio.h>

#include "base/sort.h"

static bool is_same_row(const mv_flame_row *a, const mv_flame_row *b)
{
    return a->segment == b->segment && a->part == b->part && a->stack.row == b->stack.row;
}

/* Adds up rows with the same segment, part and stack. */
static void merge(mv_arena *arena, mv_flame *flame)
{
    uint32_t count = 0;

    mv_sort_rows(arena, flame->rows, flame->count, MV_RISING(mv_flame_row, segment),
                 MV_RISING(mv_flame_row, part), MV_RISING(mv_flame_row, stack.row));
    for (uint32_t i = 0; i < flame->count; i++) {
        if (count > 0 && is_same_row(&flame->rows[count - 1], &flame->rows[i])) {
            flame->rows[count - 1].bytes += flame->rows[i].bytes;
            flame->rows[count - 1].blocks += flame->rows[i].blocks;
        } else {
            flame->rows[count++] = flame->rows[i];
        }
    }
    flame->count = count;
    mv_sort_rows(arena, flame->rows, flame->count, MV_RISING(mv_flame_row, segment),
                 MV_RISING(mv_flame_row, part), MV_FALLING(mv_flame_row, bytes));
}

static mv_stack_id shown_stack(const mv_lives *lives, const mv_sites *sites, uint32_t alloc)
{
    mv_stack_id stack = lives->allocs.stack[alloc];

    return sites ? sites->stack[mv_site_of(sites, stack)] : stack;
}

mv_code mv_flame_memory(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_sites *sites, mv_flame *out, mv_err *err)
{
    const mv_alloc_lives *a = &lives->allocs;
    mv_arena scratch;
    mv_alive alive;
    mv_code code;

    *out = (mv_flame){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_alive_allocs(&scratch, lives, event, &alive, err);
    if (code == MV_OK) {
        out->rows = mv_push_array(arena, mv_flame_row, alive.count);
        if (!out->rows)
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%u living rows", alive.count);
    }
    for (uint32_t i = 0; code == MV_OK && i < alive.count; i++) {
        uint32_t row = alive.row[i];
        out->rows[out->count++] = (mv_flame_row){.segment = MV_NO_ROW,
                                                 .stack = shown_stack(lives, sites, row),
                                                 .blocks = 1,
                                                 .part = MV_FLAME_ALLOCATED,
                                                 .bytes = a->block[row]};
    }
    mv_arena_release(&scratch);
    if (code == MV_OK)
        merge(arena, out);
    return code;
}

static mv_flame_row other(mv_flame_row row)
{
    row.part = MV_FLAME_OTHER;
    row.stack = MV_NO_STACK;
    return row;
}

static mv_flame_row row_of_piece(const mv_lives *lives, uint32_t event, const mv_sites *sites,
                                 const uint8_t *is_other, const mv_heap_map *map, uint32_t segment,
                                 uint32_t piece)
{
    uint32_t alloc = map->piece_row[piece];
    mv_flame_row row = {.segment = segment,
                        .stack = MV_NO_STACK,
                        .blocks = 1,
                        .part = MV_FLAME_FREE,
                        .bytes = map->piece_size[piece]};

    if (alloc == MV_NO_ROW)
        return row;
    row.stack = shown_stack(lives, sites, alloc);
    row.part = mv_alloc_is_allocated(lives, alloc, event) ? MV_FLAME_ALLOCATED : MV_FLAME_PENDING;
    return row.part == MV_FLAME_ALLOCATED && is_other && is_other[alloc] ? other(row) : row;
}

mv_code mv_flame_of_map(mv_arena *arena, const mv_lives *lives, uint32_t event,
                        const mv_heap_map *map, const mv_sites *sites, const uint8_t *is_other,
                        mv_flame *out, mv_err *err)
{
    *out = (mv_flame){.map = *map};
    if (map->count == 0)
        return MV_OK;
    out->rows = mv_push_array(arena, mv_flame_row, map->first_piece[map->count]);
    if (!out->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "pieces of segments");
    for (uint32_t s = 0; s < map->count; s++)
        for (uint32_t i = map->first_piece[s]; i < map->first_piece[s + 1]; i++)
            out->rows[out->count++] = row_of_piece(lives, event, sites, is_other, map, s, i);
    merge(arena, out);
    return MV_OK;
}

mv_code mv_flame_segments(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                          uint32_t event, const mv_sites *sites, const uint8_t *is_other,
                          mv_flame *out, mv_err *err)
{
    mv_arena scratch;
    mv_heap_map map;
    mv_heap heap;
    mv_code code;

    *out = (mv_flame){0};
    mv_arena_init(&scratch, arena->budget);
    code = mv_heap_init(&scratch, trace, lives, &heap, err);
    if (code == MV_OK) {
        mv_heap_advance(&heap, event);
        code = mv_heap_map_make(arena, &heap, &map, err);
    }
    mv_arena_release(&scratch);
    if (code != MV_OK)
        return code;
    return mv_flame_of_map(arena, lives, event, &map, sites, is_other, out, err);
}

void mv_flame_keep_top(mv_flame *flame, uint32_t top)
{
    static_assert(MV_FLAME_ALLOCATED == 0, "allocated rows are sorted to the front");
    mv_sort_rows(NULL, flame->rows, flame->count, MV_RISING(mv_flame_row, part),
                 MV_FALLING(mv_flame_row, bytes), MV_RISING(mv_flame_row, segment),
                 MV_RISING(mv_flame_row, stack.row));
    for (uint32_t i = top; i < flame->count; i++)
        if (flame->rows[i].part == MV_FLAME_ALLOCATED)
            flame->rows[i] = other(flame->rows[i]);
    merge(NULL, flame);
}

uint32_t mv_flame_prefix(const mv_trace *trace, const mv_lives *lives, const mv_flame *flame,
                         const mv_flame_row *row, char text[MV_FLAME_PREFIX][MV_FLAME_TEXT])
{
    static const char *const parts[] = {"(allocated)", "(waiting for a stream)", "(free)",
                                        "(other allocations)"};
    const mv_segment_lives *s;
    char pool[MV_POOL_TEXT];
    uint32_t segment;

    if (row->segment == MV_NO_ROW && row->part != MV_FLAME_OTHER)
        return 0;
    if (row->segment == MV_NO_ROW) {
        snprintf(text[0], MV_FLAME_TEXT, "%s", parts[row->part]);
        return 1;
    }
    s = &lives->segments;
    segment = flame->map.segment[row->segment];
    snprintf(text[0], MV_FLAME_TEXT, "%ssegment 0x%llx of %llu bytes",
             s->is_expandable[segment] ? "expandable " : "",
             (unsigned long long)flame->map.addr[row->segment],
             (unsigned long long)flame->map.size[row->segment]);
    snprintf(text[1], MV_FLAME_TEXT, "%s%s %s",
             mv_segment_kind_name((mv_segment_kind)s->kind[segment]),
             s->pool[segment].row == MV_NO_ROW ? "" : " pool",
             mv_pool_text(trace, s->pool[segment], pool));
    snprintf(text[2], MV_FLAME_TEXT, "stream %llu",
             (unsigned long long)trace->streams.value[s->stream[segment].row]);
    snprintf(text[3], MV_FLAME_TEXT, "%s", parts[row->part]);
    return MV_FLAME_PREFIX;
}
