/* A minimal CUDA runtime. Its functions need almost no stack, for programs whose stack use is
 * measured. One function calls back, for programs that leave a call in unusual ways. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

int cudaMalloc(void **out, size_t size);
int cudaFree(void *memory);
int cudaMallocManaged(void **out, size_t size, unsigned flags);
extern void (*small_cuda_calls)(void);

void (*small_cuda_calls)(void);
static atomic_uint_fast64_t next = 0x700000000000;

int cudaMalloc(void **out, size_t size)
{
    *out = (void *)(uintptr_t)atomic_fetch_add(&next, (size + 1023) / 512 * 512);
    return 0;
}

int cudaFree(void *memory)
{
    (void)memory;
    return 0;
}

/* Calls the function in small_cuda_calls, which may not return. */
int cudaMallocManaged(void **out, size_t size, unsigned flags)
{
    (void)flags;
    if (small_cuda_calls)
        small_cuda_calls();
    return cudaMalloc(out, size);
}
