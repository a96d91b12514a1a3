#include "analyze/code/stack_marks.h"

#include "analyze/code/native_frame.h"

/* Additional marks for single frames, beyond MV_MARK_... */
enum {
    ENGINE_FILE = 1 << 11, /* the Python code of a backward thread begins in this file */
    INNER_COMMUNICATION = 1 << 12,
    INNER_INPUT = 1 << 13
};

typedef struct {
    const char *file;     /* part of the path; "/" matches either slash */
    const char *function; /* NULL: any */
    uint16_t marks;
} known_frame;

static const known_frame python_frames[] = {
    {"torch/optim/", NULL, MV_MARK_OPTIMIZER},
    {"torch/optim/", "_init_group", MV_MARK_STATE},
    {"torch/optim/", "_process_value_according_to_param_policy", MV_MARK_STATE},
    {"torch/distributed/optim/", NULL, MV_MARK_OPTIMIZER},
    {"apex/optimizers/", NULL, MV_MARK_OPTIMIZER},
    {"bitsandbytes/optim/", NULL, MV_MARK_OPTIMIZER},
    {"bitsandbytes/optim/", "init_state", MV_MARK_STATE},
    {"deepspeed/ops/adam/", NULL, MV_MARK_OPTIMIZER},
    {"deepspeed/ops/lamb/", NULL, MV_MARK_OPTIMIZER},
    {"transformers/optimization.py", "step", MV_MARK_OPTIMIZER},
    {"torch/nn/modules/module.py", "_call_impl", MV_MARK_MODULE_CALL},
    {"torch/nn/modules/module.py", "_wrapped_call_impl", MV_MARK_MODULE_CALL},
    {"torch/nn/modules/module.py", "__call__", MV_MARK_MODULE_CALL},
    {"torch/nn/modules/module.py", "_apply", MV_MARK_PARAMETER},
    {"torch/nn/modules/module.py", "_load_from_state_dict", MV_MARK_PARAMETER},
    {"torch/nn/modules/", "__init__", MV_MARK_PARAMETER},
    {"torch/nn/modules/", "reset_parameters", MV_MARK_PARAMETER},
    {"torch/nn/modules/rnn.py", "flatten_parameters", MV_MARK_PARAMETER},
    {"torch/nn/init.py", NULL, MV_MARK_PARAMETER},
    {"torch/nn/parameter.py", NULL, MV_MARK_PARAMETER},
    {"torch/serialization.py", NULL, MV_MARK_PARAMETER},
    {"safetensors/", NULL, MV_MARK_PARAMETER},
    {"transformers/modeling_utils.py", "from_pretrained", MV_MARK_PARAMETER},
    {"accelerate/utils/modeling.py", "set_module_tensor_to_device", MV_MARK_PARAMETER},
    {"torch/autograd/graph.py", "_engine_run_backward", MV_MARK_BACKWARD},
    {"torch/autograd/__init__.py", "backward", MV_MARK_BACKWARD},
    {"torch/autograd/__init__.py", "grad", MV_MARK_BACKWARD},
    {"torch/_tensor.py", "backward", MV_MARK_BACKWARD},
    {"torch/autograd/", NULL, ENGINE_FILE},
    {"torch/utils/checkpoint.py", NULL, ENGINE_FILE},
    {"torch/distributed/", NULL, INNER_COMMUNICATION},
    {"torch/nn/parallel/distributed.py", NULL, INNER_COMMUNICATION},
    {"torch/utils/data/", NULL, INNER_INPUT},
    {"accelerate/utils/operations.py", "send_to_device", INNER_INPUT},
    {"lightning/", "move_data_to_device", INNER_INPUT},
    {"lightning/", "batch_to", INNER_INPUT},
    {"lightning_fabric/utilities/apply_func.py", "batch_to", INNER_INPUT},
    {"transformers/feature_extraction_utils.py", "to", INNER_INPUT},
    {"transformers/tokenization_utils_base.py", "to", INNER_INPUT},
    {"transformers/trainer.py", "_prepare_input", INNER_INPUT},
    {"torch/nn/modules/linear.py", "forward", MV_MARK_MATMUL},
    {"torch/nn/functional.py", NULL, MV_MARK_MATMUL},
};

/* Native frames, found by a part of the function name. Frames of the backward pass are recognized
 * elsewhere. */
