#include "analyze/lives/lives_window.h"

#include "base/sort.h"

#include "parse/model/tables.h"

typedef struct {
    mv_arena *arena, *scratch;
    const mv_lives *lives;
    mv_window window;
    mv_lives *out;
    uint32_t *alloc_now, *segment_now; /* [rows of `lives`] row in the window's table, or
                                        * MV_NO_ROW */
} window_cut;

static mv_events events_of(const mv_events *e, mv_window w)
{
    mv_events out;

    mv_table_cut(mv_table_find(MV_WIRE_EVENTS), e, w.first, w.end - w.first, &out);
    return out;
}

static uint32_t birth_in(mv_window w, uint32_t birth)
{
    return birth == MV_BEFORE || birth < w.first ? MV_BEFORE : birth - w.first;
}

/* Returns the number of an end event, counted from the start of the window. An allocation that was
 * freed before the window (and still waits for a stream) ends at 0. */
static uint32_t end_in(mv_window w, uint32_t end)
{
    if (end == MV_NEVER || end >= w.end)
        return MV_NEVER;
    return end < w.first ? 0 : end - w.first;
}

static bool overlaps(mv_window w, uint32_t birth, uint32_t end)
{
    return (birth == MV_BEFORE || birth < w.end) && (end == MV_NEVER || end >= w.first);
}

/* ---- allocations ------------------------------------------------------------------------- */

typedef struct {
    uint64_t addr;
    uint32_t row;
} kept_row;

/* Chooses the rows to keep: first the rows from before the window, sorted by address, then the
 * other rows in order of birth. */
static kept_row *choose_allocs(window_cut *c, uint32_t *count)
{
    const mv_alloc_lives *a = &c->lives->allocs;
    kept_row *rows = mv_push_array(c->scratch, kept_row, a->count);

    *count = 0;
    for (uint32_t i = 0; rows && i < a->count; i++)
        if (overlaps(c->window, a->birth[i], a->completed[i]))
            rows[(*count)++] = (kept_row){a->addr[i], i};
    if (!rows)
        return NULL;
    c->out->allocs.preexisting = 0;
    while (c->out->allocs.preexisting < *count &&
           birth_in(c->window, a->birth[rows[c->out->allocs.preexisting].row]) == MV_BEFORE)
        c->out->allocs.preexisting++;
    mv_sort_rows(c->scratch, rows, c->out->allocs.preexisting, MV_RISING(kept_row, addr));
    return rows;
}

static bool cut_allocs(window_cut *c)
{
    const mv_alloc_lives *from = &c->lives->allocs;
    mv_alloc_lives *to = &c->out->allocs;
    uint32_t count;
    kept_row *rows = choose_allocs(c, &count);

    if (!rows || !mv_alloc_lives_push(c->arena, count, to))
        return false;
    to->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = rows[i].row, segment = from->segment[row];
        c->alloc_now[row] = i;
        mv_alloc_lives_copy(from, row, to, i);
        to->birth[i] = birth_in(c->window, from->birth[row]);
        to->freed[i] = end_in(c->window, from->freed[row]);
        to->completed[i] = end_in(c->window, from->completed[row]);
        to->segment[i] = segment == MV_NO_ROW ? MV_NO_ROW : c->segment_now[segment];
    }
    return true;
}

/* ---- segments ---------------------------------------------------------------------------- */

static bool cut_segments(window_cut *c)
{
    const mv_segment_lives *from = &c->lives->segments;
    mv_segment_lives *to = &c->out->segments;

    if (!mv_segment_lives_push(c->arena, from->count, to))
        return false;
    for (uint32_t row = 0; row < from->count; row++) {
        uint32_t i = to->count;
        if (!overlaps(c->window, from->birth[row], from->death[row]))
            continue;
        c->segment_now[row] = to->count++;
        mv_segment_lives_copy(from, row, to, i);
        to->birth[i] = birth_in(c->window, from->birth[row]);
        to->death[i] = end_in(c->window, from->death[row]);
    }
    return true;
}

/* ---- the whole window -------------------------------------------------------------------- */

static bool cut_events(window_cut *c)
{
    const mv_lives *from = c->lives;
    uint32_t count = c->out->events.count;

    c->out->alloc_of = mv_push_array(c->arena, uint32_t, count);
    for (uint32_t i = 0; c->out->alloc_of && i < count; i++) {
        uint32_t row = from->alloc_of[c->window.first + i];
        bool is_segment = c->out->events.action[i] >= MV_ACTION_SEGMENT_ALLOC &&
                          c->out->events.action[i] <= MV_ACTION_SEGMENT_UNMAP;
        c->out->alloc_of[i] = row == MV_NO_ROW ? MV_NO_ROW
                              : is_segment     ? c->segment_now[row]
                                               : c->alloc_now[row];
    }
    return c->out->alloc_of != NULL;
}

static uint32_t *no_rows(mv_arena *arena, uint32_t count)
{
    uint32_t *rows = mv_push_array(arena, uint32_t, count);

    for (uint32_t i = 0; rows && i < count; i++)
        rows[i] = MV_NO_ROW;
    return rows;
}

static void describe_history(const window_cut *c)
{
    bool was_used = false;

    for (uint32_t i = 0; i < c->out->segments.count; i++)
        was_used = was_used || c->out->segments.birth[i] == MV_BEFORE;
    if (c->window.first == 0)
        return;
    c->out->ring = 0;
    c->out->history = was_used ? MV_HISTORY_LATE : MV_HISTORY_COMPLETE;
    c->out->history_why =
        was_used ? "the window begins on a heap in use" : "the heap was empty before the window";
}

mv_code mv_lives_within(mv_arena *arena, const mv_lives *lives, mv_window window, mv_lives *out,
                        mv_err *err)
{
    window_cut c = {.arena = arena,
                    .lives = lives,
                    .window = mv_window_cut(window, lives->events.count),
                    .out = out};
    mv_arena scratch;
    bool is_cut;

    *out = *lives;
    if (window.first == 0 && window.end >= lives->events.count)
        return MV_OK;
    out->ranks = NULL; /* the ranks cover all events, not only the window's */
    out->events = events_of(&lives->events, c.window);
    out->allocs = (mv_alloc_lives){0};
    out->segments = (mv_segment_lives){0};
    out->has_later_events = c.window.end < lives->events.count;
    mv_arena_init(&scratch, arena->budget);
    c.scratch = &scratch;
    c.alloc_now = no_rows(&scratch, lives->allocs.count);
    c.segment_now = no_rows(&scratch, lives->segments.count);
    is_cut = c.alloc_now && c.segment_now && cut_segments(&c) && cut_allocs(&c) && cut_events(&c);
    mv_arena_release(&scratch);
    if (!is_cut)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "the events of a window");
    describe_history(&c);
    return MV_OK;
}
