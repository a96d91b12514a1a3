#include "analyze/code/culprit.h"

#include "analyze/code/native_frame.h"
#include "tests/fixture/fixture.h"

/* Makes a trace with one allocation that has this stack. */
static const mv_trace *one_stack(mvt_trace *t, const char *stack)
{
    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = stack);
    return mvt_done(t);
}

static void expect_kind(mv_frame_kind kind, const char *frame)
{
    const mv_trace *trace = one_stack(mvt_new(), frame);
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, mv_trace_events(trace, 0).stack[0], &count);

    cr_expect_eq(mv_frame_kind_of(trace, frames[0]), kind, "%s", frame);
}

static void expect_label(const char *stack, const char *label)
{
    const mv_trace *trace = one_stack(mvt_new(), stack);
    char text[128];

    cr_expect_str_eq(
        mv_culprit_label(trace, NULL, mv_trace_events(trace, 0).stack[0], text, sizeof text),
        label);
}

Test(culprit, own_code_is_the_users_in_any_folder)
{
    expect_kind(MV_FRAME_USER, "f:train.py:1");
    expect_kind(MV_FRAME_USER, "f:/home/u/pytorch/examples/train.py:1");
    expect_kind(MV_FRAME_USER, "f:/home/u/torch/train.py:1");
    expect_kind(MV_FRAME_USER, "f:/home/u/lib/models.py:1");
    expect_kind(MV_FRAME_USER, "f:/tmp/ipykernel_77/123.py:1");
    expect_kind(MV_FRAME_USER, "f:<ipython-input-3-ab>:1");
    expect_kind(MV_FRAME_USER, "<module>:<stdin>:1");
    expect_kind(MV_FRAME_USER, "<module>:/home/u/bin/launch:1");
}

