#include "parse/tools/block_balance.h"

#include <inttypes.h>

#include "base/grow.h"
#include "base/rankset.h"
#include "base/search.h"
#include "base/size.h"
#include "base/sort.h"
#include "parse/model/sums.h"

/* ---- matching allocs and frees; totals --------------------------------------------------- */

enum { MOST_ALLOCATORS = 256 };

/* The addresses at which blocks begin, and the live blocks at them. */
typedef struct {
    uint64_t *addr; /* [count] distinct addresses in ascending order */
    uint32_t count;
    uint32_t *of;    /* [entries] rank of each entry's address among all addresses */
    uint32_t *block; /* [count] live block at each address */
    mv_rankset used;
} block_places;

typedef struct {
    const mv_block_step *steps;
    uint32_t count;
    mv_block_balance *out;
    mv_arena *arena;
    block_places places;
    uint32_t *block_of; /* [count] block of each entry that is an alloc or a free */
    uint32_t *birth_at; /* [count] orphan that begins at each entry; MV_NO_ROW: none */
    uint64_t *before;   /* [count] the allocator's total before the entry; MV_NO_BYTES: unknown */
    uint32_t *frees_of; /* [stacks] number of blocks with a free in the log */
    uint32_t stacks;
    struct {
        bool is_known;   /* at least one entry has a total */
        uint64_t before; /* the allocator's total before the first entry */
    } allocators[MOST_ALLOCATORS];
} block_pairs;

static inline uint64_t block_end(const mv_block *b)
{
    return b->bytes > UINT64_MAX - b->addr ? UINT64_MAX : b->addr + b->bytes;
}

/* ---- addresses --------------------------------------------------------------------------- */

static bool is_block(const block_pairs *p, uint32_t at)
{
    return p->steps[at].kind != MV_BLOCK_STEP_FAILURE;
}

