/* The kind of a C or C++ frame, from its name and file: who owns the code, and how specific the
 * frame is.
 *
 *     torch::unwind::unwind()                          unwinder   how the stack was recorded
 *     c10::cuda::CUDACachingAllocator::…::malloc(…)    unwinder
 *     at::detail::empty_cuda(…)                        helper     below an operator
 *     at::(anonymous namespace)::wrapper_CUDA_bmm(…)   other
 *     at::native::bmm_out_cuda_impl(…)                 operator
 *     at::_ops::bmm::call(…)                           dispatch   on the way to an operator
 *     torch::autograd::generated::BmmBackward0::apply  node       of the backward pass
 *     torch::autograd::Engine::evaluate_function(…)    engine     the backward pass itself
 *     Net::forward(at::Tensor)                         own        the program's
 *     execute_native_thread_routine, clone             start      of a thread or of the program
 *
 * PyTorch records names as its unwinder finds them: demangled with arguments and, for templates,
 * with the return type; mangled; "??"; with "[clone .cold]" at the end. Files are a base name
 * ("RegisterCUDA.cpp", "thread48.o"), a path, "??" or empty; lines are mostly 0. Source:
 * torch/csrc/profiler/combined_traceback.cpp, torch/csrc/profiler/unwind/. */
#ifndef MV_NATIVE_FRAME_H
#define MV_NATIVE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The more specific kinds first; NODE and OWN_PATH rank equally. */
typedef enum {
    MV_NATIVE_NODE,
    MV_NATIVE_OWN_PATH, /* known by the path of its file */
    MV_NATIVE_ENGINE,
    MV_NATIVE_OWN_NAME, /* known by its name, outside the namespaces of known libraries */
    MV_NATIVE_OPERATOR,
    MV_NATIVE_OTHER,
    MV_NATIVE_HELPER,
    MV_NATIVE_THREAD_NAME, /* "thread pt_autograd_0", in captures */
    MV_NATIVE_DISPATCH,
    MV_NATIVE_START,
    MV_NATIVE_INTERPRETER, /* CPython's */
    MV_NATIVE_UNKNOWN,     /* no name */
    MV_NATIVE_UNWINDER     /* the unwinder and the allocator, which end every stack */
} mv_native_kind;

/* Whether a frame is C or C++ rather than Python: by the extension of its file, a name that a
 * Python function cannot have, or a missing line. */
bool mv_frame_is_native(const char *file, const char *function, int64_t line);

mv_native_kind mv_native_kind_of(const char *file, const char *function);

/* "backward of linear (AddmmBackward0)" for a node of the backward pass, MV_BACKWARD_LABEL for its
 * engine. For any other frame, the function without return type, arguments and suffixes, after
 * "pool.cu:42" or, for the program's own code without a line, after the file's name. Cut to fit. */
void mv_native_label(const char *file, const char *function, int64_t line, char *out, size_t size);

/* The label for memory of the backward pass if the stack contains neither Python nor a node. */
#define MV_BACKWARD_LABEL "backward pass (autograd thread)"

#endif
