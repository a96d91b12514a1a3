// A program with nvcc's default, a static cudart: allocates memory with many APIs and frees some of it.
// gpu_check.py (check_plain) checks for the memory that is still allocated at the end.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#define CHECK(call)                                                                   \
    do {                                                                              \
        int result_ = (int)(call);                                                    \
        if (result_) {                                                                \
            fprintf(stderr, "line %d: %s gave %d\n", __LINE__, #call, result_);       \
            return 1;                                                                 \
        }                                                                             \
    } while (0)

__global__ void fill(char *at, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        at[i] = 1;
}

static int map_physical(CUdevice device)
{
    CUmemAllocationProp what = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    size_t bytes = 32 << 20;

    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    what.location.id = device;
    access.location = what.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemCreate(&handle, bytes, &what, 0));
    CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CHECK(cuMemMap(at, bytes, 0, handle, 0));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
    // The mapping keeps the memory.
    CHECK(cuMemRelease(handle));
    // This one is freed.
    CHECK(cuMemCreate(&handle, bytes, &what, 0));
    CHECK(cuMemRelease(handle));
    return 0;
}

int main()
{
    char *a, *b, *c, *d, *e;
    size_t pitch;
    void *host;

    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&a, 64 << 20));
    CHECK(cudaMalloc(&b, 128 << 20));
    fill<<<1, 256>>>(a, 1 << 20);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(b));
    CHECK(cudaMallocAsync(&c, 16 << 20, 0));
    CHECK(cudaMallocAsync(&b, 4 << 20, 0));
    CHECK(cudaFreeAsync(b, 0));
    CHECK(cudaMallocManaged(&d, 8 << 20));
    fill<<<1, 256>>>(d, 8 << 20);
    CHECK(cudaMallocPitch(&e, &pitch, 1000, 1000));
    CHECK(cudaMallocHost(&host, 2 << 20));
    CHECK(map_physical(0));
    CHECK(cudaDeviceSynchronize());
    if (cudaMalloc(&b, (size_t)1 << 50) == cudaSuccess)
        return 1;
    usleep(500000); // long enough for a sample
    printf("plain done\n");
    fflush(stdout);
    _exit(0);
}
