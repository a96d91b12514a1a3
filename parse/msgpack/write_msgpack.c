/* Writes PyTorch's dict as msgpack. Keys and their order are those of PyTorch's Python writer
 * (THCPModule_memorySnapshot, torch/csrc/cuda/Module.cpp). Keys without a value in the model are
 * omitted. Files from PyTorch's C++ writer have the same keys in a different order. */
#include <msgpack/pack.h>

#include "parse/writers.h"

/* ---- packing ----------------------------------------------------------------------------- */

enum { BUFFER = 64 << 10, PROGRESS_STEP = 1 << 16 };

/* Collects the small pieces that msgpack-c writes. The sink records failures. */
typedef struct {
    msgpack_packer packer;
    const mv_trace *trace;
    mv_sink *sink;
    char *buffer; /* [BUFFER] */
    uint32_t used;
    const mv_write_opts *opts;
    uint64_t events_done, events_all;
} packing;

static void packing_flush(packing *w)
{
    mv_sink_write(w->sink, w->buffer, w->used);
    w->used = 0;
}

static int append(void *data, const char *bytes, size_t length)
{
    packing *w = data;

    if (length > BUFFER - w->used) {
        packing_flush(w);
        if (length > BUFFER) {
            mv_sink_write(w->sink, bytes, length);
            return 0;
        }
    }
    if (length > 0)
        memcpy(w->buffer + w->used, bytes, length);
    w->used += (uint32_t)length;
    return 0;
}

static mv_code packing_init(packing *w, mv_arena *scratch, const mv_trace *trace,
                            const mv_write_opts *opts, mv_sink *sink, mv_err *err)
{
    *w = (packing){.trace = trace, .sink = sink, .opts = opts};
    w->buffer = mv_push_array(scratch, char, BUFFER);
    if (!w->buffer)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "output buffer");
    msgpack_packer_init(&w->packer, w, append);
    for (uint32_t i = 0; i < trace->device_count; i++)
        w->events_all += trace->devices[i].events.count;
    w->events_all += trace->host_events.count;
    return MV_OK;
}

static void packing_progress(packing *w, uint64_t events)
{
    uint64_t before = w->events_done / PROGRESS_STEP;

    w->events_done += events;
    if (w->opts && w->opts->progress && w->events_done / PROGRESS_STEP != before)
        w->opts->progress(w->opts->user, w->events_done, w->events_all);
}

static void put_map(packing *w, uint32_t pairs)
{
    msgpack_pack_map(&w->packer, pairs);
}

static void put_array(packing *w, uint32_t items)
{
    msgpack_pack_array(&w->packer, items);
}

static void put_nil(packing *w)
{
    msgpack_pack_nil(&w->packer);
}

static void put_bool(packing *w, bool value)
{
    if (value)
        msgpack_pack_true(&w->packer);
    else
        msgpack_pack_false(&w->packer);
}

static void put_real(packing *w, double value)
{
    msgpack_pack_double(&w->packer, value);
}

/* Writes an integer in its shortest form. */
static void put_int(packing *w, int64_t value)
{
    msgpack_pack_int64(&w->packer, value);
}

static void put_uint(packing *w, uint64_t value)
{
    msgpack_pack_uint64(&w->packer, value);
}

static void put_text(packing *w, const char *text)
{
    size_t length = strlen(text);

    msgpack_pack_str(&w->packer, length);
    msgpack_pack_str_body(&w->packer, text, length);
}

static void put_string(packing *w, mv_string_id id)
{
    mv_span text = mv_string_span(w->trace, id);

    if (id.row == MV_NO_ROW) {
        put_nil(w);
        return;
    }
    msgpack_pack_str(&w->packer, text.length);
    msgpack_pack_str_body(&w->packer, text.data, text.length);
}

/* Writes a key and its value. */
#define PUT_PAIR(w, key, value) \
    (put_text((w), (key)),                                                              \
     _Generic((value), const char *: put_text, mv_string_id: put_string,                \
              uint64_t: put_uint, int64_t: put_int, int32_t: put_int)((w), (value)))

