/* The part of PyTorch's c10 to which its allocators report, in each version's spelling. It keeps
 * the reports, so that a test can check that they were forwarded completely. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    int8_t type, index;
} device;

typedef struct {
    void *ptr;
    int64_t size;
    uint64_t allocated, reserved;
    device where;
    unsigned calls;
} report;

report fake_c10_last(void);

static report last;

static void keep(void *ptr, int64_t size, uint64_t allocated, uint64_t reserved, device where)
{
    last = (report){ptr, size, allocated, reserved, where, last.calls + 1};
}

report fake_c10_last(void)
{
    return last;
}

#define REPORT(suffix, total)                                                                     \
    void report_##suffix(void *ptr, int64_t size, total allocated, total reserved,                \
                         device where) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvl" #suffix \
                                               "NS_6DeviceE");                                    \
    void report_##suffix(void *ptr, int64_t size, total allocated, total reserved, device where)  \
    {                                                                                             \
        keep(ptr, size, (uint64_t)allocated, (uint64_t)reserved, where);                          \
    }                                                                                             \
    void oom_##suffix(int64_t size, total allocated, total reserved, device where) __asm__(       \
        "_ZN3c1027reportOutOfMemoryToProfilerEl" #suffix "NS_6DeviceE");                          \
    void oom_##suffix(int64_t size, total allocated, total reserved, device where)                \
    {                                                                                             \
        keep(NULL, size, (uint64_t)allocated, (uint64_t)reserved, where);                         \
    }

REPORT(mm, uint64_t)
REPORT(ll, int64_t)

void report_plain(void *ptr, int64_t size,
                  device where) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
void report_plain(void *ptr, int64_t size, device where)
{
    keep(ptr, size, 0, 0, where);
}

bool profiling_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
bool profiling_enabled(void)
{
    return false;
}
