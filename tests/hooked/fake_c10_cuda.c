/* An allocator on top of c10 that reports through the PLT, from a library opened
 * with RTLD_LOCAL. */
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int8_t type, index;
} device;

void report_mm(void *, int64_t, uint64_t, uint64_t,
               device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report_ll(void *, int64_t, int64_t, int64_t,
               device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
void report_plain(void *, int64_t,
                  device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE");
void oom_mm(int64_t, uint64_t, uint64_t,
            device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
void oom_ll(int64_t, int64_t, int64_t,
            device) __asm__("_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE");
bool profiling_enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");

bool allocate_on(int type);

/* Reports once under each name. Returns whether CPU memory is reported at all. */
bool allocate_on(int type)
{
    device where = {(int8_t)type, 3};
    void *ptr = (void *)0x7000;

    report_mm(ptr, 512, 1024, 2048, where);
    report_ll(ptr, -512, 512, 2048, where);
    report_plain(ptr, 100, where);
    oom_mm(4096, 512, 2048, where);
    oom_ll(8192, 512, 2048, where);
    return profiling_enabled();
}
