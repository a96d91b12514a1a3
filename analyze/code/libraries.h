/* Finds the common names of libraries that call CUDA.
 *
 *     /opt/…/nvidia/nccl/lib/libnccl.so.2                        NCCL
 *     /opt/…/cupy_backends/cuda/api/runtime.cpython-312-….so     CuPy
 *     /opt/…/site-packages/rmm/_lib/memory.cpython-311-….so      rmm
 *     /home/me/bin/simulate                                      simulate
 *
 * If a library is not in the table, the name of its Python package is used. */
#pragma once

#include "parse/model/trace.h"

#define MV_LIBRARY_NAME 64 /* longer names are cut */

/* Returns the path of the library that called CUDA, in a trace of CUDA calls (analyze/levels);
 * otherwise NULL. */
const char *mv_calling_library(const mv_trace *trace, mv_stack_id stack);

/* Writes the library's name to `text`, or "unknown" if the path is "". Returns `text`. */
const char *mv_library_name(const char *path, char text[MV_LIBRARY_NAME]);

/* Whether this library makes the CUDA calls of PyTorch's caching allocator. */
bool mv_library_is_framework(const char *path);

/* Whether Python calls C functions through this library, which is ctypes or cffi and may be part of
 * the interpreter. */
bool mv_library_is_binding(const char *path);
