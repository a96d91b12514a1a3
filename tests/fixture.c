#include "tests/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { STEP_US = 10, ROUNDING = 512, SMALL_SEGMENT = 2 << 20, MOST_FRAMES = 256 };

typedef struct {
    uint32_t device;
    mv_event_row row;
} made_event;

struct mvt_trace {
    mv_budget budget;
    mv_arena arena;
    mv_build build;
    mv_trace trace;
    made_event *events; /* in the order of the calls; mvt_done sorts them by device */
    uint32_t event_count;
    uint32_t event_capacity;
    mv_segment_row *segments;
    uint32_t segment_count;
    uint32_t segment_capacity;
    int64_t now_us;
    uint32_t calls;
    bool is_done;
};

mvt_trace *mvt_new(void)
{
    mvt_trace *t = calloc(1, sizeof *t);

    cr_assert_not_null(t);
    t->budget.limit = (uint64_t)4 << 30;
    mv_arena_init(&t->arena, &t->budget);
    mv_build_init(&t->build, &t->arena, &t->trace);
    return t;
}

mv_arena *mvt_arena(mvt_trace *t)
{
    return &t->arena;
}

void mvt_drop(mvt_trace *t)
{
    mv_arena_release(&t->arena);
    free(t);
}

static void *with_room(mvt_trace *t, void *rows, uint32_t count, uint32_t *capacity, uint64_t size)
{
    if (count < *capacity)
        return rows;
    *capacity = *capacity ? *capacity * 2 : 256;
    rows = mv_arena_grow(&t->arena, rows, *capacity * size);
    cr_assert_not_null(rows);
    return rows;
}

static mv_string_id intern_text(mvt_trace *t, const char *text, uint64_t length)
{
    return mv_build_string(&t->build, text, length);
}

/* "function:file:line", split from the right since C++ names hold colons. */
static mv_frame_id frame_of(mvt_trace *t, const char *text, uint64_t length)
{
    mv_frame_row row = MV_FRAME_ROW;
    uint64_t line = length, file;

    while (line > 0 && text[line - 1] != ':')
        line--;
    if (line == 0) {
        row.function = intern_text(t, text, length);
        return mv_build_frame(&t->build, &row);
    }
    file = line - 1;
    while (file > 0 && text[file - 1] != ':')
        file--;
    cr_assert_gt(file, 0, "frame '%.*s' is not function:file:line", (int)length, text);
    row.function = intern_text(t, text, file - 1);
    row.file = intern_text(t, text + file, line - 1 - file);
    row.line = strtoll(text + line, NULL, 10);
    return mv_build_frame(&t->build, &row);
}

static mv_stack_id stack_of(mvt_trace *t, const char *text)
{
    mv_frame_id frames[MOST_FRAMES];
    uint32_t count = 0;

    if (!text)
        return MV_NO_STACK;
    while (*text) {
        uint64_t length = strcspn(text, ";");
        cr_assert_lt(count, MOST_FRAMES);
        frames[count++] = frame_of(t, text, length);
        text += length + (text[length] == ';');
    }
    return mv_build_stack(&t->build, frames, count);
}

static bool has_frames(mv_stack_id stack)
{
    return stack.row != MV_NO_ROW && stack.row != MV_EMPTY_STACK.row;
}

static uint32_t new_call(mvt_trace *t, mv_stack_id stack)
{
    return has_frames(stack) ? t->calls++ : MV_NO_CALL;
}

static const mv_event_row *last_alloc(const mvt_trace *t, uint32_t device, uint64_t addr)
{
    for (uint32_t i = t->event_count; i-- > 0;) {
        const made_event *e = &t->events[i];
        if (e->device == device && e->row.addr == addr && e->row.action == MV_ACTION_ALLOC)
            return &e->row;
    }
    return NULL;
}

static int64_t next_time(mvt_trace *t, int64_t asked)
{
    t->now_us = asked ? asked : t->now_us + STEP_US;
    return t->now_us;
}

static void append_event(mvt_trace *t, uint32_t device, const mv_event_row *row)
{
    t->events = with_room(t, t->events, t->event_count, &t->event_capacity, sizeof *t->events);
    t->events[t->event_count++] = (made_event){device, *row};
}

