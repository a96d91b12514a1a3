#include "analyze/steps/optimizer_calls.h"

#include "analyze/code/stack_marks.h"
#include "base/map.h"

/* The minimum number of marks of a line. With fewer steps, growth is more difficult to judge than
 * with several marks per step. */
#define LEAST_MARKS 8

/* The most marks per step, on average. Otherwise the line may be an optimizer that is stepped once
 * in a while, such as that of a codebook. */
#define MOST_PER_STEP 8

/* One mark in this many may be an exception: the line is not known, or is passed twice. */
#define EXCEPTIONS 10

/* The marks of a line must extend over this fraction of all marks. */
#define LEAST_SPAN 0.75

/* The marks of one line. */
typedef struct {
    uint32_t count, first, last;
    uint32_t repeated; /* number of marks that directly follow another one of this line */
} call_line;

/* The lines that are known so far. Each stack is read once. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    mv_map of_stack;  /* line of each stack, plus 1; 0 if no optimizer is on the stack */
    mv_map of_caller; /* line of each hash of frames */
    call_line *lines; /* [count] */
    uint32_t count;
    bool failed;
} line_search;

/* Returns a hash of the frames that called an optimizer, 0 if the stack contains no optimizer. */
static uint64_t caller_of(const line_search *s, mv_stack_id stack)
{
    uint32_t count, from;
    const mv_frame_id *frames = mv_stack_frames(s->trace, stack, &count);
    uint64_t hash = 1;

    for (from = count; from > 0; from--)
        if (s->kinds[frames[from - 1].row] == MV_FRAME_FRAMEWORK &&
            mv_path_has(mv_string_span(s->trace, s->trace->frames.file[frames[from - 1].row]),
                        "torch/optim/"))
            break;
    if (from == 0)
        return 0;
    for (uint32_t i = from; i < count; i++)
        if (s->kinds[frames[i].row] <= MV_FRAME_FRAMEWORK)
            hash = mv_mix(hash, frames[i].row);
    return hash ? hash : 1;
}

/* Returns the line of a stack, or MV_NO_ROW. */
static uint32_t line_of(line_search *s, mv_stack_id stack)
{
    uint32_t known, line = MV_NO_ROW;
    uint64_t caller;

    if (stack.row >= s->trace->stacks.count)
        return MV_NO_ROW;
    known = mv_map_find(&s->of_stack, stack.row);
    if (known != MV_NOT_IN_MAP)
        return known - 1;
    caller = caller_of(s, stack);
    if (caller)
        line = mv_map_find(&s->of_caller, caller);
    if (caller && line == MV_NOT_IN_MAP) {
        line = s->count++;
        s->lines[line] = (call_line){0};
        s->failed = s->failed || !mv_map_put(&s->of_caller, caller, line);
    }
    s->failed = s->failed || !mv_map_put(&s->of_stack, stack.row, line + 1);
    return line;
}

/* Finds the line of each mark, or MV_NO_ROW. */
static void find_lines(line_search *s, const mv_lives *lives, const mv_steps *steps,
                       uint32_t *of_mark)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t next = a->preexisting;

    for (uint32_t k = 0; k < steps->count; k++) {
        uint32_t first = next;
        call_line *line;

        while (next < a->count && a->birth[next] < steps->at[k])
            next++;
        of_mark[k] = next > first ? line_of(s, a->stack[next - 1]) : MV_NO_ROW;
        if (of_mark[k] == MV_NO_ROW)
            continue;
        line = &s->lines[of_mark[k]];
        if (line->count++ == 0)
            line->first = k;
        line->last = k;
        line->repeated += k > 0 && of_mark[k - 1] == of_mark[k];
    }
}

/* Whether a place in the program, such as the line that loads a batch, is passed between almost all
 * marks. Then each mark is a step, and the optimizers take turns. Returns true when out of
 * memory. */
static bool has_common_place(mv_arena *scratch, const mv_lives *lives, const mv_outer *outer,
                             const mv_steps *steps)
{
    const mv_alloc_lives *a = &lives->allocs;
    uint32_t *latest = mv_push_array(scratch, uint32_t, outer->count);
    uint32_t *bins = mv_push_array(scratch, uint32_t, outer->count);
    uint32_t next = a->preexisting;

    if (!latest || !bins)
        return true;
    for (uint32_t k = 0; k < steps->count; k++)
        for (; next < a->count && a->birth[next] < steps->at[k]; next++) {
            uint32_t place = mv_outer_of(outer, a->stack[next]);

            if (place != MV_NO_ROW && latest[place] != k + 1) {
                latest[place] = k + 1;
                bins[place]++;
            }
        }
    for (uint32_t i = 0; i < outer->count; i++)
        if (bins[i] >= steps->count - steps->count / EXCEPTIONS)
            return true;
    return false;
}

/* Returns the line whose marks are the steps, or MV_NO_ROW. Of several lines with equally many
 * marks, the one that comes last in an iteration ends it. */
static uint32_t line_of_steps(const call_line *lines, uint32_t count, uint32_t marks)
{
    uint32_t best = MV_NO_ROW;

    for (uint32_t i = 0; i < count; i++) {
        const call_line *line = &lines[i];

        if (line->count >= LEAST_MARKS && line->count >= marks / MOST_PER_STEP &&
            line->last - line->first >= LEAST_SPAN * marks &&
            line->repeated <= line->count / EXCEPTIONS &&
            (best == MV_NO_ROW || line->count >= lines[best].count))
            best = i;
    }
    return best;
}

bool mv_optimizer_calls_thin(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                             const mv_outer *outer, const uint8_t *kinds, mv_steps *steps)
{
    uint32_t *of_mark = mv_push_array(scratch, uint32_t, steps->count);
    line_search s = {.trace = trace,
                     .kinds = kinds,
                     .of_stack.arena = scratch,
                     .of_caller.arena = scratch,
                     .lines = mv_push_array(scratch, call_line, steps->count)};
    uint32_t best, unknown = 0, count = 0;

    if (!of_mark || !s.lines)
        return false;
    find_lines(&s, lives, steps, of_mark);
    if (s.failed)
        return false;
    for (uint32_t k = 0; k < steps->count; k++)
        unknown += of_mark[k] == MV_NO_ROW;
    best = line_of_steps(s.lines, s.count, steps->count);
    if (s.count < 2 || best == MV_NO_ROW || unknown > steps->count / EXCEPTIONS ||
        has_common_place(scratch, lives, outer, steps))
        return true;
    for (uint32_t k = 0; k < steps->count; k++)
        if (of_mark[k] == best)
            steps->at[count++] = steps->at[k];
    steps->count = count;
    return true;
}
