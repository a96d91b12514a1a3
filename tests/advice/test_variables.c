/* A program, allocation by allocation, and what Python does with each change. */
#include "analyze/advice/variables.h"

#include "analyze/code/culprit.h"
#include "tests/fixture/fixture.h"

#define MODULE            "forward:/usr/lib/python3/site-packages/torch/nn/modules/linear.py:9;"
#define LAYER(line, rest) rest "forward:block.py:" line ";forward:model.py:20;main:train.py:3"

Test(variables, variables_end_with_the_function_that_may_hold_them)
{
    static const struct {
        const char *stack;
        uint32_t gone; /* MV_NO_ROW: not within the trace */
    } program[] = {
        {LAYER("8", MODULE), 4},                        /* 0: x + attend(norm(x)): an argument */
        {LAYER("8", MODULE), 4},                        /* 1: the other result of norm */
        {LAYER("8", MODULE "forward:attend.py:3;"), 4}, /* 2: q = self.q(x): a variable */
        {LAYER("8", "forward:attend.py:4;"), 5},        /* 3: returned, read by + */
        {LAYER("8", ""), 7},                            /* 4: x, a variable of the block */
        {LAYER("9", ""), 7},                            /* 5: a subexpression */
        /* 6: the block's result, until the next one replaces it */
        {LAYER("9", ""), 9},
        {LAYER("8", MODULE), 9},                           /* 7: the next block */
        {LAYER("9", ""), 10},                              /* 8 */
        {LAYER("8", MODULE), 10},                          /* 9: and another one */
        {NULL, 12},                                        /* 10: the backward pass */
        {"<genexpr>:a.py:5;f:a.py:5;main:train.py:4", 14}, /* 11: a, b = (g(x) for x in y) */
        {"g:b.py:1;<genexpr>:a.py:5;f:a.py:5;main:train.py:4", 14}, /* 12 */
        {"f:a.py:6;main:train.py:4", MV_NO_ROW},                    /* 13: the result of f */
        {"main:train.py:5", MV_NO_ROW},                             /* 14 */
    };
    enum { COUNT = sizeof program / sizeof *program };
    mvt_trace *t = mvt_new();
    uint32_t *gone;

    for (uint32_t i = 0; i < COUNT; i++)
        mvt_alloc(t, .addr = 0x1000 * (i + 1), .bytes = 512, .stack = program[i].stack);
    const mv_trace *trace = mvt_done(t);
    mv_lives lives = mvt_lives(mvt_arena(t), trace, 0);
    cr_assert_eq(lives.allocs.count, COUNT);
    cr_assert(
        mv_variables_end(mvt_arena(t), trace, &lives, mv_frame_kinds(mvt_arena(t), trace), &gone));
    for (uint32_t i = 0; i < COUNT; i++)
        cr_expect_eq(gone[i], program[i].gone, "%u: %u instead of %u", i, gone[i], program[i].gone);
}