static mv_tag_id tag_of(mvt_trace *t, const char *metadata)
{
    mv_tag_row tag = MV_TAG_ROW;

    if (!metadata)
        return MV_PLAIN_TAG;
    tag.user_metadata = intern_text(t, metadata, strlen(metadata));
    return mv_build_tag(&t->build, &tag);
}

static bool is_about_block(mv_action action)
{
    return action == MV_ACTION_FREE_REQUESTED || action == MV_ACTION_FREE_COMPLETED ||
           action == MV_ACTION_ANNOTATE;
}

/* An alloc behind the segment event that it needed is the same call, as in real files. */
static bool continues_call(const mvt_trace *t, uint32_t device, mv_action action, mv_stack_id stack)
{
    const made_event *before = t->event_count ? &t->events[t->event_count - 1] : NULL;

    return before && before->device == device && action == MV_ACTION_ALLOC && has_frames(stack) &&
           (before->row.action == MV_ACTION_SEGMENT_ALLOC ||
            before->row.action == MV_ACTION_SEGMENT_MAP) &&
           before->row.stack.row == stack.row;
}

void mvt_event(mvt_trace *t, mv_action action, mvt_event_args args)
{
    mv_event_row row = MV_EVENT_ROW;
    const mv_event_row *alloc = NULL;

    if (is_about_block(action))
        alloc = last_alloc(t, args.device, args.addr);
    row.action = (uint8_t)action;
    row.time_us = next_time(t, args.time_us);
    row.addr = args.addr;
    row.size = args.bytes == 0 && alloc ? alloc->size : args.bytes;
    row.stream =
        args.stream == 0 && alloc ? alloc->stream : mv_build_stream(&t->build, args.stream);
    row.tag = tag_of(t, args.metadata);
    if (!args.stack && alloc) {
        row.stack = alloc->stack;
        row.call = alloc->call;
    } else {
        row.stack = stack_of(t, args.stack);
        row.call = continues_call(t, args.device, action, row.stack)
                       ? t->events[t->event_count - 1].row.call
                       : new_call(t, row.stack);
    }
    append_event(t, args.device, &row);
}

void mvt_free_both(mvt_trace *t, mvt_event_args args)
{
    mv_event_row completed;

    mvt_event(t, MV_ACTION_FREE_REQUESTED, args);
    completed = t->events[t->event_count - 1].row;
    completed.action = MV_ACTION_FREE_COMPLETED;
    append_event(t, args.device, &completed);
}

static mv_segment_row *new_segment(mvt_trace *t)
{
    mv_segment_row *row;

    t->segments =
        with_room(t, t->segments, t->segment_count, &t->segment_capacity, sizeof *t->segments);
    row = &t->segments[t->segment_count++];
    *row = MV_SEGMENT_ROW;
    row->allocated = row->active = row->requested = 0;
    row->blocks.first = t->trace.blocks.count;
    return row;
}

void mvt_segment_row(mvt_trace *t, mvt_segment_args args)
{
    mv_segment_row *row = new_segment(t);

    row->device = (int32_t)args.device;
    row->address = args.addr;
    row->total_size = args.bytes;
    row->stream = mv_build_stream(&t->build, args.stream);
    row->pool = mv_build_pool(&t->build, args.pool_a, args.pool_b);
    row->kind = args.small ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
    row->is_expandable = args.expandable;
    row->stack = args.stack ? stack_of(t, args.stack) : MV_EMPTY_STACK;
    row->call = new_call(t, row->stack);
}

/* Appends a block to the newest segment, behind its other blocks. */
static void append_block(mvt_trace *t, mv_block_row *block)
{
    mv_segment_row *segment = &t->segments[t->segment_count - 1];
    uint64_t at = segment->address;

    for (uint32_t i = 0; i < segment->blocks.count; i++)
        at += t->trace.blocks.size[segment->blocks.first + i];
    block->address = at;
    mv_build_block(&t->build, block);
    segment->blocks.count++;
    if (block->state == MV_BLOCK_INACTIVE)
        return;
    segment->active += block->size;
    segment->requested += block->requested;
    if (block->state == MV_BLOCK_ALLOCATED)
        segment->allocated += block->size;
}

