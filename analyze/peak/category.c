#include "analyze/peak/category.h"

#include <stdatomic.h>

#include "analyze/code/libraries.h"
#include "analyze/code/stack_marks.h"
#include "analyze/peak/own_parameters.h"
#include "analyze/steps/step_ranges.h"
#include "base/grow.h"
#include "base/names.h"
#include "base/parallel_for.h"
#include "base/search.h"
#include "base/sort.h"
#include "parse/model/digest.h"
#include "parse/model/event_times.h"

/* Default sizes of cuBLAS and cuBLASLt workspaces. Each thread and stream has separate workspaces.
 * The sizes are the defaults of CUBLAS_WORKSPACE_CONFIG (:4096:2:16:8; :4096:8 on compute
 * capability 9.0) and of CUBLASLT_WORKSPACE_SIZE. Source: _parseChosenWorkspaceSize,
 * ATen/cuda/CublasHandlePool.cpp. */
static const uint64_t workspace_sizes[] = {8519680, 33554432, 1048576};

/* Undecided category of an allocation that is still alive at the end of the trace, when the phase
 * of its birth has not ended. */
#define OPEN UINT16_MAX

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const mv_rules *rules;
    const uint16_t *marks;   /* marks of each stack */
    const uint16_t *by_rule; /* category of each stack according to a rule, or OPEN; NULL: there are
                              * no rules */
    const bool *keeps;       /* for each stack, the result of find_keepers */
    mv_step_ranges ranges;   /* ranges in which optimizers step */
    uint32_t last_end;       /* end of the last run; MV_NEVER: the trace ends within the last run */
    uint32_t failure_count;
    uint32_t *failures;   /* [failure_count] oom events, ascending */
    atomic_bool has_kept; /* a block that has the size of a workspace is never freed */
    mv_categories *out;
} category_search;

static const char *const names[MV_CATEGORY_COUNT] = {MV_CATEGORY_LIST(MV_SECOND)};

const char *mv_category_name(mv_category category)
{
    return names[category];
}

/* ---- the user's rules -------------------------------------------------------------------- */

static uint16_t category_named(mv_categories *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->name[i], name) == 0)
            return (uint16_t)i;
    c->name[c->count] = name;
    return (uint16_t)c->count++;
}

/* Returns the first rule that matches a frame of the stack. */
static uint32_t rule_of(const mv_trace *trace, const uint32_t *of_frame, mv_stack_id stack)
{
    uint32_t count, rule = MV_NO_ROW;
    const mv_frame_id *frames = mv_stack_frames(trace, stack, &count);

    for (uint32_t i = 0; i < count; i++)
        if (of_frame[frames[i].row] < rule)
            rule = of_frame[frames[i].row];
    return rule;
}

static bool apply_rules(mv_arena *arena, mv_arena *scratch, category_search *s, uint16_t *by_rule)
{
    uint32_t rules = s->rules ? s->rules->count : 0, stacks = s->trace->stacks.count;
    uint32_t *of_frame;
    uint16_t *of_rule;

    if (rules == 0)
        return true;
    of_frame = mv_rules_match(scratch, s->rules, s->trace);
    of_rule = mv_push_array(scratch, uint16_t, rules);
    if (!of_frame || !of_rule)
        return false;
    for (uint32_t i = 0; i < rules; i++) {
        const char *name = mv_arena_text(arena, s->rules->name[i], strlen(s->rules->name[i]));
        if (!name)
            return false;
        of_rule[i] = category_named(s->out, name);
    }
    for (uint32_t i = 0; i < stacks; i++) {
        uint32_t rule = rule_of(s->trace, of_frame, (mv_stack_id){i});
        if (rule != MV_NO_ROW)
            by_rule[i] = of_rule[rule];
    }
    return true;
}

/* ---- libraries --------------------------------------------------------------------------- */

/* Returns the number of frames that stand for CUDA calls, which is 0 unless the trace is from a
 * level (analyze/levels). */
static uint32_t call_frames(const mv_trace *trace)
{
    return trace->origin.level ? trace->frames.count - trace->origin.first_call_frame : 0;
}

