#include "analyze/culprit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* What torch itself is made of, one level below its folder. A folder called torch that holds
 * anything else is the user's. */
static const char *const torch_parts[] = {
    "_C",
    "_custom_op",
    "_decomp",
    "_dispatch",
    "_dynamo",
    "_export",
    "_functorch",
    "_guards.py",
    "_higher_order_ops",
    "_inductor",
    "_jit_internal.py",
    "_lazy",
    "_library",
    "_logging",
    "_lowrank.py",
    "_meta_registrations.py",
    "_ops.py",
    "_prims",
    "_prims_common",
    "_refs",
    "_subclasses",
    "_tensor.py",
    "_utils.py",
    "_utils_internal.py",
    "_vendor",
    "_compile.py",
    "__init__.py",
    "accelerator",
    "amp",
    "ao",
    "autograd",
    "backends",
    "compiler",
    "cpu",
    "csrc",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "functional.py",
    "futures",
    "fx",
    "hub.py",
    "jit",
    "library.py",
    "linalg",
    "masked",
    "mps",
    "multiprocessing",
    "nested",
    "nn",
    "onnx",
    "optim",
    "overrides.py",
    "package",
    "profiler",
    "quantization",
    "random.py",
    "serialization.py",
    "signal",
    "sparse",
    "special",
    "storage.py",
    "testing",
    "utils",
    "xpu",
};

/* Packages whose frames stand for the framework rather than for a model's or trainer's code. */
static const char *const framework_packages[] = {"torch", "triton", "functorch", "pytorch_triton",
                                                 "torchgen"};

static const char *const native_endings[] = {".c", ".cc",  ".cpp", ".cxx", ".cu", ".cuh",
                                             ".h", ".hpp", ".S",   ".so",  ".dll"};

static const char *const noise_functions[] = {
    "unwind::unwind",
    "libcudart_static_",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "_start",
    "__libc_start",
    "PyEval_",
    "PyObject_",
    "PyFunction_",
    "_PyEval",
    "_PyObject",
    "_PyFunction",
    "PyVectorcall",
    "pymain_",
    "Py_RunMain",
    "Py_BytesMain",
    "c10::Dispatcher",
    "c10::impl::",
    "at::_ops::",
    "CUDACachingAllocator",
    "clone3",
    "start_thread",
};

static const char *const noise_files[] = {
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
    "CUDACachingAllocator",
};

/* Files whose native frames are nobody's own code, by how their names begin. */
static const char *const system_files[] = {
    "ld-linux", "libaten",   "libamd",   "libc-",      "libc.so",   "libc10",  "libcaffe2",
    "libcu",    "libdl",     "libgcc",   "libgomp",    "libhip",    "libm.",   "libmemviz",
    "libmkl",   "libnccl",   "libnv",    "libpthread", "libpython", "librccl", "libroc",
    "libshm",   "libstdc++", "libtorch", "python",
};

static const char *const system_paths[] = {"/aten/",    "/c10/",    "/torch/", "/pytorch/",
                                           "/cpython/", "/Python-", "/glibc",  "/gcc"};

static const char *const system_namespaces[] = {
    "at::", "c10::", "torch::", "caffe2::", "std::", "cuda"};

static bool text_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static bool text_in(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(text, length, words[i]))
            return true;
    return false;
}

