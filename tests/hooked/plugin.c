/* A library with its own libcudart, like some Python extensions. */
#include <stddef.h>

int cudaMalloc(void **out, size_t size);
int cudaFree(void *ptr);
void *plugin_malloc(size_t size);
int plugin_free(void *ptr);

void *plugin_malloc(size_t size)
{
    void *ptr = NULL;
    int result = cudaMalloc(&ptr, size);

    return result == 0 ? ptr : NULL;
}

int plugin_free(void *ptr)
{
    int result = cudaFree(ptr);

    return result;
}