/* Assigns the category of the calling library to memory that comes from a CUDA call. */
static bool apply_libraries(mv_arena *arena, category_search *s, uint16_t *by_rule)
{
    const mv_trace *trace = s->trace;

    if (call_frames(trace) == 0)
        return true;
    for (uint32_t i = 0; i < trace->stacks.count; i++) {
        const char *path = mv_calling_library(trace, (mv_stack_id){i}), *name;
        char text[MV_LIBRARY_NAME];
        if (!path)
            continue;
        mv_library_name(path, text);
        name = mv_arena_text(arena, text, strlen(text));
        if (!name)
            return false;
        by_rule[i] = category_named(s->out, name);
    }
    return true;
}

static bool has_executables(const mv_trace *trace)
{
    const char *count = mv_fact_find(trace, MV_FACT_EXECUTABLES);

    return count && strcmp(count, "0") != 0;
}

static void apply_executables(const mv_trace *trace, uint16_t *by_rule)
{
    for (uint32_t i = 0; i < trace->stacks.count; i++) {
        uint32_t count;
        const mv_frame_id *frames = mv_stack_frames(trace, (mv_stack_id){i}, &count);
        if (count > 0 && strcmp(mv_string_text(trace, trace->frames.file[frames[0].row]),
                                MV_EXECUTABLE_FILE) == 0)
            by_rule[i] = MV_CATEGORY_EXECUTABLE;
    }
}

/* Fills `by_rule`, first from the user's rules, which have priority, then from libraries and
 * executables. */
static bool apply_stacks(mv_arena *arena, mv_arena *scratch, category_search *s)
{
    uint32_t rules = s->rules ? s->rules->count : 0, calls = call_frames(s->trace);
    uint32_t stacks = s->trace->stacks.count;
    uint16_t *by_rule;

    s->out->count = MV_CATEGORY_COUNT;
    s->out->name = mv_push_array(arena, const char *, (uint64_t)MV_CATEGORY_COUNT + rules + calls);
    if (!s->out->name)
        return false;
    memcpy(s->out->name, names, sizeof names);
    if (rules == 0 && calls == 0 && !has_executables(s->trace))
        return true;
    by_rule = mv_push_array(scratch, uint16_t, stacks);
    if (!by_rule)
        return false;
    for (uint32_t i = 0; i < stacks; i++)
        by_rule[i] = OPEN;
    s->by_rule = by_rule;
    if (has_executables(s->trace))
        apply_executables(s->trace, by_rule);
    return apply_libraries(arena, s, by_rule) && apply_rules(arena, scratch, s, by_rule);
}

/* ---- built-in rules ---------------------------------------------------------------------- */

/* The properties of an allocation that the rules examine. */
typedef struct {
    uint16_t marks;
    uint32_t birth, freed;
    uint32_t next_mark; /* first mark of a step after the birth, or MV_NEVER */
    uint32_t run;       /* run (of one phase) in which the allocation was born */
    bool outlives;      /* it was not freed before the end of its run */
    bool is_open;       /* its run has not ended and the allocation is alive, or a request failed in
                         * its run before the allocation was freed, because unwinding frees the
                         * run's memory */
    bool before_calls;  /* it was born before the first module call of its run */
    bool failed;        /* a request failed in its run, between its birth and its free */
    bool in_step;       /* it was born in the range of an optimizer's step */
    bool outlives_step; /* it was not freed before the end of that range */
} candidate;

/* Stacks with these marks are not part of the optimizer's step() itself, although the closure of
 * step() may run a forward and a backward pass. */
#define NOT_OF_STEPS                                                                  \
    (MV_MARK_MODULE_CALL | MV_MARK_PARAMETER | MV_MARK_BACKWARD | MV_MARK_WORKSPACE | \
     MV_MARK_COMMUNICATION | MV_MARK_INPUT)

/* Sets the fields that depend on the ranges of optimizers. */
static void look_at_ranges(const category_search *s, candidate *c)
{
    const mv_events *e = &s->lives->events;
    uint32_t range;
    int64_t end;

    if (c->birth == MV_BEFORE || c->birth >= e->count || s->ranges.count == 0 ||
        c->marks & NOT_OF_STEPS)
        return;
    range = mv_step_ranges_at(&s->ranges, mv_event_time(e, c->birth));
    if (range == MV_NO_ROW)
        return;
    end = s->ranges.end_us[range];
    c->in_step = true;
    c->outlives_step =
        end != MV_STEP_OPEN && (c->freed == MV_NEVER || mv_event_time(e, c->freed) > end);
}

