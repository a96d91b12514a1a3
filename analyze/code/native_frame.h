/* Determines the kind of a C or C++ frame from its name and file. The kind shows who owns the code
 * and how specific the frame is.
 *
 *     torch::unwind::unwind()                          unwinder   how the stack was recorded
 *     c10::cuda::CUDACachingAllocator::…::malloc(…)    unwinder
 *     at::detail::empty_cuda(…)                        helper     called by an operator
 *     at::(anonymous namespace)::wrapper_CUDA_bmm(…)   other
 *     at::native::bmm_out_cuda_impl(…)                 operator
 *     at::_ops::bmm::call(…)                           dispatch   on the way to an operator
 *     torch::autograd::generated::BmmBackward0::apply  node       a node of the backward pass
 *     torch::autograd::Engine::evaluate_function(…)    engine     the backward pass itself
 *     Net::forward(at::Tensor)                         own        the program's own code
 *     execute_native_thread_routine, clone             start      start of a thread or the program
 *
 * PyTorch records names as its unwinder finds them. A demangled name has arguments and, for
 * templates, the return type. Other names are mangled, or are "??". A name may end in "[clone
 * .cold]". A file is a base name ("RegisterCUDA.cpp", "thread48.o"), a path, "??" or empty. Line
 * numbers are mostly 0. Source: torch/csrc/profiler/combined_traceback.cpp,
 * torch/csrc/profiler/unwind/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More specific kinds come first, except that NODE and OWN_PATH are equally specific. */
typedef enum {
    MV_NATIVE_NODE,
    MV_NATIVE_OWN_PATH, /* the program's own code, recognized by the path of its file */
    MV_NATIVE_ENGINE,
    MV_NATIVE_OWN_NAME, /* the program's own code, recognized by its name, which is outside the
                         * namespaces of known libraries */
    MV_NATIVE_OPERATOR,
    MV_NATIVE_OTHER,
    MV_NATIVE_HELPER,
    MV_NATIVE_THREAD_NAME, /* the name of a thread in captures: "thread pt_autograd_0" */
    MV_NATIVE_DISPATCH,
    MV_NATIVE_START,
    MV_NATIVE_INTERPRETER, /* code of the CPython interpreter */
    MV_NATIVE_UNKNOWN,     /* the frame has no name */
    MV_NATIVE_UNWINDER     /* code of the unwinder or the allocator, which every stack ends with */
} mv_native_kind;

/* Whether a frame is C or C++ rather than Python. This is decided by the extension of its file, by
 * a name that a Python function cannot have, or by a missing line number. */
bool mv_frame_is_native(const char *file, const char *function, int64_t line);

mv_native_kind mv_native_kind_of(const char *file, const char *function);

/* Writes the frame's label: "backward of linear (AddmmBackward0)" for a node of the backward pass,
 * MV_BACKWARD_LABEL for its engine. For any other frame, the label is "pool.cu:42", followed by the
 * function without return type, arguments and suffixes. For the program's own code without line
 * numbers, the label begins with the file's name. The label is cut to fit. */
void mv_native_label(const char *file, const char *function, int64_t line, char *out, size_t size);

/* The label for memory of the backward pass whose stack contains neither Python nor a node. */
#define MV_BACKWARD_LABEL "backward pass (autograd thread)"
