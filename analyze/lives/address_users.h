/* Finds the allocations that used an allocation's bytes before it, and those that used them after
 * it.
 *
 *     bytes │        ┌── 5 ──┐        user of the first byte of 7 before it: 5
 *           │ ┌─ 3 ─┐│       │┌─ 7 ─┐                    and after it: none
 *           │ │     │└───────┘│     │ of the first byte of 3 after it: 7
 *           └──────────────────────────▶ births
 *
 * A user is an allocation whose block covers the byte, wherever the block begins. */
#pragma once

#include "analyze/lives/lives.h"

typedef struct {
    uint32_t count;     /* allocs.count */
    uint32_t *previous; /* [count] latest earlier row whose block covers the first byte of this
                         * row's block, or MV_NO_ROW */
    uint32_t *next;     /* [count] first later row whose block covers the first byte of this row's
                         * block, or MV_NO_ROW */
} mv_address_users;

/* Finds the users of every allocation. O(n log n) in the number of allocations, with 8 bytes of
 * memory per allocation. Called once per device. Fails with MV_NOMEM. */
mv_code mv_address_users_find(mv_arena *arena, const mv_lives *lives, mv_address_users *out,
                              mv_err *err);
