/* A CUDA without a GPU, generated from the list of hooks. Each function returns made-up addresses
 * and handles, logs its call, fails if $FAKE_FAIL names it, and waits if $FAKE_WAIT names it. The
 * build makes libcuda.so.1 and two libcudarts from it. A map hides the functions that a library
 * does not export.
 *
 * A runtime function calls the driver, which it finds as libcudart does, so calls are nested. */
#include "capture/hooks/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say_real(const char *name)
{
    const char *path = getenv("HOOKED_LOG");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    char line[128] = "real ";
    size_t length = strlen(name);

    memcpy(line + 5, name, length);
    line[5 + length] = '\n';
    if (file < 0)
        return;
    if (write(file, line, length + 6) < 0)
        _exit(98);
    close(file);
}

static atomic_int waiting, may_end;

/* The first function returns the number of waiting calls; the second lets them return. */
int cudaFakeWaiting(void);
void cudaFakeEnd(void);
int cudaFakeWaiting(void)
{
    return waiting;
}

void cudaFakeEnd(void)
{
    may_end = 1;
}

/* The program's errno must arrive here, and the errno that is set here must reach the program. */
static int begin(const char *name)
{
    const char *fails = getenv("FAKE_FAIL"), *waits = getenv("FAKE_WAIT");
    int seen = errno;

    say_real(name);
    if (waits && strcmp(waits, name) == 0)
        for (waiting++; !may_end;)
            usleep(1000);
    if (getenv("FAKE_ERRNO") && seen != EDOM)
        _exit(97);
    errno = ERANGE;
    return fails && strcmp(fails, name) == 0 ? MV_CUDA_OUT_OF_MEMORY : MV_CUDA_SUCCESS;
}

static uint64_t next_address(void)
{
    static atomic_uint_fast64_t given;
    return FAKE_BASE + 0x1000 * ++given;
}

/* Rows name the values that are read after a call, and therefore the values that a call has to
 * write. */
#undef MV_OUT
#undef MV_OUT_OR
#define MV_OUT(p)               (give ? (*(p) = (__typeof__(*(p)))next_address(), 0) : 0)
#define MV_OUT_OR(p, otherwise) (give ? (*(p) = 4096) : 0)
#define mv_array_bytes(...)     0
#define mv_props_device(...)    0
#define mv_node_action(...)     0

static void call_driver(void);

