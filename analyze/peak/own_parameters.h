/* Finds parameters that the program allocates itself:
 *
 *     self.weight = nn.Parameter(torch.empty(n, m, device="cuda"))      model.py:20 __init__
 *
 * No function of torch is on the stack, so such a block looks like an input of the first step. But
 * the first backward pass makes a gradient of its size, or the optimizer two states or more. These
 * are counted, because a tensor of the data may have the size of a parameter: the blocks of a size
 * must be as many as the gradients, or each have equally many states. */
#pragma once

#include "analyze/peak/category.h"

/* Changes the category of these blocks from input or unknown to parameter. `marks` comes from
 * mv_stack_marks; `by_rule` contains the stacks' categories according to the user's rules, which
 * have priority, or is NULL. O(n). Returns false when out of memory. */
bool mv_own_parameters_mark(mv_arena *scratch, const mv_lives *lives, const uint16_t *marks,
                            const uint16_t *by_rule, mv_categories *categories);