static bool find_places(block_pairs *p)
{
    block_places *s = &p->places;

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

/* Returns the live block that overlaps [addr, addr + bytes), or MV_NO_ROW. `rank` is the rank of
 * `addr`. */
static uint32_t overlapping_block(const block_pairs *p, uint32_t rank, uint64_t bytes)
{
    const block_places *s = &p->places;
    uint64_t addr = s->addr[rank], end = bytes > UINT64_MAX - addr ? UINT64_MAX : addr + bytes;
    uint32_t below = rank ? mv_rankset_prev(&s->used, rank - 1) : MV_NO_RANK;
    uint32_t above = mv_rankset_next(&s->used, rank);

    if (below != MV_NO_RANK && block_end(&p->out->blocks[s->block[below]]) > addr)
        return s->block[below];
    return above != MV_NO_RANK && s->addr[above] < end ? s->block[above] : MV_NO_ROW;
}

/* ---- matching allocs and frees ----------------------------------------------------------- */

static void count_free(block_pairs *p, mv_stack_id stack)
{
    if (stack.row < p->stacks)
        p->frees_of[stack.row]++;
}

static bool add_block(block_pairs *p, uint32_t at, mv_block block)
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

static bool pair_alloc(block_pairs *p, uint32_t at, uint32_t *rank_of)
{
    const mv_block_entry *e = &p->steps[at].entry;
    uint32_t rank = p->places.of[at], over;

    while ((over = overlapping_block(p, rank, e->bytes)) != MV_NO_ROW) {
        p->out->blocks[over].is_reused = true;
        mv_rankset_drop(&p->places.used, rank_of[over]);
    }
    rank_of[p->out->count] = rank;
    p->places.block[rank] = p->out->count;
    mv_rankset_add(&p->places.used, rank);
    return add_block(p, at,
                     (mv_block){.stack = e->stack, .birth = at, .free_entry = MV_BLOCK_NEVER});
}

/* Returns true if an entry frees the live block at a rank. XLA logs the allocator's size in allocs
 * and frees. RMM logs the size that the program passes, which may be wrong. */
static bool is_freed_by(block_pairs *p, uint32_t rank, const mv_block_entry *e)
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

/* Pairs a free with its alloc. `seen` is 1 + the last entry of each address, by rank. */
static bool pair_free(block_pairs *p, uint32_t at, const uint32_t *seen)
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

static bool pair_halves(block_pairs *p)
{
    uint32_t *rank_of = mv_push_array(p->arena, uint32_t, p->count); /* rank of each block */
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

/* Returns the total of an entry's allocator before the entry, computed from the total after it. */
static uint64_t total_before(const mv_block_step *s)
{
    return s->kind == MV_BLOCK_STEP_ALLOC ? s->entry.total - s->entry.bytes
                                          : s->entry.total + s->entry.bytes;
}

/* An entry before which an alloc may be missing, or a free without an alloc. */
typedef struct {
    uint64_t bytes;
    uint32_t allocator, at, block;
    bool is_orphan;
} missing_half;

typedef struct {
    missing_half *rows;
    uint64_t count, capacity;
} missing_halves;

/* Sets `before` of each entry, and lists the entries before which a total has risen without an
 * alloc. */
static bool compare_totals(block_pairs *p, missing_halves *list)
{
    uint64_t now[MOST_ALLOCATORS] = {0}; /* totals; until an allocator's first total, they are
                                          * counted from 0, modulo 2^64 */
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

/* Matches each free without an alloc with the last earlier entry before which the total rose by the
 * block's size. All rows have the same size and allocator. */
static void match_orphans(block_pairs *p, const missing_half *rows, uint64_t count, uint32_t *open)
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

static bool place_orphans(block_pairs *p, missing_halves *list)
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

/* Returns true if an orphan may have existed before the first entry, which is the case if no other
 * block has used its bytes since then. */
static bool fits_before(const block_pairs *p, const mv_block *b, uint64_t room)
{
    return b->is_orphan && b->birth == MV_BLOCK_NOWHERE && b->earliest == 0 && b->bytes <= room &&
           overlapping_block(p, p->places.of[b->free_entry], b->bytes) == MV_NO_ROW;
}

/* Places as many of the remaining orphans before the first entry as the allocator's total at that
 * time allows. The remainder of this total becomes bytes without a stack. */
static bool place_before(block_pairs *p)
{
    uint64_t room[MOST_ALLOCATORS];

    for (uint32_t a = 0; a < MOST_ALLOCATORS; a++)
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
    for (uint32_t a = 0; a < MOST_ALLOCATORS; a++) {
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

/* Fills all fields of *p except steps, count, out and arena. p->out->blocks then contains a block
 * for each alloc and for each free without an alloc. Returns false when out of memory. */
static bool find_pairs(block_pairs *p, uint32_t stacks)
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

enum { MOST_LOOKED_AT = 1024 }; /* largest number of blocks to examine at an entry */

/* An allocator has two lists of live blocks: blocks whose free is in the log, and all others. */
enum { WITHOUT_FREE, WITH_FREE };

typedef struct {
    block_pairs pairs;
    mv_block_balance *out;
    mv_build *build;
    mv_arena *arena;
    uint32_t newest[MOST_ALLOCATORS][2];
    uint64_t alive[MOST_ALLOCATORS]; /* bytes */
    bool failed;
} balance;

/* ---- blocks ------------------------------------------------------------------------------ */

static void act(balance *b, uint32_t at, uint32_t block, mv_block_action_kind kind, bool is_own)
{
    mv_block_action action = {at, block, (uint8_t)kind, is_own};

    b->failed |= !mv_append(b->arena, b->out->actions, b->out->action_count,
                            b->out->action_capacity, action);
}

static uint32_t *list_of(balance *b, const mv_block *block)
{
    return &b->newest[block->allocator]
                     [block->free_entry == MV_BLOCK_NEVER ? WITHOUT_FREE : WITH_FREE];
}

static void link_block(balance *b, uint32_t row)
{
    mv_block *block = &b->out->blocks[row];
    uint32_t *newest = list_of(b, block);

    block->newer = MV_NO_ROW;
    block->older = *newest;
    if (*newest != MV_NO_ROW)
        b->out->blocks[*newest].newer = row;
    *newest = row;
    block->is_alive = true;
    b->alive[block->allocator] += block->bytes;
}

static void unlink_block(balance *b, uint32_t row)
{
    mv_block *block = &b->out->blocks[row];

    if (block->newer == MV_NO_ROW)
        *list_of(b, block) = block->older;
    else
        b->out->blocks[block->newer].older = block->older;
    if (block->older != MV_NO_ROW)
        b->out->blocks[block->older].newer = block->newer;
    block->is_alive = false;
    b->alive[block->allocator] -= block->bytes;
}

static uint32_t rank_of(const balance *b, const mv_block *block)
{
    uint32_t at = block->is_orphan ? block->free_entry : block->birth;

    return b->pairs.places.of[at];
}

static void end_block(balance *b, uint32_t row, uint32_t at, bool is_own)
{
    mv_block *block = &b->out->blocks[row];

    if (!block->is_made)
        mv_rankset_drop(&b->pairs.places.used, rank_of(b, block));
    block->end = at;
    block->is_void = !is_own && block->birth == at;
    unlink_block(b, row);
    act(b, at, row, MV_BLOCK_ACTION_FREE, is_own);
}

/* Begins a block of bytes without a stack. */
static void make_block(balance *b, uint32_t allocator, uint64_t bytes, uint32_t at)
{
    mv_block made = {.bytes = bytes,
                     .requested = bytes,
                     .stack = MV_NO_STACK,
                     .allocator = allocator,
                     .birth = at,
                     .end = MV_BLOCK_NEVER,
                     .free_entry = MV_BLOCK_NEVER,
                     .is_made = true};

    b->failed |= !mv_append(b->arena, b->out->blocks, b->out->count, b->out->capacity, made);
    if (b->failed)
        return;
    link_block(b, b->out->count - 1);
    act(b, at, b->out->count - 1, MV_BLOCK_ACTION_ALLOC, false);
}

static void report_half(balance *b, const char *half, uint64_t addr)
{
    mv_build_note(b->build, MV_NOTE_LOST_EVENTS, "%s of the block at %#" PRIx64, half, addr);
}

static void format_bytes(balance *b, const char *what, uint64_t bytes)
{
    char size[MV_SIZE_TEXT];

    mv_size_text(size, bytes);
    mv_build_note(b->build, MV_NOTE_LOST_EVENTS, "%s that were %s", size, what);
}

/* Ends the live blocks that overlap a new block. If the total shows that the number of allocated
 * bytes did not change, begins another block in their place. */
static void clear_place(balance *b, uint32_t rank, uint64_t bytes, uint32_t at)
{
    uint32_t over;

    while (!b->failed && (over = overlapping_block(&b->pairs, rank, bytes)) != MV_NO_ROW) {
        const mv_block *block = &b->out->blocks[over];
        uint32_t allocator = block->allocator;
        uint64_t lost = block->bytes;
        report_half(b, "the end", block->addr);
        end_block(b, over, at, false);
        if (b->pairs.allocators[allocator].is_known)
            make_block(b, allocator, lost, at);
        else
            b->out->unsure++; /* other frees may be missing too */
    }
}

static void begin_block(balance *b, uint32_t row, uint32_t at, bool is_own)
{
    mv_block *block = &b->out->blocks[row];
    uint32_t rank = rank_of(b, block);

    clear_place(b, rank, block->bytes, at);
    b->pairs.places.block[rank] = row;
    mv_rankset_add(&b->pairs.places.used, rank);
    link_block(b, row);
    act(b, at, row, MV_BLOCK_ACTION_ALLOC, is_own);
}

/* ---- missing events ---------------------------------------------------------------------- */

static uint32_t frees_of(const balance *b, const mv_block *block)
{
    return block->stack.row < b->pairs.stacks ? b->pairs.frees_of[block->stack.row] : 0;
}

/* Finds a block of this size whose free is missing; MV_NO_ROW if there is none. *is_sure is set if
 * no block with a different stack fits equally well. */
static uint32_t find_ended(const balance *b, uint32_t allocator, uint64_t bytes, bool *is_sure)
{
    uint32_t row = b->newest[allocator][WITHOUT_FREE], best = MV_NO_ROW, looked = 0;
    uint32_t best_worth = 0;

    *is_sure = true;
    for (; row != MV_NO_ROW && looked < MOST_LOOKED_AT; row = b->out->blocks[row].older, looked++) {
        const mv_block *block = &b->out->blocks[row];
        uint32_t worth = block->is_reused ? 3 : frees_of(b, block) > 0 ? 2 : 1;
        if (block->bytes != bytes)
            continue;
        if (worth == best_worth && block->stack.row != b->out->blocks[best].stack.row)
            *is_sure = false;
        if (worth <= best_worth)
            continue;
        best = row;
        best_worth = worth;
        *is_sure = true;
    }
    return best;
}

/* Ends the newest blocks whose sizes add up to `bytes`. Returns false if there are no such
 * blocks. */
static bool end_several(balance *b, uint32_t allocator, uint64_t bytes, uint32_t at)
{
    uint32_t rows[MOST_LOOKED_AT], count = 0, looked = 0;
    uint32_t row = b->newest[allocator][WITHOUT_FREE];
    uint64_t rest = bytes;

    for (; row != MV_NO_ROW && rest > 0 && looked < MOST_LOOKED_AT; looked++) {
        const mv_block *block = &b->out->blocks[row];
        if (!block->is_made && block->bytes <= rest) {
            rest -= block->bytes;
            rows[count++] = row;
        }
        row = block->older;
    }
    if (rest > 0)
        return false;
    for (uint32_t i = 0; i < count; i++)
        end_block(b, rows[i], at, false);
    b->out->unsure++;
    return true;
}

/* Splits bytes without a stack into two blocks, the first of which has `bytes`. */
static void cut_made(balance *b, uint32_t row, uint64_t bytes)
{
    mv_block part = b->out->blocks[row];

    part.bytes = part.requested = part.bytes - bytes;
    part.is_alive = false;
    b->failed |= !mv_append(b->arena, b->out->blocks, b->out->count, b->out->capacity, part);
    if (b->failed)
        return;
    b->out->blocks[row].bytes = b->out->blocks[row].requested = bytes;
    b->alive[part.allocator] -= part.bytes;
    link_block(b, b->out->count - 1);
    if (part.birth != MV_BLOCK_BEFORE)
        act(b, part.birth, b->out->count - 1, MV_BLOCK_ACTION_ALLOC, false);
}

/* Ends bytes without a stack. Returns the number of bytes that remain to be ended. */
static uint64_t end_made(balance *b, uint32_t allocator, uint64_t bytes, uint32_t at)
{
    uint32_t row = b->newest[allocator][WITHOUT_FREE], looked = 0;

    for (; row != MV_NO_ROW && bytes > 0 && !b->failed && looked < MOST_LOOKED_AT; looked++) {
        const mv_block *block = &b->out->blocks[row];
        uint32_t older = block->older;
        if (block->is_made) {
            if (block->bytes > bytes)
                cut_made(b, row, bytes);
            bytes -= b->out->blocks[row].bytes;
            end_block(b, row, at, false);
        }
        row = older;
    }
    return bytes;
}

/* Ends the newest blocks, until `bytes` bytes have ended. Any bytes of these blocks beyond `bytes`
 * become bytes without a stack. */
static void end_any(balance *b, uint32_t allocator, uint64_t bytes, uint32_t at)
{
    b->out->unsure++;
    for (uint32_t list = WITHOUT_FREE; list <= WITH_FREE; list++)
        while (bytes > 0 && !b->failed && b->newest[allocator][list] != MV_NO_ROW) {
            uint32_t row = b->newest[allocator][list];
            uint64_t ended = b->out->blocks[row].bytes;
            end_block(b, row, at, false);
            if (ended > bytes)
                make_block(b, allocator, ended - bytes, at);
            bytes -= ended < bytes ? ended : bytes;
        }
}

static void take_away(balance *b, uint32_t allocator, uint64_t bytes, uint32_t at)
{
    bool is_sure;
    uint32_t row = find_ended(b, allocator, bytes, &is_sure);

    if (row != MV_NO_ROW) {
        end_block(b, row, at, false);
        b->out->unsure += !is_sure;
    } else if (!end_several(b, allocator, bytes, at)) {
        bytes = end_made(b, allocator, bytes, at);
        if (bytes > 0)
            end_any(b, allocator, bytes, at);
    }
}

/* Makes the sum of the live blocks equal to the allocator's total before the entry. */
static void follow_total(balance *b, uint32_t at)
{
    uint32_t allocator = b->pairs.steps[at].entry.allocator;
    uint64_t before = b->pairs.before[at], alive = b->alive[allocator];

    if (b->pairs.birth_at[at] != MV_NO_ROW) {
        uint32_t row = b->pairs.birth_at[at];
        report_half(b, "the alloc", b->out->blocks[row].addr);
        begin_block(b, row, at, false);
        alive = b->alive[allocator];
    }
    if (before == MV_NO_BYTES || before == alive)
        return;
    if (before > alive) {
        format_bytes(b, "allocated", before - alive);
        make_block(b, allocator, before - alive, at);
    } else {
        format_bytes(b, "freed", alive - before);
        take_away(b, allocator, alive - before, at);
    }
}

/* Ends a block whose alloc is missing. Without totals, it is unknown when the block began, so it
 * begins and ends at its free, unless it can have existed from the start. */
static void end_lone(balance *b, uint32_t row, uint32_t at)
{
    if (b->out->blocks[row].end != MV_BLOCK_NEVER)
        return; /* the block's bytes were allocated again earlier */
    b->out->blocks[row].birth = at;
    begin_block(b, row, at, false);
    end_block(b, row, at, true);
}

/* ---- entries ----------------------------------------------------------------------------- */

static void apply(balance *b, uint32_t at)
{
    const mv_block_step *step = &b->pairs.steps[at];
    uint32_t row = b->pairs.block_of[at], allocator = step->entry.allocator;

    if (step->kind == MV_BLOCK_STEP_FAILURE) {
        act(b, at, MV_NO_ROW, MV_BLOCK_ACTION_FAILURE, true);
        return;
    }
    follow_total(b, at);
    if (b->failed)
        return;
    if (step->kind == MV_BLOCK_STEP_ALLOC) {
        begin_block(b, row, at, true);
    } else if (b->out->blocks[row].is_alive) {
        end_block(b, row, at, true);
    } else if (b->pairs.allocators[allocator].is_known) {
        /* Another block was ended in place of this one when the allocator's total differed. */
        report_half(b, "the alloc", step->entry.addr);
        take_away(b, allocator, step->entry.bytes, at);
    } else {
        report_half(b, "the alloc", step->entry.addr);
        b->out->unsure++;
        end_lone(b, row, at);
    }
}

static void link_before(balance *b)
{
    for (uint32_t i = 0; i < MOST_ALLOCATORS; i++)
        b->newest[i][WITHOUT_FREE] = b->newest[i][WITH_FREE] = MV_NO_ROW;
    for (uint32_t i = 0; i < b->out->count; i++)
        if (b->out->blocks[i].birth == MV_BLOCK_BEFORE)
            link_block(b, i);
}

bool mv_block_balance_find(mv_arena *arena, mv_build *build, const mv_block_step *steps,
                           uint32_t count, mv_block_balance *out)
{
    balance *b = mv_push_struct(arena, balance);

    *out = (mv_block_balance){0};
    if (!b)
        return false;
    b->pairs = (block_pairs){.steps = steps, .count = count, .out = out, .arena = arena};
    b->out = out;
    b->build = build;
    b->arena = arena;
    if (!find_pairs(&b->pairs, build->trace->stacks.count))
        return false;
    link_before(b);
    for (uint32_t i = 0; i < count && !b->failed; i++)
        apply(b, i);
    mv_sort_rows(arena, out->actions, out->action_count, MV_RISING(mv_block_action, at),
                 MV_RISING(mv_block_action, is_own), MV_RISING(mv_block_action, kind));
    return !b->failed;
}
