#include "analyze/levels/levels.h"

#include "analyze/code/libraries.h"
#include "analyze/ledger/holdings.h"
#include "analyze/levels/call_stacks.h"
#include "analyze/levels/heap_blocks.h"
#include "analyze/levels/heap_stacks.h"
#include "base/grow.h"
#include "base/sort.h"
#include "parse/model/tables.h"

/* ---- the trace of one device ------------------------------------------------------------- */

/* A segment at the end of the trace, which is from the file or from a lot. */
typedef struct {
    uint32_t device;
    uint32_t from; /* row of the segment in the file; MV_NO_ROW: the segment is from a lot, which
                    * determines the members after `address` */
    uint64_t address, bytes;
    mv_stack_id stack;
    uint32_t call; /* numbered as in events */
} final_row;

/* When and where memory was gained or lost. */
typedef struct {
    int64_t time_us;
    mv_stack_id stack;
    uint32_t call; /* mv_events.call */
} event_origin;

typedef struct {
    mv_arena *arena, *scratch;
    const mv_trace *trace; /* the original trace, with stacks that begin with the calls */
    mv_stack_id *stack_of_call, *stack_of_heap_call;
    mv_level heap;        /* heap to take; MV_LEVEL_ALL: all heaps; MV_LEVEL_DEFAULT: no heap */
    mv_stream_id stream;  /* the default stream */
    unsigned kinds;       /* set of requested lots, with a bit for each mv_lot_kind */
    bool takes_blocks;    /* includes PyTorch's blocks */
    bool skips_framework; /* leaves out memory of PyTorch's calls, which PyTorch's segments
                           * already contain */
    uint32_t device;
    mv_events from, *to; /* from: PyTorch's events for MV_LEVEL_ALL, otherwise empty */
    uint64_t count;      /* number of events; in the counting pass, the columns do not exist yet */
    uint64_t *address;   /* address of each lot */
    uint32_t capacity;   /* capacity of `address` */
    uint64_t next_address;
    bool is_out_of_memory;
} maker;

static bool is_wanted(const maker *m, const mv_lot *lot)
{
    const mv_api_calls *c = &m->trace->api_calls;

    return m->kinds >> lot->kind & 1 &&
           !(m->skips_framework &&
             mv_library_is_framework(mv_string_text(m->trace, c->library[lot->call])));
}

static uint32_t call_id(mv_stack_id stack, uint64_t call)
{
    return stack.row == MV_NO_ROW || call >= MV_NO_CALL ? MV_NO_CALL : (uint32_t)call;
}

static event_origin at_call(const maker *m, uint32_t call, mv_stack_id stack)
{
    return (event_origin){m->trace->api_calls.time_us[call], stack,
                          call_id(stack, (uint64_t)m->trace->calls + call)};
}

/* Returns the origin of a heap call. Heap calls are numbered after all CUDA calls. */
static event_origin at_heap_call(const maker *m, uint32_t call, mv_stack_id stack)
{
    uint64_t before = (uint64_t)m->trace->calls + m->trace->api_calls.count;

    return (event_origin){m->trace->heap_calls.time_us[call], stack, call_id(stack, before + call)};
}

static void add_event(maker *m, mv_action action, uint64_t address, uint64_t bytes,
                      const event_origin *on)
{
    uint64_t at = m->count++;

    if (!m->to->action)
        return;
    m->to->action[at] = (uint8_t)action;
    m->to->addr[at] = address;
    m->to->size[at] = bytes;
    m->to->stream[at] = m->stream;
    m->to->time_us[at] = on->time_us;
    m->to->stack[at] = on->stack;
    m->to->call[at] = on->call;
    m->to->tag[at] = MV_PLAIN_TAG;
}

static void add_gain(maker *m, uint64_t address, uint64_t bytes, event_origin on)
{
    add_event(m, MV_ACTION_SEGMENT_ALLOC, address, bytes, &on);
    add_event(m, MV_ACTION_ALLOC, address, bytes, &on);
}

static void add_loss(maker *m, uint64_t address, uint64_t bytes, event_origin on)
{
    add_event(m, MV_ACTION_FREE_REQUESTED, address, bytes, &on);
    add_event(m, MV_ACTION_FREE_COMPLETED, address, bytes, &on);
    add_event(m, MV_ACTION_SEGMENT_FREE, address, bytes, &on);
}

static uint64_t new_address(maker *m, uint64_t bytes)
{
    uint64_t address = m->next_address, unit = 2u << 20;

    m->next_address += (bytes + unit - 1) / unit * unit;
    return address;
}

