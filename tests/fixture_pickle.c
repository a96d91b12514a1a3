/* Traces as the dict that PyTorch pickles, key by key in the order of its two writers
 * (torch/csrc/cuda/Module.cpp, torch/csrc/cuda/memory_snapshot.cpp). Frames are shared by
 * identity; the identity of a stack is its call. */
#include "tests/fixture.h"
#include "tests/fixture_pickler.h"

#include <criterion/criterion.h>

typedef struct {
    mvt_pickler *p;
    const mv_trace *trace;
    uint32_t *frame_memo; /* [trace->frames.count] memo entry + 1 */
    uint32_t *call_memo;  /* [trace->calls] likewise */
} pickle_dict;

static void put_string(pickle_dict *d, mv_string_id id)
{
    mvt_put_text(d->p, mv_string_span(d->trace, id));
}

static void put_pool(pickle_dict *d, mv_pool_id pool)
{
    mvt_begin_value(d->p);
    mvt_put_unsigned(d->p, d->trace->pools.a[pool.row]);
    mvt_put_unsigned(d->p, d->trace->pools.b[pool.row]);
    mvt_put_op(d->p, 0x86);
    mvt_memoize_opened(d->p, NULL);
}

static void item_unsigned(pickle_dict *d, mvt_word key, uint64_t value)
{
    if (value == MV_NO_BYTES)
        return;
    mvt_put_word(d->p, key);
    mvt_put_unsigned(d->p, value);
}

static void item_string(pickle_dict *d, mvt_word key, mv_string_id value)
{
    if (value.row == MV_NO_ROW)
        return;
    mvt_put_word(d->p, key);
    put_string(d, value);
}

/* ---- stacks ------------------------------------------------------------------------------ */

static void put_fx(pickle_dict *d, uint32_t row)
{
    const mv_fx *fx = &d->trace->fx;

    item_string(d, WORD_fx_node_op, fx->op[row]);
    item_string(d, WORD_fx_node_name, fx->name[row]);
    item_string(d, WORD_fx_node_target, fx->target[row]);
    item_string(d, WORD_fx_original_trace, fx->trace[row]);
}

static void put_frame(pickle_dict *d, mv_frame_id id)
{
    const mv_frames *f = &d->trace->frames;
    uint32_t *entry = &d->frame_memo[id.row];

    if (mvt_put_again(d->p, *entry))
        return;
    mvt_open_dict(d->p, MVT_SOME_KEYS, entry);
    mvt_put_word(d->p, WORD_name);
    put_string(d, f->function[id.row]);
    mvt_put_word(d->p, WORD_filename);
    put_string(d, f->file[id.row]);
    mvt_put_word(d->p, WORD_line);
    mvt_put_unsigned(d->p, (uint64_t)f->line[id.row]); /* MV_NO_LINE is 2^64-1 in CPython's */
    if (f->fx[id.row] != MV_NO_ROW)
        put_fx(d, f->fx[id.row]);
    mvt_close_dict(d->p, MVT_SOME_KEYS);
    mvt_memoize_complete(d->p, entry);
}

static void put_stack(pickle_dict *d, mv_stack_id stack, uint32_t call)
{
    uint32_t *entry = call == MV_NO_CALL ? NULL : &d->call_memo[call];
    const mv_frame_id *frames;
    uint32_t count;

    frames = mv_stack_frames(d->trace, stack, &count);
    if (count == 0) {
        mvt_put_empty_list(d->p);
        return;
    }
    if (entry && mvt_put_again(d->p, *entry))
        return;
    mvt_open_list(d->p, count, entry);
    for (uint32_t i = 0; i < count; i++) {
        mvt_next_item(d->p, i);
        put_frame(d, frames[i]);
    }
    mvt_close_list(d->p, count);
    mvt_memoize_complete(d->p, entry);
}

static void item_stack(pickle_dict *d, mv_stack_id stack, uint32_t call)
{
    if (stack.row == MV_NO_ROW)
        return;
    mvt_put_word(d->p, WORD_frames);
    put_stack(d, stack, call);
}

