#include "viz/pictures/state.h"

#include "base/grow.h"
#include "base/sort.h"

typedef struct {
    mv_arena scratch;
    const mv_lives *lives;
    const mv_heap_map *map;
    uint32_t event;
    const mv_state_opts *opts;
    mv_state *out;
    uint64_t pixel;    /* number of bytes in one column of pixels */
    uint32_t capacity; /* number of boxes that there is room for */
} state_builder;

/* ---- groups ------------------------------------------------------------------------------ */

static int by_domain(const void *left, const void *right, const void *context)
{
    const state_builder *l = context;
    const mv_segment_lives *s = &l->lives->segments;
    uint32_t a = l->map->segment[*(const uint32_t *)left];
    uint32_t b = l->map->segment[*(const uint32_t *)right];
    uint32_t pool_a = mv_domain_pool(s->pool[a]).row, pool_b = mv_domain_pool(s->pool[b]).row;

    if (pool_a != pool_b)
        return pool_a < pool_b ? -1 : 1;
    if (!l->opts->has_no_kinds && s->kind[a] != s->kind[b])
        return s->kind[a] < s->kind[b] ? -1 : 1;
    return (s->stream[a].row > s->stream[b].row) - (s->stream[a].row < s->stream[b].row);
}

/* Makes one group for each pool, kind and stream. `segments` is where the group begins in
 * `order`. */
static bool find_domains(mv_arena *arena, state_builder *l)
{
    mv_state *state = l->out;

    state->order = mv_push_array(arena, uint32_t, l->map->count);
    state->groups = mv_push_array(arena, mv_state_group, l->map->count);
    state->group_of = mv_push_array(arena, uint32_t, l->map->count);
    state->offset = mv_push_array(arena, uint64_t, l->map->count);
    if (!state->order || !state->groups || !state->group_of || !state->offset)
        return false;
    for (uint32_t i = 0; i < l->map->count; i++)
        state->order[i] = i;
    if (!l->opts->by_address)
        mv_sort_by(&l->scratch, state->order, l->map->count, sizeof *state->order, by_domain, l);
    for (uint32_t i = 0; i < l->map->count; i++) {
        if (i == 0 ||
            (!l->opts->by_address && by_domain(&state->order[i - 1], &state->order[i], l) != 0))
            state->groups[state->group_count++] = (mv_state_group){.pools = 1, .segments = i};
        state->groups[state->group_count - 1].bytes += l->map->size[state->order[i]];
        state->groups[state->group_count - 1].segment_count++;
    }
    return true;
}

static int in_display_order(const void *left, const void *right, const void *context)
{
    const state_builder *l = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    if (l->out->group_of[a] != l->out->group_of[b])
        return l->out->group_of[a] < l->out->group_of[b] ? -1 : 1;
    if (!l->opts->by_address && l->map->size[a] != l->map->size[b])
        return l->map->size[a] < l->map->size[b] ? 1 : -1;
    return a < b ? -1 : a > b; /* otherwise by address */
}

/* Sorts the groups by bytes, largest first. The last group also takes all groups for which there is
 * no room. */
static void order_groups(state_builder *l)
{
    mv_state *state = l->out;
    uint32_t kept, at = 0;

    mv_sort_rows(&l->scratch, state->groups, state->group_count, MV_FALLING(mv_state_group, bytes),
                 MV_RISING(mv_state_group, segments));
    kept = state->group_count < l->opts->most_groups ? state->group_count : l->opts->most_groups;
    for (uint32_t g = 0; g < state->group_count; g++) {
        mv_state_group *group = &state->groups[g], *last = &state->groups[kept - 1];
        for (uint32_t i = 0; i < group->segment_count; i++)
            state->group_of[state->order[group->segments + i]] = g < kept ? g : kept - 1;
        if (g < kept)
            continue;
        last->pools++;
        last->bytes += group->bytes;
    }
    state->group_count = kept;
    mv_sort_by(&l->scratch, state->order, l->map->count, sizeof *state->order, in_display_order, l);
    for (uint32_t g = 0; g < kept; g++) {
        mv_state_group *group = &state->groups[g];
        group->segments = at;
        while (at < l->map->count && state->group_of[state->order[at]] == g)
            at++;
        group->segment_count = at - group->segments;
    }
}

/* ---- rows -------------------------------------------------------------------------------- */

/* Returns the bytes of a row for which there are about opts->rows rows, but at most those of the
 * scale so far. Rows hold whole numbers of the largest segment, so none is cut for it. */
static uint64_t fill_rows(const state_builder *l, uint64_t bytes, uint64_t largest)
{
    uint64_t filled, segments;

    if (l->opts->rows == 0 || largest == 0)
        return l->out->row_bytes;
    filled = bytes / l->opts->rows;
    segments = filled / largest + (filled % largest > 0);
    return segments <= l->out->row_bytes / largest ? segments * largest : l->out->row_bytes;
}

/* Chooses the scale. If there are few pieces, there are few rows, unless the picture has room for
 * more. A segment continues in the next row only if that cannot be avoided. */
