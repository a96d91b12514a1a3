/* A library with a static libcudart, such as NCCL. It imports nothing from CUDA and looks
 * everything up. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef int get_proc_fn(const char *symbol, void **out, int version, uint64_t flags, void *status);

void *plugin_malloc(size_t size);
int plugin_free(void *ptr);

static void *entry_point(const char *symbol, int version)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY);
    get_proc_fn *get = library ? (get_proc_fn *)dlsym(library, "cuGetProcAddress_v2") : NULL;
    void *found = NULL;

    /* Looks functions up as libcudart does: first the newest look-up function, then everything else
     * through that function. */
    if (get && get("cuGetProcAddress", &found, 12000, 0, NULL) == 0)
        get = (get_proc_fn *)found;
    return get && get(symbol, &found, version, 0, NULL) == 0 ? found : NULL;
}

void *plugin_malloc(size_t size)
{
    int (*allocate)(unsigned long long *, size_t) =
        (int (*)(unsigned long long *, size_t))entry_point("cuMemAlloc", 12000);
    unsigned long long ptr = 0;
    int result = allocate ? allocate(&ptr, size) : -1;

    return result == 0 ? (void *)(uintptr_t)ptr : NULL;
}

int plugin_free(void *ptr)
{
    int (*give_back)(unsigned long long) =
        (int (*)(unsigned long long))entry_point("cuMemFree", 12000);
    int result = give_back ? give_back((uintptr_t)ptr) : -1;

    return result;
}