/* forward_frames and cpp_frames: lists of plain strings. */
static void item_text_stack(pickle_dict *d, mvt_word key, mv_stack_id stack)
{
    const mv_frame_id *frames;
    uint32_t count;

    if (stack.row == MV_NO_ROW)
        return;
    frames = mv_stack_frames(d->trace, stack, &count);
    mvt_put_word(d->p, key);
    mvt_open_list(d->p, count, NULL);
    for (uint32_t i = 0; i < count; i++) {
        mvt_next_item(d->p, i);
        put_string(d, d->trace->frames.function[frames[i].row]);
    }
    mvt_close_list(d->p, count);
}

/* ---- events ------------------------------------------------------------------------------ */

static void item_time(pickle_dict *d, int64_t time_us)
{
    if (time_us == MV_NO_TIME)
        return;
    mvt_put_word(d->p, WORD_time_us);
    mvt_put_integer(d->p, time_us);
}

static void item_pool(pickle_dict *d, mvt_word key, mv_pool_id pool)
{
    if (pool.row == MV_NO_ROW)
        return;
    mvt_put_word(d->p, key);
    put_pool(d, pool);
}

/* The two writers order the keys differently. */
static void put_event_tail(pickle_dict *d, const mv_events *e, uint32_t i)
{
    const mv_tags *t = &d->trace->tags;
    uint32_t tag = e->tag[i].row;

    if (!d->p->cpp)
        item_time(d, e->time_us[i]);
    item_string(d, WORD_compile_context, t->compile_context[tag]);
    item_string(d, WORD_user_metadata, t->user_metadata[tag]);
    item_string(d, WORD_internal_metadata, t->internal_metadata[tag]);
    if (d->p->cpp)
        item_time(d, e->time_us[i]);
    item_pool(d, WORD_pool_id, t->pool[tag]);
    item_string(d, WORD_category, t->category[tag]);
    item_stack(d, e->stack[i], e->call[i]);
    item_text_stack(d, WORD_forward_frames, t->forward[tag]);
    item_text_stack(d, WORD_cpp_frames, t->cpp[tag]);
}

static void put_event(pickle_dict *d, const mv_events *e, uint32_t i)
{
    mvt_open_dict(d->p, MVT_SOME_KEYS, NULL);
    mvt_put_word(d->p, WORD_action);
    if (e->action[i] == MV_ACTION_OTHER)
        put_string(d, d->trace->tags.action[e->tag[i].row]);
    else
        mvt_put_name(d->p, mv_action_name(e->action[i]));
    item_unsigned(d, e->action[i] == MV_ACTION_OOM ? WORD_device_free : WORD_addr, e->addr[i]);
    item_unsigned(d, WORD_size, e->size[i]);
    item_unsigned(d, WORD_stream, d->trace->streams.value[e->stream[i].row]);
    put_event_tail(d, e, i);
    mvt_close_dict(d->p, MVT_SOME_KEYS);
    if (e->stack[i].row != MV_NO_ROW) /* whoever adds the stack still holds the event */
        mvt_memoize_complete(d->p, NULL);
}

static void put_events(pickle_dict *d, const mv_events *e)
{
    mvt_open_list(d->p, e->count, NULL);
    for (uint32_t i = 0; i < e->count; i++) {
        mvt_next_item(d->p, i);
        put_event(d, e, i);
    }
    mvt_close_list(d->p, e->count);
}

/* ---- heap -------------------------------------------------------------------------------- */

static void put_history(pickle_dict *d, uint32_t first, uint32_t count)
{
    const mv_history *h = &d->trace->history;

    mvt_put_word(d->p, WORD_history);
    mvt_open_list(d->p, count, NULL);
    for (uint32_t i = 0; i < count; i++) {
        mvt_next_item(d->p, i);
        mvt_open_dict(d->p, MVT_SOME_KEYS, NULL);
        item_unsigned(d, WORD_addr, h->addr[first + i]);
        item_unsigned(d, WORD_real_size, h->real_size[first + i]);
        item_stack(d, h->stack[first + i], h->call[first + i]);
        item_text_stack(d, WORD_cpp_frames, h->cpp[first + i]);
        mvt_close_dict(d->p, MVT_SOME_KEYS);
    }
    mvt_close_list(d->p, count);
}

