/* Checks of trees of frames. */
#pragma once

#include "analyze/flame/flame_tree.h"

/* The test fails unless the children are the nodes with that parent, each once, heaviest first, and no
 * heavier than the parent; the root's add up to the root. */
void mvt_check_tree(const mv_flame_tree *tree);