/* Whether a request failed after `birth` and before `end`. */
static bool has_failed(const category_search *s, uint32_t birth, uint32_t end)
{
    uint64_t low = mv_upper_bound_u32(s->failures, s->failure_count, birth);

    return low < s->failure_count && s->failures[low] < end;
}

/* Returns the end of a run. If the range of an optimizer's step comes after the last run, it ends
 * this run, even if the step allocates nothing, because fused optimizers and SGD write into
 * existing memory. */
static uint32_t run_end(const category_search *s, uint32_t run)
{
    return run + 1 < s->out->phases.count ? mv_phases_end(&s->out->phases, run) : s->last_end;
}

static void find_last_end(category_search *s)
{
    const mv_events *e = &s->lives->events;
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t last = s->out->phases.count - 1,
             newest = a->count ? a->birth[a->count - 1] : MV_BEFORE;
    int64_t start_us;

    s->last_end = MV_NEVER;
    if (s->out->phases.count == 0 || s->out->phases.phase[last] != MV_PHASE_BACKWARD ||
        s->ranges.count == 0 || newest == MV_BEFORE)
        return;
    start_us = s->ranges.start_us[s->ranges.count - 1];
    if (mv_event_time(e, newest) == MV_NO_TIME || start_us <= mv_event_time(e, newest))
        return;
    for (s->last_end = newest + 1; s->last_end < e->count; s->last_end++)
        if (mv_event_time(e, s->last_end) >= start_us)
            return;
}

/* Must be called for allocations in order of birth. `bin` is the bin of an earlier allocation, and
 * is moved to that of this one. */
static candidate candidate_of(const category_search *s, uint32_t row, uint32_t *bin)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    const mv_steps *steps = &s->out->steps;
    candidate c = {.birth = a->birth[row], .freed = a->freed[row]};
    uint32_t end;

    while (c.birth != MV_BEFORE && *bin < steps->count && steps->at[*bin] <= c.birth)
        ++*bin;
    c.next_mark = *bin < steps->count ? steps->at[*bin] : MV_NEVER;

    c.marks = s->marks[a->stack[row].row];
    look_at_ranges(s, &c);
    c.run = c.birth == MV_BEFORE ? MV_NO_ROW : mv_phases_at(&s->out->phases, c.birth);
    if (c.run == MV_NO_ROW) {
        c.outlives = true;
        return c;
    }
    end = run_end(s, c.run);
    c.failed = has_failed(s, c.birth, c.freed < end ? c.freed : end);
    c.is_open = (end == MV_NEVER && c.freed == MV_NEVER) || (c.failed && c.freed < end);
    c.outlives = end != MV_NEVER && c.freed >= end;
    c.before_calls = c.birth < s->out->phases.first_call[c.run];
    return c;
}

static bool is_freed_in(const category_search *s, const candidate *c, mv_phase phase)
{
    const mv_phases *phases = &s->out->phases;
    uint32_t run = c->run + 1; /* the usual one; MV_NO_ROW + 1 is 0 */

    if (c->freed == MV_NEVER)
        return false;
    if (run >= phases->count || c->freed < phases->start[run] ||
        c->freed >= mv_phases_end(phases, run))
        run = mv_phases_at(phases, c->freed);
    return run != MV_NO_ROW && phases->phase[run] == phase;
}

/* Whether a backward pass follows the run. */
static bool leads_to_backward(const category_search *s, uint32_t run)
{
    return run != MV_NO_ROW && run + 1 < s->out->phases.count &&
           s->out->phases.phase[run + 1] == MV_PHASE_BACKWARD;
}

/* Whether the block was allocated before any module call and is still alive after the next backward
 * pass. That pass did not need the block, regardless of when it is freed. */
static bool is_there_for_steps(const category_search *s, const candidate *c)
{
    return c->before_calls && c->marks & MV_MARK_DIRECT && leads_to_backward(s, c->run) &&
           c->freed >= mv_phases_end(&s->out->phases, c->run + 1);
}

