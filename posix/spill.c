/* For systems that cannot replace a mapping in one step, and for the page: everything stays in
 * memory. */
#include "parse/model/spill.h"

void mv_spill_arena(mv_arena *arena, const char *folder, mv_spilled *out)
{
    mv_arena_large block = {0};

    (void)folder;
    *out = (mv_spilled){0};
    while (mv_arena_next_large(arena, &block))
        out->kept += block.bytes;
}

void mv_spill_forget(const mv_arena *arena)
{
    (void)arena;
}
