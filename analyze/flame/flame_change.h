/* Shows the difference between two moments as a flame graph: each site's change, by the site's
 * stack.
 *
 *     all            +42.0 MiB       width: |change| of every site below
 *     ├ forward      +50.0 MiB       node.bytes 50, less  0
 *     └ loss          -8.0 MiB       node.bytes  8, less  8
 *
 * A node's change is bytes - 2 * less, and the change of the root is mv_diff.delta. A site that
 * holds bytes afterwards is shown with its later stack; a site that holds none is shown with its
 * earlier stack. */
#pragma once

#include "analyze/diff/diff.h"
#include "analyze/flame/flame_tree.h"

/* Builds the tree of changes. `has_all_frames` includes native and interpreter frames. O(n log n)
 * in the rows of `found`. Fails only when memory or row numbers run out. */
mv_code mv_flame_change_find(mv_arena *arena, const mv_diff_code *code, const mv_diff *found,
                             bool has_all_frames, mv_flame_tree_opts opts, mv_flame_tree *out,
                             mv_err *err);

/* Returns the change in bytes below a node. */
static inline int64_t mv_flame_change(const mv_flame_node *node)
{
    return (int64_t)(node->bytes - 2 * node->less);
}