Test(culprit, installed_code_is_distinguished_from_torch)
{
    expect_kind(MV_FRAME_FRAMEWORK,
                "f:/v/lib/python3.12/site-packages/torch/nn/modules/module.py:1");
    expect_kind(MV_FRAME_PACKAGE,
                "f:/v/lib/python3.12/site-packages/torchvision/models/resnet.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "f:/usr/lib/python3/dist-packages/torch/_ops.py:1");
    expect_kind(MV_FRAME_PACKAGE, "f:/usr/lib/python3/dist-packages/timm/layers.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "f:/usr/lib/python3.12/contextlib.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "f:\\env\\Lib\\site-packages\\torch\\_tensor.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "f:/src/pytorch/torch/nn/functional.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "f:torch/optim/adam.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "f:<frozen importlib._bootstrap>:1");
    expect_kind(MV_FRAME_FRAMEWORK, "call:/tmp/torchinductor_u/ab/cab.py:1");
    expect_kind(MV_FRAME_FRAMEWORK, "forward:<eval_with_key>.3 from x:1");
}

Test(culprit, native_frames_are_distinguished_from_noise)
{
    expect_kind(MV_FRAME_NATIVE, "at::native::empty_cuda(long):??:0");
    expect_kind(MV_FRAME_NATIVE, "conv:Conv_v8.cpp:0");
    expect_kind(MV_FRAME_NOISE, "execute_native_thread_routine:thread48.o:0");
    expect_kind(MV_FRAME_NATIVE, "f:train:0");
    expect_kind(MV_FRAME_NATIVE, "cudnnCreate:/usr/lib/libcudnn.so.9:0");
    expect_kind(MV_FRAME_NOISE, "torch::unwind::unwind():??:0");
    expect_kind(MV_FRAME_NOISE, "_PyEval_EvalFrameDefault:ceval.c:0");
    expect_kind(MV_FRAME_NOISE, "_start:??:0");
}

#define TORCH "/v/lib/python3.12/site-packages/torch/"

Test(culprit, the_culprit_is_the_innermost_user_frame)
{
    expect_label("at::empty:??:0;forward:" TORCH "nn/modules/linear.py:134;"
                 "inner:" TORCH "nn/modules/module.py:1833;forward:/w/train.py:62;"
                 "main:/w/train.py:200",
                 "train.py:62 forward");
}

Test(culprit, without_a_user_frame_the_best_frame_is_the_culprit)
{
    expect_label("convert:" TORCH "nn/modules/module.py:5;load:/v/site-packages/hf/io.py:9",
                 "io.py:9 load");
    expect_label("backward:" TORCH "_tensor.py:631", "_tensor.py:631 backward");
    expect_label("torch::unwind::unwind():??:0;at::native::add(x):??:0", "at::native::add");
    expect_label("at::detail::empty(long):??:0;at::native::mm(x):??:0;"
                 "torch::autograd::generated::AddmmBackward0::apply(std::vector<x>&&):??:0",
                 "backward of linear (AddmmBackward0)");
    expect_label("at::detail::empty(long):??:0;at::(anonymous namespace)::mm(x):??:0",
                 "at::(anonymous namespace)::mm");
    expect_label("at::detail::empty(long):??:0;at::TensorIterator::build(x):??:0",
                 "at::detail::empty");
    expect_label("at::(anonymous namespace)::mm(x):??:0", "at::(anonymous namespace)::mm");
    expect_label("torch::unwind::unwind():??:0", "torch::unwind::unwind");
    expect_label(NULL, "(no stack)");
}

Test(culprit, label_is_cut_to_its_buffer)
{
    const mv_trace *trace = one_stack(mvt_new(), "some_function:train.py:118");
    char text[8];

    mv_culprit_label(trace, NULL, mv_trace_events(trace, 0).stack[0], text, sizeof text);
    cr_expect_str_eq(text, "train.p");
}

/* The first `hidden` frames of the stack are not shown, and the others are. */
static void expect_hidden(const char *text, uint32_t hidden)
{
    const mv_trace *trace = one_stack(mvt_new(), text);
    mv_stack_id stack = mv_trace_events(trace, 0).stack[0];
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    cr_assert_lt(hidden, count);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_eq(mv_frame_is_shown(trace, NULL, mv_stack_shows(trace, NULL, stack), frames[i]),
                     i >= hidden, "%s: frame %u", text, i);
}

Test(culprit, user_view_hides_native_frames_that_python_called)
{
    expect_hidden("torch::unwind::unwind():??:0;at::empty:??:0;f:" TORCH "_ops.py:3;g:a.py:4", 2);
}

Test(culprit, user_view_never_hides_a_whole_stack)
{
    expect_hidden("torch::unwind::unwind():??:0;at::empty:??:0", 1);
}

/* The column and the query for one allocation agree, and every real allocation under Python has a
 * culprit in the script that made it. */
Test(culprit, real_snapshots_name_the_script)
{
    static const char *const names[] = {"gpt_train", "leak_in_training", "resnet_all", "compiled"};

    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        uint32_t named = 0;
        mv_trace trace = mvt_load(mvt_memory(), names[n]);
        uint8_t *kinds = mv_frame_kinds(mvt_memory(), &trace);

        for (uint32_t f = 0; f < trace.frames.count; f++)
            cr_assert_eq(kinds[f], mv_frame_kind_of(&trace, (mv_frame_id){f}));
        for (uint32_t s = 1; s < trace.stacks.count; s++) {
            mv_frame_id frame = mv_culprit_frame(&trace, kinds, (mv_stack_id){s});
            char text[128];

            if (kinds[frame.row] != MV_FRAME_USER)
                continue;
            mv_frame_label(&trace, frame, text, sizeof text);
            cr_expect(strncmp(text, "train.py:", 9) == 0, "%s: %s", names[n], text);
            named++;
        }
        cr_expect_gt(named, trace.stacks.count / 3, "%s", names[n]);
    }
}

Test(culprit, native_frames_of_captures_have_kinds)
{
    expect_kind(MV_FRAME_NATIVE, "at::empty:/v/site-packages/torch/lib/libtorch_cpu.so:-1");
    expect_kind(MV_FRAME_NATIVE, "cfunction_call:/usr/bin/python3.12:-1");
    expect_kind(MV_FRAME_NOISE, "_PyEval_EvalFrameDefault:/usr/bin/python3.12:-1");
    expect_kind(MV_FRAME_INFORMATIVE, "main:/home/u/train:-1");
    expect_kind(MV_FRAME_USER, "<module>:/home/u/bin/launch:7");
    expect_kind(MV_FRAME_USER, "f:/home/u/train.py:-1");
}

Test(culprit, the_programs_own_native_code_is_to_blame)
{
    expect_label("cudaMalloc:/usr/local/cuda/lib64/libcudart.so.13:-1;"
                 "Pool::grow(long):/home/u/app/pool.cu:42;main:/home/u/app/main.cu:7;"
                 "__libc_start_main:/lib/x86_64-linux-gnu/libc.so.6:-1",
                 "pool.cu:42 Pool::grow");
    expect_label("ncclCommInitRank:/v/lib/libnccl.so.2:-1;init:/home/u/app/train:-1", "train init");
    expect_label("helper:/v/torch/lib/libtorch_cuda.so:-1;"
                 "at::native::add:/v/torch/lib/libtorch_cuda.so:-1;"
                 "c10::ThreadPool::main_loop:/v/torch/lib/libc10.so:-1;"
                 "clone3:/lib/x86_64-linux-gnu/libc.so.6:-1",
                 "at::native::add");
    expect_label("cudaMalloc:/home/u/app/train:-1;libcudart_static_53823:/home/u/app/train:-1;"
                 "main:/home/u/app/train:-1",
                 "train main");
}

Test(culprit, the_name_of_a_thread_is_the_last_resort)
{
    expect_label("thread pt_nccl_watchdog", "thread pt_nccl_watchdog");
    expect_label("helper:/v/torch/lib/libtorch_cuda.so:-1;thread python3", "helper");
    expect_label("f:/home/u/train.py:7;thread python3", "train.py:7 f");
    expect_label("?\?:?\?:-1;thread python3", "thread python3");
}

/* Stacks of autograd's threads show their node, or the backward pass, with or without symbols. */
Test(culprit, the_backward_pass_is_named)
{
    expect_label("libc10_cuda.so+0x1b9ba:/v/torch/lib/libc10_cuda.so:-1;"
                 "libtorch_cpu.so+0x5a2:/v/torch/lib/libtorch_cpu.so:-1;thread pt_autograd_0",
                 "backward pass (autograd thread)");
    expect_label("at::native::structured_sum_out::impl(at::Tensor):/v/libtorch_cpu.so:-1;"
                 "torch::autograd::InputMetadata::reduce_grad(at::Tensor&) const:/v/l.so:-1;"
                 "torch::autograd::Engine::evaluate_function(int):/v/libtorch_cpu.so:-1;"
                 "thread pt_autograd_0",
                 "backward pass (autograd thread)");
    expect_label("torch::autograd::AccumulateGrad::apply(std::vector<x>&&):/v/libtorch_cpu.so:-1;"
                 "torch::autograd::Engine::evaluate_function(int):/v/libtorch_cpu.so:-1;"
                 "thread pt_autograd_0",
                 "backward pass (AccumulateGrad)");
}

#define UNWINDER                                                     \
    "torch::unwind::unwind():??:0;"                                  \
    "torch::CapturedTraceback::gather(bool, bool, bool):??:0;"       \
    "torch::cuda::(anonymous namespace)::gather_with_cpp():m.cpp:0;" \
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**):C.cpp:0;"
#define ENGINE                                                                      \
    ";torch::autograd::Node::operator()(std::vector<at::Tensor>&&):??:0;"           \
    "torch::autograd::Engine::evaluate_function(std::shared_ptr<x>&, int):??:0;"    \
    "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&):??:0;" \
    "torch::autograd::python::PythonEngine::thread_init(int, bool):??:0;"           \
    "execute_native_thread_routine:thread48.o:0;pthread_condattr_setpshared:??:0;clone:??:0"

