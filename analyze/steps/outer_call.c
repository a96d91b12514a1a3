#include "analyze/steps/outer_call.h"

#include "analyze/code/stack_marks.h"
#include "base/intern.h"

/* The frames that enter an outermost call. A module is entered through nn.Module.__call__ or, in a
 * recording without PyTorch's own frames, through its forward(). The other functions call modules
 * many times to produce a single result. */
static const struct {
    const char *file, *function; /* NULL: any function */
} entries[] = {
    {"torch/nn/modules/module.py", "_wrapped_call_impl"},
    {"torch/nn/modules/module.py", "_call_impl"},
    {"torch/nn/modules/module.py", "__call__"},
    {"transformers/generation/utils.py", NULL},
    {"diffusers/pipelines/", "__call__"},
    {"", "forward"},
};

/* Stacks with one of these marks have no place. */
#define NO_PLACE (MV_MARK_OPTIMIZER | MV_MARK_STATE | MV_MARK_BACKWARD | MV_MARK_PARAMETER)

typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    mv_frame_kind most;    /* frames of this kind or a lower one belong to the program */
    uint8_t *is_entry;     /* [frames.count] */
    const uint16_t *marks; /* [stacks.count] */
    mv_intern places;      /* the places, identified by their Python frames and kind */
    bool failed;           /* out of memory */
    uint32_t *from;        /* [places] index of the place's first frame in its stack */
    mv_outer *out;
} outer_state;

static bool frame_is_entry(const mv_trace *trace, uint32_t frame)
{
    mv_span file = mv_string_span(trace, trace->frames.file[frame]);
    const char *function = mv_own_name(mv_string_text(trace, trace->frames.function[frame]));

    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (mv_path_has(file, entries[i].file) &&
            (!entries[i].function || strcmp(function, entries[i].function) == 0))
            return true;
    return false;
}

/* Returns the least specific kind of frame that belongs to the program. This is a Python frame. But
 * in a trace of CUDA calls by a program without Python, it is any frame except the calls. In other
 * traces, native stacks belong to threads of the backward pass. */
static mv_frame_kind program_frames(const mv_trace *trace, const uint8_t *kinds)
{
    if (!trace->origin.level)
        return MV_FRAME_FRAMEWORK;
    for (uint32_t f = 0; f < trace->origin.first_call_frame; f++)
        if (kinds[f] <= MV_FRAME_FRAMEWORK)
            return MV_FRAME_FRAMEWORK;
    return MV_FRAME_NATIVE;
}

static bool is_of_program(const outer_state *w, mv_frame_id frame)
{
    return w->kinds[frame.row] <= w->most && !mv_frame_is_call(w->trace, frame);
}

/* Returns the program's next frame at or after *at; MV_NO_FRAME if there is none. */
static mv_frame_id next_of_program(const outer_state *w, mv_stack_id stack, uint32_t *at)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(w->trace, stack, &count);

    while (*at < count) {
        mv_frame_id frame = frames[(*at)++];
        if (is_of_program(w, frame))
            return frame;
    }
    return MV_NO_FRAME;
}

static uint64_t hash_of(const outer_state *w, mv_stack_id stack, uint32_t from, mv_outer_kind kind)
{
    uint64_t hash = kind;

    for (mv_frame_id f = next_of_program(w, stack, &from); f.row != MV_NO_ROW;
         f = next_of_program(w, stack, &from)) {
        hash = mv_mix(hash, f.row);
    }
    return hash;
}

static bool same_frames(const outer_state *w, mv_stack_id a, uint32_t from_a, mv_stack_id b,
                        uint32_t from_b)
{
    for (;;) {
        mv_frame_id fa = next_of_program(w, a, &from_a), fb = next_of_program(w, b, &from_b);

        if (fa.row != fb.row)
            return false;
        if (fa.row == MV_NO_ROW)
            return true;
    }
}

static uint32_t depth_of(const outer_state *w, mv_stack_id stack, uint32_t from)
{
    uint32_t depth = 0;

    for (mv_frame_id f = next_of_program(w, stack, &from); f.row != MV_NO_ROW;
         f = next_of_program(w, stack, &from))
        depth += w->kinds[f.row] != MV_FRAME_USER;
    return depth;
}