/* Whether the block is alive from before the trace until the end of the trace. Such a block is not
 * an activation of any step in the trace. A library's workspaces are such blocks, and no other
 * block from the same stack shows what they are. */
static bool spans_trace(const candidate *c)
{
    return c->birth == MV_BEFORE && c->freed == MV_NEVER;
}

/* Returns the category of a forward block in a trace without backward passes. A phase then has no
 * end, so the blocks that are freed in the step of their birth are temporary. */
static uint16_t forward_without_backward(const category_search *s, const candidate *c)
{
    bool has_steps = s->out->steps.source != MV_STEPS_NONE;

    if (c->birth != MV_BEFORE && c->freed < c->next_mark && has_steps && !c->failed)
        return MV_CATEGORY_TEMPORARY;
    if (spans_trace(c))
        return MV_CATEGORY_UNKNOWN;
    return c->marks & MV_MARK_MODULE_CALL ? MV_CATEGORY_ACTIVATION : MV_CATEGORY_UNKNOWN;
}

static uint16_t forward(const category_search *s, const candidate *c)
{
    if (!s->out->phases.has_backward)
        return forward_without_backward(s, c);
    if (c->is_open)
        return OPEN;
    if (c->run != MV_NO_ROW && !c->outlives)
        return MV_CATEGORY_TEMPORARY;
    if (spans_trace(c))
        return MV_CATEGORY_UNKNOWN;
    if (is_there_for_steps(s, c))
        return MV_CATEGORY_INPUT;
    if (is_freed_in(s, c, MV_PHASE_BACKWARD) || c->marks & MV_MARK_MODULE_CALL)
        return MV_CATEGORY_ACTIVATION;
    if (!leads_to_backward(s, c->run))
        return MV_CATEGORY_UNKNOWN;
    if (!c->before_calls)
        return MV_CATEGORY_ACTIVATION;
    return c->marks & MV_MARK_DIRECT ? MV_CATEGORY_INPUT : MV_CATEGORY_UNKNOWN;
}

/* Returns the category, or OPEN if it depends on how the phase ends and the trace does not contain
 * its end. */
static uint16_t decide(const category_search *s, const candidate *c)
{
    if (c->marks & MV_MARK_WORKSPACE)
        return MV_CATEGORY_WORKSPACE;
    if (c->marks & MV_MARK_COMMUNICATION)
        return MV_CATEGORY_COMMUNICATION;
    if (c->marks & MV_MARK_STATE)
        return c->outlives || c->is_open ? MV_CATEGORY_OPTIMIZER_STATE : MV_CATEGORY_TEMPORARY;
    if (c->in_step && (c->outlives_step || (c->freed != MV_NEVER && !c->failed)))
        return c->outlives_step ? MV_CATEGORY_OPTIMIZER_STATE : MV_CATEGORY_TEMPORARY;
    if (c->is_open && (c->in_step || c->marks & (MV_MARK_OPTIMIZER | MV_MARK_BACKWARD)))
        return OPEN;
    if (c->marks & MV_MARK_OPTIMIZER)
        return c->outlives ? MV_CATEGORY_OPTIMIZER_STATE : MV_CATEGORY_TEMPORARY;
    if (c->marks & MV_MARK_BACKWARD)
        return c->outlives ? MV_CATEGORY_GRADIENT : MV_CATEGORY_TEMPORARY;
    if (c->marks & MV_MARK_PARAMETER)
        return c->outlives || c->is_open ? MV_CATEGORY_PARAMETER : MV_CATEGORY_TEMPORARY;
    if (c->marks & MV_MARK_INPUT)
        return MV_CATEGORY_INPUT;
    return c->marks & MV_MARK_PYTHON ? forward(s, c) : MV_CATEGORY_UNKNOWN;
}

/* Returns the category of an allocation whose phase has not ended and whose stack has no earlier
 * allocations. */
static uint16_t guess_open(uint16_t marks, bool keeps)
{
    if (keeps)
        return MV_CATEGORY_OPTIMIZER_STATE;
    if (marks & MV_MARK_OPTIMIZER)
        return MV_CATEGORY_UNKNOWN;
    if (marks & MV_MARK_BACKWARD)
        return MV_CATEGORY_GRADIENT;
    return marks & MV_MARK_MODULE_CALL ? MV_CATEGORY_ACTIVATION : MV_CATEGORY_UNKNOWN;
}

