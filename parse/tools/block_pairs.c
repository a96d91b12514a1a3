#include "parse/tools/block_pairs.h"

#include "base/grow.h"
#include "base/search.h"
#include "base/sort.h"

/* ---- places ------------------------------------------------------------------------------ */

static bool is_block(const mv_block_pairs *p, uint32_t at)
{
    return p->steps[at].kind != MV_BLOCK_STEP_FAILURE;
}

static bool find_places(mv_block_pairs *p)
{
    mv_block_places *s = &p->places;

    s->addr = mv_push_array(p->arena, uint64_t, p->count);
    s->of = mv_push_array(p->arena, uint32_t, p->count);
    s->block = mv_push_array(p->arena, uint32_t, p->count);
    if (!s->addr || !s->of || !s->block || !mv_rankset_init(p->arena, p->count, &s->used))
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        s->addr[i] = is_block(p, i) ? p->steps[i].entry.addr : 0;
    mv_sort_rows(p->arena, s->addr, p->count, MV_RISING_VALUES(uint64_t));
    for (uint32_t i = 0; i < p->count; i++)
        if (s->count == 0 || s->addr[i] != s->addr[s->count - 1])
            s->addr[s->count++] = s->addr[i];
    for (uint32_t i = 0; i < p->count; i++)
        s->of[i] = (uint32_t)mv_lower_bound_u64(s->addr, s->count,
                                                is_block(p, i) ? p->steps[i].entry.addr : 0);
    return true;
}

uint32_t mv_block_places_overlap(const mv_block_pairs *p, uint32_t rank, uint64_t bytes)
{
    const mv_block_places *s = &p->places;
    uint64_t addr = s->addr[rank], end = bytes > UINT64_MAX - addr ? UINT64_MAX : addr + bytes;
    uint32_t below = rank ? mv_rankset_prev(&s->used, rank - 1) : MV_NO_RANK;
    uint32_t above = mv_rankset_next(&s->used, rank);

    if (below != MV_NO_RANK && mv_block_end(&p->out->blocks[s->block[below]]) > addr)
        return s->block[below];
    return above != MV_NO_RANK && s->addr[above] < end ? s->block[above] : MV_NO_ROW;
}

/* ---- halves ------------------------------------------------------------------------------ */

static void count_free(mv_block_pairs *p, mv_stack_id stack)
{
    if (stack.row < p->stacks)
        p->frees_of[stack.row]++;
}

static bool add_block(mv_block_pairs *p, uint32_t at, mv_block block)
{
    const mv_block_entry *e = &p->steps[at].entry;

    p->block_of[at] = p->out->count;
    block.addr = e->addr;
    block.bytes = e->bytes;
    block.requested = e->requested;
    block.allocator = e->allocator;
    block.end = MV_BLOCK_NEVER;
    return mv_append(p->arena, p->out->blocks, p->out->count, p->out->capacity, block);
}

static bool pair_alloc(mv_block_pairs *p, uint32_t at, uint32_t *rank_of)
{
    const mv_block_entry *e = &p->steps[at].entry;
    uint32_t rank = p->places.of[at], over;

    while ((over = mv_block_places_overlap(p, rank, e->bytes)) != MV_NO_ROW) {
        p->out->blocks[over].is_reused = true;
        mv_rankset_drop(&p->places.used, rank_of[over]);
    }
    rank_of[p->out->count] = rank;
    p->places.block[rank] = p->out->count;
    mv_rankset_add(&p->places.used, rank);
    return add_block(p, at,
                     (mv_block){.stack = e->stack, .birth = at, .free_entry = MV_BLOCK_NEVER});
}

/* Whether the block at a rank is the one freed by an entry. XLA's allocator has its size in both
 * halves; RMM has the program's size, which may be wrong. */
static bool is_freed_by(mv_block_pairs *p, uint32_t rank, const mv_block_entry *e)
{
    mv_block *block;

    if (!mv_rankset_has(&p->places.used, rank))
        return false;
    block = &p->out->blocks[p->places.block[rank]];
    block->is_reused = e->has_total && block->bytes != e->bytes;
    if (block->is_reused)
        mv_rankset_drop(&p->places.used, rank);
    return !block->is_reused;
}