static const known_frame native_frames[] = {
    {NULL, "Workspace", MV_MARK_WORKSPACE},
    {NULL, "c10d::ProcessGroup", MV_MARK_COMMUNICATION},
    {NULL, "c10d::Reducer", MV_MARK_COMMUNICATION},
    {NULL, "at::native::addmm", MV_MARK_MATMUL},
};

bool mv_path_has(mv_span path, const char *part)
{
    size_t length = strlen(part);

    for (uint64_t i = 0; i + length <= path.length; i++) {
        uint64_t k = 0;
        if (i > 0 && path.data[i - 1] != '/' && path.data[i - 1] != '\\')
            continue;
        while (k < length && (path.data[i + k] == (uint8_t)part[k] ||
                              (part[k] == '/' && path.data[i + k] == '\\')))
            k++;
        if (k == length)
            return true;
    }
    return false;
}

static uint16_t marks_of_python(const mv_trace *trace, uint32_t frame)
{
    mv_span file = mv_string_span(trace, trace->frames.file[frame]);
    const char *function = mv_own_name(mv_string_text(trace, trace->frames.function[frame]));
    uint16_t marks = 0;

    for (unsigned i = 0; i < sizeof python_frames / sizeof *python_frames; i++) {
        const known_frame *k = &python_frames[i];
        if ((!k->function || strcmp(function, k->function) == 0) && mv_path_has(file, k->file))
            marks |= k->marks;
    }
    return marks;
}

static uint16_t marks_of_native(const mv_trace *trace, uint32_t frame)
{
    const char *function = mv_string_text(trace, trace->frames.function[frame]);
    mv_native_kind kind =
        mv_native_kind_of(mv_string_text(trace, trace->frames.file[frame]), function);
    uint16_t marks = kind == MV_NATIVE_NODE || kind == MV_NATIVE_ENGINE ? MV_MARK_BACKWARD : 0;

    for (unsigned i = 0; i < sizeof native_frames / sizeof *native_frames; i++)
        if (strstr(function, native_frames[i].function))
            marks |= native_frames[i].marks;
    return marks;
}

static uint16_t marks_of(const mv_trace *trace, uint32_t frame, mv_frame_kind kind)
{
    if (kind == MV_FRAME_USER)
        return 0;
    return kind <= MV_FRAME_FRAMEWORK ? marks_of_python(trace, frame)
                                      : marks_of_native(trace, frame);
}

bool mv_frame_calls_module(const mv_trace *trace, const uint8_t *kinds, mv_frame_id frame)
{
    return (marks_of(trace, frame.row, kinds[frame.row]) & MV_MARK_MODULE_CALL) != 0;
}

static uint16_t *frame_marks(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds)
{
    uint32_t count = trace->frames.count;
    uint16_t *marks = mv_push_array(arena, uint16_t, count);

    for (uint32_t i = 0; marks && i < count; i++)
        marks[i] = marks_of(trace, i, kinds[i]);
    return marks;
}

bool mv_trace_shows_training(const mv_trace *trace, const uint8_t *kinds)
{
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        mv_frame_kind kind = kinds ? kinds[i] : mv_frame_kind_of(trace, (mv_frame_id){i});
        if (marks_of(trace, i, kind) & (MV_MARK_BACKWARD | MV_MARK_OPTIMIZER))
            return true;
    }
    return false;
}

static uint16_t combine(const mv_frame_id *frames, uint32_t count, const uint8_t *kinds,
                        const uint16_t *of_frame)
{
    const uint16_t inner_only = INNER_COMMUNICATION | INNER_INPUT;
    uint16_t marks = 0, outermost = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint16_t m = of_frame[frames[i].row];
        uint8_t kind = kinds[frames[i].row];
        if (kind <= MV_FRAME_FRAMEWORK) {
            if (!(marks & MV_MARK_PYTHON)) {
                marks |= MV_MARK_PYTHON | (kind == MV_FRAME_USER ? MV_MARK_DIRECT : 0);
                marks |= m & INNER_COMMUNICATION ? MV_MARK_COMMUNICATION : 0;
            }
            marks |= m & INNER_INPUT ? MV_MARK_INPUT : 0;
            outermost = m;
        }
        /* Code inside a call of a module does not create parameters. */
        if (marks & MV_MARK_MODULE_CALL)
            m &= (uint16_t) ~(MV_MARK_PARAMETER | inner_only);
        marks |= m & (uint16_t) ~(inner_only | ENGINE_FILE);
    }
    if (outermost & ENGINE_FILE)
        marks |= MV_MARK_BACKWARD;
    return marks;
}

