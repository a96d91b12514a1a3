/* Return addresses of the calling thread, by an unwinder that is loaded at run time: a preloaded
 * library's dependencies come ahead of everybody else's, and an unwinder among them would take over
 * the C++ exceptions of the program. */
#include "capture/elf_exports.h"
#include "capture/stack.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unwind.h>

typedef _Unwind_Reason_Code (*unwind_backtrace)(_Unwind_Trace_Fn, void *);
typedef _Unwind_Ptr (*unwind_get_ip)(struct _Unwind_Context *);

/* State of the shim: written once by mv_native_start. */
static unwind_get_ip get_ip;
static _Atomic(unwind_backtrace) backtrace_all;

typedef struct {
    uint64_t *addresses;
    uint32_t count, most;
} unwinding;

bool mv_native_start(void)
{
    static const char *const names[] = {"_Unwind_Backtrace", "_Unwind_GetIP"};
    uint64_t found[2];
    struct link_map *file;
    void *handle = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &file) != 0)
        return false;
    if (!mv_elf_exports_in(file, names, found, 2))
        return false;
    get_ip = (unwind_get_ip)(uintptr_t)found[1];
    atomic_store_explicit(&backtrace_all, (unwind_backtrace)(uintptr_t)found[0],
                          memory_order_release);
    return true;
}

static _Unwind_Reason_Code keep(struct _Unwind_Context *frame, void *context)
{
    unwinding *u = context;
    uint64_t address = get_ip(frame);

    if (!address || u->count == u->most)
        return _URC_END_OF_STACK;
    u->addresses[u->count++] = address;
    return _URC_NO_REASON;
}

uint32_t mv_native_walk(uint64_t *addresses, uint32_t most)
{
    unwind_backtrace walk = atomic_load_explicit(&backtrace_all, memory_order_acquire);
    unwinding u = {addresses, 0, most};

    if (walk)
        walk(keep, &u);
    return u.count;
}

const char *mv_native_unwinder(void)
{
    return atomic_load(&backtrace_all) ? "libgcc_s.so.1" : NULL;
}