/* ---- an unfinished optimizer step ------------------------------------------------ */

/* Finds stacks whose blocks are kept from one parameter to the next in an unfinished step. The loop
 * over the parameters has returned to such a stack, and temporaries of the previous round were
 * freed, but the stack's blocks were not.
 *
 *     m     v     tmp   m     v     tmp   m        births by stack
 *     ======================================       kept: state
 *           ================================
 *                 ===         ===                  freed in between
 */
static bool find_keepers(mv_arena *scratch, category_search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    uint32_t stacks = s->trace->stacks.count, last = s->out->phases.count - 1, first = a->count;
    uint32_t least = MV_NEVER; /* the earliest event that frees a block born later */
    uint32_t *next = mv_push_array(scratch, uint32_t, stacks); /* birth of the next block from each
                                                                * stack */
    bool *frees = mv_push_array(scratch, bool, stacks);
    bool *keeps = mv_push_array(scratch, bool, stacks);

    s->keeps = keeps;
    if (!next || !frees || !keeps)
        return false;
    if (s->out->phases.count == 0 || s->out->phases.phase[last] != MV_PHASE_OPTIMIZER)
        return true;
    while (first > a->preexisting && a->birth[first - 1] >= s->out->phases.start[last])
        first--;
    for (uint32_t i = a->count; i-- > first;) {
        uint32_t stack = a->stack[i].row;
        if (stack != MV_NO_ROW && a->freed[i] == MV_NEVER) {
            keeps[stack] = keeps[stack] || (next[stack] && least <= next[stack]);
            next[stack] = a->birth[i];
        } else if (stack != MV_NO_ROW) {
            frees[stack] = true;
        }
        least = a->freed[i] < least ? a->freed[i] : least;
    }
    for (uint32_t i = 0; i < stacks; i++)
        keeps[i] = keeps[i] && !frees[i] && s->marks[i] & MV_MARK_OPTIMIZER;
    return true;
}

/* ---- workspaces of cuBLAS ---------------------------------------------------------------- */

#define SIZES (sizeof workspace_sizes / sizeof *workspace_sizes)

/* One stack's allocations that have the size of a workspace. */
typedef struct {
    uint32_t first[SIZES]; /* row of the first allocation of each size */
    uint32_t taken[SIZES];
    uint32_t kept[SIZES]; /* number of allocations that are never freed */
    uint32_t others;      /* number of allocations of other sizes */
} workspace_use;

static int workspace_size(uint64_t requested)
{
    for (unsigned i = 0; i < SIZES; i++)
        if (requested == workspace_sizes[i])
            return (int)i;
    return -1;
}

static void count_workspaces(const category_search *s, workspace_use *of_stack)
{
    const mv_alloc_lives *a = &s->lives->allocs;

    for (uint32_t i = 0; i < a->count; i++) {
        int size = workspace_size(a->requested[i]);
        workspace_use *use;
        if (a->stack[i].row == MV_NO_ROW)
            continue;
        use = &of_stack[a->stack[i].row];
        use->others += size < 0;
        if (size < 0)
            continue;
        if (use->taken[size]++ == 0)
            use->first[size] = i;
        use->kept[size] += a->freed[i] == MV_NEVER;
    }
}

/* Whether the allocations of a size are a workspace. A workspace is allocated during a matrix
 * multiplication, so its stack has the Python line of the multiplication, and it is never freed. It
 * is recognized as the first block of exactly this size from a stack that also allocates other
 * sizes, and as the only block of this size that is never freed. */
static bool is_workspace(const category_search *s, const workspace_use *use, unsigned size)
{
    uint32_t run, birth;

    if (use->kept[size] != 1 || use->others == 0 ||
        s->lives->allocs.freed[use->first[size]] != MV_NEVER)
        return false;
    birth = s->lives->allocs.birth[use->first[size]];
    if (!s->out->phases.has_backward)
        return use->taken[size] == 1;
    if (birth == MV_BEFORE)
        return true;
    run = mv_phases_at(&s->out->phases, birth);
    return run != MV_NO_ROW && mv_phases_end(&s->out->phases, run) != MV_NEVER;
}

