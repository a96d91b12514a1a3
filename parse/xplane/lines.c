#include <stdio.h>

#include "base/grow.h"
#include "base/sort.h"
#include "parse/xplane/xplane.h"

enum { LINE_TIME = 3, LINE_EVENT };
enum { EVENT_NAME = 1, EVENT_OFFSET, EVENT_DURATION, EVENT_STAT };

enum {
    MOST_FRAMES = 128, /* largest number of frames in a stack */
    MOST_ALLOCATORS = 256,
    MOST_NAME = 256 /* largest number of bytes in an allocator's name, which each of its events
                     * contains */
};

/* A line's time is relative to the profile's start if it is below this limit. Otherwise it is
 * relative to the epoch. */
#define EPOCH_NS ((int64_t)100000000000000000) /* March 1973 */

/* An event in a line. */
typedef struct {
    uint64_t start_ps, end_ps; /* beginning and end of the event, relative to the line's time */
    uint32_t name;             /* name of the event, as row of the plane's events */
    mv_span bytes;
} line_event;

typedef struct {
    mv_xlines *all;
    mv_xplane *plane;
    mv_arena *scratch;
    line_event *events;
    uint64_t count, capacity;
    uint64_t *open; /* stack of events, of which some below the top may have ended */
    uint64_t open_count, open_capacity;
    int64_t time_ns;
    bool has_memory;
} xline;

static int64_t time_of(const xline *l, uint64_t ps)
{
    uint64_t ns = (uint64_t)l->time_ns + ps / 1000;

    return ns > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)ns;
}

/* ---- events ------------------------------------------------------------------------------ */

static mv_code read_stats(const xline *l, mv_span event, mv_xstats *out)
{
    mv_cursor c = mv_cursor_over(event);
    mv_code code = MV_OK;
    mv_pb_field f;

    *out = (mv_xstats){0};
    while (code == MV_OK && mv_pb_next(&c, &f))
        if (f.number == EVENT_STAT && f.type == MV_PB_BYTES)
            code = mv_xstat_read(l->plane, f.bytes, out);
    return code;
}

/* Adds the beginning and the end of a step; the event's name contains the step's number. */
static mv_code add_step(xline *l, const line_event *e, uint64_t number)
{
    mv_span name = l->plane->events[e->name].name;
    mv_xlines *all = l->all;
    mv_xstep step = {.time_us = time_of(l, e->start_ps) / 1000, .stage = MV_STAGE_START};
    char text[200];
    int length =
        snprintf(text, sizeof text, "%.*s %llu", (int)(name.length < 160 ? name.length : 160),
                 (const char *)name.data, (unsigned long long)number);

    step.name = mv_build_string(all->build, text, (uint64_t)length);
    if (!mv_append(all->arena, all->steps, all->step_count, all->step_capacity, step))
        return MV_NOMEM;
    step.time_us = time_of(l, e->end_ps) / 1000;
    step.stage = MV_STAGE_END;
    return mv_append(all->arena, all->steps, all->step_count, all->step_capacity, step) ? MV_OK
                                                                                        : MV_NOMEM;
}

static mv_code add_event(xline *l, mv_span event)
{
    mv_cursor c = mv_cursor_over(event);
    line_event e = {.name = MV_NOT_IN_MAP, .bytes = event};
    uint64_t duration = 0;
    mv_xstats stats;
    mv_code code;
    mv_pb_field f;

    while (mv_pb_next(&c, &f)) {
        if (f.type != MV_PB_VARINT)
            continue;
        if (f.number == EVENT_NAME)
            e.name = mv_map_find(&l->plane->event_of, f.value);
        else if (f.number == EVENT_OFFSET)
            e.start_ps = f.value;
        else if (f.number == EVENT_DURATION)
            duration = f.value;
    }
    if (c.overrun)
        return MV_CORRUPT;
    if (e.name == MV_NOT_IN_MAP)
        return MV_OK;
    e.end_ps = duration > UINT64_MAX - e.start_ps ? UINT64_MAX : e.start_ps + duration;
    if (l->plane->events[e.name].kind == MV_XEVENT_RANGE) {
        code = read_stats(l, event, &stats);
        if (code == MV_OK && stats.has[MV_XSTAT_STEP])
            code = add_step(l, &e, stats.number[MV_XSTAT_STEP]);
        if (code != MV_OK)
            return code;
    } else {
        l->has_memory = true;
    }
    return mv_append(l->scratch, l->events, l->count, l->capacity, e) ? MV_OK : MV_NOMEM;
}

