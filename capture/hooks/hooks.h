/* Hooks of the CUDA runtime and driver: what hooks.def becomes.
 *
 * A hooked function has several wrappers. One is exported under its name and binds through the PLT:
 * it finds the real function anew for each caller (resolve.h). The others are handed out where a
 * program looks a function up (dlsym, cuGetProcAddress): each of these belongs to the one function
 * that the look-up found, so that every caller reaches its own libcudart. */
#ifndef MV_HOOKS_H
#define MV_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/hooks/cuda_types.h"
#include "capture/record/recorder.h"

enum { MV_RUNTIME = 1, MV_PTSZ = 2 }; /* flags of a row */
enum { MV_HOOK_PLACES = 6 };          /* functions of one name that can be told apart */
enum { MV_NO_DEVICE = -1 };
enum { MV_ANY_VERSION = 1 << 30 };

/* Prototypes from a row: parameters in parentheses, perhaps none, perhaps with one in front. */
#define MV_VOID            void
#define MV_VOID_NOT        /* there are parameters */
#define MV_PARAMS(...)     (__VA_ARGS__ MV_VOID##__VA_OPT__(_NOT))
#define MV_AFTER_CALL(...) (mv_hook_call * call __VA_OPT__(, ) __VA_ARGS__)
#define MV_WITH_CALL(...)  (&call __VA_OPT__(, ) __VA_ARGS__)

typedef enum {
#define MV_HOOK(name, ...)   MV_HOOK_##name,
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

/* ---- looking functions up ---- */

/* MV_HOOK_COUNT: not hooked. */
mv_hook_id mv_hook_named(const char *name);

/* What to give a program that found `real` under this hook's name: a wrapper that calls `real`.
 * `real` itself when it is a wrapper already, or when all places are taken. */
void *mv_hook_bind(mv_hook_id hook, void *real);

/* After a driver entry point was looked up as `symbol`: puts its wrapper where the program will
 * read it. `ptsz`: the variant for the per-thread default stream was asked for. */
void mv_entry_point_bind(const char *symbol, void **out, unsigned version, bool ptsz);

/* ---- one call ---- */

typedef struct {
    mv_any_fn *real;
    const void *caller;
    uint64_t sequence;
    int device; /* from before the call */
    int result;
    int kept_errno;
} mv_hook_call;

/* The real function of an exported or a bound wrapper, NULL when there is none. */
mv_hook_call mv_hook_from_caller(mv_hook_id hook, const void *caller);
mv_hook_call mv_hook_from_place(mv_hook_id hook, unsigned place, const void *caller);

/* What a program is told that calls CUDA where there is none. */
int mv_hook_no_cuda(mv_hook_id hook);

/* True: record this call; call the real function next, then mv_hook_end. */
bool mv_hook_begin(mv_hook_call *call, mv_api_action action);

/* `what` as the row of hooks.def says; the rest is filled in here. */
void mv_hook_end(const mv_hook_call *call, mv_rec_api what);

/* ---- what rows are written with ---- */

#define MV_WORD(x) ((uint64_t)(uintptr_t)(x))
#define MV_OUT(p)  (call->result == MV_CUDA_SUCCESS && (p) ? MV_WORD(*(p)) : 0)
#define MV_OUT_OR(p, otherwise) \
    (call->result == MV_CUDA_SUCCESS && (p) ? (size_t) * (p) : (size_t)(otherwise))

/* mv_rec_api.device until mv_hook_end: 0 stands for the current device. */
#define MV_ON_DEVICE(n) ((n) + 2)

/* ---- cuda_sizes.c: what descriptors say ---- */

/* Bytes of an element; 0 when the format is packed in blocks or planes, or not known. */
uint64_t mv_channels_bytes(const mv_cuda_channels *channels);
uint64_t mv_format_bytes(int format, unsigned channels);

/* Bytes of an array without the padding that the driver adds; 0 when the element's are not known.
 * An extent of 0 counts as 1. */
uint64_t mv_array_bytes(uint64_t element, mv_cuda_extent extent, unsigned levels, unsigned flags);

/* MV_NO_DEVICE for memory of the host, and for NULL. */
int mv_props_device(const mv_cuda_props *props);

/* GRAPH_ALLOC for a node that allocates, else MV_API_ACTION_COUNT: nothing to record. */
mv_api_action mv_node_action(const mv_cuda_node *node);

#endif