static void choose_scale(state_builder *l)
{
    mv_state *state = l->out;
    uint64_t pieces = l->map->first_piece[l->map->count], bytes = 0, largest = 0, rows;

    for (uint32_t i = 0; i < l->map->count; i++) {
        bytes += l->map->size[i];
        state->whole += l->map->whole[i];
        largest = l->map->size[i] > largest ? l->map->size[i] : largest;
    }
    rows = pieces / 12 + 1;
    rows = rows > l->opts->most_rows ? l->opts->most_rows : rows;
    rows = rows > state->group_count * 2 ? rows - state->group_count : state->group_count;
    state->row_bytes = bytes / (rows ? rows : 1) + 1;
    if (state->row_bytes < largest && largest <= bytes / 3)
        state->row_bytes = largest;
    state->row_bytes = fill_rows(l, bytes, largest);
    l->pixel = state->row_bytes / (l->opts->columns ? l->opts->columns : 1) + 1;
    for (uint32_t g = 0; g < state->group_count; g++) {
        state->groups[g].first_row = state->rows;
        state->groups[g].rows =
            (uint32_t)((state->groups[g].bytes + state->row_bytes - 1) / state->row_bytes);
        state->rows += state->groups[g].rows;
    }
}

static bool add_box(mv_arena *arena, state_builder *l, mv_state_box box)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): with a capacity there are rows */
    return mv_append(arena, l->out->boxes, l->out->box_count, l->capacity, box);
}

/* Merges a piece with the piece to its left if one of them is too narrow to see. */
static bool put(mv_arena *arena, state_builder *l, mv_state_box box)
{
    mv_state_box *last = l->out->box_count ? &l->out->boxes[l->out->box_count - 1] : NULL;
    bool is_row = last && last->row == box.row;

    if (is_row && last->bytes < l->pixel && box.bytes < l->pixel) {
        last->count++;
        last->bytes += box.bytes;
        last->allocated += box.allocated;
        last->pending += box.pending;
        last->goes_on = box.goes_on;
        return true;
    }
    return add_box(arena, l, box);
}

/* Puts a piece that begins `offset` bytes into its group, and cuts it where rows end. */
static bool put_piece(mv_arena *arena, state_builder *l, mv_state_group *group, uint32_t segment,
                      uint32_t piece, uint64_t offset)
{
    uint64_t left = l->map->piece_size[piece];
    uint32_t alloc = l->map->piece_row[piece];
    bool is_allocated = alloc != MV_NO_ROW && mv_alloc_is_allocated(l->lives, alloc, l->event);

    if (alloc == MV_NO_ROW && left > group->largest)
        group->largest = left;
    while (left > 0) {
        uint64_t at = offset % l->out->row_bytes;
        uint64_t bytes = left < l->out->row_bytes - at ? left : l->out->row_bytes - at;
        mv_state_box box = {.row = group->first_row + (uint32_t)(offset / l->out->row_bytes),
                            .segment = segment,
                            .piece = piece,
                            .count = 1,
                            .offset = at,
                            .bytes = bytes,
                            .allocated = is_allocated ? bytes : 0,
                            .pending = alloc != MV_NO_ROW && !is_allocated ? bytes : 0,
                            .before = l->map->piece_size[piece] - left,
                            .goes_on = bytes < left};
        group->allocated += box.allocated;
        group->pending += box.pending;
        group->free += bytes - box.allocated - box.pending;
        if (!put(arena, l, box))
            return false;
        offset += bytes;
        left -= bytes;
    }
    return true;
}

static bool put_groups(mv_arena *arena, state_builder *l)
{
    for (uint32_t g = 0; g < l->out->group_count; g++) {
        mv_state_group *group = &l->out->groups[g];
        uint64_t offset = 0;
        for (uint32_t i = group->segments; i < group->segments + group->segment_count; i++) {
            uint32_t segment = l->out->order[i];
            l->out->offset[segment] = offset;
            for (uint32_t p = l->map->first_piece[segment]; p < l->map->first_piece[segment + 1];
                 p++) {
                if (!put_piece(arena, l, group, segment, p, offset))
                    return false;
                offset += l->map->piece_size[p];
            }
        }
    }
    return true;
}

/* Finds the first box of each row. */
static bool index_rows(mv_arena *arena, mv_state *state)
{
    uint32_t box = 0;

    state->row_box = mv_push_array(arena, uint32_t, (uint64_t)state->rows + 1);
    for (uint32_t row = 0; state->row_box && row <= state->rows; row++) {
        while (box < state->box_count && state->boxes[box].row < row)
            box++;
        state->row_box[row] = box;
    }
    return state->row_box != NULL;
}

mv_code mv_state_lay(mv_arena *arena, const mv_lives *lives, const mv_heap_map *map, uint32_t event,
                     const mv_state_opts *opts, mv_state *out, mv_err *err)
{
    state_builder l = {.lives = lives, .map = map, .event = event, .opts = opts, .out = out};
    bool is_done;

    *out = (mv_state){.row_bytes = 1};
    if (map->count == 0)
        return MV_OK;
    mv_arena_init(&l.scratch, arena->budget);
    is_done = find_domains(arena, &l);
    if (is_done) {
        order_groups(&l);
        choose_scale(&l);
        is_done = put_groups(arena, &l) && index_rows(arena, out);
    }
    mv_arena_release(&l.scratch);
    return is_done ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "allocator state");
}