#define FAKE(name, flags, params, ...)                               \
    static int name##_twin MV_PARAMS params                          \
    {                                                                \
        int result = begin(#name), give = result == MV_CUDA_SUCCESS; \
        mv_rec_api what = {__VA_ARGS__};                             \
                                                                     \
        (void)what, (void)give;                                      \
        if ((flags)&MV_RUNTIME)                                      \
            call_driver();                                           \
        errno = ERANGE;                                              \
        return result;                                               \
    }                                                                \
    int name MV_PARAMS params;
#define MV_HOOK(name, base, since, flags, ACTION, params, args, ...) \
    FAKE(name, flags, params, __VA_ARGS__)                           \
    int name MV_PARAMS params                                        \
    {                                                                \
        return name##_twin args;                                     \
    }
#define MV_LAUNCH(name, base, since, flags, params, args, kernel) \
    FAKE(name, 0, params, .addr = 0)                              \
    int name MV_PARAMS params                                     \
    {                                                             \
        return name##_twin args;                                  \
    }
#define MV_WAIT(name, base, since, flags, params, args, what) \
    MV_LAUNCH(name, base, since, flags, params, args, what)
#define MV_RANGE(name, base, since, flags, params, args, event, stream) \
    MV_LAUNCH(name, base, since, flags, params, args, event)
#define MV_LOOKUP(name, base, since, flags, params, args, ...) \
    int name MV_PARAMS params;                                 \
    static int name##_twin MV_PARAMS params                    \
    {                                                          \
        return name args;                                      \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "capture/hooks/hooks.def"
#pragma GCC diagnostic pop

typedef struct {
    const char *base;
    unsigned since, flags;
    mv_any_fn *function, *twin;
} row;

static const row rows[] = {
#define ROW(name, base, since, flags) \
    {#base, since, flags, (mv_any_fn *)name, (mv_any_fn *)name##_twin},
#define MV_HOOK(name, base, since, flags, ...)   ROW(name, base, since, flags)
#define MV_LAUNCH(name, base, since, flags, ...) ROW(name, base, since, flags)
#define MV_WAIT(name, base, since, flags, ...)   ROW(name, base, since, flags)
#define MV_RANGE(name, base, since, flags, ...)  ROW(name, base, since, flags)
#define MV_LOOKUP(name, base, since, flags, ...) ROW(name, base, since, flags)
#include "capture/hooks/hooks.def"
};

/* Follows the driver's rules and returns the newest variant up to the version. With $FAKE_HIDDEN,
 * also returns functions that are not exported. */
static int look_up(const char *symbol, void **out, unsigned version, bool ptsz)
{
    const row *best = NULL;

    for (const row *r = rows; r < rows + sizeof rows / sizeof *rows; r++) {
        if (strcmp(r->base, symbol) != 0 || r->since > version || (r->flags & MV_RUNTIME) ||
            (r->flags & MV_PTSZ && !ptsz))
            continue;
        if (!best || r->since > best->since || (r->since == best->since && r->flags & MV_PTSZ))
            best = r;
    }
    *out = best ? (void *)(getenv("FAKE_HIDDEN") ? best->twin : best->function) : NULL;
    return best ? MV_CUDA_SUCCESS : 500; /* CUDA_ERROR_NOT_FOUND */
}

int cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    return look_up(symbol, out, (unsigned)version, flags == MV_CUDA_PER_THREAD_STREAM);
}

int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, void *status)
{
    (void)status;
    return look_up(symbol, out, (unsigned)version, flags == MV_CUDA_PER_THREAD_STREAM);
}

int cuCtxGetDevice(int *device);
int cuCtxGetDevice(int *device)
{
    *device = 4;
    errno = ENOTTY; /* a hook must not pass it on */
    return MV_CUDA_SUCCESS;
}

typedef int get_proc_fn(const char *symbol, void **out, int version, uint64_t flags, void *status);

static get_proc_fn *driver(void)
{
    static _Atomic(get_proc_fn *) kept;
    void *library;

    if (!kept) {
        library = dlopen("libcuda.so.1", RTLD_NOW);
        kept = library ? (get_proc_fn *)dlsym(library, "cuGetProcAddress_v2") : NULL;
    }
    return kept;
}

static void call_driver(void)
{
    int (*allocate)(mv_cuda_ptr *, size_t);
    mv_cuda_ptr address;
    void *found;

    if (driver() && driver()("cuMemAlloc", &found, 12000, 0, NULL) == MV_CUDA_SUCCESS) {
        allocate = (int (*)(mv_cuda_ptr *, size_t))found;
        errno = EDOM;
        allocate(&address, 64);
    }
}

static int entry_point(const char *symbol, void **out, unsigned version, uint64_t flags, bool ptsz)
{
    if (flags == 0 && ptsz)
        flags = MV_CUDA_PER_THREAD_STREAM;
    return driver() ? driver()(symbol, out, (int)version, flags, NULL)
                    : MV_CUDA_INSUFFICIENT_DRIVER;
}

int cudaGetDriverEntryPoint(const char *symbol, void **out, unsigned long long flags, void *status)
{
    (void)status;
    return entry_point(symbol, out, 13000, flags, false);
}

int cudaGetDriverEntryPoint_ptsz(const char *symbol, void **out, unsigned long long flags,
                                 void *status)
{
    (void)status;
    return entry_point(symbol, out, 13000, flags, true);
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **out, unsigned version,
                                     unsigned long long flags, void *status)
{
    (void)status;
    return entry_point(symbol, out, version, flags, false);
}

int cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **out, unsigned version,
                                          unsigned long long flags, void *status)
{
    (void)status;
    return entry_point(symbol, out, version, flags, true);
}
