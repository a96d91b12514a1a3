/* Interposes the functions through which PyTorch reports about its allocators. They are defined
 * under the names of all versions, because the type of the totals, and therefore the mangled name,
 * has changed. Each call is forwarded to the real function with the same name, so that
 * torch.profiler works as usual.
 *
 * These functions run for every tensor, so resolved addresses are not checked again, which is safe
 * because Python never unloads c10. */
#include "capture/hooks/resolve.h"
#include "capture/record/forks.h"
#include "capture/record/recorder.h"

#include <errno.h>

#define EXPORTED __attribute__((visibility("default")))

/* c10::Device, passed in one register on x86-64 and aarch64, like any struct of two bytes. */
typedef struct {
    int8_t type, index;
} c10_device;

#define PROFILING_ENABLED "_ZN3c1022memoryProfilingEnabledEv"

typedef bool enabled_fn(void);

/* c10::DeviceType */
enum { CPU = 0 };

/* Records the report and returns the real function. c10 has already released its lock here. */
static void *forward(const char *name, const void *caller, void (*as)(const mv_rec_block_event *),
                     const mv_rec_block_event *event)
{
    int kept = errno;
    mv_rec_visit visit;
    void *real;

    if (mv_forks_is_inside(MV_SECTION_C10))
        mv_forks_leave(MV_SECTION_C10);
    if ((event->device_type != CPU || mv_rec_wants_cpu()) && mv_rec_enter(&visit)) {
        as(event);
        mv_rec_leave(&visit);
    }
    real = mv_resolve_lasting(name, caller);
    errno = kept;
    return real;
}

/* Defines one of c10's report functions: its parameters and arguments in parentheses, then the
 * fields of the event. */
#define REPORT(function, symbol, as, params, args, ...)                                          \
    EXPORTED void function params __asm__(symbol);                                               \
    void function params                                                                         \
    {                                                                                            \
        __typeof__(function) *real = (__typeof__(function) *)forward(                            \
            symbol, __builtin_return_address(0), as,                                             \
            &(mv_rec_block_event){                                                               \
                .device_type = device.type, .device = device.index, .size = size, __VA_ARGS__}); \
        if (real)                                                                                \
            real args;                                                                           \
    }

#define USAGE(function, symbol)                                                                 \
    REPORT(function, symbol, mv_rec_block,                                                      \
           (void *ptr, int64_t size, uint64_t allocated, uint64_t reserved, c10_device device), \
           (ptr, size, allocated, reserved, device), .addr = (uintptr_t)ptr,                    \
           .allocated = allocated, .reserved = reserved)
#define OOM(function, symbol)                                                        \
    REPORT(function, symbol, mv_rec_oom,                                             \
           (int64_t size, uint64_t allocated, uint64_t reserved, c10_device device), \
           (size, allocated, reserved, device), .allocated = allocated, .reserved = reserved)

/* The totals were int64_t from PyTorch 1.10 to 2023, and have been size_t since; PyTorch 1.9 and
 * older do not report totals. */
USAGE(report_of_sizes, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
USAGE(report_of_longs, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE")
REPORT(report_without_totals, "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE", mv_rec_block,
       (void *ptr, int64_t size, c10_device device), (ptr, size, device), .addr = (uintptr_t)ptr,
       .allocated = MV_REC_NO_TOTAL, .reserved = MV_REC_NO_TOTAL)
OOM(oom_of_sizes, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE")
OOM(oom_of_longs, "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE")

/* Returns true if c10 may take its lock for a report. Without the shim, c10 never takes this lock,
 * so it would be the shim's fault if a child waited forever because another thread held the lock
 * during the fork. Therefore forks wait for threads that have passed this check but have not
 * reported yet. If a fork gives up waiting, its child does not record CPU tensors. */
static bool may_report(void)
{
    if (!mv_rec_wants_cpu() || !mv_forks_was_whole())
        return false;
    if (mv_forks_is_inside(MV_SECTION_C10) || mv_forks_enter(MV_SECTION_C10))
        return true;
    mv_forks_leave(MV_SECTION_C10);
    return false;
}

/* The CPU allocator calls this function before each report, and reports only if the profiler is
 * on. */
EXPORTED bool memory_profiling_enabled(void) __asm__(PROFILING_ENABLED);
bool memory_profiling_enabled(void)
{
    int kept = errno;
    enabled_fn *real;

    if (may_report())
        return true;
    real = (enabled_fn *)mv_resolve_lasting(PROFILING_ENABLED, __builtin_return_address(0));
    errno = kept;
    return real && real();
}
