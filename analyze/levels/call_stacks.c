#include "analyze/levels/call_stacks.h"

#include "analyze/ledger/holdings.h"
#include "base/sort.h"
#include "parse/model/tables.h"

typedef struct {
    uint32_t library, api, stack, call;
} call_row;

typedef struct {
    uint32_t count, frames, stacks; /* frames, stacks: numbers of different frames and stacks */
    uint64_t stack_frames;          /* number of frames in all new stacks */
    call_row *rows;                 /* [count] sorted by library, function, stack */
} call_rows;

static bool is_same_frame(const call_row *a, const call_row *b)
{
    return a->library == b->library && a->api == b->api;
}

static bool is_same_stack(const call_row *a, const call_row *b)
{
    return is_same_frame(a, b) && a->stack == b->stack;
}

static bool rows_find(mv_arena *scratch, const mv_trace *trace, call_rows *out)
{
    const mv_api_calls *c = &trace->api_calls;

    *out = (call_rows){.rows = mv_push_array(scratch, call_row, (uint64_t)c->count + 1)};
    if (!out->rows)
        return false;
    for (uint32_t i = 0; i < c->count; i++)
        if (mv_is_alloc(c->action[i]))
            out->rows[out->count++] =
                (call_row){c->library[i].row, c->api[i].row, c->stack[i].row, i};
    mv_sort_rows(scratch, out->rows, out->count, MV_RISING(call_row, library),
                 MV_RISING(call_row, api), MV_RISING(call_row, stack));
    for (uint32_t i = 0; i < out->count; i++) {
        const call_row *row = &out->rows[i];
        uint32_t length;
        out->frames += i == 0 || !is_same_frame(row, row - 1);
        if (i > 0 && is_same_stack(row, row - 1))
            continue;
        out->stacks++;
        mv_stack_frames(trace, (mv_stack_id){row->stack}, &length);
        out->stack_frames += length + 1;
    }
    return true;
}

bool mv_stacks_make_room(mv_arena *arena, mv_trace *trace, uint32_t frames, uint32_t stacks,
                         uint64_t stack_frames)
{
    const mv_stacks *from = &trace->stacks;
    uint64_t used = from->first[from->count];
    mv_stacks to = {.count = from->count};
    mv_frames more;

    to.first = mv_push_array(arena, mv_value_of_END, (uint64_t)from->count + stacks + 1);
    to.frame = mv_push_array(arena, mv_frame_id, used + stack_frames + 1);
    if (!to.first || !to.frame ||
        !mv_table_copy(arena, mv_table_find(MV_WIRE_FRAMES), &trace->frames, frames, &more))
        return false;
    memcpy(to.first, from->first, ((uint64_t)from->count + 1) * sizeof *to.first);
    if (used)
        memcpy(to.frame, from->frame, used * sizeof *to.frame);
    trace->frames = more;
    trace->stacks = to;
    return true;
}

void mv_frames_add_call(mv_trace *trace, mv_string_id function, mv_string_id library)
{
    mv_frames *frames = &trace->frames;
    uint32_t at = frames->count++;

#define ABSENT(T, number, name, kind, absent, ...) frames->name[at] = (mv_value_of_##kind){absent};
    MV_FRAME_COLUMNS(ABSENT, )
#undef ABSENT
    frames->function[at] = function;
    frames->file[at] = library;
}

void mv_stacks_add(mv_trace *trace, mv_stack_id rest, uint32_t cut)
{
    mv_stacks *stacks = &trace->stacks;
    uint64_t at = stacks->first[stacks->count];
    uint32_t length;
    const mv_frame_id *frames = mv_stack_frames(trace, rest, &length);

    stacks->frame[at++] = (mv_frame_id){trace->frames.count - 1};
    if (length > cut)
        memcpy(stacks->frame + at, frames + cut, (length - cut) * sizeof *frames);
    stacks->first[++stacks->count] = at + length - cut;
}

mv_code mv_call_stacks_add(mv_arena *arena, mv_trace *trace, mv_stack_id **of_call, mv_err *err)
{
    mv_arena scratch;
    call_rows more;
    bool is_enough;

    mv_arena_init(&scratch, arena->budget);
    *of_call = mv_push_array(arena, mv_stack_id, (uint64_t)trace->api_calls.count + 1);
    is_enough = *of_call && rows_find(&scratch, trace, &more) &&
                mv_stacks_make_room(arena, trace, more.frames, more.stacks, more.stack_frames);
    if (!is_enough) {
        mv_arena_release(&scratch);
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "stacks of calls");
    }
    for (uint32_t i = 0; i < trace->api_calls.count; i++)
        (*of_call)[i] = MV_NO_STACK;
    for (uint32_t i = 0; i < more.count; i++) {
        const call_row *row = &more.rows[i];
        if (i == 0 || !is_same_frame(row, row - 1))
            mv_frames_add_call(trace, (mv_string_id){row->api}, (mv_string_id){row->library});
        if (i == 0 || !is_same_stack(row, row - 1))
            mv_stacks_add(trace, (mv_stack_id){row->stack}, 0);
        (*of_call)[row->call] = (mv_stack_id){trace->stacks.count - 1};
    }
    mv_arena_release(&scratch);
    return MV_OK;
}
