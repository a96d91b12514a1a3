#include "analyze/code/native_frame.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "parse/symbols/demangle.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* Extensions of Python files. Files called <stdin> or <string> are Python, too. */
static const char *const python_endings[] = {".py", ".pyx", ".pyw", ".pyi", ".ipynb"};

static const char *const native_endings[] = {".c",   ".cc", ".cpp", ".cxx", ".c++", ".cu",  ".cuh",
                                             ".h",   ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp",
                                             ".tcc", ".cl", ".m",   ".mm",  ".rs",  ".S",   ".s",
                                             ".o",   ".a",  ".so",  ".dll", ".pyd"};

/* Names of the unwinder and the allocator, with which every stack ends. PyTorch's viewers hide
 * frames with the first four names (_frame_filter, torch/cuda/_memory_viz.py). */
static const char *const unwinder_names[] = {"unwind::unwind",       "CapturedTraceback::gather",
                                             "gather_with_cpp",      "CUDACachingAllocator",
                                             "CUDAAllocatorConfig",  "libcudart_static_",
                                             "NPUCachingAllocator",  "HIPCachingAllocator",
                                             "HIPAllocatorMasquera", "XPUCachingAllocator"};

/* Names of the dispatcher, which leads from an operator's name to the operator: c10/core,
 * ATen/core/boxing and code from torchgen. */
static const char *const dispatch_names[] = {
    "c10::Dispatcher", "c10::impl::", "at::_ops::", "at::redispatch::", "torch::Library"};

static const char *const dispatch_files[] = {"core/boxing", "/Register", "/Redispatch"};

/* Names of helpers that operators use to allocate their outputs. */
static const char *const helper_names[] = {"at::detail::",
                                           "at::TensorIterator",
                                           "at::TensorBase",
                                           "aten::empty", /* operator names in the profiler's
                                                           * traces */
                                           "aten::resize_",
                                           "at::Tensor",
                                           "at::meta::",
                                           "at::structured_",
                                           "at::impl::",
                                           "at::(anonymous namespace)::create_out",
                                           "at::(anonymous namespace)::structured_",
                                           "at::(anonymous namespace)::maybe_create",
                                           "c10::",
                                           "std::",
                                           "__gnu_cxx::",
                                           "operator new"};

/* The first frames of threads and programs, from glibc, libstdc++, CUDA and Python's main. If a
 * binary has no symbols, a frame has the name of the nearest symbol that exists
 * ("pthread_condattr_setpshared"). */
static const char *const start_names[] = {"clone",
                                          "__clone",
                                          "start_thread",
                                          "pthread_",
                                          "__pthread_",
                                          "execute_native_thread_routine",
                                          "_start",
                                          "__libc_",
                                          "__GI_",
                                          "_dl_",
                                          "__scrt_",
                                          "BaseThreadInitThunk",
                                          "RtlUserThreadStart"};

static const char *const interpreter_names[] = {
    "PyEval_",      "PyObject_",     "PyFunction_", "_PyEval",      "_PyObject", "_PyFunction",
    "PyVectorcall", "_PyVectorcall", "PyCFunction", "_PyRun",       "PyRun_",    "pymain_",
    "Py_RunMain",   "Py_BytesMain",  "pyrun_",      "run_eval_code"};

static const char *const interpreter_files[] = {
    "pythonrun.c",       "Modules/main.c", "Objects/call.c",     "Objects/methodobject.c",
    "pycore_ceval.h",    "ceval.c",        "cpython/abstract.h", "generated_cases.c",
    "Python/bytecodes.c"};

/* Prefixes of library file names: torch's, CUDA's, ROCm's, Python's, the system's. */
static const char *const library_files[] = {
    "ld-linux", "libaten",   "libamd",   "libc-",      "libc.so",   "libc10",  "libcaffe2",
    "libcu",    "libdl",     "libgcc",   "libgomp",    "libhip",    "libm.",   "libmemviz",
    "libmkl",   "libnccl",   "libnv",    "libpthread", "libpython", "librccl", "libroc",
    "libshm",   "libstdc++", "libtorch", "python",
};