/* Whole stacks of autograd's threads, as various PyTorch releases wrote them. */
Test(culprit, nodes_of_the_backward_pass)
{
    static const char *const frames[][2] = {
        {"torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor, "
         "std::allocator<at::Tensor> >&&):??:0",
         "backward of linear (AddmmBackward0)"},
        {"torch::autograd::generated::BmmBackward0::apply(std::vector<x>&&) [clone .cold]:F.cpp:0",
         "backward of bmm (BmmBackward0)"},
        {"_ZN5torch8autograd9generated12DivBackward05applyEOSt6vectorIN2at6TensorESaIS4_EE:??:0",
         "backward of div (DivBackward0)"},
        {"torch::autograd::generated::MaxPool2DWithIndicesBackward0::apply(v&&):Functions.cpp:7210",
         "backward of max_pool2d_with_indices (MaxPool2DWithIndicesBackward0)"},
        {"torch::autograd::generated::ScaledDotProductEfficientAttentionBackward0::apply(v&&):??:0",
         "backward of scaled_dot_product_attention (ScaledDotProductEfficientAttentionBackward0)"},
        {"torch::autograd::CopyBackwards::apply(std::vector<at::Tensor>&&):??:0",
         "backward of copy (CopyBackwards)"},
        {"torch::autograd::CopySlices::apply(std::vector<at::Tensor>&&):??:0",
         "backward pass (CopySlices)"},
        {"torch::autograd::CppNode<vision::ops::(anonymous namespace)::ROIAlign>::apply(v&&):??:0",
         "backward pass (ROIAlign)"},
        {"torch::jit::(anonymous namespace)::DifferentiableGraphBackward::apply(v&&):??:0",
         "backward of differentiable_graph (DifferentiableGraphBackward)"},
        {"mine::RoiPoolBackward::apply(v&&):roi.cpp:0", "backward of roi_pool (RoiPoolBackward)"},
        {"mine::Filter::apply(at::Tensor):??:0", MV_BACKWARD_LABEL},
        {"at::native::sum(at::Tensor const&):??:0", MV_BACKWARD_LABEL},
        {"mystery(at::Tensor const&):??:0", MV_BACKWARD_LABEL},
        {"?\?:?\?:0", MV_BACKWARD_LABEL},
    };

    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {

        const char *stack =
            mvt_format(UNWINDER "at::detail::empty_cuda(x):?\?:0;at::native::mm(x):?\?:0;%s" ENGINE,
                       frames[i][0]);
        expect_label(stack, frames[i][1]);
    }
}

