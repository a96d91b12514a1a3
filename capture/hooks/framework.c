/* PyTorch's own reports about its allocators, interposed under the names of all versions: the type
 * of the totals has changed, and so has the mangled name. Each call is forwarded to the real
 * function of the same name, so that torch.profiler works as usual.
 *
 * This runs for every tensor, so resolved addresses are not checked again: Python never unloads
 * c10. */
#include "capture/hooks/resolve.h"
#include "capture/record/forks.h"
#include "capture/record/recorder.h"

#include <errno.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

/* c10::Device, passed in one register on x86-64 and aarch64, like any struct of two bytes. */
typedef struct {
    int8_t type, index;
} c10_device;

/* The totals are size_t since 2023, and were int64_t from 1.10 on; up to 1.9 there were none. */
#define REPORT_OF_SIZES       "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define REPORT_OF_LONGS       "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define REPORT_WITHOUT_TOTALS "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE"
#define OOM_OF_SIZES          "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define OOM_OF_LONGS          "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"
#define PROFILING_ENABLED     "_ZN3c1022memoryProfilingEnabledEv"

typedef void usage_fn(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                      c10_device device);
typedef void usage_without_totals_fn(void *ptr, int64_t size, c10_device device);
typedef void oom_fn(int64_t size, uint64_t allocated, uint64_t reserved, c10_device device);
typedef bool enabled_fn(void);

/* c10::DeviceType */
enum { CPU = 0 };

static bool is_wanted(c10_device device)
{
    return device.type != CPU || mv_rec_wants_cpu();
}

static void record(void (*as)(const mv_rec_block_event *), void *ptr, int64_t size,
                   uint64_t allocated, uint64_t reserved, c10_device device)
{
    mv_rec_visit visit;

    if (!is_wanted(device) || !mv_rec_enter(&visit))
        return;
    as(&(mv_rec_block_event){.addr = (uintptr_t)ptr,
                             .size = size,
                             .allocated = allocated,
                             .reserved = reserved,
                             .device_type = device.type,
                             .device = device.index});
    mv_rec_leave(&visit);
}

/* c10 has released its lock. */
static void leave_c10(void)
{
    if (mv_forks_is_inside(MV_SECTION_C10))
        mv_forks_leave(MV_SECTION_C10);
}

static void forward_usage(const char *name, const void *caller, void *ptr, int64_t size,
                          uint64_t allocated, uint64_t reserved, c10_device device)
{
    int kept = errno;
    usage_fn *real;

    leave_c10();
    record(mv_rec_block, ptr, size, allocated, reserved, device);
    real = (usage_fn *)mv_resolve_lasting(name, caller);
    errno = kept;
    if (real)
        real(ptr, size, allocated, reserved, device);
}

static void forward_oom(const char *name, const void *caller, int64_t size, uint64_t allocated,
                        uint64_t reserved, c10_device device)
{
    int kept = errno;
    oom_fn *real;

    leave_c10();
    record(mv_rec_oom, NULL, size, allocated, reserved, device);
    real = (oom_fn *)mv_resolve_lasting(name, caller);
    errno = kept;
    if (real)
        real(size, allocated, reserved, device);
}

EXPORTED void report_of_sizes(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                              c10_device device) __asm__(REPORT_OF_SIZES);
void report_of_sizes(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                     c10_device device)
{
    forward_usage(REPORT_OF_SIZES, __builtin_return_address(0), ptr, size, allocated, reserved,
                  device);
}

EXPORTED void report_of_longs(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                              c10_device device) __asm__(REPORT_OF_LONGS);
void report_of_longs(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved,
                     c10_device device)
{
    forward_usage(REPORT_OF_LONGS, __builtin_return_address(0), ptr, size, allocated, reserved,
                  device);
}

EXPORTED void report_without_totals(void *ptr, int64_t size, c10_device device) __asm__(
    "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
void report_without_totals(void *ptr, int64_t size, c10_device device)
{
    int kept = errno;
    usage_without_totals_fn *real;

    leave_c10();
    record(mv_rec_block, ptr, size, MV_REC_NO_TOTAL, MV_REC_NO_TOTAL, device);
    real = (usage_without_totals_fn *)mv_resolve_lasting(REPORT_WITHOUT_TOTALS,
                                                         __builtin_return_address(0));
    errno = kept;
    if (real)
        real(ptr, size, device);
}

EXPORTED void oom_of_sizes(int64_t size, uint64_t allocated, uint64_t reserved,
                           c10_device device) __asm__(OOM_OF_SIZES);
void oom_of_sizes(int64_t size, uint64_t allocated, uint64_t reserved, c10_device device)
{
    forward_oom(OOM_OF_SIZES, __builtin_return_address(0), size, allocated, reserved, device);
}

EXPORTED void oom_of_longs(int64_t size, uint64_t allocated, uint64_t reserved,
                           c10_device device) __asm__(OOM_OF_LONGS);
void oom_of_longs(int64_t size, uint64_t allocated, uint64_t reserved, c10_device device)
{
    forward_oom(OOM_OF_LONGS, __builtin_return_address(0), size, allocated, reserved, device);
}

/* Whether c10 may take its lock for a report. Without the shim it takes none, so a child forked
 * while another thread held the lock would wait forever because of the shim. Therefore forks wait
 * for threads that have passed this check and not reported yet, and a child of a fork that gave up
 * waiting records no CPU tensors. */
static bool may_report(void)
{
    if (!mv_rec_wants_cpu() || !mv_forks_was_whole())
        return false;
    if (mv_forks_is_inside(MV_SECTION_C10) || mv_forks_enter(MV_SECTION_C10))
        return true;
    mv_forks_leave(MV_SECTION_C10);
    return false;
}

/* The CPU allocator calls this before each report, and reports nothing to a profiler that is
 * off. */
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
