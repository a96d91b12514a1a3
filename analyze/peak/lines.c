#include "analyze/peak/lines.h"

#include "analyze/totals/level_steps.h"
#include "analyze/totals/moment.h"
#include "base/sort.h"
#include "parse/model/living.h"

struct mv_line_search {
    mv_arena *arena;       /* arena for the lines */
    mv_arena scratch;      /* arena for everything else */
    const mv_trace *trace; /* trace of the current piece */
    const mv_lives *lives;
    const uint8_t *kinds;
    const mv_grouping *grouping; /* NULL: group by line */
    mv_window window;
    bool continues; /* earlier pieces were added */
    mv_lines *out;
    uint32_t *of_stack; /* [stacks.count + 1] line of each stack; the last entry is for
                         * MV_NO_STACK */
    uint32_t *of_frame; /* [frames.count + 2] line of each frame + 1; 0: none. The last two entries
                         * are for empty stacks and for MV_NO_STACK */
    mv_levels levels;   /* levels after the current event */
    uint64_t *bytes;    /* [stacks.count + 1] or [groups] bytes held after the current event */
};

static uint32_t line_of_stack(const mv_line_search *p, mv_stack_id stack)
{
    return p->of_stack[stack.row < p->trace->stacks.count ? stack.row : p->trace->stacks.count];
}

static uint32_t line_of(const mv_line_search *p, uint32_t alloc)
{
    if (p->grouping)
        return p->grouping->of_alloc[alloc];
    return line_of_stack(p, p->lives->allocs.stack[alloc]);
}

static uint32_t add_line(mv_line_search *p, mv_stack_id stack)
{
    mv_frame_id frame = mv_culprit_frame(p->trace, p->kinds, stack);
    uint32_t slot = frame.row;

    if (frame.row == MV_NO_ROW)
        slot = p->trace->frames.count + (stack.row == MV_NO_ROW);
    if (p->of_frame[slot] == 0) {
        p->out->lines[p->out->count++] = (mv_line){.frame = frame, .stack = stack};
        p->of_frame[slot] = p->out->count;
    }
    return p->of_frame[slot] - 1;
}

/* Whether an allocation is held or made in the window. Other allocations are ignored, so that a
 * part of a trace results in the same lines. */
static bool is_in_window(const mv_line_search *p, uint32_t alloc)
{
    uint32_t birth = p->lives->allocs.birth[alloc];

    return (birth >= p->window.first && birth < p->window.end) ||
           mv_alloc_is_allocated(p->lives, alloc, p->window.first - 1);
}

static bool make_room(mv_line_search *p)
{
    uint64_t most = (uint64_t)p->trace->stacks.count + 1;

    p->of_stack = mv_push_array(&p->scratch, uint32_t, most);
    p->of_frame = mv_push_array(&p->scratch, uint32_t, (uint64_t)p->trace->frames.count + 2);
    p->out->lines = mv_push_array(p->arena, mv_line, most);
    p->bytes = mv_push_array(&p->scratch, uint64_t, most);
    if (!p->of_stack || !p->of_frame || !p->out->lines || !p->bytes)
        return false;
    for (uint64_t i = 0; i < most; i++)
        p->of_stack[i] = MV_NO_ROW;
    return true;
}

/* Adds the lines of all stacks that have allocations in the window. */
static void add_lines(mv_line_search *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    uint32_t stacks = p->trace->stacks.count;

    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t *line = &p->of_stack[a->stack[i].row < stacks ? a->stack[i].row : stacks];
        if (*line == MV_NO_ROW && is_in_window(p, i))
            *line = add_line(p, a->stack[i]);
    }
}