/* ---- frames ------------------------------------------------------------------------------ */

/* Makes a frame from an event's name. "$core.py:735 bind" is a Python function with its file and
 * first line, and "PjitFunction(update)" is a function compiled by JAX. All other names are XLA
 * ranges. */
static mv_frame_row frame_row(mv_build *b, mv_span name)
{
    static const char jit[] = "PjitFunction(";
    const uint64_t jit_length = sizeof jit - 1;
    mv_frame_row row = MV_FRAME_ROW;
    const char *text = (const char *)name.data;
    uint64_t colon = 1, at, line = 0;

    if (name.length > jit_length + 1 && memcmp(text, jit, jit_length) == 0) {
        row.file = mv_build_string(b, MV_JIT_FILE, strlen(MV_JIT_FILE));
        row.function = mv_build_string(b, text + jit_length, name.length - jit_length - 1);
        return row;
    }
    if (name.length < 2 || text[0] != '$') {
        row.function = mv_build_string(b, text, name.length);
        return row;
    }
    while (colon < name.length && text[colon] != ':')
        colon++;
    for (at = colon + 1; at < name.length && text[at] >= '0' && text[at] <= '9' && line < 1u << 30;)
        line = line * 10 + (uint64_t)(text[at++] - '0');
    if (at > colon + 1 && at + 1 < name.length && text[at] == ' ') {
        row.file = mv_build_string(b, text + 1, colon - 1);
        row.line = (int64_t)line;
        row.function = mv_build_string(b, text + at + 1, name.length - at - 1);
    } else {
        row.function = mv_build_string(b, text + 1, name.length - 1);
    }
    return row;
}

static mv_frame_id frame_of(xline *l, uint32_t name)
{
    mv_xevent_name *n = &l->plane->events[name];
    mv_frame_row row;

    if (!n->has_frame) {
        row = frame_row(l->all->build, n->name);
        n->frame = mv_build_frame(l->all->build, &row);
        n->has_frame = true;
    }
    return n->frame;
}

/* Type names from TensorFlow's types.proto, by number. */
static const char *type_name(uint64_t type)
{
    static const char *const names[] = {
        [1] = "float32",     [2] = "float64",  [3] = "int32",     [4] = "uint8",
        [5] = "int16",       [6] = "int8",     [7] = "string",    [8] = "complex64",
        [9] = "int64",       [10] = "bool",    [14] = "bfloat16", [17] = "uint16",
        [18] = "complex128", [19] = "float16", [20] = "resource", [21] = "variant",
        [22] = "uint32",     [23] = "uint64"};

    return type < sizeof names / sizeof *names && names[type] ? names[type] : "";
}

/* Adds a frame with TensorFlow's description of a request, such as "dense/MatMul float32[128,512]
 * output". */
static uint32_t put_operation(xline *l, const mv_xstats *s, mv_frame_id *frames)
{
    mv_span op = s->text[MV_XSTAT_OPERATION], shape = s->text[MV_XSTAT_SHAPE];
    mv_span type = s->text[MV_XSTAT_DATA_TYPE], region = s->text[MV_XSTAT_REGION];
    const char *named = type_name(s->number[MV_XSTAT_DATA_TYPE]);
    mv_frame_row row = MV_FRAME_ROW;
    char text[400];
    int length;

    if (op.length == 0 && shape.length == 0 && region.length == 0)
        return 0;
#define CUT(span, most) \
    (int)((span).length < (most) ? (span).length : (most)), (const char *)(span).data
    length = snprintf(text, sizeof text, "%.*s%s%.*s%s%.*s%s%.*s", CUT(op, 200u),
                      op.length && (shape.length || type.length || *named) ? " " : "",
                      CUT(type, 20u), type.length ? "" : named, CUT(shape, 100u),
                      region.length ? " " : "", CUT(region, 40u));
#undef CUT
    row.file = mv_build_string(l->all->build, MV_OP_FILE, strlen(MV_OP_FILE));
    row.function = mv_build_string(l->all->build, text, (uint64_t)length);
    frames[0] = mv_build_frame(l->all->build, &row);
    return 1;
}