void mvt_block_row(mvt_trace *t, mvt_block_args args)
{
    mv_block_row row = MV_BLOCK_ROW;

    cr_assert_gt(t->segment_count, 0, "a block needs a segment before it");
    row.size = args.bytes;
    row.requested = args.requested ? args.requested : args.bytes;
    row.state = args.state;
    row.stack = args.stack ? stack_of(t, args.stack) : MV_EMPTY_STACK;
    row.call = new_call(t, row.stack);
    append_block(t, &row);
}

static int by_address(const void *a, const void *b)
{
    const made_event *x = *(const made_event *const *)a, *y = *(const made_event *const *)b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->row.addr != y->row.addr)
        return x->row.addr < y->row.addr ? -1 : 1;
    return x < y ? -1 : x > y;
}

typedef struct {
    const made_event **row; /* [count] creating events by device and address */
    bool *is_pending;       /* [count] freed but not completed */
    uint32_t count;
} survivors;

/* What of `made` events no `ended` event ended. */
static survivors survivors_of(mvt_trace *t, const mv_action made[2], mv_action pending,
                              const mv_action ended[2])
{
    survivors s = {.row = mv_push_array(&t->arena, const made_event *, t->event_count),
                   .is_pending = mv_push_array(&t->arena, bool, t->event_count)};
    const made_event **order = mv_push_array(&t->arena, const made_event *, t->event_count);
    const made_event *last = NULL;
    bool is_pending = false;

    cr_assert(s.row && s.is_pending && order);
    for (uint32_t i = 0; i < t->event_count; i++)
        order[i] = &t->events[i];
    qsort(order, t->event_count, sizeof *order, by_address);
    for (uint32_t i = 0; i < t->event_count; i++) {
        const made_event *e = order[i];
        mv_action action = (mv_action)e->row.action;
        if (action == made[0] || action == made[1]) {
            last = e;
            is_pending = false;
        } else if (action == ended[0] || action == ended[1]) {
            last = NULL;
        } else if (action == pending) {
            is_pending = true;
        }
        if (last && (i + 1 == t->event_count || order[i + 1]->device != last->device ||
                     order[i + 1]->row.addr != last->row.addr)) {
            s.row[s.count] = last;
            s.is_pending[s.count++] = is_pending;
            last = NULL;
        }
    }
    return s;
}

static void append_gap(mvt_trace *t, uint64_t bytes)
{
    mv_block_row row = MV_BLOCK_ROW;

    if (bytes == 0)
        return;
    row.size = bytes;
    row.requested = 0;
    row.state = MV_BLOCK_INACTIVE;
    row.stack = MV_EMPTY_STACK;
    append_block(t, &row);
}

static void append_survivor(mvt_trace *t, const mv_event_row *alloc, bool is_pending)
{
    mv_block_row row = MV_BLOCK_ROW;

    row.size = (alloc->size + ROUNDING - 1) / ROUNDING * ROUNDING;
    row.size = row.size ? row.size : ROUNDING;
    row.requested = alloc->size;
    row.state = is_pending ? MV_BLOCK_PENDING_FREE : MV_BLOCK_ALLOCATED;
    row.stack = alloc->stack.row == MV_NO_ROW ? MV_EMPTY_STACK : alloc->stack;
    row.call = alloc->call;
    append_block(t, &row);
}

static void fill_segment(mvt_trace *t, const made_event *made, const survivors *blocks,
                         uint32_t *next)
{
    mv_segment_row *row = new_segment(t);
    uint64_t at = made->row.addr, end = made->row.addr + made->row.size;

    row->device = (int32_t)made->device;
    row->address = made->row.addr;
    row->total_size = made->row.size;
    row->stream = made->row.stream;
    row->pool = MV_DEFAULT_POOL;
    row->kind = made->row.size <= SMALL_SEGMENT ? MV_SEGMENT_SMALL : MV_SEGMENT_LARGE;
    row->is_expandable = made->row.action == MV_ACTION_SEGMENT_MAP;
    row->stack = made->row.stack.row == MV_NO_ROW ? MV_EMPTY_STACK : made->row.stack;
    row->call = made->row.call;
    while (*next < blocks->count && blocks->row[*next]->device == made->device &&
           blocks->row[*next]->row.addr < end) {
        const mv_event_row *alloc = &blocks->row[*next]->row;
        cr_assert_geq(alloc->addr, at, "block at %#lx stands in no segment, or in another block",
                      (unsigned long)alloc->addr);
        append_gap(t, alloc->addr - at);
        append_survivor(t, alloc, blocks->is_pending[*next]);
        at = alloc->addr + t->trace.blocks.size[t->trace.blocks.count - 1];
        (*next)++;
    }
    cr_assert_leq(at, end, "blocks reach over the segment's end");
    append_gap(t, end - at);
}

