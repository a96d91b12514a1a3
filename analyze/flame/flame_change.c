#include "analyze/flame/flame_change.h"

static mv_flame_row row_of(const mv_diff_row *row)
{
    uint8_t side = row->bytes[1] != 0;
    uint32_t fewer = row->blocks[0] > row->blocks[1];

    return (mv_flame_row){.segment = MV_NO_ROW,
                          .stack = row->stack[side],
                          .blocks = row->blocks[fewer ? 0 : 1] - row->blocks[fewer ? 1 : 0],
                          .part = MV_FLAME_ALLOCATED,
                          .side = side,
                          .is_less = row->delta < 0,
                          .bytes = row->bytes[row->delta >= 0] - row->bytes[row->delta < 0]};
}

mv_code mv_flame_change_find(mv_arena *arena, const mv_diff_code *code, const mv_diff *found,
                             bool has_all_frames, mv_flame_tree_opts opts, mv_flame_tree *out,
                             mv_err *err)
{
    const mv_flame_code sides[2] = {{code->trace[0], code->sites[0].kinds, has_all_frames},
                                    {code->trace[1], code->sites[1].kinds, has_all_frames}};
    mv_flame flame = {.count = found->count};
    mv_arena scratch;
    mv_code result;

    mv_arena_init(&scratch, arena->budget);
    flame.rows = mv_push_array(&scratch, mv_flame_row, found->count);
    for (uint32_t i = 0; flame.rows && i < found->count; i++)
        flame.rows[i] = row_of(&found->sites[i]);
    result = flame.rows ? mv_flame_tree_of(arena, sides, 2, NULL, &flame, opts, out, err)
                        : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "flame graph");
    mv_arena_release(&scratch);
    return result;
}