/* In programs that use libtorch, the program's own function is charged, even if its file is
 * unknown. */
Test(culprit, programs_without_python_have_culprits)
{
    static const char *const files[] = {"?\?:0", "train.cpp:0", "/home/u/app/train.cpp:0"};
    static const char *const functions[][2] = {
        {"Net::forward(at::Tensor)", "Net::forward"},
        {"at::Tensor Net::run<at::Tensor>(std::vector<int>) const [clone .isra.0]",
         "Net::run<at::Tensor>"},
        {"_ZN3Net7forwardEN2at6TensorE", "Net::forward"},
        {"(anonymous namespace)::step(Net&)", "(anonymous namespace)::step"},
        {"Net::operator()(at::Tensor const&)", "Net::operator()"},
        {"main", "main"},
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
            char stack[2000], label[200];

            snprintf(stack, sizeof stack,
                     UNWINDER "at::native::relu(at::Tensor const&):?\?:0;"
                              "at::_ops::relu::call(at::Tensor const&):?\?:0;"
                              "torch::nn::ReLUImpl::forward(at::Tensor):?\?:0;"
                              "std::function<void ()>::operator()() const:?\?:0;"
                              "c10::function_ref<void ()>::callback_fn<Net>(long):?\?:0;"
                              "cudnnConvolutionForward:?\?:0;%s:%s;main:?\?:0;"
                              "__libc_start_main:?\?:0;_start:?\?:0",
                     functions[i][0], files[f]);
            snprintf(label, sizeof label, "%s%s", f == 2 ? "train.cpp " : "", functions[i][1]);
            expect_label(stack, label);
        }
}

/* Python's main() does not belong to the program, and functions that Python, pybind11 and libc call
 * are never charged. */
Test(culprit, the_interpreter_is_never_to_blame)
{
    expect_label(UNWINDER
                 "at::native::add(at::Tensor const&):??:0;THPVariable_add(_object*):??:0;"
                 "pybind11::cpp_function::dispatcher(_object*, _object*):??:0;"
                 "cfunction_call:/usr/local/src/conda/python-3.12.3/Objects/methodobject.c:537;"
                 "_PyEval_EvalFrameDefault:/croot/python-split/work/Python/bytecodes.c:209;"
                 "Py_BytesMain:??:0;main:??:0;__libc_start_main:??:0;_start:??:0",
                 "at::native::add");
    expect_label("torch::unwind::unwind():??:0;pymain_run_file:??:0;at::_ops::add::call(x):??:0;"
                 "clone:??:0",
                 "at::_ops::add::call");
    expect_label(UNWINDER "helper:libfoo.o:0;f:/home/u/train.py:12;clone:??:0", "train.py:12 f");
}

/* Autograd's own stacks count as the backward pass only in training programs. */
Test(culprit, empty_stacks_have_the_label_of_the_backward_pass)
{
    for (int trains = 0; trains < 2; trains++) {
        mvt_trace *t = mvt_new();
        char text[64];

        mvt_alloc(t, .addr = 0x1000, .bytes = 512,
                  .stack = trains ? "step:" TORCH "optim/adam.py:3;main:a.py:9" : "main:a.py:9");
        const mv_trace *trace = mvt_done(t);
        uint8_t *kinds = mv_frame_kinds(mvt_arena(t), trace);
        mv_culprit_label(trace, kinds, MV_EMPTY_STACK, text, sizeof text);
        cr_expect_str_eq(text, trains ? MV_BACKWARD_LABEL : "(no Python: C++ thread)");
        mv_culprit_label(trace, NULL, MV_EMPTY_STACK, text, sizeof text);
        cr_expect_str_eq(text, trains ? MV_BACKWARD_LABEL : "(no Python: C++ thread)");
    }
}

Test(culprit, files_that_the_compiler_wrote_have_short_names)
{
    expect_label("call:/tmp/torchinductor_u/if/cif74wrynjn7w7rzgo5uvyltwh2ftnexxprhovpn24.py:206",
                 "compiled cif74wry:206 call");
}

/* Names in captures are qualified. */
Test(culprit, functions_have_their_own_names_without_their_class)
{
    cr_expect_str_eq(mv_own_name("Module._apply"), "_apply");
    cr_expect_str_eq(mv_own_name("Module.cuda.<locals>.<lambda>"), "<lambda>");
    cr_expect_str_eq(mv_own_name("<module>"), "<module>");
}