void mvt_final_heap(mvt_trace *t)
{
    static const mv_action born[] = {MV_ACTION_SEGMENT_ALLOC, MV_ACTION_SEGMENT_MAP};
    static const mv_action dead[] = {MV_ACTION_SEGMENT_FREE, MV_ACTION_SEGMENT_UNMAP};
    static const mv_action alloc[] = {MV_ACTION_ALLOC, MV_ACTION_ALLOC};
    static const mv_action done[] = {MV_ACTION_FREE_COMPLETED, MV_ACTION_FREE_COMPLETED};
    survivors segments = survivors_of(t, born, MV_ACTION_COUNT, dead);
    survivors blocks = survivors_of(t, alloc, MV_ACTION_FREE_REQUESTED, done);
    uint32_t next = 0;

    for (uint32_t i = 0; i < segments.count; i++)
        fill_segment(t, segments.row[i], &blocks, &next);
    cr_assert_eq(next, blocks.count, "allocs outside every segment");
}

void mvt_annotate(mvt_trace *t, const char *name, bool start, int64_t time_us)
{
    mv_annotation_row row = {.name = intern_text(t, name, strlen(name)),
                             .time_us = next_time(t, time_us),
                             .stage = start ? MV_STAGE_START : MV_STAGE_END};

    mv_build_annotation(&t->build, &row);
}

void mvt_mark(mvt_trace *t, const char *name, int64_t time_us)
{
    mv_annotation_row row = {.name = intern_text(t, name, strlen(name)),
                             .time_us = next_time(t, time_us),
                             .stage = MV_STAGE_MARK};

    mv_build_annotation(&t->build, &row);
}

static mv_setting_row setting_of(mvt_trace *t, const char *key, mv_setting_kind kind)
{
    return (mv_setting_row){.parent = MV_NO_STRING,
                            .key = intern_text(t, key, strlen(key)),
                            .kind = (uint8_t)kind,
                            .text = MV_NO_STRING};
}

void mvt_setting_int(mvt_trace *t, const char *key, int64_t value)
{
    mv_setting_row row = setting_of(t, key, MV_SETTING_INT);

    row.integer = value;
    mv_build_setting(&t->build, &row);
}

void mvt_setting_text(mvt_trace *t, const char *key, const char *value)
{
    mv_setting_row row = setting_of(t, key, MV_SETTING_TEXT);

    row.text = intern_text(t, value, strlen(value));
    mv_build_setting(&t->build, &row);
}

/* Events of each device behind one another, which is how the builder cuts them. */
static uint32_t stage_events(mvt_trace *t, mv_range *ranges, uint32_t devices)
{
    uint32_t staged = 0;

    for (uint32_t d = 0; d < devices; d++) {
        ranges[d].first = staged;
        for (uint32_t i = 0; i < t->event_count; i++) {
            if (t->events[i].device != d)
                continue;
            mv_build_event(&t->build, &t->events[i].row);
            staged++;
        }
        ranges[d].count = staged - ranges[d].first;
    }
    return staged;
}

const mv_trace *mvt_done(mvt_trace *t)
{
    mv_build_ranges ranges = {0};
    uint32_t devices = 0;
    mv_range *cut;
    mv_err err;

    if (t->is_done)
        return &t->trace;
    for (uint32_t i = 0; i < t->event_count; i++)
        if (t->events[i].device >= devices)
            devices = t->events[i].device + 1;
    cut = mv_push_array(&t->arena, mv_range, devices);
    cr_assert_not_null(cut);
    stage_events(t, cut, devices);
    for (uint32_t i = 0; i < t->segment_count; i++)
        mv_build_segment(&t->build, &t->segments[i]);
    ranges.devices = cut;
    ranges.device_count = devices;
    ranges.segments.count = t->segment_count;
    t->trace.calls = t->calls;
    cr_assert_eq(mv_build_finish(&t->build, &ranges, &err), MV_OK, "%s", err.detail);
    t->is_done = true;
    return &t->trace;
}
