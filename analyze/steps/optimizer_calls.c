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

/* Returns a hash of the frames that called an optimizer, 0 if the stack contains no optimizer. */
static uint64_t caller_of(const mv_trace *trace, const uint8_t *kinds, mv_stack_id stack)
{
    uint32_t count = 0, from = 0;
    const mv_frame_id *frames = NULL;
    uint64_t hash = 1;

    if (stack.row < trace->stacks.count)
        frames = mv_stack_frames(trace, stack, &count);
    for (from = count; from > 0; from--)
        if (kinds[frames[from - 1].row] == MV_FRAME_FRAMEWORK &&
            mv_path_has(mv_string_span(trace, trace->frames.file[frames[from - 1].row]),
                        "torch/optim/"))
            break;
    if (from == 0)
        return 0;
    for (uint32_t i = from; i < count; i++)
        if (kinds[frames[i].row] <= MV_FRAME_FRAMEWORK)
            hash = mv_mix(hash, frames[i].row);
    return hash ? hash : 1;
}

/* Finds the line of each mark, as a row of `lines`; MV_NO_ROW if it is not known. Returns how many
 * lines are known, or MV_NO_ROW when out of memory. */
static uint32_t find_lines(mv_arena *scratch, const mv_trace *trace, const mv_lives *lives,
                           const uint8_t *kinds, const mv_steps *steps, uint32_t *of_mark,
                           call_line *lines)
{
    const mv_alloc_lives *a = &lives->allocs;
    mv_map rows = {.arena = scratch};
    uint32_t count = 0, next = a->preexisting;

    for (uint32_t k = 0; k < steps->count; k++) {
        uint32_t first = next, row = MV_NO_ROW;
        uint64_t caller = 0;

        while (next < a->count && a->birth[next] < steps->at[k])
            next++;
        if (next > first)
            caller = caller_of(trace, kinds, a->stack[next - 1]);
        if (caller) {
            row = mv_map_find(&rows, caller);
            if (row == MV_NOT_IN_MAP) {
                row = count++;
                lines[row] = (call_line){.first = k};
                if (!mv_map_put(&rows, caller, row))
                    return MV_NO_ROW;
            }
            lines[row].count++;
            lines[row].last = k;
            lines[row].repeated += k > 0 && of_mark[k - 1] == row;
        }
        of_mark[k] = row;
    }
    return count;
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
                             const uint8_t *kinds, mv_steps *steps)
{
    uint32_t *of_mark = mv_push_array(scratch, uint32_t, steps->count);
    call_line *lines = mv_push_array(scratch, call_line, steps->count);
    uint32_t lines_count, best, unknown = 0, count = 0;

    if (!of_mark || !lines)
        return false;
    lines_count = find_lines(scratch, trace, lives, kinds, steps, of_mark, lines);
    if (lines_count == MV_NO_ROW)
        return false;
    for (uint32_t k = 0; k < steps->count; k++)
        unknown += of_mark[k] == MV_NO_ROW;
    best = line_of_steps(lines, lines_count, steps->count);
    if (lines_count < 2 || best == MV_NO_ROW || unknown > steps->count / EXCEPTIONS)
        return true;
    for (uint32_t k = 0; k < steps->count; k++)
        if (of_mark[k] == best)
            steps->at[count++] = steps->at[k];
    steps->count = count;
    return true;
}
