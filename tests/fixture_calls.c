#include "tests/fixture_calls.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct mvt_calls {
    mv_budget budget;
    mv_arena arena;
    mv_trace trace;
    mv_build build;
    int64_t now_us;
    bool is_done;
};

static mv_string_id text_of(mvt_calls *c, const char *text)
{
    return mv_build_string(&c->build, text, strlen(text));
}

mvt_calls *mvt_calls_new(void)
{
    mvt_calls *c = calloc(1, sizeof *c);

    cr_assert_not_null(c);
    c->budget.limit = 1u << 30;
    c->now_us = 1000000;
    mv_arena_init(&c->arena, &c->budget);
    mv_build_init(&c->build, &c->arena, &c->trace);
    mv_build_fact(&c->build, text_of(c, "pid"), text_of(c, "1"));
    return c;
}

static int64_t time_of(mvt_calls *c, int64_t given)
{
    c->now_us = given ? given : c->now_us + 10;
    return c->now_us;
}

void mvt_call_row(mvt_calls *c, mv_api_action action, mvt_call_args args)
{
    mv_api_call_row row = MV_API_CALL_ROW;

    row.time_us = time_of(c, args.time_us);
    row.addr = args.addr;
    row.size = args.size;
    row.handle = args.handle;
    row.device = args.device;
    row.result = args.result;
    row.action = (uint8_t)action;
    row.api = text_of(c, args.api ? args.api : "cudaMalloc");
    row.library = text_of(c, args.library ? args.library : "/lib/libfoo.so");
    if (args.function) {
        mv_frame_row frame = MV_FRAME_ROW;
        frame.function = text_of(c, args.function);
        frame.file = text_of(c, "/home/me/train.py");
        frame.line = 7;
        mv_frame_id id = mv_build_frame(&c->build, &frame);
        row.stack = mv_build_stack(&c->build, &id, 1);
    }
    mv_build_api_call(&c->build, &row);
}

void mvt_sample_row(mvt_calls *c, mvt_sample_args args)
{
    mv_sample_row row = MV_SAMPLE_ROW;

    row.time_us = time_of(c, args.time_us);
    row.used = args.used;
    row.total = 80ull << 30;
    row.process = args.process ? args.process : MV_NO_BYTES;
    row.device = args.device;
    mv_build_sample(&c->build, &row);
}

const mv_trace *mvt_calls_done(mvt_calls *c)
{
    mv_build_ranges none = {0};
    mv_err err;

    if (!c->is_done)
        cr_assert_eq(mv_build_finish(&c->build, &none, &err), MV_OK);
    c->is_done = true;
    return &c->trace;
}

mv_arena *mvt_calls_arena(mvt_calls *c)
{
    return &c->arena;
}

void mvt_calls_drop(mvt_calls *c)
{
    mv_arena_release(&c->arena);
    free(c);
}