/* Returns the number of consecutive rows, starting at `row`, that are in the same nested table. */
static uint32_t run_of(const mv_settings *s, uint32_t row)
{
    uint32_t end = row + 1;

    while (end < s->count && s->parent[end].row == s->parent[row].row)
        end++;
    return end - row;
}

static void pack_setting(packing *w, uint32_t row)
{
    const mv_settings *s = &w->trace->settings;

    put_string(w, s->key[row]);
    switch ((mv_setting_kind)s->kind[row]) {
    case MV_SETTING_INT:
        put_int(w, s->integer[row]);
        break;
    case MV_SETTING_BOOL:
        put_bool(w, s->integer[row] != 0);
        break;
    case MV_SETTING_FLOAT:
        put_real(w, s->real[row]);
        break;
    case MV_SETTING_TEXT:
        put_string(w, s->text[row]);
        break;
    case MV_SETTING_NONE:
        put_nil(w);
        break;
    }
}

static void put_settings(packing *w)
{
    const mv_settings *s = &w->trace->settings;
    uint32_t pairs = 0;

    for (uint32_t i = 0; i < s->count; pairs++)
        i += s->parent[i].row == MV_NO_ROW ? 1 : run_of(s, i);
    put_map(w, pairs);
    for (uint32_t i = 0; i < s->count;) {
        uint32_t run = 1;
        if (s->parent[i].row != MV_NO_ROW) {
            run = run_of(s, i);
            put_string(w, s->parent[i]);
            put_map(w, run);
        }
        for (uint32_t end = i + run; i < end; i++)
            pack_setting(w, i);
    }
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Returns true if a stack must be written. Writing stacks is most of the work, so they are skipped
 * once the output has failed because the disk is full or the output is too large. */
static bool is_spelled(const packing *w, mv_stack_id id)
{
    return id.row != MV_NO_ROW && !w->sink->failed;
}

/* Writes the torch.fx keys, which occur either all together or not at all; single values may be
 * None. */
static void pack_fx(packing *w, uint32_t row)
{
    const mv_fx *fx = &w->trace->fx;

    PUT_PAIR(w, "fx_node_op", fx->op[row]);
    PUT_PAIR(w, "fx_node_name", fx->name[row]);
    PUT_PAIR(w, "fx_node_target", fx->target[row]);
    PUT_PAIR(w, "fx_original_trace", fx->trace[row]);
}

static void pack_frame(packing *w, mv_frame_id id)
{
    const mv_frames *f = &w->trace->frames;
    uint32_t fx = f->fx[id.row];

    put_map(w, fx == MV_NO_ROW ? 3 : 7);
    PUT_PAIR(w, "name", f->function[id.row]);
    PUT_PAIR(w, "filename", f->file[id.row]);
    put_text(w, "line");
    if (f->line[id.row] == MV_NO_LINE) /* PyTorch's Python writer converts -1 to unsigned */
        put_uint(w, UINT64_MAX);
    else
        put_int(w, f->line[id.row]);
    if (fx != MV_NO_ROW)
        pack_fx(w, fx);
}

static void pack_frames(packing *w, const char *key, mv_stack_id stack)
{
    uint32_t count;
    const mv_frame_id *frame = mv_stack_frames(w->trace, stack, &count);

    if (!is_spelled(w, stack))
        return;
    put_text(w, key);
    put_array(w, count);
    for (uint32_t i = 0; i < count; i++)
        pack_frame(w, frame[i]);
}

/* Writes forward_frames or cpp_frames, which are stacks as lines of text. */
static void pack_lines(packing *w, const char *key, mv_stack_id stack)
{
    const mv_frames *f = &w->trace->frames;
    uint32_t count;
    const mv_frame_id *frame = mv_stack_frames(w->trace, stack, &count);

    if (!is_spelled(w, stack))
        return;
    put_text(w, key);
    put_array(w, count);
    for (uint32_t i = 0; i < count; i++) {
        if (f->file[frame[i].row].row == MV_NO_ROW && f->line[frame[i].row] == MV_NO_LINE)
            put_string(w, f->function[frame[i].row]);
        else
            pack_frame(w, frame[i]);
    }
}

/* ---- fields that may be absent ----------------------------------------------------------- */

static void pack_bytes(packing *w, const char *key, uint64_t bytes)
{
    if (bytes == MV_NO_BYTES)
        return;
    PUT_PAIR(w, key, bytes);
}

static void pack_time(packing *w, int64_t time_us)
{
    if (time_us == MV_NO_TIME)
        return;
    PUT_PAIR(w, "time_us", time_us);
}

static void pack_string(packing *w, const char *key, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        return;
    PUT_PAIR(w, key, id);
}

static void pack_pool(packing *w, const char *key, mv_pool_id id)
{
    if (id.row == MV_NO_ROW)
        return;
    put_text(w, key);
    put_array(w, 2);
    put_uint(w, w->trace->pools.a[id.row]);
    put_uint(w, w->trace->pools.b[id.row]);
}

static bool has_string(mv_string_id id)
{
    return id.row != MV_NO_ROW;
}

static bool has_stack(mv_stack_id id)
{
    return id.row != MV_NO_ROW;
}

/* ---- events ------------------------------------------------------------------------------ */

static uint32_t event_pairs(const mv_tags *t, const mv_events *e, uint32_t i, uint32_t tag)
{
    return 3u + (e->addr[i] != MV_NO_BYTES) + (e->time_us[i] != MV_NO_TIME) +
           has_string(t->compile_context[tag]) + has_string(t->user_metadata[tag]) +
           has_string(t->internal_metadata[tag]) + (t->pool[tag].row != MV_NO_ROW) +
           has_stack(e->stack[i]) + has_stack(t->forward[tag]) + has_stack(t->cpp[tag]) +
           has_string(t->category[tag]) + has_string(t->op[tag]) + has_string(t->shapes[tag]);
}

static void pack_event(packing *w, const mv_events *e, uint32_t i)
{
    const mv_tags *t = &w->trace->tags;
    uint32_t tag = e->tag[i].row;
    bool oom = e->action[i] == MV_ACTION_OOM;

    put_map(w, event_pairs(t, e, i, tag));
    put_text(w, "action");
    if (e->action[i] == MV_ACTION_OTHER && has_string(t->action[tag]))
        put_string(w, t->action[tag]);
    else
        put_text(w, mv_action_name(e->action[i]));
    pack_bytes(w, oom ? "device_free" : "addr", e->addr[i]);
    PUT_PAIR(w, "size", e->size[i]);
    PUT_PAIR(w, "stream", w->trace->streams.value[e->stream[i].row]);
    pack_time(w, e->time_us[i]);
    pack_string(w, "compile_context", t->compile_context[tag]);
    pack_string(w, "user_metadata", t->user_metadata[tag]);
    pack_string(w, "internal_metadata", t->internal_metadata[tag]);
    pack_pool(w, "pool_id", t->pool[tag]);
    pack_frames(w, "frames", e->stack[i]);
    pack_lines(w, "forward_frames", t->forward[tag]);
    pack_lines(w, "cpp_frames", t->cpp[tag]);
    pack_string(w, "category", t->category[tag]);
    pack_string(w, "op", t->op[tag]);
    pack_string(w, "shapes", t->shapes[tag]);
}

static void pack_events(packing *w, const mv_events *e)
{
    put_array(w, e->count);
    for (uint32_t i = 0; i < e->count; i++) {
        pack_event(w, e, i);
        packing_progress(w, 1);
    }
}

static void pack_devices(packing *w)
{
    put_text(w, "device_traces");
    put_array(w, w->trace->device_count);
    for (uint32_t i = 0; i < w->trace->device_count; i++)
        pack_events(w, &w->trace->devices[i].events);
}

/* ---- segments ---------------------------------------------------------------------------- */

static void pack_history(packing *w, uint32_t first, uint32_t count)
{
    const mv_history *h = &w->trace->history;

    put_text(w, "history");
    put_array(w, count);
    for (uint32_t i = first; i < first + count; i++) {
        put_map(w,
                1u + (h->addr[i] != MV_NO_BYTES) + has_stack(h->stack[i]) + has_stack(h->cpp[i]));
        pack_bytes(w, "addr", h->addr[i]);
        PUT_PAIR(w, "real_size", h->real_size[i]);
        pack_frames(w, "frames", h->stack[i]);
        pack_lines(w, "cpp_frames", h->cpp[i]);
    }
}

static void pack_block(packing *w, uint32_t i)
{
    const mv_blocks *k = &w->trace->blocks;

    bool has_address =
        k->address[i] != MV_NO_BYTES && mv_trace_had_key(w->trace, MV_KEY_BLOCK_ADDRESS);

    put_map(w, 2u + has_address + (k->requested[i] != MV_NO_BYTES) + has_stack(k->stack[i]) +
                   has_stack(k->forward[i]) + (k->histories[i] > 0));
    if (has_address)
        pack_bytes(w, "address", k->address[i]);
    PUT_PAIR(w, "size", k->size[i]);
    pack_bytes(w, "requested_size", k->requested[i]);
    PUT_PAIR(w, "state", mv_block_state_name(k->state[i]));
    pack_frames(w, "frames", k->stack[i]);
    pack_lines(w, "forward_frames", k->forward[i]);
    if (k->histories[i] > 0)
        pack_history(w, k->first_history[i], k->histories[i]);
}

static void pack_blocks(packing *w, const mv_segments *s, uint32_t i)
{
    put_text(w, "blocks");
    put_array(w, s->blocks[i]);
    for (uint32_t j = s->first_block[i]; j < s->first_block[i] + s->blocks[i]; j++)
        pack_block(w, j);
}

/* Returns true if the file has the key is_expandable. PyTorch 2.1 added this key together with the
 * pool's key, so a file has both or neither. */
static bool says_expandable(const mv_segments *s, uint32_t i)
{
    return s->is_expandable[i] || s->pool[i].row != MV_NO_ROW;
}

/* Returns true if the file has this sum. Files made by the profiler contain neither the kind nor
 * these sums. */
static bool has_sum(const mv_segments *s, uint32_t i, uint64_t sum)
{
    return sum != 0 || s->kind[i] != MV_SEGMENT_UNKNOWN;
}

static uint32_t segment_pairs(const mv_segments *s, uint32_t i)
{
    return 4u + (s->address[i] != MV_NO_BYTES) + has_sum(s, i, s->allocated[i]) +
           has_sum(s, i, s->active[i]) + (s->requested[i] != MV_NO_BYTES) +
           (s->kind[i] != MV_SEGMENT_UNKNOWN) + (s->pool[i].row != MV_NO_ROW) +
           says_expandable(s, i) + has_stack(s->stack[i]) + has_stack(s->forward[i]);
}

static void pack_sizes(packing *w, const mv_segments *s, uint32_t i)
{
    PUT_PAIR(w, "device", s->device[i]);
    pack_bytes(w, "address", s->address[i]);
    PUT_PAIR(w, "total_size", s->total_size[i]);
    /* UINT64_MAX is written as a number, because that was the value in the file, although it means
     * "none" elsewhere. */
    if (has_sum(s, i, s->allocated[i]))
        PUT_PAIR(w, "allocated_size", s->allocated[i]);
    if (has_sum(s, i, s->active[i]))
        PUT_PAIR(w, "active_size", s->active[i]);
    pack_bytes(w, "requested_size", s->requested[i]);
}

static void pack_segment(packing *w, const mv_segments *s, uint32_t i)
{
    uint32_t frames;
    bool stack_first;

    /* PyTorch writes the same empty stack for all segments before the blocks, and a separate empty
     * stack after them. */
    mv_stack_frames(w->trace, s->stack[i], &frames);
    stack_first = frames == 0;
    put_map(w, segment_pairs(s, i));
    pack_sizes(w, s, i);
    PUT_PAIR(w, "stream", w->trace->streams.value[s->stream[i].row]);
    if (s->kind[i] != MV_SEGMENT_UNKNOWN)
        PUT_PAIR(w, "segment_type", mv_segment_kind_name(s->kind[i]));
    pack_pool(w, "segment_pool_id", s->pool[i]);
    if (says_expandable(s, i)) {
        put_text(w, "is_expandable");
        put_bool(w, s->is_expandable[i] != 0);
    }
    if (stack_first)
        pack_frames(w, "frames", s->stack[i]);
    pack_blocks(w, s, i);
    if (!stack_first)
        pack_frames(w, "frames", s->stack[i]);
    pack_lines(w, "forward_frames", s->forward[i]);
}

static void pack_segments(packing *w, const mv_segments *s)
{
    put_array(w, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        pack_segment(w, s, i);
}

/* ---- the root ---------------------------------------------------------------------------- */

static void pack_annotations(packing *w)
{
    const mv_annotations *a = &w->trace->annotations;

    put_text(w, "external_annotations");
    put_array(w, a->count);
    for (uint32_t i = 0; i < a->count; i++) {
        put_map(w, 3u + (a->time_us[i] != MV_NO_TIME));
        PUT_PAIR(w, "stage", mv_stage_name(a->stage[i]));
        PUT_PAIR(w, "name", a->name[i]);
        PUT_PAIR(w, "device", a->device[i]);
        pack_time(w, a->time_us[i]);
    }
}

static void pack_tensors(packing *w)
{
    const mv_tensors *t = &w->trace->tensors;

    put_text(w, "memviz_tensors");
    put_array(w, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        put_map(w, 4u + has_string(t->name[i]) + has_string(t->slot[i]) + has_string(t->shape[i]) +
                       (t->address[i] != MV_NO_BYTES));
        pack_string(w, "name", t->name[i]);
        PUT_PAIR(w, "role", mv_tensor_role_name(t->role[i]));
        pack_string(w, "slot", t->slot[i]);
        pack_string(w, "shape", t->shape[i]);
        PUT_PAIR(w, "dtype", t->dtype[i]); /* even when empty, because it identifies the map */
        PUT_PAIR(w, "device", t->device[i]);
        pack_bytes(w, "address", t->address[i]);
        PUT_PAIR(w, "bytes", t->bytes[i]);
    }
}

/* Returns true if the file was written from torch.cuda.memory_snapshot(), whose result is a
 * list. */
static bool is_list(const mv_trace *t)
{
    return t->notes[MV_NOTE_LIST_ROOT].count > 0 && t->device_count == 0 &&
           t->settings.count == 0 && t->annotations.count == 0 && t->host_segments.count == 0 &&
           t->host_events.count == 0 && t->tensors.count == 0;
}

static void pack_root(packing *w)
{
    const mv_trace *t = w->trace;
    bool settings = mv_trace_had_key(t, MV_KEY_SETTINGS);
    bool annotations = mv_trace_had_key(t, MV_KEY_ANNOTATIONS);
    bool host = mv_trace_had_key(t, MV_KEY_HOST);
    bool heap = !mv_trace_is_missing_heap(t);

    put_map(w, 1u + heap + settings + annotations + 2u * host + (t->tensors.count > 0));
    if (heap) {
        put_text(w, "segments");
        pack_segments(w, &t->segments);
    }
    pack_devices(w);
    if (settings) {
        put_text(w, "allocator_settings");
        put_settings(w);
    }
    if (annotations)
        pack_annotations(w);
    if (host) {
        put_text(w, "host_segments");
        pack_segments(w, &t->host_segments);
        put_text(w, "host_traces");
        pack_events(w, &t->host_events);
    }
    if (t->tensors.count > 0)
        pack_tensors(w);
}

/* ---- size -------------------------------------------------------------------------------- */

/* Limit for the size of the output, because writing out every stack can turn a small damaged file
 * into a file that fills any disk. Real traces grow by a factor of up to 35; a trace of ten million
 * events with deep C++ stacks becomes 46 GB. */
#define MOST_BYTES (1ull << 38)

/* Lower bounds for the bytes of a frame's keys and numbers, without its strings. */
enum { FRAME_BYTES = 40, FX_BYTES = 64 };

static uint64_t frame_size(const mv_trace *t, uint32_t frame)
{
    const mv_frames *f = &t->frames;
    const mv_fx *x = &t->fx;
    uint32_t fx = f->fx[frame];
    uint64_t size = FRAME_BYTES + mv_string_span(t, f->function[frame]).length +
                    mv_string_span(t, f->file[frame]).length;

    if (fx != MV_NO_ROW)
        size += FX_BYTES + mv_string_span(t, x->op[fx]).length +
                mv_string_span(t, x->name[fx]).length + mv_string_span(t, x->target[fx]).length +
                mv_string_span(t, x->trace[fx]).length;
    return size;
}

static uint64_t sum_stacks(const uint64_t *sizes, const mv_stack_id *stack, uint32_t count)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count && sum <= MOST_BYTES; i++)
        sum += stack[i].row == MV_NO_ROW ? 0 : sizes[stack[i].row];
    return sum;
}

