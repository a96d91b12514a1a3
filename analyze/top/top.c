#include "analyze/top/top.h"

#include "analyze/lives/alive.h"
#include "base/sort.h"

typedef struct {
    const mv_trace *trace;
    const mv_lives *lives;
    const uint8_t *kinds;
    mv_top_query ask;
    mv_top *out;
    uint32_t end, since; /* last event, and last event before the period over which growth counts */
    uint32_t *of_frame;  /* [frames.count + 2] line + 1, 0: none; the last two entries are for empty
                          * stacks and for MV_NO_STACK */
    uint32_t *of_stack;  /* [stacks.count + 1] line of each stack, or MV_NO_ROW if it is not
                          * known yet */
    uint64_t *bytes;     /* [stacks.count + 1] listed bytes of each stack */
} search;

/* Returns the row of a stack in the tables above; the last row is for MV_NO_STACK. */
static uint32_t row_of(const search *s, mv_stack_id stack)
{
    return stack.row < s->trace->stacks.count ? stack.row : s->trace->stacks.count;
}

static mv_top_line *line_of(search *s, mv_stack_id stack)
{
    uint32_t *line = &s->of_stack[row_of(s, stack)], slot;

    if (*line == MV_NO_ROW) {
        slot = mv_culprit_frame(s->trace, s->kinds, stack).row;
        if (slot == MV_NO_ROW)
            slot = s->trace->frames.count + (stack.row == MV_NO_ROW);
        if (s->of_frame[slot] == 0) {
            s->out->lines[s->out->count] = (mv_top_line){.stack = stack, .age_us = MV_NO_TIME};
            s->of_frame[slot] = ++s->out->count;
        }
        *line = s->of_frame[slot] - 1;
    }
    return &s->out->lines[*line];
}

static bool init(mv_arena *arena, mv_arena *scratch, search *s)
{
    uint64_t stacks = (uint64_t)s->trace->stacks.count + 1;

    s->out->lines = mv_push_array(arena, mv_top_line, stacks);
    s->of_frame = mv_push_array(scratch, uint32_t, (uint64_t)s->trace->frames.count + 2);
    s->of_stack = mv_push_array(scratch, uint32_t, stacks);
    s->bytes = mv_push_array(scratch, uint64_t, stacks);
    if (!s->out->lines || !s->of_frame || !s->of_stack || !s->bytes)
        return false;
    for (uint64_t i = 0; i < stacks; i++)
        s->of_stack[i] = MV_NO_ROW;
    return true;
}

/* Finds `end` and `since`. Event times ascend except in damaged files, in which the period of
 * growth is then too short. */
static void find_moments(search *s)
{
    const mv_events *e = &s->lives->events;
    int64_t last = e->count ? e->time_us[e->count - 1] : MV_NO_TIME;

    s->end = s->since = e->count - 1; /* MV_BEFORE if there are no events */
    s->out->now_us = s->ask.now_us == MV_NO_TIME || (last != MV_NO_TIME && s->ask.now_us < last)
                         ? last
                         : s->ask.now_us;
    if (s->out->now_us == MV_NO_TIME || last == MV_NO_TIME) {
        s->since = MV_BEFORE;
        return;
    }
    s->out->since_us = s->out->now_us - s->ask.grown_us;
    while (s->since != MV_BEFORE && e->time_us[s->since] > s->out->since_us)
        s->since--;
    if (s->since == MV_BEFORE)
        s->out->since_us = MV_NO_TIME;
}

/* Returns the block's age. For a block that existed before the first event, this is a lower
 * bound. */
static int64_t age_of(const search *s, uint32_t row)
{
    const mv_events *e = &s->lives->events;
    uint32_t birth = s->lives->allocs.birth[row];
    int64_t time = MV_NO_TIME;

    if (e->count)
        time = e->time_us[birth == MV_BEFORE ? 0 : birth];
    if (time == MV_NO_TIME || s->out->now_us == MV_NO_TIME)
        return MV_NO_TIME;
    return time < s->out->now_us ? s->out->now_us - time : 0;
}

static void add_block(search *s, mv_top_line *line, uint32_t row)
{
    const mv_alloc_lives *a = &s->lives->allocs;
    int64_t age = age_of(s, row);

    s->out->allocated += a->block[row];
    if (s->ask.older_us > 0 && (age == MV_NO_TIME || age < s->ask.older_us))
        return;
    if (age != MV_NO_TIME && (line->age_us == MV_NO_TIME || age > line->age_us)) {
        line->age_us = age;
        line->is_least_age = a->birth[row] == MV_BEFORE;
    }
    s->out->listed += a->block[row];
    s->bytes[row_of(s, a->stack[row])] += a->block[row];
    line->bytes += a->block[row];
    line->blocks++;
}

static void add_blocks(search *s)
{
    const mv_alloc_lives *a = &s->lives->allocs;

    for (uint32_t i = 0; i < a->count; i++) {
        bool is_now = mv_alloc_is_allocated(s->lives, i, s->end);
        bool was = mv_alloc_is_allocated(s->lives, i, s->since);
        mv_top_line *line;
        if (!is_now && !was)
            continue;
        line = line_of(s, a->stack[i]);
        line->grown += (int64_t)((is_now ? a->block[i] : 0) - (was ? a->block[i] : 0));
        if (is_now)
            add_block(s, line, i);
    }
    s->out->younger = s->out->allocated - s->out->listed;
}

/* Sets each line's stack to the stack with the most of the line's bytes, and drops lines that hold
 * nothing. */
static bool finish(mv_arena *scratch, search *s)
{
    mv_top *out = s->out;
    uint64_t *most = mv_push_array(scratch, uint64_t, out->count);
    uint32_t kept = 0;

    if (!most)
        return false;
    for (uint32_t i = 0; i <= s->trace->stacks.count; i++) {
        uint32_t line = s->of_stack[i];
        if (line == MV_NO_ROW || s->bytes[i] <= most[line])
            continue;
        most[line] = s->bytes[i];
        out->lines[line].stack = i < s->trace->stacks.count ? (mv_stack_id){i} : MV_NO_STACK;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->grown += out->lines[i].grown;
        if (out->lines[i].blocks)
            out->lines[kept++] = out->lines[i];
    }
    out->count = kept;
    mv_sort_rows(scratch, out->lines, kept, MV_FALLING(mv_top_line, bytes));
    return true;
}

mv_code mv_top_find(mv_arena *arena, const mv_trace *trace, const mv_lives *lives,
                    const uint8_t *kinds, mv_top_query ask, mv_top *out, mv_err *err)
{
    search s = {.trace = trace, .lives = lives, .kinds = kinds, .ask = ask, .out = out};
    mv_arena scratch;
    bool is_enough;

    *out = (mv_top){.now_us = MV_NO_TIME, .since_us = MV_NO_TIME};
    mv_arena_init(&scratch, arena->budget);
    is_enough = init(arena, &scratch, &s);
    if (is_enough) {
        find_moments(&s);
        add_blocks(&s);
        is_enough = finish(&scratch, &s);
    }
    mv_arena_release(&scratch);
    return is_enough ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "lines");
}