/* Marks the workspaces of stacks with `mark`. Threads of the backward pass have no Python line, so
 * for them only the sizes that were found in the forward pass (`known`) count. */
static void mark_workspaces_of(category_search *s, const workspace_use *of_stack, uint16_t mark,
                               bool known[SIZES])
{
    for (uint32_t stack = 0; stack < s->trace->stacks.count; stack++) {
        if (!(s->marks[stack] & mark) || (s->by_rule && s->by_rule[stack] != OPEN))
            continue;
        for (unsigned i = 0; i < SIZES; i++) {
            if (!is_workspace(s, &of_stack[stack], i) || (mark == MV_MARK_BACKWARD && !known[i]))
                continue;
            known[i] = true;
            s->out->of_alloc[of_stack[stack].first[i]] = MV_CATEGORY_WORKSPACE;
        }
    }
}

static bool mark_workspaces(mv_arena *scratch, category_search *s)
{
    workspace_use *of_stack = mv_push_array(scratch, workspace_use, s->trace->stacks.count);
    bool known[SIZES] = {false};

    if (!of_stack || !s->has_kept)
        return of_stack != NULL;
    count_workspaces(s, of_stack);
    mark_workspaces_of(s, of_stack, MV_MARK_MATMUL, known);
    mark_workspaces_of(s, of_stack, MV_MARK_BACKWARD, known);
    return true;
}

/* ---- names ------------------------------------------------------------------------------- */

/* Returns the category of most of a block's named bytes; OPEN if none of its tensors has a
 * category. */
static uint16_t named_category(const category_search *s, uint32_t alloc)
{
    static const uint16_t of_role[] = {[MV_TENSOR_PARAMETER] = MV_CATEGORY_PARAMETER,
                                       [MV_TENSOR_BUFFER] = MV_CATEGORY_PARAMETER,
                                       [MV_TENSOR_GRADIENT] = MV_CATEGORY_GRADIENT,
                                       [MV_TENSOR_OPTIMIZER_STATE] = MV_CATEGORY_OPTIMIZER_STATE};
    const mv_tensor_blocks *t = &s->out->tensors;
    uint32_t first, count = mv_tensors_in(t, alloc, &first);
    uint64_t bytes[MV_CATEGORY_COUNT] = {0};
    uint16_t most = OPEN;

    for (uint32_t i = first; i < first + count; i++) {
        uint8_t role = s->trace->tensors.role[t->row[i]];
        uint16_t category;
        if (role >= sizeof of_role / sizeof *of_role)
            continue;
        category = of_role[role];
        bytes[category] += t->bytes[i];
        if (most == OPEN || bytes[category] > bytes[most])
            most = category;
    }
    return most;
}

static void apply_names(category_search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;

    for (uint32_t i = 0; s->out->tensors.count && i < a->count; i++) {
        uint16_t category = named_category(s, i);
        bool has_rule =
            s->by_rule && a->stack[i].row != MV_NO_ROW && s->by_rule[a->stack[i].row] != OPEN;
        if (category != OPEN && !has_rule)
            s->out->of_alloc[i] = category;
    }
}

/* ---- all allocations --------------------------------------------------------------------- */

static uint16_t first_answer(const category_search *s, uint32_t row, uint32_t *bin)
{
    uint32_t stack = s->lives->allocs.stack[row].row;
    candidate c;

    if (stack == MV_NO_ROW)
        return MV_CATEGORY_UNKNOWN;
    if (s->by_rule && s->by_rule[stack] != OPEN)
        return s->by_rule[stack];
    c = candidate_of(s, row, bin);
    return decide(s, &c);
}

/* An allocation from a stack that has undecided allocations, with the category for which it votes;
 * OPEN if it is undecided itself. */
typedef struct {
    uint64_t requested;
    uint32_t stack, alloc;
    uint16_t category;
} voter;

