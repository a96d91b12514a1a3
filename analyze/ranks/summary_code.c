#include "analyze/ranks/summary_code.h"

#include "parse/model/tables.h"

bool mv_code_push_strings(mv_arena *arena, mv_trace *code, uint64_t count, uint64_t bytes)
{
    code->strings.at = mv_push_array(arena, uint64_t, count + 1);
    code->strings.bytes = mv_push_array(arena, char, bytes);
    return code->strings.at && code->strings.bytes;
}

bool mv_code_push_frames(mv_arena *arena, mv_trace *code, uint64_t count)
{
    mv_frames *f = &code->frames;

    if (!mv_table_copy(arena, mv_table_find(MV_WIRE_FRAMES), &(mv_frames){0}, count, f))
        return false;
    for (uint64_t i = 0; i < count; i++)
        f->fx[i] = MV_NO_ROW;
    return true;
}

bool mv_code_push_stacks(mv_arena *arena, mv_trace *code, uint64_t count, uint64_t frames)
{
    code->stacks.first = mv_push_array(arena, uint64_t, count + 1);
    code->stacks.frame = mv_push_array(arena, mv_frame_id, frames);
    return code->stacks.first && code->stacks.frame;
}

static void copy(void *to, const void *from, uint64_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
}

mv_trace *mv_code_copy(mv_arena *arena, const mv_trace *trace)
{
    const mv_strings *s = &trace->strings;
    const mv_frames *f = &trace->frames;
    const mv_stacks *k = &trace->stacks;
    mv_trace *code = mv_push_struct(arena, mv_trace);

    if (!code || !mv_code_push_strings(arena, code, s->count, s->at[s->count]) ||
        !mv_code_push_frames(arena, code, f->count) ||
        !mv_code_push_stacks(arena, code, k->count, k->first[k->count]))
        return NULL;
    copy(code->strings.at, s->at, (s->count + 1ull) * sizeof *s->at);
    copy(code->strings.bytes, s->bytes, s->at[s->count]);
    copy(code->frames.function, f->function, f->count * sizeof *f->function);
    copy(code->frames.file, f->file, f->count * sizeof *f->file);
    copy(code->frames.line, f->line, f->count * sizeof *f->line);
    copy(code->stacks.first, k->first, (k->count + 1ull) * sizeof *k->first);
    copy(code->stacks.frame, k->frame, k->first[k->count] * sizeof *k->frame);
    code->strings.count = s->count;
    code->frames.count = f->count;
    code->stacks.count = k->count;
    return code;
}
