/* Defines the wrappers for hooks.def, seven for each row, and the table of all wrappers. */
#include "capture/hooks/hooks.h"

/* The type of a function, and the body of all its wrappers. */
#define RUN(name, params, ...)                      \
    typedef int name##_fn MV_PARAMS params;         \
    static int name##_run MV_AFTER_CALL params      \
    {                                               \
        name##_fn *real = (name##_fn *)call->real;  \
                                                    \
        if (!real)                                  \
            return mv_hook_no_cuda(MV_HOOK_##name); \
        __VA_ARGS__                                 \
    }
#define RUN_THEN(name, params, args, after) \
    RUN(name, params, int result = real args; if (result == MV_CUDA_SUCCESS) after; return result;)

/* The row's own fields may set `.action`. */
#define MV_HOOK(name, base, since, flags, ACTION, params, args, ...)                           \
    RUN(name, params, mv_rec_api what;                                                         \
        if (!mv_hook_begin(call, MV_API_##ACTION)) return real args; call->result = real args; \
        what = (mv_rec_api){__VA_ARGS__}; what.api = #name;                                    \
        what.action = what.action ? what.action : MV_API_##ACTION; mv_hook_end(call, what);    \
        return call->result;)
#define MV_LAUNCH(name, base, since, flags, params, args, kernel)                                 \
    RUN(name, params, mv_rec_launch();                                                            \
        if (!mv_kernel_is_new(kernel) || !mv_hook_begin(call, MV_API_LOAD)) return real args;     \
        call->result = real args;                                                                 \
        mv_hook_end(call, (mv_rec_api){.api = #name, .action = MV_API_LOAD, .handle = (kernel)}); \
        return call->result;)
#define MV_WAIT(name, base, since, flags, params, args, what) \
    RUN(name, params, mv_rec_wait(call->caller, what); return real args;)
#define MV_RANGE(name, base, since, flags, params, args, event, stream) \
    RUN_THEN(name, params, args, mv_hook_graph_capture(event, stream))
#define MV_LOOKUP(name, base, since, flags, params, args, symbol, out, version, ptsz) \
    RUN_THEN(name, params, args, mv_entry_point_bind(symbol, out, version, ptsz))
#include "capture/hooks/hooks.def"

/* The exported wrapper. A second, internal name makes the table refer to this wrapper even if a
 * library before the shim exports the same name. */
#define EXPORTED(name, params, args)                                                          \
    static int name##_exported MV_PARAMS params                                               \
    {                                                                                         \
        mv_hook_call call = mv_hook_from_caller(MV_HOOK_##name, __builtin_return_address(0)); \
        return name##_run MV_WITH_CALL args;                                                  \
    }                                                                                         \
    int name MV_PARAMS params __attribute__((visibility("default"), alias(#name "_exported")));

#define BOUND(name, place, params, args)                                            \
    static int name##_bound_##place MV_PARAMS params                                \
    {                                                                               \
        mv_hook_call call =                                                         \
            mv_hook_from_place(MV_HOOK_##name, place, __builtin_return_address(0)); \
        return name##_run MV_WITH_CALL args;                                        \
    }

#define WRAPPERS(name, params, args) \
    EXPORTED(name, params, args)     \
    BOUND(name, 0, params, args)     \
    BOUND(name, 1, params, args)     \
    BOUND(name, 2, params, args)     \
    BOUND(name, 3, params, args)     \
    BOUND(name, 4, params, args)     \
    BOUND(name, 5, params, args)
static_assert(MV_HOOK_PLACES == 6, "one BOUND for each place");

#define MV_HOOK(name, base, since, flags, ACTION, params, args, ...) WRAPPERS(name, params, args)
#define MV_LAUNCH(name, base, since, flags, params, args, kernel)    WRAPPERS(name, params, args)
#define MV_WAIT(name, base, since, flags, params, args, ...)         WRAPPERS(name, params, args)
#define MV_RANGE(name, base, since, flags, params, args, ...)        WRAPPERS(name, params, args)
#define MV_LOOKUP(name, base, since, flags, params, args, ...)       WRAPPERS(name, params, args)
#include "capture/hooks/hooks.def"

#define ROW(id, base_name, since_version, row_flags)                                  \
    [MV_HOOK_##id] = {.name = #id,                                                    \
                      .base = #base_name,                                             \
                      .since = since_version,                                         \
                      .flags = row_flags,                                             \
                      .exported = (mv_any_fn *)id##_exported,                         \
                      .bound = {(mv_any_fn *)id##_bound_0, (mv_any_fn *)id##_bound_1, \
                                (mv_any_fn *)id##_bound_2, (mv_any_fn *)id##_bound_3, \
                                (mv_any_fn *)id##_bound_4, (mv_any_fn *)id##_bound_5}},

const mv_hook mv_hooks[MV_HOOK_COUNT] = {
#define MV_HOOK(name, base, since, flags, ...)   ROW(name, base, since, flags)
#define MV_LAUNCH(name, base, since, flags, ...) ROW(name, base, since, flags)
#define MV_WAIT(name, base, since, flags, ...)   ROW(name, base, since, flags)
#define MV_RANGE(name, base, since, flags, ...)  ROW(name, base, since, flags)
#define MV_LOOKUP(name, base, since, flags, ...) ROW(name, base, since, flags)
#include "capture/hooks/hooks.def"
};