static void put_block(pickle_dict *d, uint32_t row)
{
    const mv_blocks *k = &d->trace->blocks;

    mvt_open_dict(d->p, MVT_SOME_KEYS, NULL);
    item_unsigned(d, WORD_address, k->address[row]);
    item_unsigned(d, WORD_size, k->size[row]);
    item_unsigned(d, WORD_requested_size, k->requested[row]);
    mvt_put_word(d->p, WORD_state);
    mvt_put_name(d->p, mv_block_state_name(k->state[row]));
    if (k->histories[row] > 0)
        put_history(d, k->first_history[row], k->histories[row]);
    item_stack(d, k->stack[row], k->call[row]);
    item_text_stack(d, WORD_forward_frames, k->forward[row]);
    mvt_close_dict(d->p, MVT_SOME_KEYS);
}

static void put_segment_head(pickle_dict *d, const mv_segments *s, uint32_t i)
{
    mvt_put_word(d->p, WORD_device);
    mvt_put_integer(d->p, s->device[i]);
    item_unsigned(d, WORD_address, s->address[i]);
    item_unsigned(d, WORD_total_size, s->total_size[i]);
    item_unsigned(d, WORD_allocated_size, s->allocated[i]);
    item_unsigned(d, WORD_active_size, s->active[i]);
    item_unsigned(d, WORD_requested_size, s->requested[i]);
    item_unsigned(d, WORD_stream, d->trace->streams.value[s->stream[i].row]);
    if (s->kind[i] != MV_SEGMENT_UNKNOWN) {
        mvt_put_word(d->p, WORD_segment_type);
        mvt_put_name(d->p, mv_segment_kind_name(s->kind[i]));
    }
    item_pool(d, WORD_segment_pool_id, s->pool[i]);
    mvt_put_word(d->p, WORD_is_expandable);
    mvt_put_bool(d->p, s->is_expandable[i]);
}

static void put_segment(pickle_dict *d, const mv_segments *s, uint32_t i)
{
    bool is_late = !d->p->cpp && s->stack[i].row != MV_EMPTY_STACK.row;

    mvt_open_dict(d->p, MVT_SOME_KEYS, NULL);
    put_segment_head(d, s, i);
    if (!is_late)
        item_stack(d, s->stack[i], s->call[i]);
    mvt_put_word(d->p, WORD_blocks);
    mvt_open_list(d->p, s->blocks[i], NULL);
    for (uint32_t j = 0; j < s->blocks[i]; j++) {
        mvt_next_item(d->p, j);
        put_block(d, s->first_block[i] + j);
    }
    mvt_close_list(d->p, s->blocks[i]);
    if (is_late)
        item_stack(d, s->stack[i], s->call[i]);
    item_text_stack(d, WORD_forward_frames, s->forward[i]);
    mvt_close_dict(d->p, MVT_SOME_KEYS);
}

static void put_segments(pickle_dict *d, const mv_segments *s)
{
    mvt_open_list(d->p, s->count, NULL);
    for (uint32_t i = 0; i < s->count; i++) {
        mvt_next_item(d->p, i);
        put_segment(d, s, i);
    }
    mvt_close_list(d->p, s->count);
    mvt_memoize_complete(d->p, NULL);
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void put_setting(pickle_dict *d, uint32_t i)
{
    const mv_settings *s = &d->trace->settings;

    switch ((mv_setting_kind)s->kind[i]) {
    case MV_SETTING_INT:
        mvt_put_integer(d->p, s->integer[i]);
        break;
    case MV_SETTING_FLOAT:
        mvt_put_real(d->p, s->real[i]);
        break;
    case MV_SETTING_BOOL:
        mvt_put_bool(d->p, s->integer[i] != 0);
        break;
    case MV_SETTING_TEXT:
        put_string(d, s->text[i]);
        break;
    case MV_SETTING_NONE:
        mvt_begin_value(d->p);
        mvt_put_op(d->p, 'N');
        break;
    }
}

/* Settings from row `i` on that have one parent. */
static uint32_t run_of(const mv_settings *s, uint32_t i)
{
    uint32_t end = i;

    while (end < s->count && s->parent[end].row == s->parent[i].row)
        end++;
    return end - i;
}

static uint32_t top_settings(const mv_settings *s)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->count; i++)
        count +=
            s->parent[i].row == MV_NO_ROW || i == 0 || s->parent[i].row != s->parent[i - 1].row;
    return count;
}

