#include "analyze/code/sites.h"

#include "base/intern.h"

/* The frames of a stack that distinguish sites: CUDA calls, and frames that are at least as
 * specific as `most`. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    mv_frame_kind most;
} frame_view;

/* Returns the next frame of the view at or after *at, and moves *at past this frame. MV_NO_FRAME at
 * the end. */
static mv_frame_id view_next(const frame_view *view, mv_stack_id stack, uint32_t *at)
{
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(view->trace, stack, &count);

    while (*at < count) {
        mv_frame_id frame = frames[*at];
        bool is_call = mv_frame_is_call(view->trace, frame);
        ++*at;
        if (is_call || view->kinds[frame.row] <= view->most)
            return frame;
    }
    return MV_NO_FRAME;
}

/* Whether the view shows no frames of a stack. CUDA calls are ignored here, because the other
 * frames decide which view applies. */
static bool view_is_empty(const frame_view *view, mv_stack_id stack)
{
    uint32_t count, at;
    const mv_frame_id *frames = mv_stack_frames(view->trace, stack, &count);

    at = count > 0 && mv_frame_is_call(view->trace, frames[0]);

    return view_next(view, stack, &at).row == MV_NO_ROW;
}

static uint64_t view_hash(const frame_view *view, mv_stack_id stack)
{
    uint64_t hash = (uint64_t)view->most;
    uint32_t at = 0;

    for (mv_frame_id f = view_next(view, stack, &at); f.row != MV_NO_ROW;
         f = view_next(view, stack, &at)) {
        hash = mv_mix(hash, f.row);
    }
    return hash;
}

static bool view_equal(const frame_view *view, mv_stack_id a, mv_stack_id b)
{
    uint32_t at_a = 0, at_b = 0;

    for (;;) {
        mv_frame_id fa = view_next(view, a, &at_a), fb = view_next(view, b, &at_b);
        if (fa.row != fb.row)
            return false;
        if (fa.row == MV_NO_ROW)
            return true;
    }
}

/* Numbers for the views of stacks, in order of first use. */
typedef struct {
    mv_intern table;
    mv_stack_id *of_number;
    uint8_t *view_of_number;
    uint32_t count;
    bool is_spent; /* out of memory */
} stack_numbers;

static bool numbers_init(mv_arena *arena, stack_numbers *n, uint32_t most)
{
    *n = (stack_numbers){.table.arena = arena};
    n->of_number = mv_push_array(arena, mv_stack_id, most);
    n->view_of_number = mv_push_array(arena, uint8_t, most);
    return n->of_number && n->view_of_number;
}

static uint32_t numbers_find(stack_numbers *n, const frame_view *view, mv_stack_id stack)
{
    uint64_t hash = view_hash(view, stack);

    for (mv_probe p = mv_intern_start(&n->table, hash); mv_intern_next(&n->table, &p);)
        if (n->view_of_number[p.row] == view->most && view_equal(view, n->of_number[p.row], stack))
            return p.row;
    n->of_number[n->count] = stack;
    n->view_of_number[n->count] = (uint8_t)view->most;
    n->is_spent = n->is_spent || !mv_intern_add(&n->table, hash, n->count);
    return n->count++;
}

/* Returns the number of one stack by the wanted frames or, if the stack has no such frames, by
 * wider views. */
static uint32_t number_of(stack_numbers *n, const mv_trace *trace, const uint8_t *kinds,
                          mv_stack_id stack, mv_frame_kind wanted)
{
    frame_view view = {trace, kinds, wanted};

    if (view_is_empty(&view, stack))
        view.most = MV_FRAME_FRAMEWORK;
    if (wanted < MV_FRAME_FRAMEWORK && view_is_empty(&view, stack))
        view.most = MV_FRAME_INFORMATIVE;
    if (view_is_empty(&view, stack))
        view.most = MV_FRAME_NOISE;
    return numbers_find(n, &view, stack);
}

static uint32_t depth_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack)
{
    frame_view view = {trace, kinds, MV_FRAME_FRAMEWORK};
    uint32_t at = 0, depth = 0;

    if (view_is_empty(&view, stack))
        return UINT32_MAX;
    for (mv_frame_id f = view_next(&view, stack, &at); f.row != MV_NO_ROW;
         f = view_next(&view, stack, &at))
        depth += kinds[f.row] != MV_FRAME_USER;
    return depth;
}

static bool sites_fill(mv_arena *arena, mv_arena *scratch, const mv_trace *trace, mv_sites *out)
{
    stack_numbers sites, groups;

    if (!numbers_init(scratch, &sites, out->stacks + 1) ||
        !numbers_init(scratch, &groups, out->stacks + 1))
        return false;
    for (uint32_t s = 0; s < out->stacks; s++)
        out->of_stack[s] =
            number_of(&sites, trace, out->kinds, (mv_stack_id){s}, MV_FRAME_FRAMEWORK);
    if (sites.is_spent)
        return false;
    out->of_stack[out->stacks] = sites.count;
    out->count = sites.count + 1;
    out->stack = mv_push_array(arena, mv_stack_id, out->count);
    out->group = mv_push_array(arena, uint32_t, out->count);
    out->depth = mv_push_array(arena, uint32_t, out->count);
    if (!out->stack || !out->group || !out->depth)
        return false;
    for (uint32_t i = 0; i < sites.count; i++) {
        out->stack[i] = sites.of_number[i];
        out->group[i] = number_of(&groups, trace, out->kinds, out->stack[i], MV_FRAME_PACKAGE);
        out->depth[i] = depth_of(trace, out->kinds, out->stack[i]);
    }
    out->stack[sites.count] = MV_NO_STACK;
    out->group[sites.count] = groups.count;
    out->depth[sites.count] = UINT32_MAX;
    out->groups = groups.count + 1;
    return !groups.is_spent;
}

mv_code mv_sites_find(mv_arena *arena, const mv_trace *trace, mv_sites *out, mv_err *err)
{
    mv_arena scratch;
    bool filled;

    *out = (mv_sites){.stacks = trace->stacks.count};
    out->kinds = mv_frame_kinds(arena, trace);
    out->of_stack = mv_push_array(arena, uint32_t, (uint64_t)out->stacks + 1);
    if (!out->kinds || !out->of_stack)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "allocation sites");
    mv_arena_init(&scratch, arena->budget);
    filled = sites_fill(arena, &scratch, trace, out);
    mv_arena_release(&scratch);
    return filled ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "allocation sites");
}