static voter *list_voters(mv_arena *scratch, const category_search *s, uint32_t *count)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    bool *is_open = mv_push_array(scratch, bool, s->trace->stacks.count), is_any_open = false;
    uint32_t most = 0;
    voter *rows;

    for (uint32_t i = 0; is_open && i < a->count; i++)
        if (s->out->of_alloc[i] == OPEN)
            is_any_open = is_open[a->stack[i].row] = true;
    for (uint32_t i = 0; is_any_open && i < a->count; i++)
        most += a->stack[i].row != MV_NO_ROW && is_open[a->stack[i].row];
    rows = is_open ? mv_push_array(scratch, voter, most) : NULL;
    *count = 0;
    for (uint32_t i = 0; rows && *count < most; i++)
        if (a->stack[i].row != MV_NO_ROW && is_open[a->stack[i].row])
            rows[(*count)++] = (voter){a->requested[i], a->stack[i].row, i, s->out->of_alloc[i]};
    if (rows)
        mv_sort_rows(scratch, rows, *count, MV_RISING(voter, stack), MV_RISING(voter, requested));
    return rows;
}

/* Returns the most frequent category among the decided rows; OPEN if none is decided. */
static uint16_t most_votes(const voter *rows, uint32_t count)
{
    uint32_t votes[MV_CATEGORY_COUNT] = {0};
    uint16_t best = 0;

    for (uint32_t i = 0; i < count; i++)
        if (rows[i].category < MV_CATEGORY_COUNT)
            votes[rows[i].category]++;
    for (uint32_t k = 1; k < MV_CATEGORY_COUNT; k++)
        if (votes[k] > votes[best])
            best = (uint16_t)k;
    return votes[best] ? best : OPEN;
}

/* Decides the undecided rows of one stack. Rows of the same size have priority, because one line
 * may make several kinds of objects. */
static void settle_stack(category_search *s, const voter *rows, uint32_t count)
{
    uint16_t of_stack = most_votes(rows, count);

    if (of_stack == OPEN && s->keeps)
        of_stack = guess_open(s->marks[rows->stack], s->keeps[rows->stack]);
    for (uint32_t i = 0, end; i < count; i = end) {
        uint16_t of_size;
        for (end = i + 1; end < count && rows[end].requested == rows[i].requested;)
            end++;
        of_size = most_votes(rows + i, end - i);
        for (uint32_t k = i; k < end; k++)
            if (rows[k].category == OPEN)
                s->out->of_alloc[rows[k].alloc] = of_size == OPEN ? of_stack : of_size;
    }
}

/* Assigns a category to undecided blocks. It is the most frequent category among the decided blocks
 * with the same stack and size or, if there are none, with the same stack. */
static bool settle_open(mv_arena *scratch, category_search *s)
{
    uint32_t count;
    voter *rows = list_voters(scratch, s, &count);

    for (uint32_t i = 0, end; rows && i < count; i = end) {
        for (end = i + 1; end < count && rows[end].stack == rows[i].stack;)
            end++;
        settle_stack(s, rows + i, end - i);
    }
    return rows != NULL;
}

static bool list_failures(mv_arena *scratch, category_search *s)
{
    const mv_events *e = &s->lives->events;
    uint32_t capacity = 0;

    for (uint32_t i = 0; (i = mv_next_action(e, i, MV_ACTION_OOM)) < e->count; i++)
        if (!mv_append(scratch, s->failures, s->failure_count, capacity, i))
            return false;
    return true;
}

static mv_code prepare(mv_arena *arena, mv_arena *scratch, category_search *s, const uint8_t *kinds,
                       mv_err *err)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    mv_code code;

    s->out->of_alloc = mv_push_array(arena, uint16_t, a->count);
    s->marks = mv_stack_marks(scratch, s->trace, kinds);
    if (!s->out->of_alloc || !s->marks || !apply_stacks(arena, scratch, s))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "categories");
    code = mv_phases_find(arena, scratch, s->lives, s->marks, s->trace->stacks.count,
                          &s->out->phases, err);
    if (code == MV_OK)
        code = mv_step_ranges_find(scratch, s->trace, &s->ranges, err);
    if (code == MV_OK && !(list_failures(scratch, s) && find_keepers(scratch, s)))
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "categories");
    if (code == MV_OK && !s->out->phases.has_backward)
        code = mv_steps_find(arena, s->trace, s->lives, &s->out->steps, err);
    if (code == MV_OK)
        find_last_end(s);
    return code;
}

