// Plain CUDA programs that leak, one for each kind of memory: gpu_leaks KIND [STEPS]. "clean" leaks
// nothing. Each step works with memory that it frees, and keeps one buffer in keep_NAME, which reports
// must name. Steps are not marked: they must be inferred from the pattern of calls.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#define CHECK(call)                                                                   \
    do {                                                                              \
        int result_ = (int)(call);                                                    \
        if (result_) {                                                                \
            fprintf(stderr, "line %d: %s gave %d\n", __LINE__, #call, result_);       \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define KEPT ((size_t)6 << 20)

__global__ void fill(char *at, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x)
        at[i] = 1;
}

// ---- memory that a step keeps

__attribute__((noinline)) static void keep_malloc()
{
    char *at;

    CHECK(cudaMalloc(&at, KEPT));
    fill<<<1, 256>>>(at, 4096);
}

__attribute__((noinline)) static void keep_async()
{
    char *at;

    CHECK(cudaMallocAsync(&at, KEPT, 0));
    fill<<<1, 256>>>(at, 4096);
}

__attribute__((noinline)) static void keep_pinned()
{
    void *at;

    CHECK(cudaHostAlloc(&at, KEPT, cudaHostAllocDefault));
    memset(at, 1, 4096);
}

__attribute__((noinline)) static void keep_created()
{
    CUmemAllocationProp what = {};
    CUmemAccessDesc access = {};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    what.location.id = 0;
    access.location = what.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CHECK(cuMemCreate(&handle, KEPT, &what, 0));
    CHECK(cuMemAddressReserve(&at, KEPT, 0, 0, 0));
    CHECK(cuMemMap(at, KEPT, 0, handle, 0));
    CHECK(cuMemSetAccess(at, KEPT, &access, 1));
    CHECK(cuMemUnmap(at, KEPT));
    CHECK(cuMemAddressFree(at, KEPT));
    // The handle is never released, so the memory is still held.
}

__attribute__((noinline)) static void keep_graph(cudaStream_t stream, char *work)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 4000; i++)
        fill<<<1, 256, 0, stream>>>(work, 4096);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaGraphDestroy(graph));
    // The executable graph is never destroyed.
}

__attribute__((noinline)) static void keep_handle(float *work)
{
    cublasHandle_t handle;
    float one = 1, zero = 0;

    CHECK(cublasCreate(&handle));
    CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, work, 256, work, 256,
                      &zero, work + 65536, 256));
    // The handle and its workspace are never destroyed.
}

// ---- a step

static void step(const char *kind, cudaStream_t stream)
{
    char *input, *activations;

    CHECK(cudaMalloc(&input, 2 << 20));
    CHECK(cudaMallocAsync(&activations, 16 << 20, stream));
    fill<<<1, 256, 0, stream>>>(input, 4096);
    fill<<<1, 256, 0, stream>>>(activations, 4096);
    if (!strcmp(kind, "malloc"))
        keep_malloc();
    if (!strcmp(kind, "async"))
        keep_async();
    if (!strcmp(kind, "pinned"))
        keep_pinned();
    if (!strcmp(kind, "created"))
        keep_created();
    if (!strcmp(kind, "graph"))
        keep_graph(stream, activations);
    if (!strcmp(kind, "handle"))
        keep_handle((float *)activations);
    CHECK(cudaFreeAsync(activations, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(input));
    usleep(20000);
}

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "clean";
    int steps = count > 2 ? atoi(words[2]) : 12;
    cudaStream_t stream;
    char *weights;

    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&weights, 64 << 20));
    for (int i = 0; i < steps; i++)
        step(kind, stream);
    CHECK(cudaDeviceSynchronize());
    usleep(300000); // long enough for a sample
    printf("%s done\n", kind);
    return 0;
}
