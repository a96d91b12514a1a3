#include "capture/record/clock.h"

#include "capture/record/process.h"
#include "capture/record/recorder.h"

#include <errno.h>
#include <string.h>

static atomic_uint_fast64_t launches, waits;
static atomic_uint_fast64_t upload; /* 1 + the sum of launches and waits at the last upload */

static uint64_t shown(atomic_uint_fast64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

mv_clock mv_clock_now(void)
{
    return (mv_clock){shown(&launches), shown(&waits)};
}

void mv_rec_launch(void)
{
    atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
}

/* Returns true if a library belongs to NVIDIA or AMD: libcudart, libcublas, libnccl, libnvshmem,
 * libnvinfer, librccl ... */
static bool is_cudas(const char *path)
{
    static const char *const starts[] = {"libcu", "libnccl", "libnv", "librccl"};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(base, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Returns true if the code at `caller` is in one of CUDA's own libraries. Answers are cached by
 * address. If an answer is outdated because a different library is now at this address, the only
 * effect is a wrong count. */
static bool is_in_cuda(const void *caller)
{
    enum { SLOTS = 512 };
    static _Atomic uint64_t answers[SLOTS]; /* address of a caller * 2 + answer; 0: none */
    uint64_t key = (uint64_t)(uintptr_t)caller << 1, found;
    _Atomic uint64_t *slot = &answers[(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS];
    const mv_module *module;

    found = atomic_load_explicit(slot, memory_order_relaxed);
    if (found && (found & ~UINT64_C(1)) == key)
        return found & 1;
    module = mv_module_at((uintptr_t)caller);
    found = key | (module && is_cudas(module->path));
    atomic_store_explicit(slot, found, memory_order_relaxed);
    return found & 1;
}

void mv_rec_wait(const void *caller, mv_wait what)
{
    int kept = errno;
    uint64_t now = shown(&launches) + shown(&waits) + 1;

    if (what == MV_NO_WAIT || !mv_process_epoch())
        return;
    if (what == MV_UPLOADS)
        atomic_store_explicit(&upload, now, memory_order_relaxed);
    else if ((what != MV_WAITS_FOR_STREAM || shown(&upload) != now) && !is_in_cuda(caller))
        atomic_fetch_add_explicit(&waits, 1, memory_order_relaxed);
    errno = kept;
}