static bool make_groups(mv_line_search *p)
{
    uint32_t count = p->grouping->count;

    p->out->lines = mv_push_array(p->arena, mv_line, count);
    p->bytes = mv_push_array(&p->scratch, uint64_t, count);
    p->out->count = count;
    for (uint32_t i = 0; p->out->lines && i < count; i++)
        p->out->lines[i] = (mv_line){
            .frame = MV_NO_FRAME, .stack = p->grouping->stack[i], .group = p->grouping->name[i]};
    return p->out->lines && p->bytes;
}

/* Adds the blocks that are held at the start of the window. For a further piece, the held bytes are
 * already known. */
static void start(mv_line_search *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    uint32_t event = p->window.first - 1;

    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t line = line_of(p, i);
        if (line == MV_NO_ROW) /* the stack has no allocation in the window */
            continue;
        if (!p->continues && mv_alloc_is_allocated(p->lives, i, event))
            p->bytes[line] += a->block[i];
        if (a->inexact[i])
            p->out->lines[line].is_least = true;
    }
    for (uint32_t i = 0; i < p->out->count && !p->continues; i++) {
        p->out->lines[i].start = p->out->lines[i].peak = p->bytes[i];
        p->out->lines[i].peak_event = mv_event_number(p->trace, p->lives->device, event);
    }
}

static void apply(mv_line_search *p, const mv_level_step *step)
{
    uint64_t block;
    uint32_t index;
    mv_line *line;

    if (step->kind != MV_STEP_ALLOC && step->kind != MV_STEP_FREED)
        return;
    block = p->lives->allocs.block[step->row];
    index = line_of(p, step->row);
    line = &p->out->lines[index];
    if (step->kind == MV_STEP_FREED) {
        p->bytes[index] -= block;
        line->freed += block;
        return;
    }
    p->bytes[index] += block;
    line->total += block;
    line->allocations++;
    if (block > line->largest) {
        line->largest = block;
        line->tag = mv_alloc_tag(p->lives, step->row);
    }
    if (p->bytes[index] > line->peak) {
        line->peak = p->bytes[index];
        line->peak_event = mv_event_number(p->trace, p->lives->device, step->event);
    }
}

/* Reads the device's counters directly after an allocation. */
static void look_at_counters(mv_line_search *p, uint32_t event)
{
    uint32_t alloc = p->lives->alloc_of[event];
    mv_line *line;

    if (p->lives->events.action[event] != MV_ACTION_ALLOC || alloc == MV_NO_ROW)
        return;
    line = &p->out->lines[line_of(p, alloc)];
    if (p->levels.active > line->active)
        line->active = p->levels.active;
    if (p->levels.reserved > line->reserved)
        line->reserved = p->levels.reserved;
}

static bool walk(mv_line_search *p, mv_arena *scratch)
{
    mv_level_steps steps;
    mv_level_step step;

    if (!mv_level_steps_init(scratch, p->lives, &steps))
        return false;
    for (uint32_t i = 0; i < p->window.end; i++) {
        if (!mv_level_steps_prepared(&steps, i)) {
            mv_levels_follow(&p->levels, &steps, i);
            if (i >= p->window.first && mv_level_own_change(p->lives, i, &step))
                apply(p, &step);
        } else {
            while (mv_level_steps_next(&steps, i, &step)) {
                mv_levels_apply(&p->levels, p->lives, &step);
                if (i >= p->window.first)
                    apply(p, &step);
            }
        }
        if (i >= p->window.first)
            look_at_counters(p, i);
    }
    for (uint32_t i = 0; i < p->out->count; i++)
        p->out->lines[i].live = p->bytes[i];
    return true;
}

/* Removes lines that neither held nor allocated anything in the window. */
static void drop_idle(mv_lines *lines)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < lines->count; i++)
        if (lines->lines[i].peak > 0 || lines->lines[i].allocations > 0)
            lines->lines[kept++] = lines->lines[i];
    lines->count = kept;
}

/* Returns the bound of the allocated bytes. A missing free event affects them only through block
 * sizes. */
static mv_bound bound_of_total(mv_bound blocks)
{
    return blocks & MV_BOUND_MOST ? MV_BOUND_ABOUT : blocks;
}

