#include "analyze/levels/heap_stacks.h"

#include "analyze/code/culprit.h"
#include "analyze/code/libraries.h"
#include "analyze/code/native_frame.h"
#include "analyze/levels/call_stacks.h"
#include "base/sort.h"

typedef struct {
    uint32_t heap, stack, is_bound, call; /* is_bound: the call was made through ctypes or cffi */
    uint32_t cut;                         /* number of innermost frames to drop, up to and
                                           * including the registering function; 0: none */
    uint32_t function;                    /* name of the registering function */
} call_row;

typedef struct {
    call_row *rows; /* [count] sorted by heap, stack, is_bound */
    uint32_t count;
    uint32_t stacks; /* number of stacks to add, each of which may need a separate frame */
    uint64_t stack_frames;
} call_rows;

static uint32_t function_of(const mv_trace *trace, mv_frame_id frame)
{
    return trace->frames.function[frame.row].row;
}

static bool is_native(const mv_trace *trace, mv_frame_id frame)
{
    return mv_frame_is_native(mv_string_text(trace, trace->frames.file[frame.row]),
                              mv_string_text(trace, trace->frames.function[frame.row]),
                              trace->frames.line[frame.row]);
}

/* Takes the innermost Python function as the registering function, if the stack contains another
 * Python function. */
static void find_python_function(const mv_trace *trace, call_row *row)
{
    uint32_t count, cut = 0;
    const mv_frame_id *frames = mv_stack_frames(trace, (mv_stack_id){row->stack}, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (mv_frame_kind_of(trace, frames[i]) > MV_FRAME_FRAMEWORK)
            continue;
        if (cut) {
            row->cut = cut;
            return;
        }
        cut = i + 1;
        row->function = function_of(trace, frames[i]);
    }
}

/* Takes the innermost function of one heap's rows as the registering function, if it registers
 * blocks for other functions. */
static void find_native_function(const mv_trace *trace, call_row *rows, uint32_t count)
{
    uint32_t function = MV_NO_ROW, caller = MV_NO_ROW;
    bool has_callers = false;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t length;
        const mv_frame_id *frames = mv_stack_frames(trace, (mv_stack_id){rows[i].stack}, &length);
        if (rows[i].is_bound || length < 2 || !is_native(trace, frames[0]) ||
            (i > 0 && function_of(trace, frames[0]) != function))
            return;
        function = function_of(trace, frames[0]);
        has_callers = has_callers || (i > 0 && function_of(trace, frames[1]) != caller);
        caller = function_of(trace, frames[1]);
    }
    for (uint32_t i = 0; has_callers && i < count; i++) {
        rows[i].cut = 1;
        rows[i].function = function;
    }
}

static bool rows_find(mv_arena *scratch, const mv_trace *trace, call_rows *out)
{
    const mv_heap_calls *c = &trace->heap_calls;

    *out = (call_rows){.rows = mv_push_array(scratch, call_row, (uint64_t)c->count + 1)};
    if (!out->rows)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->action[i] == MV_HEAP_ALLOC && c->stack[i].row != MV_NO_ROW)
            out->rows[out->count++] =
                (call_row){.heap = c->heap[i].row,
                           .stack = c->stack[i].row,
                           .is_bound = mv_library_is_binding(mv_string_text(trace, c->library[i])),
                           .call = i};
    mv_sort_rows(scratch, out->rows, out->count, MV_RISING(call_row, heap),
                 MV_RISING(call_row, stack), MV_RISING(call_row, is_bound));
    return true;
}

static bool is_same_stack(const call_row *a, const call_row *b)
{
    return a->heap == b->heap && a->stack == b->stack && a->is_bound == b->is_bound;
}

static void find_functions(const mv_trace *trace, call_rows *rows)
{
    uint32_t first = 0, end;

    for (; first < rows->count; first = end) {
        for (end = first; end < rows->count && rows->rows[end].heap == rows->rows[first].heap;)
            end++;
        find_native_function(trace, rows->rows + first, end - first);
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        call_row *row = &rows->rows[i];
        uint32_t length;
        if (i > 0 && is_same_stack(row, row - 1)) {
            row->cut = row[-1].cut;
            row->function = row[-1].function;
            continue;
        }
        if (row->is_bound)
            find_python_function(trace, row);
        mv_stack_frames(trace, (mv_stack_id){row->stack}, &length);
        rows->stacks += row->cut > 0;
        rows->stack_frames += row->cut > 0 ? length + 1 : 0;
    }
}

/* Adds one frame for each heap and registering function. The rows must be sorted by heap and
 * function. */
static void add_all(mv_trace *trace, const call_rows *rows, mv_stack_id *of_call)
{
    const call_row *last = NULL;

    for (uint32_t i = 0; i < rows->count; i++) {
        const call_row *row = &rows->rows[i];
        if (row->cut == 0)
            continue;
        if (!last || last->heap != row->heap || last->function != row->function)
            mv_frames_add_call(trace, (mv_string_id){row->function}, (mv_string_id){row->heap});
        if (!last || !is_same_stack(row, last))
            mv_stacks_add(trace, (mv_stack_id){row->stack}, row->cut);
        of_call[row->call] = (mv_stack_id){trace->stacks.count - 1};
        last = row;
    }
}

mv_code mv_heap_stacks_add(mv_arena *arena, mv_trace *trace, mv_stack_id **of_call, mv_err *err)
{
    const mv_heap_calls *c = &trace->heap_calls;
    mv_arena scratch;
    call_rows rows;
    bool is_enough;

    mv_arena_init(&scratch, arena->budget);
    *of_call = mv_push_array(arena, mv_stack_id, (uint64_t)c->count + 1);
    is_enough = *of_call && rows_find(&scratch, trace, &rows);
    if (is_enough) {
        find_functions(trace, &rows);
        mv_sort_rows(&scratch, rows.rows, rows.count, MV_RISING(call_row, heap),
                     MV_RISING(call_row, function), MV_RISING(call_row, stack),
                     MV_RISING(call_row, is_bound));
        is_enough = mv_stacks_make_room(arena, trace, rows.stacks, rows.stacks, rows.stack_frames);
    }
    if (!is_enough) {
        mv_arena_release(&scratch);
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "stacks of heaps");
    }
    if (c->count)
        memcpy(*of_call, c->stack, c->count * sizeof **of_call);
    add_all(trace, &rows, *of_call);
    mv_arena_release(&scratch);
    return MV_OK;
}