static uint64_t address_of(maker *m, const mv_lot *lot)
{
    uint8_t action = m->trace->api_calls.action[lot->call];

    return action == MV_API_CREATE || action == MV_API_ALLOC_ARRAY ? new_address(m, lot->bytes)
                                                                   : lot->key;
}

/* Adds the events of a lot. A loss has the stack of the freeing call, if this stack was
 * recorded. */
static void watch(void *user, const mv_lot *lot, uint32_t at, uint32_t call, bool is_gain)
{
    maker *m = user;
    mv_stack_id stack = m->stack_of_call[lot->call];

    if (!is_wanted(m, lot))
        return;
    if (is_gain && !mv_room_for(m->scratch, m->address, (uint64_t)at + 1, m->capacity)) {
        m->is_out_of_memory = true;
        return;
    }
    if (is_gain) {
        m->address[at] = address_of(m, lot);
        add_gain(m, m->address[at], lot->bytes, at_call(m, call, stack));
        return;
    }
    if (m->trace->api_calls.stack[call].row != MV_NO_ROW)
        stack = m->trace->api_calls.stack[call];
    add_loss(m, m->address[at], lot->bytes, at_call(m, call, stack));
}

static bool is_wanted_block(const maker *m, const mv_heap_block *block)
{
    return block->bytes > 0 && block->device == (int32_t)m->device &&
           (m->heap == MV_LEVEL_ALL || mv_level_of_heap(block->name) == m->heap);
}

/* Adds the events of a heap block. In MV_LEVEL_ALL, a block inside memory from CUDA is given a
 * separate address. */
static void watch_block(void *user, mv_heap_block *block, uint32_t call, bool is_gain)
{
    maker *m = user;
    event_origin on = at_heap_call(m, call, m->stack_of_heap_call[block->call]);

    if (!is_wanted_block(m, block))
        return;
    if (is_gain)
        block->place = m->heap == MV_LEVEL_ALL ? new_address(m, block->bytes) : block->address;
    if (is_gain)
        add_gain(m, block->place, block->bytes, on);
    else
        add_loss(m, block->place, block->bytes, on);
}

/* Copies PyTorch's events that precede a call. */
static void copy_events(maker *m, uint32_t *next, uint32_t until)
{
    for (; *next < until && *next < m->from.count; ++*next, m->count++) {
        if (!m->to->action)
            continue;
#define COPY(T, number, name, ...) m->to->name[m->count] = m->from.name[*next];
        MV_EVENT_COLUMNS(COPY, )
#undef COPY
    }
}

/* Adds the heap calls up to a time, each after PyTorch's events up to the time of the call. */
static bool go_through_heaps(maker *m, mv_heaps *heaps, uint32_t *next_event, uint32_t *next,
                             int64_t until)
{
    const mv_heap_calls *c = &m->trace->heap_calls;

    for (; m->heap != MV_LEVEL_DEFAULT && *next < c->count && c->time_us[*next] <= until; ++*next) {
        while (*next_event < m->from.count && m->from.time_us[*next_event] <= c->time_us[*next])
            copy_events(m, next_event, *next_event + 1);
        if (!mv_heaps_apply(heaps, *next))
            return false;
    }
    return true;
}

static bool go_through(maker *m, mv_holdings *h, mv_heaps *heaps)
{
    const mv_api_calls *c = &m->trace->api_calls;
    uint32_t next = 0, next_heap = 0;

    m->count = 0;
    m->next_address = MV_LEVEL_ADDRESS;
    for (uint32_t i = 0; i < c->count && m->kinds; i++) {
        if (!go_through_heaps(m, heaps, &next, &next_heap, c->time_us[i]))
            return false;
        if (c->device[i] == (int32_t)m->device)
            copy_events(m, &next, c->event[i]);
        if (!mv_holdings_apply(h, i) || m->is_out_of_memory)
            return false;
    }
    if (!go_through_heaps(m, heaps, &next, &next_heap, INT64_MAX))
        return false;
    copy_events(m, &next, UINT32_MAX);
    return true;
}

/* ---- the heap at the end ----------------------------------------------------------------- */

typedef struct {
    final_row *rows;
    uint32_t count, capacity;
    uint64_t blocks;
} final_heap;

static bool add_final_lot(maker *m, uint64_t address, uint64_t bytes, event_origin on,
                          final_heap *f)
{
    f->blocks++;
    return mv_append(m->scratch, f->rows, f->count, f->capacity,
                     (final_row){m->device, MV_NO_ROW, address, bytes, on.stack, on.call});
}