/* Files that torchgen and nvcc generate when PyTorch is built. Source:
 * torchgen/gen.py, tools/autograd/gen_*.py. */
static const char *const generated_files[] = {
    "Register",      "VariableType", "TraceType", "ADInplace",  "python_",          "tmpxft_",
    "Functions.cpp", "Functions_",   "ViewFuncs", "Operators_", "CompositeViewCopy"};

static const char *const library_paths[] = {
    "/aten/src/",  "/include/ATen/", "/c10/",     "/caffe2/",  "/torch/csrc/", "/torch/include/",
    "/torch/lib/", "/third_party/",  "/cpython/", "/cpython-", "/Python-",     "/python-",
    "/glibc",      "/gcc",           "/sysdeps/", "/csu/",     "/libstdc++"};

/* Namespaces of libraries, and prefixes of C libraries. */
static const char *const library_names[] = {
    "at::",          "c10::",    "c10d::",       "torch::",      "caffe2::",  "std::",
    "__gnu_cxx::",   "__cxxabi", "pybind11::",   "THP",          "THC",       "Py",
    "_Py",           "dynamo",   "functorch::",  "nvfuser::",    "cutlass::", "cute::",
    "cub::",         "thrust::", "cuda::",       "cudnn",        "cublas",    "cusparse",
    "cusolver",      "cufft",    "curand",       "nccl",         "rccl",      "nvrtc",
    "nvjpeg",        "cask",     "nvinfer",      "dnnl",         "mkldnn",    "mkl_",
    "ideep::",       "gloo::",   "tensorpipe::", "fbgemm",       "sdp::",     "flash::",
    "pytorch_flash", "fmt::",    "google::",     "absl::",       "folly::",   "boost::",
    "Eigen::",       "xla::",    "onnx",         "tensorflow::", "rocblas",   "hipblas",
    "miopen",        "rocm",     "operator ",    "kineto",       "libkineto", "uv_",
    "ucp_",          "ucs_",     "MPI_",         "ompi_",        "__kmp",     "GOMP_",
    "omp_",          "__cuda",   "_object"};

/* Nodes that are named after an ATen operator that users know under a different name from
 * torch.nn.functional. */
static const char *const known_operators[][2] = {
    {"addmm", "linear"},
    {"convolution", "conv"},
    {"cudnn_convolution", "conv"},
    {"native_layer_norm", "layer_norm"},
    {"native_group_norm", "group_norm"},
    {"native_batch_norm", "batch_norm"},
    {"cudnn_batch_norm", "batch_norm"},
    {"native_dropout", "dropout"},
    {"fused_dropout", "dropout"},
    {"cudnn_rnn", "rnn"},
    {"thnn_fused_lstm_cell", "lstm"},
    {"scaled_dot_product_flash_attention", "scaled_dot_product_attention"},
    {"scaled_dot_product_efficient_attention", "scaled_dot_product_attention"},
    {"scaled_dot_product_cudnn_attention", "scaled_dot_product_attention"},
    {"to_copy", "to"},
};

/* ---- words ------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t length;
} words;

/* Compares the first letter before it calls strncmp, because most comparisons fail at the first
 * letter. */
static bool text_starts(const char *text, const char *start)
{
    return *text == *start && strncmp(text, start, strlen(start)) == 0;
}

static bool words_start(words w, const char *start)
{
    size_t length;

    if (w.length == 0 || *w.text != *start)
        return false;
    length = strlen(start);
    return w.length >= length && memcmp(w.text, start, length) == 0;
}

static bool starts_with_any(words w, const char *const *starts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words_start(w, starts[i]))
            return true;
    return false;
}

static bool words_have(words w, const char *part)
{
    return memmem(w.text, w.length, part, strlen(part)) != NULL;
}

static bool have_any(words w, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words_have(w, parts[i]))
            return true;
    return false;
}

static bool ends_with_any(const char *text, const char *const *endings, size_t count)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < count; i++) {
        size_t own = strlen(endings[i]);
        if (length >= own && strcmp(text + length - own, endings[i]) == 0)
            return true;
    }
    return false;
}

static words whole(const char *text)
{
    return (words){text, strlen(text)};
}