struct mv_category_search {
    mv_arena *arena;
    mv_arena scratch;
    const uint8_t *kinds;
    category_search s;
    uint32_t decided; /* number of allocations that have a first answer */
    enum { PREPARE, DECIDE, SETTLE } piece;
};

/* Allocations that are next to decide, in parts of PART_ALLOCS rows. With fewer rows, a thread
 * costs more than it saves. */
enum { PART_ALLOCS = 1 << 16 };

typedef struct {
    category_search *s;
    const mv_arena *arena;
    uint32_t first, end;
} deciding;

static void decide_part(void *user, uint32_t part)
{
    const deciding *d = user;
    uint32_t first = d->first + part * PART_ALLOCS;
    uint32_t end = d->end - first > PART_ALLOCS ? first + PART_ALLOCS : d->end;
    const mv_alloc_lives *a = &d->s->lives->allocs;
    uint32_t birth = a->birth[first], bin;
    bool has_kept = false;

    bin = birth == MV_BEFORE ? 0 : mv_steps_bin(&d->s->out->steps, birth);
    mv_arena_touch(d->arena, d->s->out->of_alloc + first, (end - first) * sizeof(uint16_t));
    for (uint32_t i = first; i < end; i++) {
        d->s->out->of_alloc[i] = first_answer(d->s, i, &bin);
        has_kept = has_kept || (a->freed[i] == MV_NEVER && workspace_size(a->requested[i]) >= 0);
    }
    if (has_kept)
        atomic_store(&d->s->has_kept, true);
}

static mv_code settle(mv_category_search *c, mv_err *err)
{
    category_search *s = &c->s;
    mv_code code = mv_tensor_blocks_find(c->arena, s->trace, s->lives, &s->out->tensors, err);
    bool is_done = code == MV_OK && mark_workspaces(&c->scratch, s);

    if (is_done)
        apply_names(s);
    is_done = is_done && settle_open(&c->scratch, s) &&
              mv_own_parameters_mark(&c->scratch, s->lives, s->marks, s->by_rule, s->out);
    return is_done || code != MV_OK ? code : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "categories");
}

mv_category_search *mv_category_search_begin(mv_arena *arena, const mv_trace *trace,
                                             const mv_lives *lives, const uint8_t *kinds,
                                             const mv_rules *rules, mv_categories *out)
{
    mv_arena scratch;
    mv_category_search *c;

    *out = (mv_categories){0};
    mv_arena_init(&scratch, arena->budget);
    c = mv_push_struct(&scratch, mv_category_search);
    if (c)
        *c =
            (mv_category_search){.arena = arena,
                                 .scratch = scratch,
                                 .kinds = kinds,
                                 .s = {.trace = trace, .lives = lives, .rules = rules, .out = out}};
    return c;
}

mv_code mv_category_search_some(mv_category_search *c, uint32_t allocs, bool *again, mv_err *err)
{
    uint32_t left = c->s.lives->allocs.count - c->decided;
    uint32_t end = c->decided + (left < allocs ? left : allocs);

    *again = c->piece != SETTLE;
    if (c->piece == SETTLE)
        return settle(c, err);
    if (c->piece == PREPARE) {
        c->piece = DECIDE;
        return prepare(c->arena, &c->scratch, &c->s, c->kinds, err);
    }
    mv_parallel_for((end - c->decided + PART_ALLOCS - 1) / PART_ALLOCS, 0, decide_part,
                    &(deciding){&c->s, c->arena, c->decided, end});
    c->decided = end;
    c->piece = left <= allocs ? SETTLE : DECIDE;
    return MV_OK;
}

void mv_category_search_end(mv_category_search *c)
{
    mv_arena scratch = c->scratch; /* the search `c` itself is allocated in this arena */

    mv_arena_release(&scratch);
}

mv_code mv_categories_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, const mv_rules *rules, mv_categories *out,
                           mv_err *err)
{
    mv_category_search *c = mv_category_search_begin(arena, trace, lives, kinds, rules, out);
    mv_code code = MV_OK;

    if (!c)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "categories");
    for (bool again = true; again && code == MV_OK;)
        code = mv_category_search_some(c, UINT32_MAX, &again, err);
    mv_category_search_end(c);
    return code;
}
