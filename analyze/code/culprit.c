#include "analyze/code/culprit.h"

#include <ctype.h>
#include <stdio.h>

#include "analyze/code/libraries.h"
#include "analyze/code/native_frame.h"
#include "analyze/code/stack_marks.h"

/* The folders of torch itself, one level below the folder torch. Any other folder called torch
 * belongs to the user. */
static const char torch_parts[] =
    "_C _custom_op _decomp _dispatch _dynamo _export _functorch _guards.py _higher_order_ops "
    "_inductor _jit_internal.py _lazy _library _logging _lowrank.py _meta_registrations.py "
    "_ops.py _prims _prims_common _refs _subclasses _tensor.py _utils.py _utils_internal.py "
    "_vendor _compile.py __init__.py accelerator amp ao autograd backends compiler cpu csrc "
    "cuda distributed distributions export fft func functional.py futures fx hub.py jit "
    "library.py linalg masked mps multiprocessing nested nn onnx optim overrides.py package "
    "profiler quantization random.py serialization.py signal sparse special storage.py testing "
    "utils xpu";

/* Packages that belong to the framework, not to the code of a model or trainer. */
static const char framework_packages[] = "torch triton functorch pytorch_triton torchgen";

static bool text_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Whether the text is one of these words, which are separated by single spaces. */
static bool text_in(const char *text, size_t length, const char *words)
{
    for (size_t word; *words; words += word + (words[word] == ' ')) {
        word = strcspn(words, " ");
        if (word == length && memcmp(text, words, length) == 0)
            return true;
    }
    return false;
}

static bool text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* One component of a path; `next` is the start of the following component, or NULL after the last
 * component. */
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
            return text_in(below.text, name, framework_packages) ? MV_FRAME_FRAMEWORK
                                                                 : MV_FRAME_PACKAGE;
        }
        if (is_python_home(part, below))
            kind = MV_FRAME_FRAMEWORK; /* unless site-packages occurs later in the path */
        if (text_is(part.text, part.length, "torch") &&
            text_in(below.text, below.length, torch_parts))
            return MV_FRAME_FRAMEWORK;
        if (part.length > 13 && text_starts(part.text, "torchinductor"))
            return MV_FRAME_FRAMEWORK; /* generated code in the compiler's cache */
    }
    return kind;
}

/* JAX's files on the path to an allocation. XLA's profile has file names without folders
 * (docs/other-files.md), so only this list distinguishes them from the program's files. */
static const char jax_files[] =
    "api.py api_util.py array_constructors.py array_creation.py array_methods.py batching.py "
    "compiler.py core.py custom_derivatives.py dispatch.py indexing.py lax.py lax_numpy.py "
    "linear_util.py loops.py mlir.py named_sharding.py partial_eval.py pjit.py prng.py "
    "profiler.py pxla.py reductions.py sharding_impls.py slicing.py stages.py threefry2x32.py "
    "traceback_util.py tree_util.py ufunc_api.py ufuncs.py xla_bridge.py";

/* Distinguishes a compiled function or an operation, which is more specific, from JAX's own frames
 * around it. */
static mv_frame_kind kind_of_jax(const char *file)
{
    if (strcmp(file, MV_JIT_FILE) == 0 || strcmp(file, MV_OP_FILE) == 0)
        return MV_FRAME_PACKAGE;
    return text_in(file, strlen(file), jax_files) ? MV_FRAME_FRAMEWORK : MV_FRAME_USER;
}

/* File names in traces of torch.profiler are relative to the folder in which Python found the
 * module (docs/kineto.md), so they contain neither "lib/python3" nor "site-packages". The following
 * folders of Python's own library and the packages below are therefore recognized by name. */
static const char python_parts[] =
    "_pytest abc.py ast.py asyncio bdb.py cProfile.py codeop.py collections concurrent "
    "contextlib.py copy.py ctypes dataclasses.py enum.py functools.py importlib inspect.py "
    "json logging multiprocessing numbers.py operator.py os.py pickle.py queue.py random.py re "
    "re.py runpy.py selectors.py socket.py socketserver.py statistics.py tempfile.py "
    "threading.py traceback.py types.py typing.py unittest warnings.py weakref.py";