/* ---- the user's own optimizers -------------------------------------------------------- */

/* The functions named step(), each with a flag that is set if the function runs modules or a
 * backward pass. Such a function is a whole training step rather than an optimizer step. A function
 * is identified by its file and name, so all its frames have the same number. */
typedef struct {
    const mv_trace *trace;
    uint32_t *of_frame; /* [frames.count] function + 1; 0: the function is not called step */
    bool *runs_model;   /* [function] */
} step_functions;

static bool is_step(const mv_trace *trace, const uint8_t *kinds, uint32_t frame)
{
    return kinds[frame] <= MV_FRAME_PACKAGE &&
           strcmp(mv_own_name(mv_string_text(trace, trace->frames.function[frame])), "step") == 0;
}

static bool find_step_functions(mv_arena *scratch, const mv_trace *trace, const uint8_t *kinds,
                                step_functions *out)
{
    const mv_frames *f = &trace->frames;
    uint32_t *first = mv_push_array(scratch, uint32_t, f->count), count = 0;

    *out = (step_functions){.trace = trace};
    out->of_frame = mv_push_array(scratch, uint32_t, f->count);
    out->runs_model = mv_push_array(scratch, bool, f->count);
    if (!first || !out->of_frame || !out->runs_model)
        return false;
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t k = 0;
        if (!is_step(trace, kinds, i))
            continue;
        while (k < count && (f->file[first[k]].row != f->file[i].row ||
                             f->function[first[k]].row != f->function[i].row))
            k++;
        if (k == count)
            first[count++] = i;
        out->of_frame[i] = k + 1;
    }
    return true;
}

/* Returns the innermost step() of the stack as function + 1; 0 if the stack has no step(). */
static uint32_t step_of(const step_functions *steps, uint32_t stack)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(steps->trace, (mv_stack_id){stack}, &count);

    for (uint32_t i = 0; i < count; i++)
        if (steps->of_frame[frames[i].row])
            return steps->of_frame[frames[i].row];
    return 0;
}

/* Marks custom optimizers. A program that trains without a known optimizer has a custom one. It is
 * a step() that calls no module and runs no backward pass, in a trace that has backward passes. */
static bool mark_own_optimizers(mv_arena *scratch, const mv_trace *trace, const uint8_t *kinds,
                                uint16_t *marks)
{
    uint16_t all = 0;
    step_functions steps;

    for (uint32_t s = 0; s < trace->stacks.count; s++)
        all |= marks[s];
    if (!(all & MV_MARK_BACKWARD) || all & MV_MARK_OPTIMIZER)
        return true;
    if (!find_step_functions(scratch, trace, kinds, &steps))
        return false;
    for (uint32_t s = 0; s < trace->stacks.count; s++) {
        uint32_t count;
        const mv_frame_id *frames = mv_stack_frames(trace, (mv_stack_id){s}, &count);
        for (uint32_t i = 0; i < count && marks[s] & (MV_MARK_MODULE_CALL | MV_MARK_BACKWARD); i++)
            if (steps.of_frame[frames[i].row])
                steps.runs_model[steps.of_frame[frames[i].row] - 1] = true;
    }
    for (uint32_t s = 0; s < trace->stacks.count; s++) {
        uint32_t step = step_of(&steps, s);
        if (step && !steps.runs_model[step - 1])
            marks[s] |= MV_MARK_OPTIMIZER;
    }
    return true;
}

uint16_t *mv_stack_marks(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds)
{
    uint32_t count = trace->stacks.count;
    uint16_t *marks = mv_push_array(arena, uint16_t, count);
    mv_arena scratch;
    uint16_t *of_frame;

    mv_arena_init(&scratch, arena->budget);
    of_frame = frame_marks(&scratch, trace, kinds);
    for (uint32_t s = 0; marks && of_frame && s < count; s++) {
        uint32_t frames;
        const mv_frame_id *frame = mv_stack_frames(trace, (mv_stack_id){s}, &frames);
        marks[s] = combine(frame, frames, kinds, of_frame);
    }
    /* Empty stacks belong to backward passes only in a trace that shows training. */
    if (marks && of_frame && count > 0 && mv_trace_shows_training(trace, kinds))
        marks[MV_EMPTY_STACK.row] |= MV_MARK_BACKWARD;
    if (marks && of_frame && !mark_own_optimizers(&scratch, trace, kinds, marks))
        of_frame = NULL;
    mv_arena_release(&scratch);
    return of_frame ? marks : NULL;
}
