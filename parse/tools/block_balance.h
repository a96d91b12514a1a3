/* Completes a log of blocks whose events are partly missing: its blocks with their ends, and the
 * blocks that begin and end at each entry.
 *
 * Entries may have the allocator's own total. If it differs from the sum of the entries, events are
 * missing there, and the sum is corrected:
 *
 *     the total is higher   a block begins: one whose free is in the log and whose alloc is not, if
 *                           its size is the difference; else one without a stack
 *     the total is lower    a block ends whose free is not in the log and whose size is the
 *                           difference: one whose bytes are reused later, else one of a stack that
 *                           frees blocks elsewhere, else the newest. Without such a block: several
 *                           that have that sum, or bytes without a stack
 *
 * So the sum of the blocks equals the total at each entry that has one. If blocks of several stacks
 * may have ended, one of them is chosen, and the place is counted in `unsure`.
 *
 * A block whose bytes are allocated again has ended, whether the log has totals or not. Without
 * totals such a place is counted in `unsure`, since other missing ends leave no trace. */
#ifndef MV_BLOCK_BALANCE_H
#define MV_BLOCK_BALANCE_H

#include "parse/tools/block_log.h"

#define MV_BLOCK_BEFORE  UINT32_MAX       /* as a birth: before the first entry */
#define MV_BLOCK_NOWHERE (UINT32_MAX - 1) /* as a birth: its place is unknown */
#define MV_BLOCK_NEVER   UINT32_MAX       /* as an end, or the entry of one: not in the log */

typedef struct {
    uint64_t addr, requested, bytes; /* addr: not set if is_made */
    mv_stack_id stack;
    uint32_t allocator;
    uint32_t birth, end;   /* entries */
    uint32_t free_entry;   /* the entry of its free; MV_BLOCK_NEVER: not in the log */
    uint32_t earliest;     /* for a block without an alloc: the entry before which it cannot
                            * begin */
    uint32_t newer, older; /* live blocks of its allocator; MV_NO_ROW: none */
    bool is_made;          /* bytes with neither end in the log */
    bool is_orphan;        /* only its free is in the log */
    bool is_reused;        /* its bytes are allocated later, without a free */
    bool is_void;          /* it begins and ends at one place: not written */
    bool is_alive;         /* while the balance is made */
} mv_block;

typedef enum {
    MV_BLOCK_ACTION_FREE, /* order within one entry */
    MV_BLOCK_ACTION_ALLOC,
    MV_BLOCK_ACTION_FAILURE
} mv_block_action_kind;

typedef struct {
    uint32_t at; /* entry that gives the time */
    uint32_t block;
    uint8_t kind; /* mv_block_action_kind */
    bool is_own;  /* the entry's own action */
} mv_block_action;

typedef struct {
    mv_block *blocks;
    uint32_t count, capacity;
    mv_block_action *actions; /* in order */
    uint64_t action_count, action_capacity;
    uint64_t unsure;
} mv_block_balance;

/* `arena` holds the results. Notes go to the builder. False when memory is out. */
bool mv_block_balance_find(mv_arena *arena, mv_build *build, const mv_block_step *steps,
                           uint32_t count, mv_block_balance *out);

#endif