/* `seen` is one more than the last entry of the address, by its rank. */
static bool pair_free(mv_block_pairs *p, uint32_t at, const uint32_t *seen)
{
    uint32_t rank = p->places.of[at];

    if (!is_freed_by(p, rank, &p->steps[at].entry))
        return add_block(p, at,
                         (mv_block){.stack = MV_NO_STACK,
                                    .birth = MV_BLOCK_NOWHERE,
                                    .free_entry = at,
                                    .is_orphan = true,
                                    .earliest = seen[rank]});
    mv_rankset_drop(&p->places.used, rank);
    p->block_of[at] = p->places.block[rank];
    p->out->blocks[p->block_of[at]].free_entry = at;
    count_free(p, p->out->blocks[p->block_of[at]].stack);
    return true;
}

static bool pair_halves(mv_block_pairs *p)
{
    uint32_t *rank_of = mv_push_array(p->arena, uint32_t, p->count); /* by block */
    uint32_t *seen = mv_push_array(p->arena, uint32_t, p->count);
    bool is_done = rank_of && seen;

    for (uint32_t i = 0; is_done && i < p->count; i++) {
        p->block_of[i] = MV_NO_ROW;
        if (!is_block(p, i))
            continue;
        is_done = p->steps[i].kind == MV_BLOCK_STEP_ALLOC ? pair_alloc(p, i, rank_of)
                                                          : pair_free(p, i, seen);
        seen[p->places.of[i]] = i + 1;
    }
    while (is_done && p->count > 0) {
        uint32_t rank = mv_rankset_next(&p->places.used, 0);
        if (rank == MV_NO_RANK)
            break;
        mv_rankset_drop(&p->places.used, rank);
    }
    return is_done;
}

/* ---- totals ------------------------------------------------------------------------------ */

static bool has_total(const mv_block_step *s)
{
    const mv_block_entry *e = &s->entry;

    return e->has_total && s->kind != MV_BLOCK_STEP_FAILURE && e->total < MV_SUM_LIMIT &&
           e->bytes < MV_SUM_LIMIT && (s->kind == MV_BLOCK_STEP_FREE || e->total >= e->bytes);
}

/* An entry's allocator before it, according to the entry. */
static uint64_t total_before(const mv_block_step *s)
{
    return s->kind == MV_BLOCK_STEP_ALLOC ? s->entry.total - s->entry.bytes
                                          : s->entry.total + s->entry.bytes;
}

/* A place where events are missing, or a free whose alloc may be missing there. */
typedef struct {
    uint64_t bytes;
    uint32_t allocator, at, block;
    bool is_orphan;
} missing_half;

typedef struct {
    missing_half *rows;
    uint64_t count, capacity;
} missing_halves;

/* Sets `before` of each entry, and lists the places where totals rise by more than the entries. */
static bool compare_totals(mv_block_pairs *p, missing_halves *list)
{
    uint64_t now[MV_BLOCK_ALLOCATORS] = {0}; /* before the first total: from 0 on, modulo 2^64 */
    bool is_done = true;

    for (uint32_t i = 0; is_done && i < p->count; i++) {
        const mv_block_step *s = &p->steps[i];
        uint32_t a = s->entry.allocator;
        bool is_known = p->allocators[a].is_known;
        uint64_t change = s->kind == MV_BLOCK_STEP_ALLOC ? s->entry.bytes : 0 - s->entry.bytes;
        p->before[i] = MV_NO_BYTES;
        if (!is_block(p, i))
            continue;
        if (!has_total(s)) {
            now[a] += change;
            now[a] = is_known && now[a] >= MV_SUM_LIMIT ? 0 : now[a];
            continue;
        }
        p->before[i] = total_before(s);
        if (!is_known && p->before[i] - now[a] < MV_SUM_LIMIT)
            p->allocators[a].before = p->before[i] - now[a];
        p->allocators[a].is_known = true;
        if (is_known && p->before[i] > now[a])
            is_done =
                mv_append(p->arena, list->rows, list->count, list->capacity,
                          (missing_half){.bytes = p->before[i] - now[a], .allocator = a, .at = i});
        now[a] = s->entry.total;
    }
    return is_done;
}

/* ---- orphans ----------------------------------------------------------------------------- */

/* A free without an alloc, and the last place before it where that many bytes were allocated
 * without an entry, form one block. Rows are of one size and allocator. */