static uint32_t place_of(outer_state *w, mv_stack_id stack, uint32_t from, mv_outer_kind kind)
{
    uint64_t hash = hash_of(w, stack, from, kind);
    mv_outer *out = w->out;

    for (mv_probe p = mv_intern_start(&w->places, hash); mv_intern_next(&w->places, &p);)
        if (out->kind[p.row] == kind &&
            same_frames(w, out->stack[p.row], w->from[p.row], stack, from))
            return p.row;
    w->failed = w->failed || !mv_intern_add(&w->places, hash, out->count);
    out->kind[out->count] = (uint8_t)kind;
    out->stack[out->count] = stack;
    out->depth[out->count] = depth_of(w, stack, from);
    w->from[out->count] = from;
    return out->count++;
}

/* Returns how many constructors in user code are on the stack. Memory that a library allocates from
 * CUDA or from a heap in its own constructor is an array rather than a module, so such a
 * constructor is not counted. */
static uint32_t constructors_of(const outer_state *w, mv_stack_id stack)
{
    uint32_t count, found = 0;
    const mv_frame_id *frames = mv_stack_frames(w->trace, stack, &count);
    mv_frame_kind most =
        count > 0 && mv_frame_is_call(w->trace, frames[0]) ? MV_FRAME_USER : MV_FRAME_PACKAGE;

    for (uint32_t i = 0; i < count; i++)
        if (w->kinds[frames[i].row] <= most) {
            mv_string_id name = w->trace->frames.function[frames[i].row];
            found += strcmp(mv_own_name(mv_string_text(w->trace, name)), "__init__") == 0;
        }
    return found;
}

static uint32_t find_place(outer_state *w, mv_stack_id stack)
{
    uint32_t count, entry, constructors;
    const mv_frame_id *frames = mv_stack_frames(w->trace, stack, &count);

    if (w->most == MV_FRAME_NATIVE)
        return count > 0 ? place_of(w, stack, 0, MV_OUTER_LINE) : MV_NO_ROW;
    if (w->marks[stack.row] & NO_PLACE || !(w->marks[stack.row] & MV_MARK_PYTHON))
        return MV_NO_ROW;
    for (entry = count; entry > 0 && !w->is_entry[frames[entry - 1].row];)
        entry--;
    if (entry > 0)
        return place_of(w, stack, entry, MV_OUTER_CALL);
    constructors = constructors_of(w, stack);
    if (constructors > 1)
        return MV_NO_ROW;
    return place_of(w, stack, 0, constructors ? MV_OUTER_OBJECT : MV_OUTER_LINE);
}

static bool outer_fill(mv_arena *arena, mv_arena *scratch, outer_state *w)
{
    const mv_trace *trace = w->trace;
    mv_outer *out = w->out;

    w->places.arena = scratch;
    w->from = mv_push_array(scratch, uint32_t, out->stacks);
    w->is_entry = mv_push_array(scratch, uint8_t, trace->frames.count);
    w->marks = mv_stack_marks(scratch, trace, w->kinds);
    out->of_stack = mv_push_array(arena, uint32_t, out->stacks);
    out->kind = mv_push_array(arena, uint8_t, out->stacks);
    out->stack = mv_push_array(arena, mv_stack_id, out->stacks);
    out->depth = mv_push_array(arena, uint32_t, out->stacks);
    if (!w->from || !w->is_entry || !w->marks || !out->of_stack || !out->kind || !out->stack ||
        !out->depth)
        return false;
    for (uint32_t f = 0; f < trace->frames.count; f++)
        w->is_entry[f] = frame_is_entry(trace, f);
    for (uint32_t s = 0; s < out->stacks; s++)
        out->of_stack[s] = find_place(w, (mv_stack_id){s});
    return !w->failed;
}

bool mv_outer_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds, mv_outer *out)
{
    outer_state w = {
        .trace = trace, .kinds = kinds, .most = program_frames(trace, kinds), .out = out};
    mv_arena scratch;
    bool filled;

    *out = (mv_outer){.stacks = trace->stacks.count};
    mv_arena_init(&scratch, arena->budget);
    filled = outer_fill(arena, &scratch, &w);
    mv_arena_release(&scratch);
    return filled;
}
