/* The types of the CUDA runtime and driver that hooks need, with the ABI of CUDA, so that the shim
 * can be built without CUDA. Handles are pointers that the shim never follows, and enumerations are
 * ints.
 *
 * Sources: CUDA Driver API and Runtime API reference manuals, "Data types".
 * tests/hooked/cuda_layout.c compares them with CUDA's headers, if installed. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef void *mv_cuda_handle;           /* stream, pool, array, module, library, graph, context */
typedef unsigned long long mv_cuda_ptr; /* CUdeviceptr, CUmemGenericAllocationHandle */
typedef unsigned int mv_cuda_ptr_v1;    /* CUdeviceptr of the functions from before CUDA 3.2 */

enum {
    MV_CUDA_SUCCESS = 0,
    MV_CUDA_OUT_OF_MEMORY = 2,        /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */
    MV_CUDA_NOT_INITIALIZED = 3,      /* CUDA_ERROR_NOT_INITIALIZED */
    MV_CUDA_INSUFFICIENT_DRIVER = 35, /* cudaErrorInsufficientDriver */
    MV_CUDA_LOCATION_DEVICE = 1,      /* CU_MEM_LOCATION_TYPE_DEVICE */
    MV_CUDA_HOST_TO_DEVICE = 1,       /* cudaMemcpyHostToDevice */
    MV_CUDA_DEVICE_TO_HOST = 2,       /* cudaMemcpyDeviceToHost */
    MV_CUDA_NODE_MEM_ALLOC = 10,      /* CU_GRAPH_NODE_TYPE_MEM_ALLOC */
    MV_CUDA_PER_THREAD_STREAM = 2,    /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
    MV_CUDA_ARRAY_LAYERED = 1         /* CUDA_ARRAY3D_LAYERED, cudaArrayLayered */
};

typedef struct {
    size_t width, height, depth;
} mv_cuda_extent;

/* dim3 */
typedef struct {
    unsigned x, y, z;
} mv_cuda_dim3;

typedef struct {
    void *ptr;
    size_t pitch, xsize, ysize;
} mv_cuda_pitched;

/* cudaIpcMemHandle_t, CUipcMemHandle. */
typedef struct {
    char reserved[64];
} mv_cuda_ipc;

/* cudaChannelFormatDesc: bits of each channel. */
typedef struct {
    int x, y, z, w;
    int kind;
} mv_cuda_channels;

typedef struct {
    size_t width, height;
    int format;
    unsigned channels;
} mv_cuda_array;

typedef struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} mv_cuda_array_3d;

typedef struct {
    unsigned width, height;
    int format;
    unsigned channels;
} mv_cuda_array_v1;

typedef struct {
    unsigned width, height, depth;
    int format;
    unsigned channels, flags;
} mv_cuda_array_3d_v1;

/* The first fields of CUmemAllocationProp, CUmemPoolProps and cudaMemPoolProps. */
typedef struct {
    int kind;
    int handle_kinds;
    int location_kind;
    int location;
} mv_cuda_props;

/* CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams. */
typedef struct {
    mv_cuda_props pool;
    uint64_t pool_more[9];
    const void *access;
    size_t access_count;
    size_t size;
    mv_cuda_ptr address;
} mv_cuda_alloc_node;

/* CUgraphNodeParams */
typedef struct {
    int kind;
    int reserved[3];
    mv_cuda_alloc_node alloc; /* parameters, if the kind is MV_CUDA_NODE_MEM_ALLOC */
} mv_cuda_node;

static_assert(offsetof(mv_cuda_alloc_node, address) == 112, "as in cuda.h");
static_assert(offsetof(mv_cuda_node, alloc) == 16, "as in cuda.h");
static_assert(sizeof(mv_cuda_extent) == 24 && sizeof(mv_cuda_pitched) == 32, "as in cuda.h");