static bool finals_of_kind(maker *m, const mv_holdings *h, mv_lot_kind kind, final_heap *f)
{
    for (uint32_t at = h->first[kind]; at != MV_NO_ROW; at = h->lots[at].next) {
        const mv_lot *lot = &h->lots[at];
        if (!is_wanted(m, lot))
            continue;
        if (!add_final_lot(m, m->address[at], lot->bytes,
                           at_call(m, lot->call, m->stack_of_call[lot->call]), f))
            return false;
    }
    return true;
}

static bool finals_of_heaps(maker *m, const mv_heaps *heaps, final_heap *f)
{
    for (uint32_t i = 0; i < heaps->count; i++)
        for (uint32_t at = heaps->sums[i].first; at != MV_NO_ROW; at = heaps->blocks[at].next) {
            const mv_heap_block *block = &heaps->blocks[at];
            event_origin on = at_heap_call(m, block->call, m->stack_of_heap_call[block->call]);
            if (is_wanted_block(m, block) && !add_final_lot(m, block->place, block->bytes, on, f))
                return false;
        }
    return true;
}

static bool finals_of_device(maker *m, const mv_holdings *h, const mv_heaps *heaps,
                             bool with_segments, final_heap *f)
{
    const mv_segments *s = &m->trace->segments;

    for (int kind = 0; kind < MV_LOT_KINDS; kind++)
        if (!finals_of_kind(m, h, (mv_lot_kind)kind, f))
            return false;
    if (!finals_of_heaps(m, heaps, f))
        return false;
    for (uint32_t i = 0; with_segments && i < s->count; i++) {
        if (s->device[i] != (int32_t)m->device)
            continue;
        f->blocks += s->blocks[i];
        if (!mv_append(m->scratch, f->rows, f->count, f->capacity,
                       (final_row){.device = m->device, .from = i, .address = s->address[i]}))
            return false;
    }
    return true;
}

static void copy_segment(const mv_trace *from, uint32_t row, mv_segments *segments,
                         mv_blocks *blocks)
{
    uint32_t at = segments->count++, first = from->segments.first_block[row];

#define COPY_SEGMENT(T, number, name, ...) segments->name[at] = from->segments.name[row];
    MV_SEGMENT_COLUMNS(COPY_SEGMENT, )
#undef COPY_SEGMENT
    segments->first_block[at] = blocks->count;
    for (uint32_t i = first; i < first + from->segments.blocks[row]; i++, blocks->count++) {
#define COPY_BLOCK(T, number, name, ...) blocks->name[blocks->count] = from->blocks.name[i];
        MV_BLOCK_COLUMNS(COPY_BLOCK, )
#undef COPY_BLOCK
    }
}

static void add_segment(const maker *m, const final_row *row, mv_segments *segments,
                        mv_blocks *blocks)
{
    uint32_t at = segments->count++, block = blocks->count++;

#define ABSENT_SEGMENT(T, number, name, kind, absent, ...) \
    segments->name[at] = (mv_value_of_##kind){absent};
    MV_SEGMENT_COLUMNS(ABSENT_SEGMENT, )
#undef ABSENT_SEGMENT
#define ABSENT_BLOCK(T, number, name, kind, absent, ...) \
    blocks->name[block] = (mv_value_of_##kind){absent};
    MV_BLOCK_COLUMNS(ABSENT_BLOCK, )
#undef ABSENT_BLOCK
    segments->device[at] = (int32_t)row->device;
    segments->address[at] = blocks->address[block] = row->address;
    segments->total_size[at] = segments->allocated[at] = segments->active[at] =
        segments->requested[at] = row->bytes;
    blocks->size[block] = blocks->requested[block] = row->bytes;
    blocks->state[block] = MV_BLOCK_ALLOCATED;
    segments->kind[at] = MV_SEGMENT_LARGE;
    segments->stream[at] = m->stream;
    segments->pool[at] = MV_DEFAULT_POOL;
    segments->stack[at] = blocks->stack[block] = row->stack;
    segments->call[at] = blocks->call[block] = row->call;
    segments->first_block[at] = block;
    segments->blocks[at] = 1;
}

static bool make_heap(const maker *m, final_heap *f, mv_trace *out)
{
    if (!mv_table_copy(m->arena, mv_table_find(MV_WIRE_SEGMENTS), &(mv_segments){0},
                       (uint64_t)f->count + 1, &out->segments) ||
        !mv_table_copy(m->arena, mv_table_find(MV_WIRE_BLOCKS), &(mv_blocks){0}, f->blocks + 1,
                       &out->blocks))
        return false;
    mv_sort_rows(m->scratch, f->rows, f->count, MV_RISING(final_row, device),
                 MV_RISING(final_row, address));
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->rows[i].from == MV_NO_ROW)
            add_segment(m, &f->rows[i], &out->segments, &out->blocks);
        else
            copy_segment(m->trace, f->rows[i].from, &out->segments, &out->blocks);
    }
    return true;
}

