#include "analyze/code/libraries.h"

#include <stdio.h>

/* Libraries whose common name differs from their file name. */
static const struct {
    const char *start; /* start of the file name */
    const char *name;
    bool is_framework;
} libraries[] = {
    {"libc10_", "PyTorch", true},
    {"libtorch_nvshmem", "NVSHMEM", false},
    {"libtorch", "PyTorch", false},
    {"libnccl", "NCCL", false},
    {"librccl", "RCCL", false},
    {"libcublasLt", "cuBLASLt", false},
    {"libcublas", "cuBLAS", false},
    {"libcudnn", "cuDNN", false},
    {"libcufft", "cuFFT", false},
    {"libcusolver", "cuSOLVER", false},
    {"libcusparse", "cuSPARSE", false},
    {"libcurand", "cuRAND", false},
    {"libcutensor", "cuTENSOR", false},
    {"libnvshmem", "NVSHMEM", false},
    {"libnvjpeg", "nvJPEG", false},
    {"libnvinfer", "TensorRT", false},
    {"libonnxruntime", "ONNX Runtime", false},
    {"libtensorflow", "TensorFlow", false},
    {"xla_cuda_plugin", "JAX", false},
    {"pjrt_c_api_gpu_plugin", "JAX", false},
    {"xla_extension", "JAX", false},
    {"libjax_common", "JAX", false},
    {"librmm", "RMM", false},
    {"libcudart", "CUDA runtime", false},
    {"libcuda.so", "CUDA driver", false},
    {"libffi", "Python (ctypes)", false},
};

/* Python packages whose common name differs from their folder's name. */
static const struct {
    const char *folder, *name;
} packages[] = {
    {"cupy", "CuPy"},  {"cupy_backends", "CuPy"}, {"numba_cuda", "Numba"}, {"numba", "Numba"},
    {"jaxlib", "JAX"}, {"tensorrt", "TensorRT"},  {"triton", "Triton"},    {"torch", "PyTorch"},
    {"vllm", "vLLM"},  {"cuda", "CUDA Python"},
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int library_row(const char *path)
{
    const char *base = base_of(path);

    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(base, libraries[i].start, strlen(libraries[i].start)) == 0)
            return (int)i;
    return -1;
}

/* Finds the folder name of a Python package in a path, and sets *length to the length of this name.
 * NULL if the path contains no package. */
static const char *package_of(const char *path, size_t *length)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/"};

    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        const char *at = strstr(path, places[i]), *end;
        if (!at)
            continue;
        at += strlen(places[i]);
        end = strchr(at, '/');
        if (!end)
            return NULL;
        *length = (size_t)(end - at);
        return at;
    }
    return NULL;
}

const char *mv_calling_library(const mv_trace *trace, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    if (count == 0 || !mv_frame_is_call(trace, frames[0]))
        return NULL;
    return mv_string_text(trace, trace->frames.file[frames[0].row]);
}

const char *mv_library_name(const char *path, char text[MV_LIBRARY_NAME])
{
    int row = library_row(path);
    size_t length = 0;
    const char *package = row < 0 ? package_of(path, &length) : NULL;

    if (row >= 0) {
        snprintf(text, MV_LIBRARY_NAME, "%s", libraries[row].name);
        return text;
    }
    if (!package) {
        snprintf(text, MV_LIBRARY_NAME, "%s", *path ? base_of(path) : "unknown");
        return text;
    }
    for (unsigned i = 0; i < sizeof packages / sizeof *packages; i++) {
        if (strlen(packages[i].folder) == length &&
            memcmp(packages[i].folder, package, length) == 0) {
            snprintf(text, MV_LIBRARY_NAME, "%s", packages[i].name);
            return text;
        }
    }
    snprintf(text, MV_LIBRARY_NAME, "%.*s",
             (int)(length < MV_LIBRARY_NAME ? length : MV_LIBRARY_NAME), package);
    return text;
}

bool mv_library_is_framework(const char *path)
{
    int row = library_row(path);

    return row >= 0 && libraries[row].is_framework;
}

bool mv_library_is_binding(const char *path)
{
    static const char *const starts[] = {"libffi", "_ctypes", "_cffi_backend", "python",
                                         "libpython"};
    const char *base = base_of(path);

    for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(base, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}