static bool text_has_any(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

static bool text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* One component of a path; `next` continues after its slash, NULL behind the last one. */
typedef struct {
    const char *text;
    size_t length;
    const char *next;
} path_part;

static path_part part_at(const char *path)
{
    size_t length = strcspn(path, "/\\");

    return (path_part){path, length, path[length] ? path + length + 1 : NULL};
}

/* libfoo.so, libfoo.so.12, libfoo.so.12.1 */
static bool is_shared_object(const char *file)
{
    const char *so = strstr(file, ".so.");

    return so && strspn(so + 4, "0123456789.") == strlen(so + 4);
}

/* Frames of Python have lines; those of a program's symbol table have its path alone. */
static bool is_native(const char *file, const char *function, int64_t line)
{
    const char *dot = strrchr(file, '.');

    if (*file == '\0' || strcmp(file, "??") == 0)
        return true;
    if (*file == '<')
        return false;
    if (line == MV_NO_LINE && (!dot || !text_starts(dot, ".py")))
        return true;
    if (dot && text_in(dot, strlen(dot), native_endings, LENGTH(native_endings)))
        return true;
    return is_shared_object(file) || strstr(function, "::") != NULL;
}

static bool is_python_home(path_part part, path_part below)
{
    bool lib = text_is(part.text, part.length, "lib") || text_is(part.text, part.length, "lib64") ||
               text_is(part.text, part.length, "Lib");

    return lib && below.length > 6 && text_starts(below.text, "python") &&
           isdigit((unsigned char)below.text[6]);
}

static mv_frame_kind kind_of_path(const char *file)
{
    mv_frame_kind kind = MV_FRAME_USER;

    for (path_part part = part_at(file); part.next; part = part_at(part.next)) {
        path_part below = part_at(part.next);

        if (text_is(part.text, part.length, "site-packages") ||
            text_is(part.text, part.length, "dist-packages")) {
            size_t name = strcspn(below.text, "/\\.");
            return text_in(below.text, name, framework_packages, LENGTH(framework_packages))
                       ? MV_FRAME_FRAMEWORK
                       : MV_FRAME_PACKAGE;
        }
        if (is_python_home(part, below))
            kind = MV_FRAME_FRAMEWORK; /* unless site-packages follow */
        if (text_is(part.text, part.length, "torch") &&
            text_in(below.text, below.length, torch_parts, LENGTH(torch_parts)))
            return MV_FRAME_FRAMEWORK;
        if (part.length > 13 && text_starts(part.text, "torchinductor"))
            return MV_FRAME_FRAMEWORK; /* code that the compiler wrote into its cache */
    }
    return kind;
}

mv_frame_kind mv_frame_kind_of(const mv_trace *trace, mv_frame_id frame)
{
    const char *file, *function;

    if (frame.row >= trace->frames.count)
        return MV_FRAME_NOISE;
    file = mv_string_text(trace, trace->frames.file[frame.row]);
    function = mv_string_text(trace, trace->frames.function[frame.row]);
    if (is_native(file, function, trace->frames.line[frame.row]))
        return text_has_any(function, noise_functions, LENGTH(noise_functions)) ||
                       text_has_any(file, noise_files, LENGTH(noise_files)) ||
                       strcmp(function, "??") == 0 || *function == '\0'
                   ? MV_FRAME_NOISE
                   : MV_FRAME_NATIVE;
    if (text_starts(file, "<frozen ") || text_starts(file, "<eval_with_key>"))
        return MV_FRAME_FRAMEWORK;
    return kind_of_path(file);
}

uint8_t *mv_frame_kinds(mv_arena *arena, const mv_trace *trace)
{
    uint8_t *kinds = mv_push_array(arena, uint8_t, trace->frames.count);

    for (uint32_t i = 0; kinds && i < trace->frames.count; i++)
        kinds[i] = (uint8_t)mv_frame_kind_of(trace, (mv_frame_id){i});
    return kinds;
}

static mv_frame_kind kind_at(const mv_trace *trace, const uint8_t *kinds, mv_frame_id frame)
{
    return kinds ? (mv_frame_kind)kinds[frame.row] : mv_frame_kind_of(trace, frame);
}

/* Native code that belongs to neither torch, CUDA, Python nor the system: where a file is known. */
static bool is_own_native(const char *file, const char *function)
{
    const char *name = file;

    if (*file != '/' || (text_starts(file, "/usr/") && !text_starts(file, "/usr/local/")) ||
        text_has_any(file, system_paths, LENGTH(system_paths)))
        return false;
    for (const char *at = file; *at; at++)
        if (*at == '/')
            name = at + 1;
    for (size_t i = 0; i < LENGTH(system_files); i++)
        if (text_starts(name, system_files[i]))
            return false;
    for (size_t i = 0; i < LENGTH(system_namespaces); i++)
        if (text_starts(function, system_namespaces[i]))
            return false;
    return true;
}

/* "torch::autograd::generated::AddmmBackward0::apply(": a node of the backward pass; its name goes
 * to `name`, which may be NULL. */
static bool is_backward_node(const char *function, path_part *name)
{
    const char *end = strstr(function, "::apply("), *start;

    if (!end)
        end = strstr(function, "::apply");
    if (!end || !text_starts(function, "torch::autograd::") || strstr(function, "Engine::"))
        return false;
    for (start = end; start > function && start[-1] != ':'; start--)
        continue;
    if (name)
        *name = (path_part){.text = start, .length = (size_t)(end - start)};
    return true;
}

/* What only the threads of the backward pass run. */
static bool is_backward_thread(const char *function)
{
    return text_starts(function, "thread pt_autograd") ||
           text_starts(function, "torch::autograd::Engine::evaluate_function") ||
           text_starts(function, "torch::autograd::Engine::thread_main");
}

/* How little a frame tells, the user's frames aside: among native frames code of the program's own
 * and nodes of the backward pass tell more than that it is the backward pass, that more than an
 * operator, that more than the helpers below it, and the name of another thread least. */
static uint32_t vagueness(const mv_trace *trace, mv_frame_id frame, mv_frame_kind kind)
{
    const char *function = mv_string_text(trace, trace->frames.function[frame.row]);
    const char *file = mv_string_text(trace, trace->frames.file[frame.row]);

    if (kind != MV_FRAME_NATIVE)
        return 8 * (uint32_t)kind;
    if (is_backward_node(function, NULL) || is_own_native(file, function))
        return 8 * (uint32_t)kind;
    if (is_backward_thread(function))
        return 8 * (uint32_t)kind + 1;
    if (text_starts(function, "at::native::"))
        return 8 * (uint32_t)kind + 2;
    return 8 * (uint32_t)kind + (*file == '\0' && text_starts(function, "thread ") ? 4 : 3);
}

mv_frame_id mv_culprit_frame(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack)
{
    uint32_t count, least = UINT32_MAX;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    mv_frame_id best = MV_NO_FRAME;

    for (uint32_t i = 0; i < count; i++) {
        mv_frame_kind kind = kind_at(trace, kinds, frames[i]);
        uint32_t vague;

        if (kind == MV_FRAME_USER)
            return frames[i];
        vague = vagueness(trace, frames[i], kind);
        if (vague < least) {
            best = frames[i];
            least = vague;
        }
    }
    return best;
}

bool mv_frame_is_shown(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                       uint32_t index)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    mv_frame_kind best = MV_FRAME_NOISE, own;

    if (index >= count)
        return false;
    own = kind_at(trace, kinds, frames[index]);
    for (uint32_t i = 0; own > MV_FRAME_FRAMEWORK && i < count; i++) {
        mv_frame_kind kind = kind_at(trace, kinds, frames[i]);
        best = kind < best ? kind : best;
    }
    return own <= MV_FRAME_FRAMEWORK || own == best;
}