/* Returns true if an event is the range in which XLA allocates buffers, which is the same for every
 * program. The event is left out, because the ranges around it are more specific. */
static bool says_nothing(const xline *l, const line_event *e)
{
    return mv_pb_is(l->plane->events[e->name].name, "Build buffer allocations");
}

static mv_stack_id stack_at(xline *l, const line_event *e, const mv_xstats *stats)
{
    mv_frame_id frames[MOST_FRAMES];
    uint32_t count = put_operation(l, stats, frames);

    for (uint64_t i = l->open_count; i > 0 && l->open_count - i < MOST_FRAMES; i--) {
        const line_event *around = &l->events[l->open[i - 1]];
        mv_frame_id frame;
        if (around->end_ps <= e->start_ps || count == MOST_FRAMES ||
            (i > 1 && says_nothing(l, around)))
            continue;
        frame = frame_of(l, around->name);
        /* JAX has two ranges with the same name for a call of a compiled function. */
        if (count == 0 || frames[count - 1].row != frame.row)
            frames[count++] = frame;
    }
    return mv_build_stack(l->all->build, frames, count);
}

/* ---- memory ------------------------------------------------------------------------------ */

static bool has_word(mv_span text, const char *word)
{
    for (uint64_t i = 0; i + strlen(word) <= text.length; i++)
        if (memcmp(text.data + i, word, strlen(word)) == 0)
            return true;
    return false;
}

/* Finds the device in an allocator's name: "GPU_1_bfc" is device 1, and "xla_gpu_host_bfc" is the
 * host. */
static uint32_t list_of(mv_span name)
{
    uint64_t at = 0, number = 0;

    if (has_word(name, "host") || has_word(name, "cpu") || has_word(name, "CPU"))
        return MV_BLOCK_LOG_HOST;
    while (at < name.length && (name.data[at] < '0' || name.data[at] > '9'))
        at++;
    for (; at < name.length && name.data[at] >= '0' && name.data[at] <= '9' && number < 1000; at++)
        number = number * 10 + (name.data[at] - '0');
    return number < MV_BLOCK_LOG_HOST ? (uint32_t)number : MV_BLOCK_LOG_HOST - 1;
}

/* Sets *at to the row of an allocator, or to MV_NO_ROW if there are too many allocators. Returns
 * false when out of memory. */
static bool find_allocator(mv_xlines *all, const mv_xstats *s, uint32_t *at)
{
    mv_span name = s->text[MV_XSTAT_ALLOCATOR];
    mv_xallocator row = {.plane = all->plane};

    name.length = name.length < MOST_NAME ? name.length : MOST_NAME;
    row.name = mv_build_string(all->build, (const char *)name.data, name.length);
    row.list = list_of(name);
    for (*at = 0; *at < all->allocator_count; (*at)++) {
        if (all->allocators[*at].name.row != row.name.row)
            continue;
        all->are_several |= all->allocators[*at].plane != all->plane;
        return true;
    }
    if (*at < MOST_ALLOCATORS)
        return mv_append(all->arena, all->allocators, all->allocator_count, all->allocator_capacity,
                         row);
    *at = MV_NO_ROW;
    return true;
}

