/* Hooks of the CUDA runtime and driver, generated from the rows of hooks.def.
 *
 * A hooked function has several wrappers. One wrapper is exported under the function's name and is
 * called through the PLT; it looks up the real function for each caller (resolve.h). The other
 * wrappers are returned to programs that look up the function (dlsym, cuGetProcAddress). Each of
 * them calls exactly the function that the look-up found, so that every caller reaches its own
 * libcudart. */
#pragma once

#include "capture/hooks/cuda_types.h"
#include "capture/record/recorder.h"

enum { MV_RUNTIME = 1, MV_PTSZ = 2 }; /* flags of a row in hooks.def */
enum {
    MV_HOOK_PLACES = 6
}; /* largest number of functions with the same name that
                                       * look-ups can hook */
enum { MV_NO_DEVICE = -1 };
enum { MV_ANY_VERSION = 1 << 30 };

/* Make prototypes from a row, whose parameters are in parentheses. There may be none, and they may
 * follow an additional parameter. */
#define MV_VOID            void
#define MV_VOID_NOT        /* if there are parameters */
#define MV_PARAMS(...)     (__VA_ARGS__ MV_VOID##__VA_OPT__(_NOT))
#define MV_AFTER_CALL(...) (mv_hook_call * call __VA_OPT__(, ) __VA_ARGS__)
#define MV_WITH_CALL(...)  (&call __VA_OPT__(, ) __VA_ARGS__)

typedef enum {
#define MV_HOOK(name, ...)   MV_HOOK_##name,
#define MV_LAUNCH(name, ...) MV_HOOK_##name,
#define MV_WAIT(name, ...)   MV_HOOK_##name,
#define MV_RANGE(name, ...)  MV_HOOK_##name,
#define MV_LOOKUP(name, ...) MV_HOOK_##name,
#include "capture/hooks/hooks.def"
    MV_HOOK_COUNT
} mv_hook_id;

typedef void mv_any_fn(void);

typedef struct {
    const char *name, *base;
    uint32_t since;
    uint8_t flags;
    mv_any_fn *exported;
    mv_any_fn *bound[MV_HOOK_PLACES];
} mv_hook;

extern const mv_hook mv_hooks[MV_HOOK_COUNT]; /* hook_calls.c */

/* Records the beginning or end of a CUDA graph capture on `stream`, as a range "CUDA graph capture
 * 3", numbered from 1 (marks.c). */
void mv_hook_graph_capture(mv_live_event event, const void *stream);

/* ---- looking up functions ---- */

/* Returns the hook with this name; MV_HOOK_COUNT: not hooked. */
mv_hook_id mv_hook_named(const char *name);

/* Returns the function that a program receives if its look-up of this hook's name found `real`.
 * This is a wrapper that calls `real`, or `real` itself if it already is a wrapper or all wrappers
 * are used. */
void *mv_hook_bind(mv_hook_id hook, void *real);

/* Called after a driver entry point was looked up as `symbol`. Stores the entry point's wrapper
 * where the program will read it. `ptsz` is true if the program requested the variant for the
 * per-thread default stream. */
void mv_entry_point_bind(const char *symbol, void **out, unsigned version, bool ptsz);

/* ---- one call ---- */

typedef struct {
    mv_any_fn *real;
    const void *caller;
    mv_rec_visit visit;
    mv_rec_moment moment; /* number and time of a call that frees memory, because they must be taken
                           * before such a call */
    int device;           /* current device before the call */
    int result;
    int kept_errno;
} mv_hook_call;

/* Begin a call in an exported wrapper and in a bound wrapper. In the result, `real` is NULL if
 * there is no real function. */
mv_hook_call mv_hook_from_caller(mv_hook_id hook, const void *caller);
mv_hook_call mv_hook_from_place(mv_hook_id hook, unsigned place, const void *caller);

/* Returns the error code for programs that call CUDA on a machine without CUDA. */
int mv_hook_no_cuda(mv_hook_id hook);

/* Returns CUDA's current device; MV_NO_DEVICE until the program uses CUDA. */
int mv_hook_current_device(void);

/* Returns true if this call must be recorded, by calling the real function and then mv_hook_end. */
bool mv_hook_begin(mv_hook_call *call, mv_api_action action);

/* `what` contains the fields from the row of hooks.def; mv_hook_end fills in the rest. */
void mv_hook_end(mv_hook_call *call, mv_rec_api what);

/* ---- first_launch.c ---- */

/* Returns true exactly once for each kernel except 0, whichever thread asks; always false once the
 * set of kernels is full. */
bool mv_kernel_is_new(uint64_t kernel);

/* ---- macros for the rows ---- */

#define MV_WORD(x) ((uint64_t)(uintptr_t)(x))
#define MV_OUT(p)  (call->result == MV_CUDA_SUCCESS && (p) ? MV_WORD(*(p)) : 0)
#define MV_OUT_OR(p, otherwise) \
    (call->result == MV_CUDA_SUCCESS && (p) ? (size_t) * (p) : (size_t)(otherwise))

/* Encodes device `n` in mv_rec_api.device until mv_hook_end runs; 0 means the current device. */
#define MV_ON_DEVICE(n) ((n) + 2)

/* ---- cuda_sizes.c: sizes and devices from descriptors ---- */

/* Returns the number of bytes of an element; 0 if the format is packed in blocks or planes, or is
 * unknown. */
uint64_t mv_channels_bytes(const mv_cuda_channels *channels);
uint64_t mv_format_bytes(int format, unsigned channels);

/* Returns the number of bytes of an array, without the padding that the driver adds; 0 if the size
 * of an element is unknown. An extent of 0 counts as 1. */
uint64_t mv_array_bytes(uint64_t element, mv_cuda_extent extent, unsigned levels, unsigned flags);

/* Returns the kind of wait for a copy with this cudaMemcpyKind. Copies without a known direction do
 * not count as waits. */
static inline mv_wait mv_copy_of(int kind)
{
    return kind == MV_CUDA_HOST_TO_DEVICE   ? MV_UPLOADS
           : kind == MV_CUDA_DEVICE_TO_HOST ? MV_READS_BACK
                                            : MV_NO_WAIT;
}

/* Returns the device that `props` describe; MV_NO_DEVICE for host memory, and for NULL. */
int mv_props_device(const mv_cuda_props *props);

/* Returns MV_API_GRAPH_ALLOC for a node that allocates memory, and MV_API_ACTION_COUNT for all
 * other nodes, which are not recorded. */
mv_api_action mv_node_action(const mv_cuda_node *node);