/* Length of a C++ name without its argument list. */
static int name_length(const char *function)
{
    const char *at = function;

    while ((at = strchr(at, '(')) && text_starts(at, "(anonymous namespace)"))
        at++;
    return at && at > function ? (int)(at - function) : (int)strlen(function);
}

/* Native frames: what the backward pass is called by, else the function, behind the line, or the
 * file of a program's own code, where there is one. */
static void native_label(const char *file, const char *function, int64_t line, bool is_own,
                         char *out, size_t size)
{
    path_part node;

    if (is_backward_node(function, &node))
        snprintf(out, size, "%.*s (backward pass)", (int)node.length, node.text);
    else if (is_backward_thread(function))
        snprintf(out, size, "backward pass (autograd thread)");
    else if (line > 0 && *file)
        snprintf(out, size, "%s:%lld %.*s", file, (long long)line, name_length(function), function);
    else if (is_own && !text_starts(function, file))
        snprintf(out, size, "%s %.*s", file, name_length(function), function);
    else
        snprintf(out, size, "%.*s", *function ? name_length(function) : 2,
                 *function ? function : "??");
}

/* Of "cif74wrynjn7w7rzgo5uvyltwh2ftnexxprhovpn24t6hgou3v6z.py", a file that the compiler wrote, so
 * much is enough. */
#define GENERATED_NAME 8

const char *mv_frame_label(const mv_trace *trace, mv_frame_id frame, char *out, size_t size)
{
    const char *path, *file, *function;
    long long line;

    if (size == 0)
        return out;
    if (frame.row >= trace->frames.count) {
        snprintf(out, size, "(no stack)");
        return out;
    }
    path = file = mv_string_text(trace, trace->frames.file[frame.row]);
    function = mv_string_text(trace, trace->frames.function[frame.row]);
    line = trace->frames.line[frame.row];
    for (const char *at = file; *at; at++)
        if ((*at == '/' || *at == '\\') && at[1])
            file = at + 1;
    if (is_native(path, function, line))
        native_label(strcmp(file, "??") == 0 ? "" : file, function, line,
                     is_own_native(path, function), out, size);
    else if (line <= 0)
        snprintf(out, size, "%s %s", file, function);
    else if (strstr(path, "torchinductor") && strlen(file) > 2 * GENERATED_NAME)
        snprintf(out, size, "compiled %.*s:%lld %s", GENERATED_NAME, file, line, function);
    else
        snprintf(out, size, "%s:%lld %s", file, line, function);
    return out;
}

const char *mv_culprit_label(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             char *out, size_t size)
{
    if (stack.row == MV_EMPTY_STACK.row) {
        snprintf(out, size, "(no Python: C++ thread)");
        return out;
    }
    return mv_frame_label(trace, mv_culprit_frame(trace, kinds, stack), out, size);
}
