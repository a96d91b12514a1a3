#include "analyze/fit/sum_buffers.h"

#include "analyze/fit/sum_rule.h"
#include "base/grow.h"

/* The gradient that is summed, and an input of the same layer, are among this many allocations
 * before the sum. */
#define MOST_BACK 64

/* ---- the sums of a recording ------------------------------------------------------------- */

static bool is_alive(const mv_alloc_lives *a, uint32_t row, uint32_t at)
{
    return a->freed[row] == MV_NEVER || a->freed[row] > a->birth[at];
}

/* Whether a block is alive at a sum, and its bytes depend on the size of the input. */
static bool is_activation(const mv_size_functions *f, uint32_t row, uint32_t sum)
{
    return f->kind[row] != MV_SIZE_CONSTANT && is_alive(&f->runs[f->base].lives->allocs, row, sum);
}

static bool has_stack(const mv_size_functions *f, uint32_t row)
{
    const mv_sized_run *run = &f->runs[f->base];
    mv_stack_id stack = run->lives->allocs.stack[row];
    uint32_t count = 0;

    if (stack.row < run->trace->stacks.count)
        mv_stack_frames(run->trace, stack, &count);
    return count > 0;
}

/* Whether a block may be the gradient that is summed. Gradients of a backward pass without stacks
 * have none. */
static bool is_gradient(const mv_size_functions *f, uint32_t row, uint32_t sum)
{
    return is_activation(f, row, sum) && (has_stack(f, sum) || !has_stack(f, row));
}

static bool has_activation(const mv_size_functions *f, uint32_t sum, uint32_t first, uint64_t bytes)
{
    for (uint32_t i = sum; i-- > first;)
        if (f->runs[f->base].lives->allocs.requested[i] == bytes && is_activation(f, i, sum))
            return true;
    return false;
}

/* Finds the most rows for which both a gradient [rows, outputs] and an input [rows, inputs] are
 * alive. */
static void find_gradient(const mv_size_functions *f, uint64_t inputs, mv_bias_sum *sum)
{
    const uint64_t *requested = f->runs[f->base].lives->allocs.requested;
    uint64_t bytes = requested[sum->row], most = 0;
    uint32_t first = sum->row > MOST_BACK ? sum->row - MOST_BACK : 0;

    for (uint32_t i = sum->row; i-- > first;) {
        uint64_t rows = requested[i] / bytes;
        if (rows <= most || rows * bytes != requested[i] || !is_gradient(f, i, sum->row))
            continue;
        for (uint64_t element = 2; element <= 4; element += 2)
            if (mv_sum_outputs(bytes, element) &&
                has_activation(f, sum->row, first, rows * inputs * element)) {
                most = rows;
                sum->gradient = i;
                sum->outputs = mv_sum_outputs(bytes, element);
            }
    }
}

bool mv_sum_buffers_find(mv_arena *arena, const mv_size_functions *functions, mv_sum_buffers *out)
{
    const mv_alloc_lives *a = &functions->runs[functions->base].lives->allocs;

    *out = (mv_sum_buffers){.functions = functions};
    for (uint32_t i = a->preexisting + 1; i < a->count; i++) {
        uint64_t inputs = a->requested[i] ? a->requested[i - 1] / a->requested[i] : 0;
        mv_bias_sum sum = {.row = i, .gradient = MV_NO_ROW};
        if (inputs < 2 || inputs * a->requested[i] != a->requested[i - 1] ||
            functions->kind[i - 1] != MV_SIZE_CONSTANT || functions->kind[i] != MV_SIZE_CONSTANT)
            continue;
        find_gradient(functions, inputs, &sum);
        if (sum.gradient == MV_NO_ROW)
            continue;
        sum.has_buffer = mv_is_sum_buffer(a, i + 1, a->count);
        if (!mv_append(arena, out->at, out->count, out->capacity, sum))
            return false;
    }
    return true;
}

/* ---- other sizes ------------------------------------------------------------------------- */

/* Returns the bytes of the buffer that a sum has in the recording, but may not need at a size, or
 * vice versa. 0: the sum has it at both sizes, or at none. */
static uint64_t doubt_of(const mv_sum_buffers *sums, const mv_bias_sum *sum, mv_input at)
{
    const mv_alloc_lives *a = &sums->functions->runs[sums->functions->base].lives->allocs;
    mv_size_bounds bytes = mv_size_at(sums->functions, sum->gradient, at);
    uint64_t recorded = a->requested[sum->gradient] / a->requested[sum->row];
    uint64_t least = bytes.least / a->requested[sum->row];
    uint64_t most = bytes.most / a->requested[sum->row];

    if (sum->has_buffer)
        return least < recorded && !mv_sum_needs_buffer(sum->outputs, least)
                   ? a->requested[sum->row + 1]
                   : 0;
    return mv_sum_needs_buffer(sum->outputs, most) && !mv_sum_needs_buffer(sum->outputs, recorded)
               ? mv_sum_buffer_bytes(sum->outputs, most)
               : 0;
}

uint64_t mv_sum_buffers_doubt(const mv_sum_buffers *sums, mv_input at)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < sums->count; i++) {
        uint64_t bytes = doubt_of(sums, &sums->at[i], at);
        most = bytes > most ? bytes : most;
    }
    return most;
}

typedef struct {
    mv_arena *arena;
    mv_replay_op *ops;
    uint32_t count, capacity, next_id;
    bool out_of_memory;
} op_list;

static void add(op_list *l, mv_replay_op op)
{
    l->out_of_memory |= !mv_append(l->arena, l->ops, l->count, l->capacity, op);
}

/* Adds the buffer and the semaphores of the sum that `op` allocates. */
static void add_buffer(op_list *l, mv_replay_op op, const mv_bias_sum *sum, uint64_t bytes)
{
    op.id = l->next_id++;
    op.bytes = bytes > MV_MOST_REQUEST ? MV_MOST_REQUEST : bytes;
    add(l, op);
    op.id = l->next_id++;
    op.bytes = mv_sum_semaphore_bytes(sum->outputs);
    add(l, op);
    op.kind = MV_OP_COMPLETE;
    op.is_request = true;
    add(l, op);
    op.id--;
    add(l, op);
}

bool mv_sum_buffers_switch(mv_arena *arena, const mv_sum_buffers *sums, mv_input at,
                           mv_replay_script *script)
{
    uint32_t rows = script->lives->allocs.count;
    const mv_bias_sum **of_row = mv_push_array(arena, const mv_bias_sum *, rows);
    op_list l = {.arena = arena, .next_id = script->ids};

    if (!of_row)
        return false;
    for (uint32_t i = 0; i < sums->count; i++) {
        const mv_bias_sum *sum = &sums->at[i];
        if (!doubt_of(sums, sum, at))
            continue;
        of_row[sum->row + sum->has_buffer] = sum;
        if (sum->has_buffer)
            of_row[sum->row + 2] = sum;
    }
    for (uint32_t i = 0; i < script->op_count; i++) {
        mv_replay_op op = script->ops[i];
        const mv_bias_sum *sum = op.kind <= MV_OP_COMPLETE && op.id < rows ? of_row[op.id] : NULL;
        if (sum && sum->has_buffer)
            continue;
        add(&l, op);
        if (sum && op.kind == MV_OP_ALLOC)
            add_buffer(&l, op, sum, doubt_of(sums, sum, at));
    }
    script->ops = l.ops;
    script->op_count = l.count;
    script->ids = l.next_id;
    return !l.out_of_memory;
}
