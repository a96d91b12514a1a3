/* Traces of calls of CUDA, written in code, for tests.
 *
 *     mvt_calls *c = mvt_calls_new();
 *     mvt_call(c, MV_API_ALLOC, .addr = 0x1000, .size = 512, .api = "cudaMalloc");
 *     mvt_sample(c, .used = 1 << 20);
 *     const mv_trace *trace = mvt_calls_done(c);
 *     ...
 *     mvt_calls_drop(c);
 *
 * Each call and each sample is 10 microseconds behind the one ahead unless `.time_us` is given. */
#ifndef MV_FIXTURE_CALLS_H
#define MV_FIXTURE_CALLS_H

#include "parse/build.h"

typedef struct mvt_calls mvt_calls;

typedef struct {
    int64_t time_us; /* 0: 10 after the last */
    uint64_t addr, size, handle;
    const char *api;      /* NULL: "cudaMalloc" */
    const char *library;  /* NULL: "/lib/libfoo.so" */
    const char *function; /* a stack of one frame; NULL: none */
    int32_t device, result;
} mvt_call_args;

typedef struct {
    int64_t time_us;
    uint64_t used, process; /* process 0: not known */
    int32_t device;
} mvt_sample_args;

mvt_calls *mvt_calls_new(void);
#define mvt_call(c, action, ...) mvt_call_row((c), (action), (mvt_call_args){__VA_ARGS__})
#define mvt_sample(c, ...)       mvt_sample_row((c), (mvt_sample_args){__VA_ARGS__})
void mvt_call_row(mvt_calls *c, mv_api_action action, mvt_call_args args);
void mvt_sample_row(mvt_calls *c, mvt_sample_args args);
const mv_trace *mvt_calls_done(mvt_calls *c);
mv_arena *mvt_calls_arena(mvt_calls *c);
void mvt_calls_drop(mvt_calls *c);

#endif