static const char known_packages[] =
    "IPython accelerate aiter apex bitsandbytes deepspeed diffusers flash_attn huggingface_hub "
    "ipykernel ipywidgets lightning megatron numpy peft pydantic pytest pytorch_lightning ray "
    "safetensors sentence_transformers sglang timm torchaudio torchrec torchtext torchvision "
    "tqdm transformer_engine transformers triton_kernels trl unsloth verl vllm xformers";

static mv_frame_kind kind_of_profiled(const char *file)
{
    path_part first = part_at(file);

    if (*file == '<' || /* "<string>" is the code with which multiprocessing starts a program */
        text_in(first.text, first.length, python_parts) ||
        text_in(first.text, first.length, framework_packages))
        return MV_FRAME_FRAMEWORK;
    return text_in(first.text, first.length, known_packages) ? MV_FRAME_PACKAGE
                                                             : kind_of_path(file);
}

static mv_frame_kind kind_of_native(mv_native_kind native)
{
    if (native == MV_NATIVE_NODE || native == MV_NATIVE_OWN_PATH || native == MV_NATIVE_OWN_NAME)
        return MV_FRAME_INFORMATIVE;
    return native < MV_NATIVE_DISPATCH ? MV_FRAME_NATIVE : MV_FRAME_NOISE;
}

mv_frame_kind mv_frame_kind_of(const mv_trace *trace, mv_frame_id frame)
{
    const char *file, *function;

    if (frame.row >= trace->frames.count)
        return MV_FRAME_NOISE;
    file = mv_string_text(trace, trace->frames.file[frame.row]);
    function = mv_string_text(trace, trace->frames.function[frame.row]);
    if (mv_frame_is_native(file, function, trace->frames.line[frame.row]))
        return kind_of_native(mv_native_kind_of(file, function));
    if (text_starts(file, "<frozen ") || text_starts(file, "<eval_with_key>"))
        return MV_FRAME_FRAMEWORK;
    if (trace->origin.level && strcmp(trace->origin.level, "xla") == 0)
        return kind_of_jax(file);
    if (trace->origin.level && strcmp(trace->origin.level, "pytorch") == 0)
        return kind_of_profiled(file);
    return kind_of_path(file);
}

uint8_t *mv_frame_kinds(mv_arena *arena, const mv_trace *trace)
{
    uint32_t count = trace->frames.count;
    uint8_t *kinds = mv_push_array(arena, uint8_t, (uint64_t)count + 1);

    for (uint32_t i = 0; kinds && i < count; i++)
        kinds[i] = (uint8_t)mv_frame_kind_of(trace, (mv_frame_id){i});
    if (kinds)
        kinds[count] = mv_trace_shows_training(trace, kinds);
    return kinds;
}

static bool shows_training(const mv_trace *trace, const uint8_t *kinds)
{
    return kinds ? kinds[trace->frames.count] : mv_trace_shows_training(trace, NULL);
}

static mv_frame_kind kind_at(const mv_trace *trace, const uint8_t *kinds, mv_frame_id frame)
{
    return kinds ? (mv_frame_kind)kinds[frame.row] : mv_frame_kind_of(trace, frame);
}

/* Returns how vague a frame outside the user's code is. least_vague is the minimum for the frame's
 * kind; the function after it computes the exact value. */
static uint32_t least_vague(mv_frame_kind kind)
{
    return kind < MV_FRAME_INFORMATIVE    ? (uint32_t)kind
           : kind == MV_FRAME_INFORMATIVE ? MV_FRAME_INFORMATIVE + MV_NATIVE_NODE
           : kind == MV_FRAME_NATIVE      ? MV_FRAME_INFORMATIVE + MV_NATIVE_ENGINE
                                          : MV_FRAME_INFORMATIVE + MV_NATIVE_DISPATCH;
}

