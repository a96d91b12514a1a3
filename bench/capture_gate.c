/* A library in front of the shim, for bench/capture. It passes the reports of PyTorch's allocator
 * either to the shim or directly to PyTorch's own function. One process can therefore alternate
 * between blocks of steps with and without recording. The library also measures how long each
 * report takes. */
#include <stdint.h>
#include <x86intrin.h>

#define EXPORTED __attribute__((visibility("default")))

typedef struct {
    int8_t type, index;
} c10_device;

typedef void report_fn(void *, int64_t, uint64_t, uint64_t, c10_device);

enum { PAST, TO_SHIM, TIMED, MOST_SAMPLES = 1 << 16 };

/* capture_loop.py sets these. */
EXPORTED int gate_mode;
EXPORTED report_fn *gate_functions[2]; /* functions in the shim and in PyTorch */
/* Number of cycles that the latest reports of allocations and of frees took, and number of these
 * reports. */
EXPORTED uint32_t gate_samples[2][MOST_SAMPLES];
EXPORTED uint64_t gate_counts[2];

EXPORTED uint64_t gate_cycles(void);
uint64_t gate_cycles(void)
{
    return __rdtsc();
}

EXPORTED void
gate_report(void *address, int64_t size, uint64_t allocated, uint64_t reserved,
            c10_device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void gate_report(void *address, int64_t size, uint64_t allocated, uint64_t reserved,
                 c10_device device)
{
    uint64_t begun = gate_mode == TIMED ? __rdtsc() : 0;

    if (gate_functions[0])
        gate_functions[gate_mode == PAST](address, size, allocated, reserved, device);
    if (gate_mode == TIMED)
        gate_samples[size < 0][__atomic_fetch_add(&gate_counts[size < 0], 1, __ATOMIC_RELAXED) %
                               MOST_SAMPLES] = (uint32_t)(__rdtsc() - begun);
}