static uint64_t sum_tags(const uint64_t *sizes, const mv_tags *t, const mv_events *e)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < e->count && sum <= MOST_BYTES; i++) {
        uint32_t tag = e->tag[i].row;
        sum += sum_stacks(sizes, &t->forward[tag], 1) + sum_stacks(sizes, &t->cpp[tag], 1);
    }
    return sum;
}

/* Returns the approximate size of all stacks in the output. The file is not written if they take
 * more than MOST_BYTES. */
static uint64_t stacks_size(const mv_trace *t, const uint64_t *sizes)
{
    const mv_segments *s = &t->segments, *h = &t->host_segments;
    const mv_blocks *k = &t->blocks;
    uint64_t sum = sum_stacks(sizes, s->stack, s->count) + sum_stacks(sizes, h->stack, h->count) +
                   sum_stacks(sizes, s->forward, s->count) +
                   sum_stacks(sizes, h->forward, h->count) + sum_stacks(sizes, k->stack, k->count) +
                   sum_stacks(sizes, k->forward, k->count) +
                   sum_stacks(sizes, t->history.stack, t->history.count) +
                   sum_stacks(sizes, t->history.cpp, t->history.count);

    for (uint32_t i = 0; i < t->device_count && sum <= MOST_BYTES; i++) {
        const mv_events *e = &t->devices[i].events;
        sum += sum_stacks(sizes, e->stack, e->count) + sum_tags(sizes, &t->tags, e);
    }
    return sum + sum_stacks(sizes, t->host_events.stack, t->host_events.count) +
           sum_tags(sizes, &t->tags, &t->host_events);
}