static const char *file_name(const char *path)
{
    const char *name = path;

    for (const char *at = path; *at; at++)
        if ((*at == '/' || *at == '\\') && at[1])
            name = at + 1;
    return name;
}

/* ---- names of functions ------------------------------------------------------------------ */

typedef struct {
    words name;    /* the function's name: "at::f<int>" in "at::Tensor at::f<int>(long) const
                    * [clone .cold]" */
    bool has_args; /* C++ functions have arguments here; C functions have only a name */
} signature;

/* Returns the length of the section at `at` that contains brackets or spaces; 0 if no such section
 * begins there. */
static size_t odd_part(const char *at, const char *start)
{
    static const char *const odd[] = {"(anonymous namespace)",
                                      "operator()",
                                      "operator<<",
                                      "operator<=",
                                      "operator<",
                                      "operator>>",
                                      "operator>=",
                                      "operator->",
                                      "operator>",
                                      "operator ",
                                      "decltype ("};

    if (*at != '(' && *at != 'o' && *at != 'd')
        return 0;
    if (at > start && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
        return 0;
    for (size_t i = 0; i < LENGTH(odd); i++)
        if (text_starts(at, odd[i]))
            return odd[i][0] == 'd' ? strlen(odd[i]) - 1 : strlen(odd[i]);
    return 0;
}

/* Whether a suffix is one that compilers add for parts of a function: ".cold", ".isra.0",
 * ".llvm.123". */
static bool is_suffix(const char *dot)
{
    static const char *const suffixes[] = {".cold",  ".isra.",      ".part.",    ".constprop.",
                                           ".llvm.", ".localalias", ".lto_priv", ".clone."};

    return starts_with_any(whole(dot), suffixes, LENGTH(suffixes));
}

static signature read_signature(const char *function)
{
    const char *start = function, *at = function;
    bool has_args = false;
    int depth = 0;
    size_t odd;

    while (*at) {
        if ((odd = odd_part(at, function)) > 0) {
            at += strnlen(at, odd);
            continue;
        }
        if (depth == 0 && *at == '(' && !(at - start == 8 && text_starts(start, "decltype"))) {
            has_args = true;
            break;
        }
        if (depth == 0 && ((*at == ' ' && at[1] == '[') || (*at == '.' && is_suffix(at))))
            break;
        if (strchr("<([{", *at))
            depth++;
        else if (strchr(">)]}", *at) && depth > 0 && !(*at == '>' && at > start && at[-1] == '-'))
            depth--;
        else if (depth == 0 && *at == ' ')
            start = at + 1;
        at++;
    }
    return (signature){{start, (size_t)(at - start)}, has_args};
}

/* Demangles a name into `room` if the name is mangled. */
enum { MOST_NAME = 2048 };

static const char *readable(const char *function, char room[MOST_NAME])
{
    bool is_mangled = text_starts(function, "_Z") || text_starts(function, "_R");

    return is_mangled && mv_demangle_into(function, room, MOST_NAME) ? room : function;
}

/* ---- nodes of the backward pass ---------------------------------------------------------- */

/* Recognizes a node: "AddmmBackward0", either without a namespace (in the profiler's traces) or in
 * torch::autograd::generated::AddmmBackward0::apply, and "MyOp" in
 * torch::autograd::CppNode<MyOp>::apply. Other nodes are recognized by their names. */
static bool is_node(words name, words *node)
{
    static const char apply[] = "::apply", custom[] = "CppNode<";
    size_t end, start, depth = 0;

    if (words_have(name, "Backward") && !memchr(name.text, ':', name.length)) {
        *node = name;
        return true;
    }
    if (name.length < sizeof apply ||
        memcmp(name.text + name.length - (sizeof apply - 1), apply, sizeof apply - 1) != 0)
        return false;
    end = start = name.length - (sizeof apply - 1);
    for (; start > 0 && (depth > 0 || name.text[start - 1] != ':'); start--)
        depth += (name.text[start - 1] == '>') - (name.text[start - 1] == '<');
    *node = (words){name.text + start, end - start};
    if (!words_start(name, "torch::autograd::") && !words_have(*node, "Backward"))
        return false;
    if (words_start(*node, custom) && node->text[node->length - 1] == '>') {
        *node = (words){node->text + sizeof custom - 1, node->length - sizeof custom};
        for (size_t i = node->length; i > 0; i--)
            if (node->text[i - 1] == ':') {
                *node = (words){node->text + i, node->length - i};
                break;
            }
    }
    return true;
}

/* The operator of a backward node: "max_pool2d" for "MaxPool2DBackward0". This reverses
 * create_derivative() in tools/autograd/load_derivatives.py. Empty if the node's name does not come
 * from an operator. */
static void operator_of(words node, char *out, size_t size)
{
    size_t end = node.length, used = 0;

    while (end > 0 && isdigit((unsigned char)node.text[end - 1]))
        end--;
    if (end > 9 && memcmp(node.text + end - 9, "Backwards", 9) == 0)
        end -= 9;
    else if (end > 8 && memcmp(node.text + end - 8, "Backward", 8) == 0)
        end -= 8;
    else
        end = 0;
    for (size_t i = 0; i < end && used + 2 < size; i++) {
        char c = node.text[i];
        if (i > 0 && isupper((unsigned char)c) && !isdigit((unsigned char)node.text[i - 1]))
            out[used++] = '_';
        out[used++] = (char)tolower((unsigned char)c);
    }
    out[used] = 0;
    for (size_t i = 0; i < LENGTH(known_operators); i++)
        if (strcmp(out, known_operators[i][0]) == 0)
            snprintf(out, size, "%s", known_operators[i][1]);
}

static void node_label(words node, char *out, size_t size)
{
    char name[80];

    operator_of(node, name, sizeof name);
    if (*name)
        snprintf(out, size, "backward of %s (%.*s)", name, (int)node.length, node.text);
    else
        snprintf(out, size, "backward pass (%.*s)", (int)node.length, node.text);
}

/* Whether only the backward pass runs this function. */
static bool is_engine(words name)
{
    static const char *const names[] = {
        "thread pt_autograd",
        "torch::autograd::Engine::", "torch::autograd::python::PythonEngine::",
        "torch::autograd::GraphTask::", "torch::autograd::Node::operator"};

    return starts_with_any(name, names, LENGTH(names));
}

/* ---- owners of code -------------------------------------------------------------------------- */

/* libfoo.so, libfoo.so.12, libfoo.so.12.1 */
static bool is_shared_object(const char *file)
{
    const char *so = strstr(file, ".so.");

    return so && strspn(so + 4, "0123456789.") == strlen(so + 4);
}

bool mv_frame_is_native(const char *file, const char *function, int64_t line)
{
    if (*file == '\0' || strcmp(file, "??") == 0)
        return true;
    if (*file == '<' || ends_with_any(file, python_endings, LENGTH(python_endings)))
        return false;
    if (line <= 0 || is_shared_object(file) ||
        ends_with_any(file, native_endings, LENGTH(native_endings)))
        return true;
    return strstr(function, "::") != NULL || strchr(function, '(') != NULL ||
           text_starts(function, "_ZN");
}

/* Whether the function belongs to a driver's interface, such as cudaMalloc, cuMemCreate or
 * hipMalloc. These functions may be linked into a program. */
static bool is_driver_call(words name)
{
    static const char *const starts[] = {"cuda", "cu", "hip", "nvml", "nv", "acl"};

    for (size_t i = 0; i < LENGTH(starts); i++) {
        size_t length = strlen(starts[i]);
        if (words_start(name, starts[i]) && name.length > length &&
            isupper((unsigned char)name.text[length]))
            return true;
    }
    return false;
}

static bool is_library_name(words name)
{
    static const char anonymous[] = "(anonymous namespace)::";

    while (words_start(name, anonymous))
        name = (words){name.text + sizeof anonymous - 1, name.length - (sizeof anonymous - 1)};
    return starts_with_any(name, library_names, LENGTH(library_names)) || is_driver_call(name);
}

/* Whether the path belongs to the program because it is outside the source trees and files of
 * libraries. */
static bool is_own_path(const char *file)
{
    return *file == '/' && (!text_starts(file, "/usr/") || text_starts(file, "/usr/local/")) &&
           !have_any(whole(file), library_paths, LENGTH(library_paths)) &&
           !starts_with_any(whole(file_name(file)), library_files, LENGTH(library_files));
}

static bool is_library_file(const char *file)
{
    words name = whole(file_name(file));

    return (*file == '/' && !is_own_path(file)) ||
           starts_with_any(name, library_files, LENGTH(library_files)) ||
           starts_with_any(name, generated_files, LENGTH(generated_files));
}

/* Recognizes noise. This must be tested before the file name, because in a library without symbols,
 * the file has the name of the library's first function. */
static bool is_noise(const char *file, signature s, mv_native_kind *kind)
{
    if (s.name.length == 0 || words_start(s.name, "??"))
        *kind = MV_NATIVE_UNKNOWN;
    else if (have_any(s.name, unwinder_names, LENGTH(unwinder_names)))
        *kind = MV_NATIVE_UNWINDER;
    else if (starts_with_any(s.name, dispatch_names, LENGTH(dispatch_names)) ||
             have_any(whole(file), dispatch_files, LENGTH(dispatch_files)))
        *kind = MV_NATIVE_DISPATCH;
    else if (!s.has_args && starts_with_any(s.name, start_names, LENGTH(start_names)))
        *kind = MV_NATIVE_START;
    else if (starts_with_any(s.name, interpreter_names, LENGTH(interpreter_names)) ||
             have_any(whole(file), interpreter_files, LENGTH(interpreter_files)))
        *kind = MV_NATIVE_INTERPRETER;
    else if (strstr(file, "CUDACachingAllocator"))
        *kind = MV_NATIVE_UNWINDER;
    else
        return false;
    return true;
}

mv_native_kind mv_native_kind_of(const char *file, const char *function)
{
    char room[MOST_NAME];
    const char *name = readable(function, room);
    signature s = read_signature(name);
    mv_native_kind noise;
    words node;

    /* C++ functions have arguments, but the profiler's node names do not */
    if (is_node(s.name, &node) && !(s.has_args && node.length == s.name.length))
        return MV_NATIVE_NODE;
    if (is_engine(whole(name)) || is_engine(s.name))
        return MV_NATIVE_ENGINE;
    if (text_starts(name, "thread ") && *file == '\0')
        return MV_NATIVE_THREAD_NAME;
    if (is_noise(file, s, &noise))
        return noise;
    if (words_start(s.name, "at::native::"))
        return MV_NATIVE_OPERATOR;
    if (starts_with_any(s.name, helper_names, LENGTH(helper_names)))
        return MV_NATIVE_HELPER;
    if (is_library_name(s.name) || is_library_file(file))
        return MV_NATIVE_OTHER;
    if (is_own_path(file))
        return MV_NATIVE_OWN_PATH;
    return s.has_args || (s.name.length == 4 && words_start(s.name, "main")) ? MV_NATIVE_OWN_NAME
                                                                             : MV_NATIVE_OTHER;
}

void mv_native_label(const char *file, const char *function, int64_t line, char *out, size_t size)
{
    mv_native_kind kind = mv_native_kind_of(file, function);
    const char *name_of_file = strcmp(file, "??") == 0 ? "" : file_name(file);
    char room[MOST_NAME];
    const char *name = readable(function, room);
    signature s = read_signature(name);
    words node;

    if (kind == MV_NATIVE_THREAD_NAME)
        s.name = whole(name);
    if (s.name.length == 0)
        s.name = whole("??");
    if (kind == MV_NATIVE_NODE && is_node(s.name, &node))
        node_label(node, out, size);
    else if (kind == MV_NATIVE_ENGINE)
        snprintf(out, size, "%s", MV_BACKWARD_LABEL);
    else if (line > 0 && *name_of_file)
        snprintf(out, size, "%s:%lld %.*s", name_of_file, (long long)line, (int)s.name.length,
                 s.name.text);
    else if (kind == MV_NATIVE_OWN_PATH && !text_starts(function, name_of_file))
        snprintf(out, size, "%s %.*s", name_of_file, (int)s.name.length, s.name.text);
    else
        snprintf(out, size, "%.*s", (int)s.name.length, s.name.text);
}