static void put_settings(pickle_dict *d)
{
    const mv_settings *s = &d->trace->settings;
    uint32_t count = top_settings(s);

    mvt_open_dict(d->p, count, NULL);
    for (uint32_t i = 0; i < s->count;) {
        uint32_t nested = run_of(s, i);
        if (s->parent[i].row == MV_NO_ROW) {
            put_string(d, s->key[i]);
            put_setting(d, i++);
            continue;
        }
        put_string(d, s->parent[i]);
        mvt_open_dict(d->p, nested, NULL);
        for (uint32_t end = i + nested; i < end; i++) {
            put_string(d, s->key[i]);
            put_setting(d, i);
        }
        mvt_close_dict(d->p, nested);
    }
    mvt_close_dict(d->p, count);
}

static void put_annotations(pickle_dict *d)
{
    const mv_annotations *a = &d->trace->annotations;

    mvt_open_list(d->p, a->count, NULL);
    for (uint32_t i = 0; i < a->count; i++) {
        mvt_next_item(d->p, i);
        mvt_open_dict(d->p, MVT_SOME_KEYS, NULL);
        mvt_put_word(d->p, WORD_stage);
        mvt_put_word(d->p, a->stage[i] == MV_STAGE_START ? WORD_START : WORD_END);
        mvt_put_word(d->p, WORD_name);
        put_string(d, a->name[i]);
        mvt_put_word(d->p, WORD_device);
        mvt_put_integer(d->p, a->device[i]);
        item_time(d, a->time_us[i]);
        mvt_close_dict(d->p, MVT_SOME_KEYS);
    }
    mvt_close_list(d->p, a->count);
}

static void put_root(pickle_dict *d)
{
    const mv_trace *t = d->trace;

    mvt_open_dict(d->p, MVT_SOME_KEYS, NULL);
    mvt_put_word(d->p, WORD_segments);
    put_segments(d, &t->segments);
    mvt_put_word(d->p, WORD_device_traces);
    mvt_open_list(d->p, t->device_count, NULL);
    for (uint32_t i = 0; i < t->device_count; i++)
        put_events(d, &t->devices[i].events);
    mvt_close_list(d->p, t->device_count);
    mvt_put_word(d->p, WORD_allocator_settings);
    put_settings(d);
    mvt_put_word(d->p, WORD_external_annotations);
    put_annotations(d);
    if (t->host_segments.count > 0 || t->host_events.count > 0) {
        mvt_put_word(d->p, WORD_host_segments);
        put_segments(d, &t->host_segments);
        mvt_put_word(d->p, WORD_host_traces);
        put_events(d, &t->host_events);
    }
    mvt_close_dict(d->p, MVT_SOME_KEYS);
    mvt_memoize_complete(d->p, NULL);
}

mv_span mvt_pickle_of(mv_arena *arena, const mv_trace *trace, bool cpp_writer)
{
    mvt_pickler p;
    pickle_dict d = {.p = &p, .trace = trace};

    d.frame_memo = mv_push_array(arena, uint32_t, trace->frames.count);
    d.call_memo = mv_push_array(arena, uint32_t, trace->calls);
    cr_assert(d.frame_memo && d.call_memo);
    mvt_pickler_init(&p, arena, cpp_writer);
    put_root(&d);
    return mvt_pickler_finish(&p);
}

mv_span mvt_pickle_bytes(mvt_trace *t, bool cpp_writer)
{
    return mvt_pickle_of(mvt_arena(t), mvt_done(t), cpp_writer);
}