/* ---- whole levels ------------------------------------------------------------------------ */

/* Returns the largest device number of a call or an event, plus one. */
static uint32_t devices_of(const mv_trace *trace)
{
    const mv_api_calls *c = &trace->api_calls;
    const mv_heap_calls *heap = &trace->heap_calls;
    uint32_t count = mv_trace_devices(trace);

    for (uint32_t i = 0; i < c->count; i++)
        if (c->device[i] >= (int32_t)count && mv_is_device_alloc(c->action[i]))
            count = (uint32_t)c->device[i] + 1;
    for (uint32_t i = 0; i < heap->count; i++)
        if (heap->device[i] >= (int32_t)count)
            count = (uint32_t)heap->device[i] + 1;
    return count ? count : 1;
}

static bool find_default_stream(mv_arena *arena, mv_trace *trace, mv_stream_id *out)
{
    mv_streams *s = &trace->streams;

    for (uint32_t i = 0; i < s->count; i++)
        if (s->value[i] == 0) {
            *out = (mv_stream_id){i};
            return true;
        }
    if (!mv_table_copy(arena, mv_table_find(MV_WIRE_STREAMS), s, 1, s))
        return false;
    *out = (mv_stream_id){s->count++};
    return true;
}

static mv_code make_device(maker *m, uint32_t devices, mv_events *out, final_heap *f, mv_err *err)
{
    bool has_blocks = m->takes_blocks && mv_trace_events(m->trace, m->device).count > 0;

    m->from = has_blocks ? mv_trace_events(m->trace, m->device) : (mv_events){0};
    m->skips_framework = has_blocks;
    m->to = out;
    /* the first pass counts the events, and the second pass writes them */
    for (int pass = 0; pass < 2; pass++) {
        mv_holdings h;
        mv_heaps heaps;
        bool is_enough;
        mv_heaps_init(&heaps, m->scratch, m->trace);
        heaps.watch = watch_block;
        heaps.user = m;
        mv_holdings_init(&h, m->scratch, m->trace, (int32_t)m->device, devices == 1);
        h.watch = watch;
        h.user = m;
        is_enough = go_through(m, &h, &heaps);
        if (is_enough && pass == 0) {
            if (m->count >= MV_NO_ROW)
                return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "%s", "events of calls");
            is_enough = mv_table_copy(m->arena, mv_table_find(MV_WIRE_EVENTS), &(mv_events){0},
                                      m->count + 1, out);
        } else if (is_enough) {
            out->count = (uint32_t)m->count;
            is_enough = finals_of_device(m, &h, &heaps, has_blocks, f);
        }
        mv_holdings_drop(&h);
        mv_heaps_drop(&heaps);
        if (!is_enough)
            return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "events of calls");
    }
    return MV_OK;
}

/* Takes PyTorch's own records of pinned memory, which are more detailed than the calls. */
static bool take_host_records(mv_arena *arena, mv_trace *trace)
{
    mv_segments *s = &trace->segments;

    trace->devices = mv_push_array(arena, mv_device, 1);
    if (!trace->devices)
        return false;
    trace->device_count = 1;
    trace->devices[0].events = trace->host_events;
    *s = trace->host_segments;
    trace->origin.first_call_frame = trace->frames.count;
    s->device = mv_push_array(arena, mv_value_of_DEVICE, (uint64_t)s->count + 1);
    return s->device != NULL;
}

enum { OF_DEVICE = 1 << MV_LOT_DEVICE, OF_HOST = 1 << MV_LOT_HOST };

/* Adds the stacks of this level's calls. */
static mv_code add_stacks(mv_arena *arena, mv_trace *made, maker *m, mv_err *err)
{
    mv_code code = MV_OK;

    m->trace = made;
    made->origin.first_call_frame = made->frames.count;
    if (m->heap != MV_LEVEL_DEFAULT)
        code = mv_heap_stacks_add(arena, made, &m->stack_of_heap_call, err);
    if (code == MV_OK && m->kinds)
        code = mv_call_stacks_add(arena, made, &m->stack_of_call, err);
    return code;
}

