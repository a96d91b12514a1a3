/* Completes a log of blocks from which events are missing. The result is a list of blocks, each
 * with its beginning and end, and a list of actions for each entry.
 *
 * Entries may contain the allocator's own total. If this total differs from the sum of the entries
 * so far, events are missing before the entry, and the sum is corrected:
 *
 *     the total is higher   a block begins: one of this size whose free is in the log but whose
 *                           alloc is not, if there is one; else one without a stack
 *     the total is lower    a block ends whose free is not in the log and whose size is the
 *                           difference: one whose bytes are reused later, else one of a stack that
 *                           frees blocks elsewhere, else the newest. Without such a block: several
 *                           with that sum, or bytes without a stack
 *
 * After these corrections, the sum of the blocks equals the total at each entry that has a total.
 * If blocks of several stacks may have ended, one of them is chosen, and the entry is counted in
 * `unsure`.
 *
 * A block whose bytes are allocated again has ended, whether or not the log has totals. In a log
 * without totals, the entry that reuses the bytes is counted in `unsure`, because a free may also
 * be missing for blocks whose bytes are never reused, and nothing reveals those. */
#pragma once

#include "parse/tools/block_log.h"

#define MV_BLOCK_BEFORE  UINT32_MAX       /* the block began before the first entry */
#define MV_BLOCK_NOWHERE (UINT32_MAX - 1) /* it is unknown when the block began */
#define MV_BLOCK_NEVER   UINT32_MAX       /* the log does not contain the end or the entry */

typedef struct {
    uint64_t addr, requested, bytes; /* address, requested bytes and size of the block; if
                                      * `is_made`, addr is not set */
    mv_stack_id stack;
    uint32_t allocator;
    uint32_t birth, end;   /* entries at which the block begins and ends */
    uint32_t free_entry;   /* entry of its free; MV_BLOCK_NEVER: not in the log */
    uint32_t earliest;     /* if the alloc is missing: the earliest entry at which the block can
                            * begin */
    uint32_t newer, older; /* neighbours in a list of live blocks; MV_NO_ROW: none */
    bool is_made;          /* the block stands for bytes whose alloc and free are both missing */
    bool is_orphan;        /* only the block's free is in the log */
    bool is_reused;        /* the block's bytes are allocated again without a free */
    bool is_void;          /* the block begins and ends at the same entry, and is not written */
    bool is_alive;         /* the block is alive; used only while the log is being completed */
} mv_block;

typedef enum {
    MV_BLOCK_ACTION_FREE, /* the actions of one entry are sorted in this order */
    MV_BLOCK_ACTION_ALLOC,
    MV_BLOCK_ACTION_FAILURE
} mv_block_action_kind;

typedef struct {
    uint32_t at; /* entry at whose time the action happens */
    uint32_t block;
    uint8_t kind; /* mv_block_action_kind */
    bool is_own;  /* the log contains the action */
} mv_block_action;

typedef struct {
    mv_block *blocks;
    uint32_t count, capacity;
    mv_block_action *actions; /* actions, sorted by entry */
    uint64_t action_count, action_capacity;
    uint64_t unsure;
} mv_block_balance;

/* Completes the log. Results are allocated in `arena`, and notes are added to `build`. Returns
 * false when out of memory. */
bool mv_block_balance_find(mv_arena *arena, mv_build *build, const mv_block_step *steps,
                           uint32_t count, mv_block_balance *out);
