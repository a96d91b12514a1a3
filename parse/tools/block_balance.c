#include "parse/tools/block_balance.h"

#include <inttypes.h>

#include "base/grow.h"
#include "base/size.h"
#include "base/sort.h"
#include "parse/tools/block_pairs.h"

enum { MOST_LOOKED_AT = 1024 }; /* blocks that may have ended at one place */

/* Live blocks are in one of two lists of their allocator: blocks whose free is in the log, and the
 * others. */
enum { WITHOUT_FREE, WITH_FREE };

typedef struct {
    mv_block_pairs pairs;
    mv_block_balance *out;
    mv_build *build;
    mv_arena *arena;
    uint32_t newest[MV_BLOCK_ALLOCATORS][2];
    uint64_t alive[MV_BLOCK_ALLOCATORS]; /* bytes */
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

/* Bytes without a stack, from an entry on. */
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

/* Blocks that overlap a new block have ended. If the total says that as much is allocated as
 * before, another block began. */
static void clear_place(balance *b, uint32_t rank, uint64_t bytes, uint32_t at)
{
    uint32_t over;

    while (!b->failed && (over = mv_block_places_overlap(&b->pairs, rank, bytes)) != MV_NO_ROW) {
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

/* ---- what is missing --------------------------------------------------------------------- */

static uint32_t frees_of(const balance *b, const mv_block *block)
{
    return block->stack.row < b->pairs.stacks ? b->pairs.frees_of[block->stack.row] : 0;
}

/* The block of that size whose free is missing; MV_NO_ROW if there is none. *is_sure: no other
 * stack has a block that could be it. */
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

/* The newest blocks whose sizes add up to `bytes`: ends them if they exist. */
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

/* Splits a made block in two, of which one has `bytes`. */
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

/* Ends bytes without a stack. Returns the shortfall. */
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

/* Ends the newest blocks; their bytes beyond `bytes` become bytes without a stack. */
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

/* Makes the sum of the live blocks equal to the total of the entry's allocator before the entry. */
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

/* Without totals, the beginning of a block with only a free in the log is unknown unless it can
 * have been there before: it exists for a moment. */
static void end_lone(balance *b, uint32_t row, uint32_t at)
{
    if (b->out->blocks[row].end != MV_BLOCK_NEVER)
        return; /* its bytes were reused before */
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
        /* Another block was ended in its place because the allocator's total differed. */
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
    for (uint32_t i = 0; i < MV_BLOCK_ALLOCATORS; i++)
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
    b->pairs = (mv_block_pairs){.steps = steps, .count = count, .out = out, .arena = arena};
    b->out = out;
    b->build = build;
    b->arena = arena;
    if (!mv_block_pairs_find(&b->pairs, build->trace->stacks.count))
        return false;
    link_before(b);
    for (uint32_t i = 0; i < count && !b->failed; i++)
        apply(b, i);
    mv_sort_rows(arena, out->actions, out->action_count, MV_RISING(mv_block_action, at),
                 MV_RISING(mv_block_action, is_own), MV_RISING(mv_block_action, kind));
    return !b->failed;
}
