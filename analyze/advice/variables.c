#include "analyze/advice/variables.h"

#include <string.h>

#include "analyze/code/culprit.h"

enum { MOST_DEPTH = 1000 }; /* Python's default limit on recursion */

/* Linked lists of rows: `next` is the row that was added to the same list before. */
typedef struct {
    const mv_trace *trace;
    const uint8_t *kinds;
    uint32_t *gone, *next;
    uint32_t depth;
    mv_frame_id path[MOST_DEPTH];  /* Python frames of the latest allocation, outermost first */
    uint32_t held[MOST_DEPTH + 1]; /* by depth: rows that stay alive until the frame at this
                                    * depth returns */
    /* by depth: rows that the frame at this depth returned, which stay alive until the frame is
     * entered again */
    uint32_t bound[MOST_DEPTH + 1];
    uint32_t fresh;   /* results of the latest operator */
    uint32_t passing; /* results that the next operator reads and that no variable keeps */
} variables;

static void push(variables *v, uint32_t *list, uint32_t row)
{
    v->next[row] = *list;
    *list = row;
}

static void push_all(variables *v, uint32_t *list, uint32_t *rows)
{
    while (*rows != MV_NO_ROW) {
        uint32_t row = *rows;
        *rows = v->next[row];
        push(v, list, row);
    }
}

static void end(variables *v, uint32_t *list, uint32_t at)
{
    for (; *list != MV_NO_ROW; *list = v->next[*list])
        v->gone[*list] = at;
}

static void end_from(variables *v, uint32_t depth, uint32_t at)
{
    for (; depth < v->depth; depth++) {
        end(v, &v->held[depth], at);
        end(v, &v->bound[depth], at);
    }
}

static bool is_comprehension(const variables *v, mv_frame_id frame)
{
    const char *name = mv_own_name(mv_string_text(v->trace, v->trace->frames.function[frame.row]));

    return strcmp(name, "<genexpr>") == 0 || strcmp(name, "<listcomp>") == 0;
}

/* Reads the Python frames of a stack, outermost first. A comprehension at the end is left out,
 * because the function around it receives the comprehension's values. */
static uint32_t read_path(const variables *v, mv_stack_id stack, mv_frame_id *path)
{
    uint32_t count, depth = 0;
    const mv_frame_id *frames = mv_stack_frames(v->trace, stack, &count);

    while (count-- > 0 && depth < MOST_DEPTH)
        if (v->kinds[frames[count].row] <= MV_FRAME_FRAMEWORK)
            path[depth++] = frames[count];
    while (depth > 0 && is_comprehension(v, path[depth - 1]))
        depth--;
    return depth;
}

static bool is_same_function(const mv_trace *trace, mv_frame_id a, mv_frame_id b)
{
    const mv_frames *f = &trace->frames;

    return f->file[a.row].row == f->file[b.row].row &&
           f->function[a.row].row == f->function[b.row].row;
}

static void visit(variables *v, uint32_t row, const mv_frame_id *path, uint32_t depth)
{
    const mv_frames *f = &v->trace->frames;
    uint32_t same = 0;
    bool is_moved;

    end(v, &v->passing, row);
    while (same < depth && same < v->depth && path[same].row == v->path[same].row)
        same++;
    is_moved =
        same < depth && same < v->depth && is_same_function(v->trace, path[same], v->path[same]);
    if (depth > 0 && same == depth && same == v->depth &&
        v->kinds[path[depth - 1].row] == MV_FRAME_FRAMEWORK) {
        push(v, &v->fresh, row); /* the row is another result of the same operator */
        return;
    }
    if (depth == 0) { /* the thread runs no Python code */
        end(v, &v->fresh, row);
        end_from(v, 0, row);
    } else if (is_moved && f->line[path[same].row] > f->line[v->path[same].row]) {
        end_from(v, same + 1, row);
        push_all(v, &v->held[same], &v->fresh); /* the results belong to a variable of this
                                                 * function */
    } else if (is_moved) {                      /* the function was called again, or its loop
                                                 * continued */
        end_from(v, same, row);
        push_all(v, &v->bound[same], &v->fresh);
    } else {
        bool is_item = depth > same && same == v->depth && is_comprehension(v, path[same]);
        end_from(v, same, row);
        /* an item of the enclosing function, an argument of the call, or a value that an operator
         * in the same statement reads */
        push_all(
            v, depth > same && v->depth > 0 ? &v->held[same - (is_item && same > 0)] : &v->passing,
            &v->fresh);
    }
    memcpy(v->path, path, depth * sizeof *path);
    v->depth = depth;
    push(v, &v->fresh, row);
}

bool mv_variables_end(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                      const uint8_t *kinds, uint32_t **gone)
{
    const mv_alloc_lives *a = &lives->allocs;
    variables *v = mv_push_struct(arena, variables);
    mv_frame_id *path = mv_push_array(arena, mv_frame_id, MOST_DEPTH);

    *gone = mv_push_array(arena, uint32_t, a->count);
    if (!v || !path || !*gone)
        return false;
    *v = (variables){.trace = trace,
                     .kinds = kinds,
                     .gone = *gone,
                     .next = mv_push_array(arena, uint32_t, a->count),
                     .fresh = MV_NO_ROW,
                     .passing = MV_NO_ROW};
    if (!v->next)
        return false;
    for (uint32_t i = 0; i <= MOST_DEPTH; i++)
        v->held[i] = v->bound[i] = MV_NO_ROW;
    for (uint32_t i = 0; i < a->count; i++)
        (*gone)[i] = MV_NO_ROW;
    for (uint32_t i = a->preexisting; i < a->count; i++)
        visit(v, i, path, read_path(v, a->stack[i], path));
    return true;
}
