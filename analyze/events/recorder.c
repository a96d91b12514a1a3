#include "analyze/events/recorder.h"

#define RECORD "torch.cuda.memory._record_memory_history()"
#define DROP_TENSORS                                                                     \
    "find what still refers to the tensors created at %s after the step (a list, dict, " \
    "attribute or closure), and drop them or keep x.detach().cpu() or x.item() instead"
#define DROP_ARRAYS                                                                     \
    "find what still refers to the arrays created at %s after the step (a list, dict, " \
    "attribute or closure), and drop them or keep numpy.asarray(x) instead"

#define EVENTS(how) .events = how, .no_events = "recorded without history: " how
#define STACKS(how) .stacks = how, .no_stacks = "recorded without stacks: " how

#define NOTHING_OF_PYTORCH "PyTorch writes some once " RECORD " was called."

#define OF_PYTORCH                                                                               \
    .allocator = "PyTorch's allocator", .call = RECORD, .nothing = NOTHING_OF_PYTORCH,           \
    EVENTS("call " RECORD " before the work, then "                                              \
           "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"),                             \
    .begin = "to see who holds earlier memory, call " RECORD " before the first "                \
             "allocation",                                                                       \
    .more = "to keep all events, call " RECORD " once, with a larger max_entries or without it", \
    STACKS("call " RECORD " with context='all' and stacks='all', which are its defaults"),       \
    .drop = DROP_TENSORS

/* Advice for events that were recorded but are lost in damaged parts of the file. */
#define AGAIN "read an undamaged copy of the file, or record again"
#define DAMAGED                                                                          \
    .allocator = "PyTorch's allocator", .call = RECORD, .events = AGAIN,                 \
    .nothing = NOTHING_OF_PYTORCH,                                                       \
    .no_events = "events are lost in damaged parts of the file: " AGAIN, .begin = AGAIN, \
    .more = AGAIN, STACKS(AGAIN), .drop = DROP_TENSORS

/* Captures record NVTX and memviz.h, whereas PyTorch's recorder only records PyTorch's own
 * ranges. */
#define STEPS_OF_PYTORCH .steps = "mark the steps with torch.profiler.record_function(f'step {i}')"
#define STEPS_OF_CAPTURE \
    .steps = "mark the steps with torch.cuda.nvtx.mark(f'step {i}') or memviz_mark()"
static const mv_recorder pytorch = {OF_PYTORCH, STEPS_OF_PYTORCH};
static const mv_recorder damaged_pytorch = {DAMAGED, STEPS_OF_PYTORCH};
static const mv_recorder capture = {OF_PYTORCH, STEPS_OF_CAPTURE};
static const mv_recorder damaged_capture = {DAMAGED, STEPS_OF_CAPTURE};

static const mv_recorder rmm = {
    .allocator = "RMM",
    .about = "blocks of RMM",
    .writer = "RMM's log of allocations",
    .nothing =
        "RMM writes a line for each request of more than 0 bytes while rmm.enable_logging() is on.",
    .call = "rmm.enable_logging()",
    EVENTS("RMM writes events when its log is flushed, or the program ends"),
    .begin = "to see who holds earlier memory, start RMM's log before the first allocation",
    .more = "to keep all events, flush RMM's log before the program ends, and let no other logger "
            "write to its file",
    STACKS("RMM's log contains no stacks: memviz run records the calls below RMM with stacks"),
    .steps = "RMM's log contains no marks: memviz run records marks of NVTX and memviz_mark()",
    .drop = "find what still holds the buffers of %s after the step, and drop it; memviz run "
            "records stacks, which are missing from RMM's log",
};

static const mv_recorder xla = {
    .allocator = "XLA's allocator",
    .about = "blocks of XLA's allocator",
    .writer = "XLA's profiler",
    .nothing = "XLA's profiler writes some when GPU memory is allocated or freed within "
               "jax.profiler.trace().",
    .is_missing_failures = true,
    .call = "jax.profiler.trace()",
    EVENTS("use jax.profiler.trace() on a GPU, with host_tracer_level=2 or more"),
    .begin =
        "to see who holds earlier memory, start jax.profiler.trace() before the first allocation",
    .more = "to keep all events, profile for a shorter time",
    STACKS("use jax.profiler.trace() with python_tracer_level=1, which is its default"),
    .steps = "mark the steps with jax.profiler.StepTraceAnnotation('train', step_num=i)",
    .drop = DROP_ARRAYS,
};

static const mv_recorder jax = {
    .allocator = "JAX's buffers",
    .about = "buffers of JAX",
    .writer = "JAX's device memory profile",
    .nothing = "JAX's device memory profile contains the buffers alive at one moment: save it "
               "while there are arrays on a device.",
    .is_missing_failures = true,
    .call = "jax.profiler.trace()",
    EVENTS("jax.profiler.trace() records events, and memviz diff compares two profiles"),
    .begin = "jax.profiler.trace() records events",
    .more = "jax.profiler.trace() records events",
    STACKS("jax.profiler.save_device_memory_profile() records them"),
    .steps = "jax.profiler.trace() records events and steps",
    .drop = DROP_ARRAYS,
};

static const mv_recorder profiler = {
    .allocator = "PyTorch's allocator",
    .about = "blocks of PyTorch's caching allocator",
    .writer = "torch.profiler",
    .nothing = "torch.profiler writes some with profile_memory=True.",
    .call = "torch.profiler.profile()",
    EVENTS("use torch.profiler.profile(profile_memory=True)"),
    .begin = "to see who holds earlier memory, start torch.profiler.profile() before the first "
             "allocation",
    .more =
        "to keep all events, profile the threads that allocate: torch.profiler.profile() before "
        "they start",
    STACKS("use torch.profiler.profile(profile_memory=True, with_stack=True)"),
    .steps = "call step() of the profiler after each step",
    .drop = DROP_TENSORS,
};

const mv_recorder *mv_recorder_named(const char *name)
{
    static const struct {
        const char *name;
        const mv_recorder *recorder;
    } others[] = {{"rmm", &rmm}, {"xla", &xla}, {"jax", &jax}, {"pytorch", &profiler}};

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i].name) == 0)
            return others[i].recorder;
    return NULL;
}

const mv_recorder *mv_recorder_of(const mv_trace *trace)
{
    const char *name = mv_trace_allocator(trace);

    if (name)
        return mv_recorder_named(name);
    if (trace->notes[MV_NOTE_LOST_EVENTS].count > 0)
        return mv_trace_is_captured(trace) ? &damaged_capture : &damaged_pytorch;
    return mv_trace_is_captured(trace) ? &capture : &pytorch;
}