static mv_code check_size(mv_arena *scratch, const mv_trace *t, mv_err *err)
{
    mv_arena_mark here = mv_arena_here(scratch);
    uint64_t *sizes = mv_push_array(scratch, uint64_t, t->stacks.count);
    uint64_t sum;

    if (!sizes)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = 0; i < t->stacks.count; i++)
        for (uint64_t j = t->stacks.first[i]; j < t->stacks.first[i + 1]; j++) {
            sizes[i] += frame_size(t, t->stacks.frame[j].row);
            if (sizes[i] > MOST_BYTES)
                sizes[i] = MOST_BYTES + 1;
        }
    sum = stacks_size(t, sizes);
    mv_arena_rewind(scratch, here);
    if (sum > MOST_BYTES)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET, "%s",
                       "the msgpack would take more than 256 GiB: write .bin");
    return MV_OK;
}

mv_code mv_plain_write(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts,
                       mv_sink *sink, mv_err *err)
{
    packing w;

    if (check_size(scratch, trace, err) != MV_OK ||
        packing_init(&w, scratch, trace, opts, sink, err) != MV_OK)
        return err->code;
    if (is_list(trace))
        pack_segments(&w, &trace->segments);
    else
        pack_root(&w);
    packing_flush(&w);
    return MV_OK;
}
