/* Another tool's hook for cudaMalloc, which adds one to the size and finds the next hook with
 * RTLD_NEXT. */
#include <dlfcn.h>
#include <stddef.h>

typedef int malloc_fn(void **out, size_t size);

int cudaMalloc(void **out, size_t size);

int cudaMalloc(void **out, size_t size)
{
    malloc_fn *next = (malloc_fn *)dlsym(RTLD_NEXT, "cudaMalloc");
    int result = next ? next(out, size + 1) : 35;

    return result;
}
