#include "base/grow.h"
#include "base/sort.h"
#include "parse/kineto/kineto.h"

typedef struct {
    mv_kineto *k;
    /* Rows made from the names and inputs in the file, on first use; MV_NO_ROW: not made yet. */
    uint32_t *frames[2]; /* frames, by mv_around_kind, then by number of the name */
    uint32_t *shapes;    /* strings that describe shapes, by number in `inputs` */
    uint64_t *open;      /* stack of ranges, of which some below the top may have ended */
    uint64_t open_count, open_capacity;
} sweep;

/* ---- frames -------------------------------------------------------------------------------- */

static mv_string_id text_of(mv_build *b, mv_span text)
{
    return mv_build_string(b, (const char *)text.data, text.length);
}

static mv_string_id word_of(mv_build *b, const char *text)
{
    return mv_build_string(b, text, strlen(text));
}

/* Makes a frame from a name. "torch/nn/modules/linear.py(114): forward" is a function with its file
 * and first line. All other names are plain text, like C++ frames: "nn.Module: Linear_0", a call of
 * a module with its number within its class, and "<built-in method empty of type>". */
static mv_frame_row function_row(mv_build *b, mv_span name)
{
    mv_frame_row row = MV_FRAME_ROW;
    const uint8_t *text = name.data;
    uint64_t at = name.length, digits, line = 0, unit = 1;

    while (at > 2 && memcmp(text + at - 3, "): ", 3) != 0)
        at--;
    digits = at > 2 ? at - 3 : 0;
    for (; digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9' && unit < 1u << 30;
         unit *= 10)
        line += unit * (uint64_t)(text[--digits] - '0');
    if (digits < 2 || digits + 3 == at || text[digits - 1] != '(') {
        row.function = text_of(b, name);
        return row;
    }
    row.file = text_of(b, (mv_span){text, digits - 1});
    row.line = line > 0 ? (int64_t)line : MV_NO_LINE;
    row.function = text_of(b, (mv_span){text + at, name.length - at});
    return row;
}

static mv_frame_id frame_of(sweep *s, const mv_kineto_range *range)
{
    mv_build *b = &s->k->build;
    uint32_t *made = &s->frames[range->kind][range->name];
    mv_frame_row row = MV_FRAME_ROW;

    if (*made != MV_NO_ROW)
        return (mv_frame_id){*made};
    if (range->kind == MV_AROUND_OPERATOR)
        row.function = text_of(b, s->k->operators.text[range->name]);
    else
        row = function_row(b, s->k->functions.text[range->name]);
    *made = mv_build_frame(b, &row).row;
    return (mv_frame_id){*made};
}

/* ---- the operator -------------------------------------------------------------------------- */

/* Returns the string that describes an operator's inputs; MV_NO_STRING if it has none. */
static mv_string_id shapes_of(sweep *s, const mv_kineto_range *range)
{
    char text[MV_KINETO_SHAPES];
    uint32_t *made;

    if (range->inputs == MV_NO_TEXT)
        return MV_NO_STRING;
    made = &s->shapes[range->inputs];
    if (*made == MV_NO_ROW)
        *made = word_of(&s->k->build, mv_kineto_shapes(s->k->inputs.text[range->inputs], text)).row;
    return mv_string_span(s->k->build.trace, (mv_string_id){*made}).length ? (mv_string_id){*made}
                                                                           : MV_NO_STRING;
}

/* Returns the tag for the innermost operator that has tensors, among the operators called by the
 * innermost function. If none of them has tensors, returns the tag for the outermost of these
 * operators. Within aten::addmm, for example, aten::empty has no tensors. */
static mv_tag_id operator_of(sweep *s, const uint64_t *around, uint32_t count)
{
    mv_tag_row tag = MV_TAG_ROW;
    const mv_kineto_range *found = NULL;

    for (uint32_t i = 0; i < count && tag.shapes.row == MV_NO_ROW; i++) {
        const mv_kineto_range *range = &s->k->ranges[around[i]];
        if (range->kind != MV_AROUND_OPERATOR)
            break;
        found = range;
        tag.shapes = shapes_of(s, range);
    }
    if (!found)
        return MV_PLAIN_TAG;
    tag.op = text_of(&s->k->build, s->k->operators.text[found->name]);
    return mv_build_tag(&s->k->build, &tag);
}

/* ---- the sweep ----------------------------------------------------------------------------- */

static void look_around(sweep *s, mv_kineto_memory *m)
{
    mv_frame_id frames[MV_KINETO_FRAMES];
    uint64_t around[MV_KINETO_FRAMES];
    uint32_t count = 0;

    for (uint64_t i = s->open_count; i > 0 && s->open_count - i < MV_KINETO_FRAMES; i--) {
        const mv_kineto_range *range = &s->k->ranges[s->open[i - 1]];
        if (range->end_ns <= m->time_ns)
            continue;
        around[count] = s->open[i - 1];
        frames[count++] = frame_of(s, range);
    }
    if (count == 0)
        return;
    m->stack = mv_build_stack(&s->k->build, frames, count);
    m->tag = operator_of(s, around, count);
}

static void close_until(sweep *s, int64_t time_ns)
{
    while (s->open_count > 0 && s->k->ranges[s->open[s->open_count - 1]].end_ns <= time_ns)
        s->open_count--;
}

/* Visits the ranges and memory events of all threads, in order. */
static bool sweep_threads(sweep *s)
{
    mv_kineto *k = s->k;
    uint64_t next = 0;
    uint32_t thread = 0;

    for (uint64_t i = 0; i < k->memory_count; i++) {
        mv_kineto_memory *m = &k->memory[i];
        if (i == 0 || m->thread != thread)
            s->open_count = 0;
        thread = m->thread;
        for (; next < k->range_count &&
               (k->ranges[next].thread < thread ||
                (k->ranges[next].thread == thread && k->ranges[next].start_ns <= m->time_ns));
             next++) {
            const mv_kineto_range *range = &k->ranges[next];
            if (range->thread < thread || range->end_ns <= m->time_ns)
                continue;
            close_until(s, range->start_ns);
            if (!mv_append(&k->scratch, s->open, s->open_count, s->open_capacity, next))
                return false;
        }
        close_until(s, m->time_ns);
        look_around(s, m);
    }
    return true;
}

static uint32_t *rows_of(mv_arena *arena, uint32_t count)
{
    uint32_t *rows = mv_push_array(arena, uint32_t, (uint64_t)count + 1);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = MV_NO_ROW;
    return rows;
}

bool mv_kineto_find_stacks(mv_kineto *k)
{
    sweep s = {.k = k};

    mv_sort_rows(&k->scratch, k->ranges, k->range_count, MV_RISING(mv_kineto_range, thread),
                 MV_RISING(mv_kineto_range, start_ns), MV_FALLING(mv_kineto_range, end_ns),
                 MV_RISING(mv_kineto_range, kind));
    mv_sort_rows(&k->scratch, k->memory, k->memory_count, MV_RISING(mv_kineto_memory, thread),
                 MV_RISING(mv_kineto_memory, time_ns), MV_RISING(mv_kineto_memory, order));
    s.frames[MV_AROUND_FUNCTION] = rows_of(&k->scratch, k->functions.count);
    s.frames[MV_AROUND_OPERATOR] = rows_of(&k->scratch, k->operators.count);
    s.shapes = rows_of(&k->scratch, k->inputs.count);
    return s.frames[0] && s.frames[1] && s.shapes && sweep_threads(&s);
}