static uint32_t vagueness(const mv_trace *trace, mv_frame_id frame, mv_frame_kind kind)
{
    mv_native_kind native;

    if (kind < MV_FRAME_INFORMATIVE)
        return (uint32_t)kind;
    native = mv_native_kind_of(mv_string_text(trace, trace->frames.file[frame.row]),
                               mv_string_text(trace, trace->frames.function[frame.row]));
    /* A node is as specific as the program's own code. */
    return MV_FRAME_INFORMATIVE + (native == MV_NATIVE_OWN_PATH ? MV_NATIVE_NODE : native);
}

/* Whether main() belongs to the interpreter, which is the case if the stack contains other
 * interpreter frames. */
static bool is_interpreters_main(const mv_trace *trace, const mv_frame_id *frames, uint32_t at)
{
    const mv_frames *f = &trace->frames;

    if (strcmp(mv_string_text(trace, f->function[frames[at].row]), "main") != 0)
        return false;
    for (uint32_t i = 0; i < at; i++)
        if (mv_native_kind_of(mv_string_text(trace, f->file[frames[i].row]),
                              mv_string_text(trace, f->function[frames[i].row])) ==
            MV_NATIVE_INTERPRETER)
            return true;
    return false;
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
        if (least <= least_vague(kind))
            continue;
        vague = vagueness(trace, frames[i], kind);
        if (vague < least && !is_interpreters_main(trace, frames, i)) {
            best = frames[i];
            least = vague;
        }
    }
    return best;
}

mv_frame_id mv_python_leaf(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++)
        if (kinds[frames[i].row] <= MV_FRAME_FRAMEWORK)
            return frames[i];
    return MV_NO_FRAME;
}

mv_frame_kind mv_stack_shows(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);
    mv_frame_kind best = MV_FRAME_NOISE;

    for (uint32_t i = 0; i < count && best > MV_FRAME_FRAMEWORK; i++) {
        mv_frame_kind kind = kind_at(trace, kinds, frames[i]);
        best = kind < best ? kind : best;
    }
    if (best <= MV_FRAME_FRAMEWORK)
        return MV_FRAME_FRAMEWORK;
    return best == MV_FRAME_INFORMATIVE ? MV_FRAME_NATIVE : best;
}

bool mv_frame_is_shown(const mv_trace *trace, const uint8_t *kinds, mv_frame_kind shows,
                       mv_frame_id frame)
{
    return mv_frame_is_call(trace, frame) || kind_at(trace, kinds, frame) <= shows;
}

/* This many letters of a compiler-generated name are shown:
 * "cif74wrynjn7w7rzgo5uvyltwh2ftnexxprhovpn24t6hgou3v6z.py". */
#define GENERATED_NAME 8

const char *mv_frame_label(const mv_trace *trace, mv_frame_id frame, char *out, size_t size)
{
    const char *path, *file, *function;
    int most = (int)size; /* a label needs only the first bytes of a long name */
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
    if (mv_frame_is_call(trace, frame)) {
        char library[MV_LIBRARY_NAME];
        snprintf(out, size, "%.*s (%s)", most, function, mv_library_name(path, library));
    } else if (mv_frame_is_native(path, function, line))
        mv_native_label(path, function, line, out, size);
    else if (line <= 0)
        snprintf(out, size, "%.*s %.*s", most, file, most, function);
    else if (strstr(path, "torchinductor") && strlen(file) > 2 * GENERATED_NAME)
        snprintf(out, size, "compiled %.*s:%lld %.*s", GENERATED_NAME, file, line, most, function);
    else
        snprintf(out, size, "%.*s:%lld %.*s", most, file, line, most, function);
    return out;
}

const char *mv_culprit_label(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack,
                             char *out, size_t size)
{
    if (stack.row == MV_EMPTY_STACK.row) {
        snprintf(out, size, "%s",
                 shows_training(trace, kinds) ? MV_BACKWARD_LABEL : "(no Python: C++ thread)");
        return out;
    }
    return mv_frame_label(trace, mv_culprit_frame(trace, kinds, stack), out, size);
}
