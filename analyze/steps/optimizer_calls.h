/* Finds the steps of programs with several optimizers.
 *
 * A GAN steps one optimizer for the discriminator and one for the generator in each iteration, and
 * PyTorch marks both with the same name. Their calls of step() are on different lines:
 *
 *     marks    D   G   D   G   D   G   D   G       8 marks from 2 lines
 *     steps        |       |       |       |       4
 *
 * The line is known from the last allocation before each mark, if that was made by the optimizer.
 */
#pragma once

#include "analyze/steps/outer_call.h"
#include "analyze/steps/steps.h"

/* Reduces the marks of an optimizer's steps to those of one line, if each iteration passes through
 * this line once, and through another in between. If other code of the program is also passed
 * between almost all marks, the optimizers take turns, and each mark remains a step. `kinds` comes
 * from mv_frame_kinds. O(n). Returns false when out of memory. */
bool mv_optimizer_calls_thin(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                             const mv_outer *outer, const uint8_t *kinds, mv_steps *steps);
