/* Finds the lines of code that grew while the events of a bounded recording were folded. The
 * counters are in the fact folded_lines_D (capture/wire_folded.h). Lines with the same culprit are
 * combined. */
#include "analyze/leaks/leak_state.h"

#include <stdio.h>

#include "base/numbers.h"
#include "base/sort.h"
#include "parse/live/read_live.h"

/* The minimum and maximum number of whole spans. With fewer than the minimum, there is no middle
 * span with which to compare the end. */
enum { LEAST_SPANS = 4, MOST_SPANS = 16 };

typedef struct {
    uint64_t addr, allocations, born, freed;
    uint64_t least[MOST_SPANS]; /* [spans] */
    uint32_t spans;
    uint32_t culprit; /* row of the culprit's frame, or of the stack if no frame is the culprit */
    bool has_culprit;
    mv_stack_id stack;
} folded_line;

typedef struct {
    mv_leak_state *w;
    uint64_t span_us;
    uint32_t count, known; /* count: number of lines; known: number of lines that have a stack,
                            * which come first */
    folded_line *rows;     /* [count] */
} folded_lines;

/* ---- the fact ---------------------------------------------------------------------------- */

static bool take(const char **at, char before, uint64_t *number)
{
    if (**at != before)
        return false;
    ++*at;
    return mv_number_take(at, 10, number);
}

static bool take_line(const char **at, folded_line *out)
{
    *out = (folded_line){.stack = MV_NO_STACK};
    if (!take(at, ';', &out->addr) || !take(at, ' ', &out->allocations) ||
        !take(at, ' ', &out->born) || !take(at, ' ', &out->freed))
        return false;
    while (out->spans < MOST_SPANS && take(at, ' ', &out->least[out->spans]))
        out->spans++;
    return out->freed <= out->born && (**at == ';' || **at == 0);
}

/* Reads the fact. Its first line is the sum of all lines, and the other lines must have the same
 * number of spans as the first. */
static bool read_fact(folded_lines *f, const char *text)
{
    uint64_t most = 0, first;
    folded_line sum;

    for (const char *at = text; *at; at++)
        most += *at == ';';
    f->rows = mv_push_array(f->w->scratch, folded_line, most);
    if (!f->rows)
        return false;
    if (!mv_number_take(&text, 10, &first) || !take(&text, ' ', &f->span_us) ||
        !take_line(&text, &sum) || sum.addr || sum.spans <= LEAST_SPANS)
        return true;
    while (*text) {
        folded_line *row = &f->rows[f->count];
        if (!take_line(&text, row) || row->spans != sum.spans)
            return true;
        f->count++;
    }
    f->w->out->has_grown = true;
    return true;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* Sets each line's stack to the stack of the folded allocation at the line's address. */
static bool find_stacks(folded_lines *f, int64_t until_us)
{
    mv_events e = mv_trace_events(f->w->trace, f->w->lives->device);
    mv_map by_addr = {.arena = f->w->scratch};

    for (uint32_t i = 0; i < f->count; i++)
        if (!mv_map_put(&by_addr, f->rows[i].addr, i))
            return false;
    for (uint32_t i = 0; i < e.count && e.time_us[i] <= until_us; i++) {
        uint32_t row =
            e.action[i] == MV_ACTION_ALLOC ? mv_map_take(&by_addr, e.addr[i]) : MV_NOT_IN_MAP;
        if (row != MV_NOT_IN_MAP)
            f->rows[row].stack = e.stack[i];
    }
    for (uint32_t i = 0; i < f->count; i++) {
        folded_line *row = &f->rows[i];
        mv_frame_id frame = mv_culprit_frame(f->w->trace, f->w->sites.kinds, row->stack);
        row->has_culprit = frame.row != MV_NO_ROW;
        row->culprit = row->has_culprit ? frame.row : row->stack.row;
        if (row->stack.row != MV_NO_ROW)
            f->rows[f->known++] = *row;
    }
    return true;
}

/* Adds the counters of one folded line. The result is a lower bound, because the minimum of a sum
 * is at least the sum of the minima. */
static void add_line(mv_grown *line, const folded_line *row, uint64_t least[MOST_SPANS])
{
    line->allocations += row->allocations;
    line->born += row->born;
    line->freed += row->freed;
    for (uint32_t i = 0; i < row->spans; i++)
        least[i] += row->least[i];
}

/* Measures how the line grew. The last span is ignored because it is not whole, so its minimum may
 * come from the middle of a step. */
static void measure_rises(mv_grown *line, const uint64_t least[MOST_SPANS], uint32_t whole)
{
    line->from = least[(whole - 1) / 2];
    line->to = least[whole - 1];
    line->spans = whole;
    for (uint32_t i = 1; i < whole; i++)
        line->rises += least[i] > least[i - 1];
}

static bool join_lines(folded_lines *f)
{
    mv_leaks *out = f->w->out;

    out->grown = mv_push_array(f->w->arena, mv_grown, f->known);
    if (!out->grown)
        return false;
    mv_sort_rows(f->w->scratch, f->rows, f->known, MV_RISING(folded_line, has_culprit),
                 MV_RISING(folded_line, culprit), MV_FALLING(folded_line, born));
    for (uint32_t i = 0; i < f->known;) {
        const folded_line *first = &f->rows[i];
        mv_grown line = {.stack = first->stack, .span_us = f->span_us};
        uint64_t least[MOST_SPANS] = {0};
        for (; i < f->known && f->rows[i].has_culprit == first->has_culprit &&
               f->rows[i].culprit == first->culprit;
             i++)
            add_line(&line, &f->rows[i], least);
        measure_rises(&line, least, first->spans - 1);
        if (line.to > line.from)
            out->grown[out->grown_count++] = line;
    }
    for (uint32_t i = 0; i < out->grown_count; i++)
        out->grown[i].bytes = out->grown[i].to - out->grown[i].from;
    mv_sort_rows(f->w->scratch, out->grown, out->grown_count, MV_FALLING(mv_grown, bytes),
                 MV_FALLING(mv_grown, to));
    return true;
}

bool mv_folded_lines_find(mv_leak_state *w)
{
    int64_t until_us = mv_live_folded_until_us(w->trace);
    folded_lines f = {.w = w};
    const char *text;
    char key[32];

    snprintf(key, sizeof key, MV_FACT_FOLDED_LINES "%u", w->lives->device);
    text = until_us == MV_NO_TIME ? NULL : mv_fact_find(w->trace, key);
    /* the fact covers only the framework's blocks, not other levels */
    if (!text || mv_trace_as_read(w->trace) != w->trace)
        return true;
    return read_fact(&f, text) &&
           (!w->out->has_grown || (find_stacks(&f, until_us) && join_lines(&f)));
}