static mv_line_bounds bounds_of(const mv_line_search *p)
{
    unsigned past = mv_lives_are_missing_past(p->lives) ? MV_BOUND_LEAST : MV_BOUND_EXACT;
    unsigned all = p->out->has_all ? MV_BOUND_EXACT : MV_BOUND_LEAST;
    mv_bounds of_device = mv_bounds_within(p->lives), of_line;
    mv_lives sized = *p->lives;

    sized.doubts.inexact_blocks = 0; /* each line has a separate flag for this */
    of_line = mv_bounds_within(&sized);
    return (mv_line_bounds){.peak = past | of_line.allocated,
                            .total = all | bound_of_total(of_line.blocks),
                            .live = p->out->has_end ? mv_bound_of_end(p->lives) : of_line.allocated,
                            .allocations = all,
                            .active = all | of_device.active,
                            .reserved = all | of_device.reserved};
}

static mv_line_search *begin(mv_arena *arena, mv_line_search search)
{
    mv_line_search *p = mv_push_struct(arena, mv_line_search);

    if (!p)
        return NULL;
    *p = search;
    *p->out = (mv_lines){0};
    p->arena = arena;
    mv_arena_init(&p->scratch, arena->budget);
    return p;
}

mv_line_search *mv_lines_begin(mv_arena *arena, const uint8_t *kinds, mv_lines *out)
{
    return begin(arena, (mv_line_search){.kinds = kinds, .out = out});
}

static bool add(mv_line_search *p)
{
    mv_arena scratch;
    bool is_done;

    if (!p->continues && !(p->grouping ? make_groups(p) : make_room(p)))
        return false;
    if (!p->grouping)
        add_lines(p);
    p->levels = mv_moment_levels(p->lives, MV_BEFORE);
    start(p);
    mv_arena_init(&scratch, p->arena->budget);
    is_done = walk(p, &scratch);
    mv_arena_release(&scratch);
    return is_done;
}

mv_code mv_lines_add(mv_line_search *p, const mv_trace *trace, const mv_lives *lives,
                     mv_window window, mv_err *err)
{
    p->trace = trace;
    p->lives = lives;
    p->window = window;
    if (!p->continues)
        p->out->has_all = window.first > 0 || !mv_lives_are_missing_past(lives);
    else
        p->window.first = mv_living_of(trace, lives->device).count;
    p->out->has_end = window.end == lives->events.count;
    p->out->bounds = bounds_of(p);
    if (!add(p))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the lines of device %u", lives->device);
    p->continues = true;
    return MV_OK;
}

void mv_lines_end(mv_line_search *p)
{
    if (!p)
        return;
    drop_idle(p->out);
    mv_sort_rows(p->arena, p->out->lines, p->out->count, MV_FALLING(mv_line, peak),
                 MV_RISING(mv_line, frame.row), MV_RISING(mv_line, stack.row),
                 MV_RISING(mv_line, group));
    mv_arena_release(&p->scratch);
}

static mv_code profile(mv_arena *arena, mv_line_search search, const mv_trace *trace,
                       const mv_lives *lives, mv_window window, mv_err *err)
{
    mv_line_search *p = begin(arena, search);
    mv_code code;

    if (!p)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "lines");
    code = mv_lines_add(p, trace, lives, window, err);
    mv_lines_end(p);
    return code;
}

mv_code mv_lines_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const uint8_t *kinds, mv_window window, mv_lines *out, mv_err *err)
{
    return profile(arena, (mv_line_search){.kinds = kinds, .out = out}, trace, lives, window, err);
}

mv_code mv_lines_by(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                    const mv_grouping *grouping, mv_window window, mv_lines *out, mv_err *err)
{
    return profile(arena, (mv_line_search){.grouping = grouping, .out = out}, trace, lives, window,
                   err);
}
