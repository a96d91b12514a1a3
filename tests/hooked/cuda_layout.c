/* Compares the types in capture/hooks/cuda_types.h with CUDA's headers. It is built only where
 * these headers exist. */
#include "capture/hooks/cuda_types.h"

#include <cuda.h>
#include <driver_types.h>

#define SAME(ours, field, theirs, their_field)                                          \
    static_assert(offsetof(ours, field) == offsetof(theirs, their_field) &&             \
                      sizeof(((ours *)0)->field) == sizeof(((theirs *)0)->their_field), \
                  #ours "." #field)

SAME(mv_cuda_props, location_kind, CUmemAllocationProp, location.type);
SAME(mv_cuda_props, location, CUmemAllocationProp, location.id);
SAME(mv_cuda_props, location_kind, CUmemPoolProps, location.type);
SAME(mv_cuda_props, location, CUmemPoolProps, location.id);
SAME(mv_cuda_props, location_kind, struct cudaMemPoolProps, location.type);
SAME(mv_cuda_props, location, struct cudaMemPoolProps, location.id);
SAME(mv_cuda_alloc_node, pool.location, CUDA_MEM_ALLOC_NODE_PARAMS, poolProps.location.id);
SAME(mv_cuda_alloc_node, size, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
SAME(mv_cuda_alloc_node, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);
SAME(mv_cuda_alloc_node, size, struct cudaMemAllocNodeParams, bytesize);
SAME(mv_cuda_alloc_node, address, struct cudaMemAllocNodeParams, dptr);
SAME(mv_cuda_array, format, CUDA_ARRAY_DESCRIPTOR, Format);
SAME(mv_cuda_array, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME(mv_cuda_array_3d, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
SAME(mv_cuda_array_3d, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
SAME(mv_cuda_array_3d, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME(mv_cuda_channels, kind, struct cudaChannelFormatDesc, f);
SAME(mv_cuda_pitched, ptr, struct cudaPitchedPtr, ptr);
SAME(mv_cuda_pitched, pitch, struct cudaPitchedPtr, pitch);
SAME(mv_cuda_extent, depth, struct cudaExtent, depth);
static_assert(sizeof(mv_cuda_ipc) == sizeof(CUipcMemHandle), "driver");
static_assert(sizeof(mv_cuda_ipc) == sizeof(cudaIpcMemHandle_t), "runtime");

static_assert((int)MV_CUDA_OUT_OF_MEMORY == CUDA_ERROR_OUT_OF_MEMORY, "driver");
static_assert((int)MV_CUDA_OUT_OF_MEMORY == cudaErrorMemoryAllocation, "runtime");
static_assert((int)MV_CUDA_NOT_INITIALIZED == CUDA_ERROR_NOT_INITIALIZED, "driver");
static_assert((int)MV_CUDA_INSUFFICIENT_DRIVER == cudaErrorInsufficientDriver, "runtime");
static_assert((int)MV_CUDA_LOCATION_DEVICE == CU_MEM_LOCATION_TYPE_DEVICE, "driver");
static_assert((int)MV_CUDA_HOST_TO_DEVICE == cudaMemcpyHostToDevice, "runtime");
static_assert((int)MV_CUDA_DEVICE_TO_HOST == cudaMemcpyDeviceToHost, "runtime");
static_assert(MV_CUDA_ARRAY_LAYERED == CUDA_ARRAY3D_LAYERED, "driver");

#if CUDA_VERSION >= 11030
static_assert((int)MV_CUDA_PER_THREAD_STREAM == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
              "driver");
#endif
#if CUDA_VERSION >= 12020
SAME(mv_cuda_node, kind, CUgraphNodeParams, type);
SAME(mv_cuda_node, alloc.size, CUgraphNodeParams, alloc.bytesize);
SAME(mv_cuda_node, alloc.address, CUgraphNodeParams, alloc.dptr);
static_assert((int)MV_CUDA_NODE_MEM_ALLOC == CU_GRAPH_NODE_TYPE_MEM_ALLOC, "driver");
#endif
