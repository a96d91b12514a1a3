/* Arranges allocated memory by module, like a directory tree, with one level for each part of a
 * tensor's name.
 *
 *     layers.7.up.weight [64,64] f32      all ─┬─ layers ── 7 ─┬─ up ─┬─ weight [64,64] f32
 *     layers.7.up.weight, its gradient         │               │      └─ weight ... · gradient
 *     layers.7.down.weight                     │               └─ down ── ...
 *     a block without a name                   └─ (no name) ── activation
 *
 * A block with one tensor is a row of this tensor and includes the allocator's rounding. A block
 * with several tensors is divided: each tensor has a row with its own bytes
 * (analyze/peak/tensors.h), and the bytes of the block that are left are a row without a name. All
 * rows add up to the allocated bytes. */
#pragma once

#include "analyze/flame/flame_tree.h"
#include "analyze/peak/category.h"

/* Builds the tree after `event`. `categories` must be from the same lives. O(n log n). Fails only
 * when out of memory. */
mv_code mv_module_tree_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                            const mv_categories *categories, uint32_t event, mv_flame_tree *out,
                            mv_err *err);