static void match_orphans(mv_block_pairs *p, const missing_half *rows, uint64_t count,
                          uint32_t *open)
{
    uint64_t open_count = 0;

    for (uint64_t i = 0; i < count; i++) {
        mv_block *b = &p->out->blocks[rows[i].block];
        if (!rows[i].is_orphan) {
            open[open_count++] = rows[i].at;
        } else if (open_count > 0 && open[open_count - 1] >= b->earliest) {
            b->birth = open[--open_count];
            p->birth_at[b->birth] = rows[i].block;
        }
    }
}

static bool place_orphans(mv_block_pairs *p, missing_halves *list)
{
    uint32_t *open;
    uint64_t end;

    for (uint32_t i = 0; i < p->out->count; i++) {
        const mv_block *b = &p->out->blocks[i];
        missing_half row = {b->bytes, b->allocator, b->free_entry, i, true};
        if (b->is_orphan && !mv_append(p->arena, list->rows, list->count, list->capacity, row))
            return false;
    }
    open = mv_push_array(p->arena, uint32_t, list->count);
    if (!open)
        return false;
    mv_sort_rows(p->arena, list->rows, list->count, MV_RISING(missing_half, allocator),
                 MV_RISING(missing_half, bytes), MV_RISING(missing_half, at),
                 MV_RISING(missing_half, is_orphan));
    for (uint64_t first = 0; first < list->count; first = end) {
        for (end = first + 1; end < list->count &&
                              list->rows[end].allocator == list->rows[first].allocator &&
                              list->rows[end].bytes == list->rows[first].bytes;)
            end++;
        match_orphans(p, list->rows + first, end - first, open);
    }
    return true;
}

/* Whether an orphan may have existed before the first entry: nothing is known to have used its
 * bytes since then. */
static bool fits_before(const mv_block_pairs *p, const mv_block *b, uint64_t room)
{
    return b->is_orphan && b->birth == MV_BLOCK_NOWHERE && b->earliest == 0 && b->bytes <= room &&
           mv_block_places_overlap(p, p->places.of[b->free_entry], b->bytes) == MV_NO_ROW;
}

/* The other orphans existed before the first entry, as far as they fit into the allocator's total
 * at that time. The rest are bytes without an entry. */
static bool place_before(mv_block_pairs *p)
{
    uint64_t room[MV_BLOCK_ALLOCATORS];

    for (uint32_t a = 0; a < MV_BLOCK_ALLOCATORS; a++)
        room[a] = p->allocators[a].is_known ? p->allocators[a].before : UINT64_MAX;
    for (uint32_t i = 0; i < p->out->count; i++) {
        mv_block *b = &p->out->blocks[i];
        if (!fits_before(p, b, room[b->allocator]))
            continue;
        b->birth = MV_BLOCK_BEFORE;
        p->places.block[p->places.of[b->free_entry]] = i;
        mv_rankset_add(&p->places.used, p->places.of[b->free_entry]);
        if (p->allocators[b->allocator].is_known)
            room[b->allocator] -= b->bytes;
    }
    for (uint32_t a = 0; a < MV_BLOCK_ALLOCATORS; a++) {
        mv_block base = {.bytes = room[a],
                         .requested = room[a],
                         .stack = MV_NO_STACK,
                         .allocator = a,
                         .birth = MV_BLOCK_BEFORE,
                         .end = MV_BLOCK_NEVER,
                         .free_entry = MV_BLOCK_NEVER,
                         .is_made = true};
        if (p->allocators[a].is_known && room[a] > 0 &&
            !mv_append(p->arena, p->out->blocks, p->out->count, p->out->capacity, base))
            return false;
    }
    return true;
}

bool mv_block_pairs_find(mv_block_pairs *p, uint32_t stacks)
{
    missing_halves list = {0};

    p->stacks = stacks;
    p->block_of = mv_push_array(p->arena, uint32_t, p->count);
    p->birth_at = mv_push_array(p->arena, uint32_t, p->count);
    p->before = mv_push_array(p->arena, uint64_t, p->count);
    p->frees_of = mv_push_array(p->arena, uint32_t, (uint64_t)stacks + 1);
    if (!p->block_of || !p->birth_at || !p->before || !p->frees_of)
        return false;
    for (uint32_t i = 0; i < p->count; i++)
        p->birth_at[i] = MV_NO_ROW;
    return find_places(p) && pair_halves(p) && compare_totals(p, &list) &&
           place_orphans(p, &list) && place_before(p);
}
