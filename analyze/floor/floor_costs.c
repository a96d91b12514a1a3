#include "analyze/floor/floor_costs.h"

#include "analyze/code/culprit.h"
#include "analyze/lives/alive.h"
#include "analyze/totals/moment.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/text.h"

enum { MOST_NAMED = 3 }; /* maximum number of lines named in a sentence */

/* Lists the segments that are reserved after an event, newest segment first. The keys are the
 * events of their births + 1, or 0 before the first event. */
static uint32_t list_reserved(const mv_lives *lives, uint32_t event, mv_key_row *rows)
{
    const mv_segment_lives *s = &lives->segments;
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->count; i++)
        if (mv_segment_is_held(lives, i, event))
            rows[count++] = (mv_key_row){s->birth[i] + 1, i}; /* MV_BEFORE: 0 */
    mv_sort_rows(NULL, rows, count, MV_FALLING(mv_key_row, key), MV_FALLING(mv_key_row, row));
    return count;
}

/* Merges rows that have the same stack. */
static uint32_t join(mv_minimum_cost *rows, uint32_t count)
{
    uint32_t kept = 0;

    mv_sort_rows(NULL, rows, count, MV_RISING(mv_minimum_cost, stack.row));
    for (uint32_t i = 0; i < count; i++) {
        if (kept && rows[kept - 1].stack.row == rows[i].stack.row) {
            rows[kept - 1].bytes += rows[i].bytes;
            rows[kept - 1].segments++;
        } else {
            rows[kept++] = rows[i];
        }
    }
    mv_sort_rows(NULL, rows, kept, MV_FALLING(mv_minimum_cost, bytes));
    return kept;
}

mv_code mv_minimum_costs_find(mv_arena *arena, const mv_lives *lives, const mv_minimum *floor,
                              mv_minimum_costs *out, mv_err *err)
{
    const mv_segment_lives *s = &lives->segments;
    mv_moment_query ask = {.kind = MV_MOMENT_RESERVED_PEAK, .window = {0, lives->events.count}};
    uint64_t left = floor->is_known ? floor->reserved - floor->lower : 0;
    mv_key_row *rows = mv_push_array(arena, mv_key_row, s->count);
    mv_moment peak;
    uint32_t count;

    *out = (mv_minimum_costs){.rows = mv_push_array(arena, mv_minimum_cost, s->count)};
    if (!rows || !out->rows)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    if (left == 0)
        return MV_OK;
    if (mv_moment_find(arena, lives, ask, &peak, err) != MV_OK)
        return err->code;
    count = list_reserved(lives, peak.event, rows);
    for (uint32_t i = 0; i < count && left > 0; i++) {
        uint64_t bytes = s->size[rows[i].row] < left ? s->size[rows[i].row] : left;
        left -= bytes;
        out->rows[out->count++] = (mv_minimum_cost){
            bytes, 1, rows[i].key ? lives->events.stack[rows[i].key - 1] : MV_NO_STACK};
    }
    out->count = join(out->rows, out->count);
    return MV_OK;
}

/* A line of code: the culprit of a stack, or the whole stack if it has no culprit. */
typedef struct {
    uint32_t frame, stack;
    uint64_t bytes;
} cost_line;

static uint32_t join_lines(const mv_trace *trace, const mv_minimum_costs *costs, cost_line *lines)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < costs->count; i++) {
        const mv_minimum_cost *c = &costs->rows[i];
        uint32_t frame = mv_culprit_frame(trace, NULL, c->stack).row;
        lines[i] = (cost_line){frame, c->stack.row, c->bytes};
    }
    mv_sort_rows(NULL, lines, costs->count, MV_RISING(cost_line, frame),
                 MV_RISING(cost_line, stack));
    for (uint32_t i = 0; i < costs->count; i++) {
        cost_line *last = count ? &lines[count - 1] : NULL;
        if (last && last->frame == lines[i].frame &&
            (last->frame != MV_NO_ROW || last->stack == lines[i].stack))
            last->bytes += lines[i].bytes;
        else
            lines[count++] = lines[i];
    }
    mv_sort_rows(NULL, lines, count, MV_FALLING(cost_line, bytes));
    return count;
}

const char *mv_minimum_costs_sentence(mv_arena *arena, const mv_trace *trace,
                                      const mv_minimum_costs *costs)
{
    cost_line *lines = mv_push_array(arena, cost_line, costs->count);
    const char *text = lines ? "" : NULL;
    char size[MV_SIZE_TEXT], label[256];
    uint32_t count = lines ? join_lines(trace, costs, lines) : 0;

    for (uint32_t i = 0; text && i < count && i < MOST_NAMED; i++) {
        mv_culprit_label(trace, NULL, (mv_stack_id){lines[i].stack}, label, sizeof label);
        text = mv_arena_printf(arena, "%s%s%s for %s", text,
                               i ? ", " : "beyond the floor: ", mv_size_text(size, lines[i].bytes),
                               label);
    }
    if (text && count > MOST_NAMED)
        text = mv_arena_printf(arena, "%s and %u other line%s", text, count - MOST_NAMED,
                               mv_plural(count - MOST_NAMED));
    return text;
}
