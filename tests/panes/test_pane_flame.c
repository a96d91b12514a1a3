/* The flame graph, used by keyboard, and by segment. */
#include "tests/fixture/fixture_scene.h"
#include "tests/fixture/fixture_view.h"
#include "view/panes/panels.h"

static const mv_flame_node *node_at(const mv_view *view)
{
    const mv_flames *f = &view->panels->flames_shown->flames;

    return &f->tree.nodes[mv_flames_node(f, view->panels->flame_spot)];
}

static mv_view *flames_of(const char *name)
{
    mv_view *view = mvt_view(name);

    mv_view_do(view, MV_DO_show_flame, 0);
    view->spot.place = MV_PART_LOWER;
    mvt_view_frame(view);
    return view;
}

/* Moves from the buttons down into the boxes: to the heaviest box, to the side, and up again. */
ViewTest(pane_flame, arrows_go_from_box_to_box, flames_of("gpt_train"))
{
    const mv_flame_tree *tree = &view->panels->flames_shown->flames.tree;

    for (int i = 0; i < 12 && !view->spot.is_inside; i++)
        mvt_view_key(view, MV_KEY_DOWN, 0);
    cr_assert(view->spot.is_inside, "the boxes can be reached");
    for (int i = 0; i < 3; i++)
        mvt_view_key(view, MV_KEY_DOWN, 0);
    const mv_flame_node *at = node_at(view);
    cr_expect_geq(at->depth, 2);
    cr_expect_eq(at, &tree->nodes[tree->nodes[at->parent].child], "the heaviest");
    for (int i = 0; i < 6 && at == node_at(view); i++) {
        mvt_view_key(view, MV_KEY_DOWN, 0);
        mvt_view_key(view, MV_KEY_RIGHT, 0);
        at = node_at(view);
    }
    cr_expect_gt(at->depth, 2);
    mvt_view_key(view, MV_KEY_UP, 0);
    cr_expect_eq(node_at(view), &tree->nodes[at->parent]);
}

ViewTest(pane_flame, enter_shows_a_box_alone_and_backspace_its_caller, flames_of("gpt_train"))
{
    for (int i = 0; i < 16 && view->panels->flame_spot == 0; i++)
        mvt_view_key(view, MV_KEY_DOWN, 0);
    for (int i = 0; i < 2; i++)
        mvt_view_key(view, MV_KEY_DOWN, 0);
    uint64_t spot = view->panels->flame_spot;
    cr_assert_neq(spot, 0);
    mvt_view_key(view, MV_KEY_ENTER, 0);
    cr_expect_eq(view->now->flame_focus, spot);
    mvt_view_key(view, MV_KEY_BACKSPACE, 0);
    cr_expect_neq(view->now->flame_focus, spot);
    cr_expect_eq(
        view->panels->flames_shown->flames.tree.nodes[view->panels->flames_shown->focus].depth + 1,
        node_at(view)->depth);
}

/* In a pane with few levels, the box must stay visible on the way down. */
ViewTest(pane_flame, the_keyboards_box_is_visible, flames_of("gpt_train"))
{
    const mv_panels *p = view->panels;
    uint32_t deepest = 0;

    mv_view_write_desk(view)->lower_share = MV_LEAST_LOWER;
    mvt_view_do(view, MV_DO_flame_frames, 0);
    for (int i = 0; i < 40; i++) {
        uint32_t depth;
        mvt_view_key(view, MV_KEY_DOWN, 0);
        if (p->flame_spot == 0)
            continue;
        depth = node_at(view)->depth;
        deepest = depth > deepest ? depth : deepest;
        cr_assert(depth >= p->flame_first && depth < p->flame_first + p->flame_room,
                  "level %u, shown from %u: %u", depth, p->flame_first, p->flame_room);
    }
    cr_assert_gt(deepest, p->flame_room, "%u", deepest);
}

/* All reserved memory: the segments must add up to it, and their free parts to the free bytes. */
static void check_segments(mv_view *view, const char *name)
{
    const mv_fragmentation *f = &mv_view_device(view)->fragmentation;
    const mv_flame_tree *tree;
    uint64_t idle = 0, waiting = 0;

    mv_view_do(view, MV_DO_show_flame, 0);
    mv_view_do(view, MV_DO_flame_source, MV_FLAMES_SEGMENTS);
    mv_view_move_cursor(view, f->at.event);
    mvt_view_frame(view);
    cr_assert_not_null(view->panels->flames_shown);
    tree = &view->panels->flames_shown->flames.tree;
    for (uint32_t i = 1; i < tree->count; i++) {
        if (tree->nodes[i].kind != MV_FLAME_STATE)
            continue;
        idle += tree->nodes[i].part == MV_FLAME_FREE ? tree->nodes[i].bytes : 0;
        waiting += tree->nodes[i].part == MV_FLAME_PENDING ? tree->nodes[i].bytes : 0;
    }
    cr_expect_eq(tree->nodes[0].bytes, f->bytes.reserved, "%s", name);
    cr_expect_eq(idle, f->bytes.free, "%s", name);
    cr_expect_eq(waiting, f->bytes.pending, "%s", name);
}

EachView(pane_flame, segments_add_up_to_reserved_bytes, check_segments);

/* With Isolate, only hits are counted at the cursor. Among segments, all blocks are counted, and
 * the pane says so. */
static void check_isolated(mv_view *view, const char *name)
{
    const mv_index *index = &mv_view_device(view)->index;
    uint64_t bytes = 0;
    uint32_t blocks = 0;

    mv_view_do(view, MV_DO_show_flame, 0);
    mv_search_set(view, "size>100K");
    mvt_view_frame(view);
    if (!view->matches || !view->matches->matches)
        return;
    mvt_view_do(view, MV_DO_isolate, 0);
    for (uint32_t i = 0; i < index->count; i++)
        if (mv_filter_has(view->matches, i) && mv_index_is_alive(index, i, view->now->cursor)) {
            bytes += index->bytes[i];
            blocks++;
        }
    const mv_flame_node *root = &view->panels->flames_shown->flames.tree.nodes[0];
    cr_expect(root->bytes == bytes && root->blocks == blocks, "%s: %llu in %u, not %llu in %u",
              name, (unsigned long long)root->bytes, (uint32_t)root->blocks,
              (unsigned long long)bytes, blocks);
    cr_expect(mvt_scene_says(mvt_view_do(view, MV_DO_flame_source, MV_FLAMES_SEGMENTS),
                             "hits and all others: "),
              "%s", name);
}

EachView(pane_flame, isolated_hits_are_counted_alone, check_isolated);