static mv_code take_calls(mv_arena *arena, mv_trace *made, maker m, mv_err *err)
{
    uint32_t devices = m.kinds == OF_HOST ? 1 : devices_of(made);
    mv_arena scratch;
    final_heap finals = {0};
    mv_device *list = mv_push_array(arena, mv_device, devices);
    mv_code code;

    if (!list || !find_default_stream(arena, made, &m.stream))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "events of calls");
    code = add_stacks(arena, made, &m, err);
    if (code != MV_OK)
        return code;
    m.arena = arena;
    m.scratch = &scratch;
    mv_arena_init(&scratch, arena->budget);
    for (m.device = 0; m.device < devices && code == MV_OK; m.device++)
        code = make_device(&m, devices, &list[m.device].events, &finals, err);
    if (code == MV_OK) {
        mv_trace heap = *made;
        if (make_heap(&m, &finals, &heap))
            *made = heap;
        else
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "events of calls");
    }
    mv_arena_release(&scratch);
    made->devices = list;
    made->device_count = devices;
    return code;
}

/* Finds the program's steps on all levels together. */
mv_code mv_level_step_marks(mv_arena *arena, const mv_trace *trace, mv_step_marks *out, mv_err *err)
{
    mv_trace whole = *trace;
    mv_arena scratch;
    mv_code code = MV_OK;

    mv_arena_init(&scratch, arena->budget);
    if (trace->api_calls.count || trace->heap_calls.count) {
        code = take_calls(
            &scratch, &whole,
            (maker){.kinds = OF_DEVICE | OF_HOST, .takes_blocks = true, .heap = MV_LEVEL_ALL}, err);
        whole.origin.level = mv_level_name(MV_LEVEL_ALL);
    }
    if (code == MV_OK)
        code = mv_step_marks_find(arena, trace, &whole, out, err);
    mv_arena_release(&scratch);
    return code;
}

static maker wanted_of(mv_level level)
{
    return (maker){.kinds = level >= MV_LEVEL_HEAP   ? 0
                            : level == MV_LEVEL_HOST ? OF_HOST
                                                     : OF_DEVICE,
                   .takes_blocks = level == MV_LEVEL_ALL,
                   .heap = level >= MV_LEVEL_HEAP ? level : MV_LEVEL_DEFAULT};
}

static mv_code mark_steps(mv_arena *arena, const mv_trace *trace, const mv_step_marks *marks,
                          mv_trace *made, mv_err *err)
{
    mv_step_marks own;

    if (!marks && mv_level_step_marks(arena, trace, &own, err) != MV_OK)
        return err->code;
    return mv_step_marks_apply(arena, marks ? marks : &own, made)
               ? MV_OK
               : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "steps");
}

mv_code mv_level_take(mv_arena *arena, mv_trace *trace, mv_level level, mv_err *err)
{
    return mv_level_take_with(arena, trace, level, NULL, err);
}

mv_code mv_level_take_with(mv_arena *arena, mv_trace *trace, mv_level level,
                           const mv_step_marks *marks, mv_err *err)
{
    mv_trace made = *trace, *as_read;
    mv_code code = MV_OK;
    uint64_t calls;

    if (level == MV_LEVEL_DEFAULT)
        level = mv_level_default(trace);
    if (level == MV_LEVEL_PYTORCH)
        return MV_OK;
    as_read = mv_push_struct(arena, mv_trace);
    if (!as_read)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "levels");
    *as_read = *trace;
    if (level == MV_LEVEL_HOST && (trace->host_segments.count || trace->host_events.count)) {
        if (!take_host_records(arena, &made))
            code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "host memory");
    } else {
        code = take_calls(arena, &made, wanted_of(level), err);
        if (code == MV_OK && level != MV_LEVEL_ALL)
            made.history = (mv_history){0};
    }
    if (code == MV_OK)
        code = mark_steps(arena, trace, marks, &made, err);
    if (code != MV_OK)
        return code;
    calls = (uint64_t)made.calls + made.api_calls.count + made.heap_calls.count;
    made.calls = calls < MV_NO_CALL ? (uint32_t)calls : MV_NO_CALL;
    made.api_calls = (mv_api_calls){0};
    made.heap_calls = (mv_heap_calls){0};
    made.host_segments = (mv_segments){0};
    made.host_events = (mv_events){0};
    made.digests = NULL;
    made.origin.level = mv_level_name_of(trace, level);
    made.origin.is_heap = level >= MV_LEVEL_HEAP;
    made.origin.as_read = as_read;
    *trace = made;
    return MV_OK;
}
