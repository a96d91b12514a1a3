#include "analyze/heap/pins.h"

#include "base/sort.h"

typedef struct {
    const mv_heap *heap;
    const mv_heap_map *map;
    const mv_sites *sites;
    uint32_t domain;
    uint32_t *pin_of_group;  /* [groups] row of pins in the current segment; a row below the first
                             * one of the segment is from an earlier segment */
    uint32_t *line_of_group; /* [groups] row of lines + 1 */
    uint32_t pin_count;
    mv_pins *out;
} pins_search;

static bool is_wanted(const pins_search *p, uint32_t segment)
{
    uint32_t row = p->map->segment[segment];

    return p->map->free[segment] > p->map->whole[segment] &&
           (p->domain == MV_NO_ROW || p->heap->domains.of_segment[row] == p->domain);
}

static bool is_hole(const pins_search *p, uint32_t piece)
{
    return p->map->piece_row[piece] == MV_NO_ROW;
}

static uint64_t rest_of(const pins_search *p, uint32_t piece)
{
    return p->map->piece_size[piece] - p->map->piece_whole[piece];
}

static void sort_pins(mv_arena *scratch, mv_pin *pins, uint32_t count)
{
    mv_sort_rows(scratch, pins, count, MV_FALLING(mv_pin, stranded), MV_FALLING(mv_pin, bytes),
                 MV_RISING(mv_pin, group));
}

/* Returns how many bytes of the holes on both sides are attributed to the used block at `piece`.
 * The odd byte of a hole is attributed to its lower neighbour. */
static uint64_t share_of(const pins_search *p, uint32_t segment, uint32_t piece)
{
    uint32_t first = p->map->first_piece[segment], end = p->map->first_piece[segment + 1];
    uint64_t share = 0;

    if (piece > first && is_hole(p, piece - 1))
        share += piece - 1 > first ? rest_of(p, piece - 1) / 2 : rest_of(p, piece - 1);
    if (piece + 1 < end && is_hole(p, piece + 1))
        share += piece + 2 < end ? (rest_of(p, piece + 1) + 1) / 2 : rest_of(p, piece + 1);
    return share;
}

static mv_pin *pin_of(pins_search *p, uint32_t group, uint32_t first)
{
    uint32_t at = p->pin_of_group[group];

    if (at < first || at >= p->pin_count || p->out->pins[at].group != group) {
        p->pin_of_group[group] = at = p->pin_count++;
        p->out->pins[at] = (mv_pin){.group = group, .segments = 1};
    }
    return &p->out->pins[at];
}

/* Whether `a` is before `b`. MV_BEFORE is before everything. */
static bool is_older(uint32_t a, uint32_t b)
{
    return a + 1 < b + 1;
}

void mv_pin_add(mv_pin *pin, const mv_alloc_lives *allocs, uint32_t row, uint64_t size)
{
    pin->bytes += size;
    if (pin->blocks++ == 0 || is_older(allocs->birth[row], pin->oldest))
        pin->oldest = allocs->birth[row];
    if (pin->blocks == 1 || size > pin->largest) {
        pin->largest = size;
        pin->stack = allocs->stack[row];
    }
}

static void pin_block(pins_search *p, uint32_t segment, uint32_t piece, uint32_t first)
{
    const mv_alloc_lives *a = &p->heap->lives->allocs;
    uint32_t row = p->map->piece_row[piece];
    mv_pin *pin = pin_of(p, p->sites->group[mv_site_of(p->sites, a->stack[row])], first);

    p->out->blocks[p->out->block_count++] = (mv_pin_block){pin->group, row};
    pin->stranded += share_of(p, segment, piece);
    mv_pin_add(pin, a, row, p->map->piece_size[piece]);
}

/* Adds the pins of one segment. Blocks without an adjacent hole pin nothing, so they have no
 * row. */
static void pin_segment(pins_search *p, uint32_t segment)
{
    mv_stranded *row = &p->out->segments[p->out->segment_count++];

    row->segment = segment;
    row->stranded = p->map->free[segment] - p->map->whole[segment];
    row->first_pin = p->pin_count;
    p->out->stranded += row->stranded;
    for (uint32_t i = p->map->first_piece[segment]; i < p->map->first_piece[segment + 1]; i++)
        if (!is_hole(p, i) && share_of(p, segment, i) > 0)
            pin_block(p, segment, i, row->first_pin);
    row->pins = p->pin_count - row->first_pin;
    sort_pins(NULL, p->out->pins + row->first_pin, row->pins);
}

static void add_line(pins_search *p, const mv_pin *pin)
{
    uint32_t *row = &p->line_of_group[pin->group];
    mv_pin *line;

    if (*row == 0) {
        *row = ++p->out->line_count;
        p->out->lines[*row - 1] = *pin;
        return;
    }
    line = &p->out->lines[*row - 1];
    line->stranded += pin->stranded;
    line->bytes += pin->bytes;
    line->blocks += pin->blocks;
    line->segments++;
    if (is_older(pin->oldest, line->oldest))
        line->oldest = pin->oldest;
    if (pin->largest > line->largest) {
        line->largest = pin->largest;
        line->stack = pin->stack;
    }
}

static bool make_rows(mv_arena *arena, mv_arena *scratch, pins_search *p)
{
    uint32_t pieces = p->map->first_piece[p->map->count], groups = p->sites->groups;

    p->out->segments = mv_push_array(arena, mv_stranded, p->map->count);
    p->out->pins = mv_push_array(arena, mv_pin, pieces);
    p->out->lines = mv_push_array(arena, mv_pin, groups < pieces ? groups : pieces);
    p->out->blocks = mv_push_array(arena, mv_pin_block, pieces);
    p->pin_of_group = mv_push_array(scratch, uint32_t, groups);
    p->line_of_group = mv_push_array(scratch, uint32_t, groups);
    return p->out->segments && p->out->pins && p->out->lines && p->out->blocks && p->pin_of_group &&
           p->line_of_group;
}

mv_code mv_pins_find(mv_arena *arena, const mv_heap *heap, const mv_heap_map *map,
                     const mv_sites *sites, uint32_t domain, mv_pins *out, mv_err *err)
{
    pins_search p = {.heap = heap, .map = map, .sites = sites, .domain = domain, .out = out};
    mv_arena scratch;
    bool made;

    *out = (mv_pins){0};
    mv_arena_init(&scratch, arena->budget);
    made = make_rows(arena, &scratch, &p);
    if (made) {
        for (uint32_t i = 0; i < map->count; i++)
            if (is_wanted(&p, i))
                pin_segment(&p, i);
        for (uint32_t i = 0; i < p.pin_count; i++)
            add_line(&p, &out->pins[i]);
        mv_sort_rows(&scratch, out->segments, out->segment_count, MV_FALLING(mv_stranded, stranded),
                     MV_RISING(mv_stranded, segment));
        sort_pins(&scratch, out->lines, out->line_count);
    }
    mv_arena_release(&scratch);
    return made ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "blocks beside holes");
}
