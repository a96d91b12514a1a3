#include "analyze/steps/outer_call.h"

#include "tests/fixture/fixture.h"

#define MODULE                                                                       \
    "_call_impl:/venv/lib/python3.12/site-packages/torch/nn/modules/module.py:1790;" \
    "_wrapped_call_impl:/venv/lib/python3.12/site-packages/torch/nn/modules/module.py:1779;"
#define TRAIN "train:train.py:20;<module>:train.py:90"

static const char *const stacks[] = {
    /* 0 and 1: two layers of one model, called from one line. */
    "forward:model.py:5;" MODULE "forward:model.py:9;" MODULE TRAIN,
    "forward:model.py:6;" MODULE "forward:model.py:9;" MODULE TRAIN,
    /* 2: the same model, called from another line. */
    "forward:model.py:5;" MODULE "forward:model.py:9;" MODULE
    "check:train.py:40;<module>:train.py:90",
    /* 3: the line itself. */
    TRAIN,
    /* 4: an object of the user's class. */
    "__init__:train.py:7;" TRAIN,
    /* 5: an object made by another object. */
    "__init__:train.py:7;__init__:train.py:8;" TRAIN,
    /* 6: parameters. */
    "_apply:/venv/lib/python3.12/site-packages/torch/nn/modules/module.py:900;" TRAIN,
    /* 7: an optimizer. */
    "_init_group:/venv/lib/python3.12/site-packages/torch/optim/adam.py:170;" TRAIN,
    /* 8: without Python. */
    "at::empty:??:0",
    /* 9 and 10: a recording that left out PyTorch's own frames. */
    "forward:model.py:5;forward:model.py:9;" TRAIN,
    "forward:model.py:6;forward:model.py:9;" TRAIN,
};

Test(outer, an_outer_call_is_one_place_with_any_calls_inside)
{
    mvt_trace *t = mvt_new();
    uint32_t place[sizeof stacks / sizeof *stacks];
    mv_outer outer;

    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        mvt_alloc(t, .addr = 0x1000 * (i + 1), .bytes = 512, .stack = stacks[i]);
    const mv_trace *trace = mvt_done(t);
    cr_assert(mv_outer_find(mvt_arena(t), trace, mv_frame_kinds(mvt_arena(t), trace), &outer));
    mv_events e = mv_trace_events(trace, 0);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++)
        place[i] = mv_outer_of(&outer, e.stack[i]);
    cr_expect_eq(place[0], place[1]);
    cr_expect_neq(place[0], place[2]);
    cr_expect_neq(place[0], place[3]);
    cr_expect_eq(outer.kind[place[0]], MV_OUTER_CALL);
    cr_expect_eq(outer.kind[place[3]], MV_OUTER_LINE);
    cr_expect_eq(outer.kind[place[4]], MV_OUTER_OBJECT);
    for (size_t i = 5; i <= 8; i++)
        cr_expect_eq(place[i], MV_NO_ROW, "%s", stacks[i]);
    cr_expect_eq(place[9], place[10]);
    cr_expect_eq(outer.kind[place[9]], MV_OUTER_CALL);
    cr_expect_eq(mv_outer_of(&outer, MV_NO_STACK), MV_NO_ROW);
}
