#include "analyze/flame/flame_change.h"

#include "tests/fixture/fixture.h"

typedef struct {
    mv_trace trace[2];
    mv_lives lives[2];
    mv_diff_code code;
    mv_diff_sides sides;
    mv_diff found;
    mv_flame_tree tree;
} change;

static void compare(change *c, const mv_trace *before, const mv_trace *after, bool is_inverted)
{
    const mv_trace *trace[2] = {before, after};

    mvt_ok(mv_diff_code_find(mvt_memory(), before, after, &c->code, mvt_err()));
    for (int s = 0; s < 2; s++) {
        mv_window all = {0, mv_trace_events(trace[s], 0).count};
        c->lives[s] = mvt_lives(mvt_memory(), trace[s], 0);
        c->sides.lives[s] = &c->lives[s];
        c->sides.reserved[s] = (mv_moment_query){.kind = MV_MOMENT_PEAK, .window = all};
        mvt_ok(mv_moment_find(mvt_memory(), &c->lives[s], c->sides.reserved[s], &c->sides.moment[s],
                              mvt_err()));
    }
    mvt_ok(mv_diff_find(mvt_memory(), &c->code, &c->sides, &c->found, mvt_err()));
    mvt_ok(mv_flame_change_find(mvt_memory(), &c->code, &c->found, false,
                                (mv_flame_tree_opts){.is_inverted = is_inverted}, &c->tree,
                                mvt_err()));
}

/* Returns the change of a row whose stack begins with this label, read from the outside (inverted:
 * from the inside). */
static int64_t part_of(const change *c, const mv_diff_row *row, const char *label, bool is_inverted)
{
    int s = row->bytes[1] != 0;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(c->code.trace[s], row->stack[s], &count);
    const uint8_t *kinds = c->code.sites[s].kinds;
    mv_frame_kind shows = mv_stack_shows(c->code.trace[s], kinds, row->stack[s]);
    char text[512];

    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = is_inverted ? k : count - 1 - k;
        if (!mv_frame_is_shown(c->code.trace[s], kinds, shows, frames[i]))
            continue;
        mv_frame_label(c->code.trace[s], frames[i], text, sizeof text);
        return strcmp(text, label) == 0 ? row->delta : 0;
    }
    mv_culprit_label(c->code.trace[s], c->code.sites[s].kinds, row->stack[s], text, sizeof text);
    return strcmp(text, label) == 0 ? row->delta : 0;
}

/* Every node must be the sum of its rows, and the root must be the total change. */
static void check(const change *c, bool is_inverted, const char *what)
{
    const mv_flame_tree *tree = &c->tree;
    int64_t all = (int64_t)(c->found.level[1].allocated - c->found.level[0].allocated);

    cr_assert_eq(mv_flame_change(&tree->nodes[0]), c->found.delta, "%s", what);
    cr_assert_eq(mv_flame_change(&tree->nodes[0]), all, "%s", what);
    for (uint32_t i = 0; i < tree->count; i++) {
        const mv_flame_node *node = &tree->nodes[i];
        uint64_t bytes = 0, less = 0;
        int64_t literal = 0;
        for (uint32_t k = node->child; k; k = tree->nodes[k].next) {
            bytes += tree->nodes[k].bytes;
            less += tree->nodes[k].less;
        }
        cr_assert_leq(bytes, node->bytes, "%s", what);
        cr_assert_leq(less, node->less, "%s", what);
        cr_assert_leq(node->less, node->bytes, "%s", what);
        if (node->depth != 1)
            continue;
        for (uint32_t k = 0; k < c->found.count; k++)
            literal += part_of(c, &c->found.sites[k], node->label, is_inverted);
        cr_assert_eq(mv_flame_change(node), literal, "%s: %s", what, node->label);
    }
}

Test(flame_change, frames_grow_shrink_appear_and_disappear)
{
    static const char *const before[] = {"f:a.py:10;main:a.py:90", "g:a.py:30;main:a.py:90"};
    static const char *const after[] = {"f:a.py:10;main:a.py:90", "h:b.py:3;main:a.py:90"};
    mvt_trace *made[2] = {mvt_new(), mvt_new()};
    change c = {0};

    for (int s = 0; s < 2; s++) {
        mvt_segment_alloc(made[s], .addr = 0x10000000, .bytes = 64 * MIB);
        mvt_alloc(made[s], .addr = 0x10000000, .bytes = (s ? 5 : 2) * MIB,
                  .stack = (s ? after : before)[0]);
        mvt_alloc(made[s], .addr = 0x11000000, .bytes = (s ? 7 : 4) * MIB,
                  .stack = (s ? after : before)[1]);
        mvt_final_heap(made[s]);
    }
    compare(&c, mvt_done(made[0]), mvt_done(made[1]), false);
    check(&c, false, "made");
    cr_assert_eq(c.tree.nodes[0].bytes, 14 * MIB); /* 3 increased, 4 disappeared, 7 is new */
    cr_assert_eq(c.tree.nodes[0].less, 4 * MIB);
    cr_assert_eq(c.tree.depth, 2);
}

LongTest(flame_change, real_pairs_add_up_in_both_directions)
{
    static const char *const pairs[][2] = {{"leak_in_training", "gpt_train"},
                                           {"gpt_train", "gpt_train_expandable"},
                                           {"mlp_train", "oom"},
                                           {"late_start", "resnet_all"},
                                           {"no_history", "gpt_train"},
                                           {"state_only", "no_history"}};

    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int way = 0; way < 4; way++) {
            change c = {0};
            bool is_inverted = way & 2;
            c.trace[0] = mvt_load(mvt_memory(), pairs[i][way & 1]);
            c.trace[1] = mvt_load(mvt_memory(), pairs[i][1 - (way & 1)]);
            compare(&c, &c.trace[0], &c.trace[1], is_inverted);
            check(&c, is_inverted, pairs[i][0]);
        }
}

Test(flame_change, a_recording_does_not_differ_from_itself)
{
    change c = {0};

    c.trace[0] = mvt_load(mvt_memory(), "gpt_train");
    compare(&c, &c.trace[0], &c.trace[0], false);
    cr_assert_eq(c.tree.nodes[0].bytes, 0);
    cr_assert_eq(c.tree.count, 1);
}
