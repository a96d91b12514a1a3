#include "analyze/diff/code_side.h"

#include "analyze/diff/pairs.h"
#include "base/sort.h"

/* ---- strings ----------------------------------------------------------------------------- */

typedef struct {
    mv_span text;
    uint32_t side, row;
} side_text;

static bool is_same_text(mv_span a, mv_span b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

bool mv_code_texts(mv_arena *arena, const mv_trace *const trace[2], uint32_t *text[2])
{
    uint64_t total = (uint64_t)trace[0]->strings.count + trace[1]->strings.count + 2, at = 0;
    uint32_t number = 0;
    side_text *all = mv_push_array(arena, side_text, total);

    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rows = trace[side]->strings.count;
        text[side] = mv_push_array(arena, uint32_t, (uint64_t)rows + 1);
        if (!all || !text[side])
            return false;
        for (uint32_t i = 0; i <= rows; i++) /* the row after the last string stands for "" */
            all[at++] = (side_text){mv_string_span(trace[side], (mv_string_id){i}), side, i};
    }
    mv_sort_rows(arena, all, total, MV_RISING(side_text, text));
    for (uint64_t i = 0; i < total; i++) {
        number += i > 0 && !is_same_text(all[i - 1].text, all[i].text);
        text[all[i].side][all[i].row] = number;
    }
    return true;
}

static uint32_t text_of(const mv_code_side *side, mv_string_id id)
{
    uint32_t rows = side->trace->strings.count;

    return side->text[id.row < rows ? id.row : rows];
}

/* ---- files, functions, lines ------------------------------------------------------------- */

typedef struct {
    uint32_t file, name;
    int64_t line;
    uint32_t frame;
} frame_code;

static void number_places(mv_code_side *out, const frame_code *sorted, uint32_t count)
{
    const mv_frames *frames = &out->trace->frames;

    for (uint32_t i = 0; i < count; i++) {
        const frame_code *p = &sorted[i];
        bool new_file = i == 0 || p->file != p[-1].file;
        bool new_function = new_file || p->name != p[-1].name;
        if (new_file) {
            out->file_text[out->files] = p->file;
            out->file[out->files++] = frames->file[p->frame];
        }
        if (new_function) {
            out->of_file[out->functions] = out->files - 1;
            out->name_hash[out->functions] =
                mv_pair_mix_text(0, mv_string_span(out->trace, frames->function[p->frame]));
            out->first_line[out->functions++] = out->lines;
        }
        if (new_function || p->line != p[-1].line)
            out->line[out->lines++] = p->line;
        out->line_of[p->frame] = out->lines - 1;
        out->function_of[p->frame] = out->functions - 1;
    }
    out->first_line[out->functions] = out->lines;
}

/* ---- callees ----------------------------------------------------------------------------- */

/* Collects the callees of each line. A line is recognized both by the functions that it calls
 * directly and by the functions that finally allocate, because every layer calls Module.__call__
 * directly. Native frames are skipped, so that traces with and without native frames can be
 * compared. */
static void gather_callees(mv_code_side *side)
{
    const mv_trace *trace = side->trace;

    for (uint32_t s = 0; s < trace->stacks.count; s++) {
        uint32_t count;
        const mv_frame_id *frames = mv_stack_frames(trace, (mv_stack_id){s}, &count);
        mv_callees leaf = 0, callee = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = frames[i].row;
            bool is_python = side->kinds[row] <= MV_FRAME_FRAMEWORK;
            mv_callees own = (mv_callees)1 << (side->name_hash[side->function_of[row]] & 63);
            side->line_calls[side->line_of[row]] |= callee ? callee | leaf : 1;
            if (is_python && !leaf)
                leaf = own;
            callee = is_python ? own : 0;
        }
    }
    for (uint32_t f = 0; f < side->functions; f++)
        for (uint32_t i = side->first_line[f]; i < side->first_line[f + 1]; i++)
            side->calls[f] |= side->line_calls[i];
}

/* ---- the whole side ---------------------------------------------------------------------- */

bool mv_code_side_find(mv_arena *arena, const mv_trace *trace, const uint8_t *kinds,
                       const uint32_t *text, mv_code_side *out)
{
    uint32_t count = trace->frames.count;
    frame_code *sorted = mv_push_array(arena, frame_code, count);

    *out = (mv_code_side){.trace = trace, .kinds = kinds, .text = text};
    out->file_text = mv_push_array(arena, uint32_t, count);
    out->file = mv_push_array(arena, mv_string_id, count);
    out->of_file = mv_push_array(arena, uint32_t, count);
    out->name_hash = mv_push_array(arena, uint64_t, count);
    out->calls = mv_push_array(arena, mv_callees, count);
    out->first_line = mv_push_array(arena, uint32_t, (uint64_t)count + 1);
    out->line = mv_push_array(arena, int64_t, count);
    out->line_calls = mv_push_array(arena, mv_callees, count);
    out->line_of = mv_push_array(arena, uint32_t, count);
    out->function_of = mv_push_array(arena, uint32_t, count);
    if (!sorted || !out->file_text || !out->file || !out->of_file || !out->calls ||
        !out->name_hash || !out->first_line || !out->line || !out->line_calls || !out->line_of ||
        !out->function_of)
        return false;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = (frame_code){text_of(out, trace->frames.file[i]),
                                 text_of(out, trace->frames.function[i]), trace->frames.line[i], i};
    mv_sort_rows(arena, sorted, count, MV_RISING(frame_code, file), MV_RISING(frame_code, name),
                 MV_RISING(frame_code, line));
    number_places(out, sorted, count);
    gather_callees(out);
    return true;
}