static mv_code add_memory(xline *l, const line_event *e)
{
    mv_xlines *all = l->all;
    mv_xmemory m = {.is_alloc = l->plane->events[e->name].kind == MV_XEVENT_ALLOC};
    mv_xstats s;
    mv_code code = read_stats(l, e->bytes, &s);

    if (code != MV_OK)
        return code;
    m.allocator = MV_NO_ROW;
    if (s.has[MV_XSTAT_ALLOCATOR] && !find_allocator(all, &s, &m.allocator))
        return MV_NOMEM;
    if (m.allocator == MV_NO_ROW || !s.has[MV_XSTAT_BYTES] || !s.has[MV_XSTAT_ADDRESS]) {
        const char *lack = s.has[MV_XSTAT_ALLOCATOR] ? "size or address" : "an allocator";
        mv_build_note(all->build, MV_NOTE_LOOSE, "a memory event without %s", lack);
        mv_build_note(all->build, MV_NOTE_LOST_EVENTS, "a memory event without %s", lack);
        return MV_OK;
    }
    m.time_ns = time_of(l, e->start_ps);
    m.ps = (uint32_t)(e->start_ps % 1000);
    m.list = all->allocators[m.allocator].list;
    m.addr = s.number[MV_XSTAT_ADDRESS];
    m.bytes = s.number[MV_XSTAT_BYTES];
    m.requested = s.has[MV_XSTAT_REQUESTED] ? s.number[MV_XSTAT_REQUESTED] : m.bytes;
    m.requested = m.requested < m.bytes ? m.requested : m.bytes;
    m.has_total = s.has[MV_XSTAT_TOTAL];
    m.total = s.number[MV_XSTAT_TOTAL];
    m.peak = s.number[MV_XSTAT_PEAK];
    m.limit = s.has[MV_XSTAT_AVAILABLE]
                  ? s.number[MV_XSTAT_AVAILABLE] + m.total + s.number[MV_XSTAT_RESERVED]
                  : 0;
    m.stack = stack_at(l, e, &s);
    if (m.bytes == 0)
        return MV_OK;
    return mv_append(all->arena, all->memory, all->memory_count, all->memory_capacity, m)
               ? MV_OK
               : MV_NOMEM;
}

/* Visits the events in order of time. An event that contains other events comes before them. */
static mv_code sweep(xline *l)
{
    mv_code code = MV_OK;

    mv_sort_rows(l->scratch, l->events, l->count, MV_RISING(line_event, start_ps),
                 MV_FALLING(line_event, end_ps));
    for (uint64_t i = 0; i < l->count && code == MV_OK; i++) {
        const line_event *e = &l->events[i];
        while (l->open_count && l->events[l->open[l->open_count - 1]].end_ps <= e->start_ps)
            l->open_count--;
        if (l->plane->events[e->name].kind != MV_XEVENT_RANGE)
            code = add_memory(l, e);
        else if (!mv_append(l->scratch, l->open, l->open_count, l->open_capacity, i))
            code = MV_NOMEM;
    }
    return code;
}

mv_code mv_xline_read(mv_xlines *all, mv_xplane *plane, mv_span bytes)
{
    mv_cursor c = mv_cursor_over(bytes);
    mv_arena scratch;
    xline l = {.all = all, .plane = plane, .scratch = &scratch};
    mv_code code = MV_OK;
    mv_pb_field f;

    while (mv_pb_next(&c, &f))
        if (f.number == LINE_TIME && f.type == MV_PB_VARINT && f.value < INT64_MAX / 4)
            l.time_ns = (int64_t)f.value;
    if (l.time_ns < EPOCH_NS)
        l.time_ns += all->start_ns;
    mv_arena_init(&scratch, all->arena->budget);
    c = mv_cursor_over(bytes);
    while (code == MV_OK && mv_pb_next(&c, &f))
        if (f.number == LINE_EVENT && f.type == MV_PB_BYTES)
            code = add_event(&l, f.bytes);
    if (code == MV_OK && c.overrun)
        code = MV_CORRUPT;
    if (code == MV_OK && l.has_memory)
        code = sweep(&l);
    mv_arena_release(&scratch);
    return code;
}
