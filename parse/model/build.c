#include "parse/model/build.h"

#include <stdarg.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Rows are 32-bit and the last number means "none". */
#define MOST_ROWS (UINT32_MAX - 1)

static bool fail(mv_build *b, mv_code code)
{
    if (b->code == MV_OK)
        b->code = code;
    return false;
}

static bool grow_column(mv_build *b, void *column, uint64_t rows, uint64_t size)
{
    void *grown = mv_arena_grow(b->arena, *(void **)column, rows * size);

    if (!grown)
        return fail(b, MV_NOMEM);
    *(void **)column = grown;
    return true;
}

static uint32_t next_capacity(uint32_t capacity, uint64_t wanted)
{
    uint64_t next = capacity ? (uint64_t)capacity + capacity / 2 : 4096;

    if (next < wanted)
        next = wanted;
    return next > MOST_ROWS ? (uint32_t)MOST_ROWS : (uint32_t)next;
}

/* Makes room for `more` rows behind `count`; `grow` then grows every column of the table. */
#define RESERVE(b, count, more, capacity, columns)     \
    do {                                               \
        uint64_t wanted_ = (uint64_t)(count) + (more); \
        uint32_t rows_;                                \
        if (wanted_ <= (capacity))                     \
            break;                                     \
        if (wanted_ > MOST_ROWS)                       \
            return fail(b, MV_LIMIT);                  \
        rows_ = next_capacity((capacity), wanted_);    \
        if (!(columns))                                \
            return false;                              \
        (capacity) = rows_;                            \
    } while (0)

#define COLUMN(field) grow_column(b, &(field), (uint64_t)rows_ + 1, sizeof *(field))

static bool reserve_strings(mv_build *b)
{
    mv_strings *s = &b->trace->strings;

    RESERVE(b, s->count, 1, b->capacity_of_strings, COLUMN(s->at));
    return true;
}

static bool reserve_string_bytes(mv_build *b, uint64_t more)
{
    mv_strings *s = &b->trace->strings;
    uint64_t wanted = s->at[s->count] + more;
    uint64_t bytes;

    if (wanted <= b->string_bytes_capacity)
        return true;
    bytes = wanted + wanted / 2 + 65536;
    if (!grow_column(b, &s->bytes, bytes, 1))
        return false;
    b->string_bytes_capacity = bytes;
    return true;
}

static bool reserve_frames(mv_build *b)
{
    mv_frames *f = &b->trace->frames;

    RESERVE(b, f->count, 1, b->capacity_of_frames,
            COLUMN(f->function) && COLUMN(f->file) && COLUMN(f->line) && COLUMN(f->fx));
    return true;
}

static bool reserve_fx(mv_build *b)
{
    mv_fx *f = &b->trace->fx;

    RESERVE(b, f->count, 1, b->capacity_of_fx,
            COLUMN(f->op) && COLUMN(f->name) && COLUMN(f->target) && COLUMN(f->trace));
    return true;
}

static bool reserve_stacks(mv_build *b)
{
    mv_stacks *s = &b->trace->stacks;

    RESERVE(b, s->count, 1, b->capacity_of_stacks, COLUMN(s->first));
    return true;
}

static bool reserve_stack_frames(mv_build *b, uint64_t more)
{
    mv_stacks *s = &b->trace->stacks;
    uint64_t wanted = s->first[s->count] + more;
    uint64_t frames;

    if (wanted <= b->stack_frames_capacity)
        return true;
    frames = wanted + wanted / 2 + 16384;
    if (!grow_column(b, &s->frame, frames, sizeof *s->frame))
        return false;
    b->stack_frames_capacity = frames;
    return true;
}

static bool reserve_streams(mv_build *b)
{
    mv_streams *s = &b->trace->streams;

    RESERVE(b, s->count, 1, b->capacity_of_streams, COLUMN(s->value));
    return true;
}

static bool reserve_pools(mv_build *b)
{
    mv_pools *p = &b->trace->pools;

    RESERVE(b, p->count, 1, b->capacity_of_pools, COLUMN(p->a) && COLUMN(p->b));
    return true;
}

static bool reserve_tags(mv_build *b)
{
    mv_tags *t = &b->trace->tags;

    RESERVE(b, t->count, 1, b->capacity_of_tags,
            COLUMN(t->compile_context) && COLUMN(t->user_metadata) &&
                COLUMN(t->internal_metadata) && COLUMN(t->category) && COLUMN(t->action) &&
                COLUMN(t->forward) && COLUMN(t->cpp) && COLUMN(t->pool));
    return true;
}

bool mv_build_reserve_events(mv_build *b, uint64_t more)
{
    mv_events *e = &b->events;

    RESERVE(b, e->count, more, b->capacity_of_events,
            COLUMN(e->time_us) && COLUMN(e->addr) && COLUMN(e->size) && COLUMN(e->stack) &&
                COLUMN(e->call) && COLUMN(e->tag) && COLUMN(e->stream) && COLUMN(e->action));
    return true;
}

static bool reserve_segments(mv_build *b)
{
    mv_segments *s = &b->segments;

    RESERVE(b, s->count, 1, b->capacity_of_segments,
            COLUMN(s->device) && COLUMN(s->address) && COLUMN(s->total_size) &&
                COLUMN(s->allocated) && COLUMN(s->active) && COLUMN(s->requested) &&
                COLUMN(s->stream) && COLUMN(s->pool) && COLUMN(s->stack) && COLUMN(s->call) &&
                COLUMN(s->forward) && COLUMN(s->first_block) && COLUMN(s->blocks) &&
                COLUMN(s->kind) && COLUMN(s->is_expandable));
    return true;
}

static bool reserve_blocks(mv_build *b)
{
    mv_blocks *k = &b->trace->blocks;

    RESERVE(b, k->count, 1, b->capacity_of_blocks,
            COLUMN(k->address) && COLUMN(k->size) && COLUMN(k->requested) && COLUMN(k->stack) &&
                COLUMN(k->call) && COLUMN(k->forward) && COLUMN(k->first_history) &&
                COLUMN(k->histories) && COLUMN(k->state));
    return true;
}

static bool reserve_history(mv_build *b)
{
    mv_history *h = &b->trace->history;

    RESERVE(b, h->count, 1, b->capacity_of_history,
            COLUMN(h->addr) && COLUMN(h->real_size) && COLUMN(h->stack) && COLUMN(h->call) &&
                COLUMN(h->cpp));
    return true;
}

static bool reserve_annotations(mv_build *b)
{
    mv_annotations *a = &b->trace->annotations;

    RESERVE(b, a->count, 1, b->capacity_of_annotations,
            COLUMN(a->name) && COLUMN(a->time_us) && COLUMN(a->device) && COLUMN(a->stage));
    return true;
}

static bool reserve_settings(mv_build *b)
{
    mv_settings *s = &b->trace->settings;

    RESERVE(b, s->count, 1, b->capacity_of_settings,
            COLUMN(s->parent) && COLUMN(s->key) && COLUMN(s->kind) && COLUMN(s->integer) &&
                COLUMN(s->real) && COLUMN(s->text));
    return true;
}

static bool reserve_api_calls(mv_build *b)
{
    mv_api_calls *c = &b->trace->api_calls;

    RESERVE(b, c->count, 1, b->capacity_of_api_calls,
            COLUMN(c->time_us) && COLUMN(c->addr) && COLUMN(c->size) && COLUMN(c->handle) &&
                COLUMN(c->stack) && COLUMN(c->api) && COLUMN(c->library) && COLUMN(c->device) &&
                COLUMN(c->result) && COLUMN(c->event) && COLUMN(c->action));
    return true;
}

static bool reserve_samples(mv_build *b)
{
    mv_samples *s = &b->trace->samples;

    RESERVE(b, s->count, 1, b->capacity_of_samples,
            COLUMN(s->time_us) && COLUMN(s->used) && COLUMN(s->total) && COLUMN(s->process) &&
                COLUMN(s->device));
    return true;
}

static bool reserve_facts(mv_build *b)
{
    mv_facts *f = &b->trace->facts;

    RESERVE(b, f->count, 1, b->capacity_of_facts, COLUMN(f->key) && COLUMN(f->value));
    return true;
}

void mv_build_init(mv_build *b, mv_arena *arena, mv_trace *trace)
{
    mv_intern empty = {.arena = arena};

    *trace = (mv_trace){.origin = {.compression = "none"}};
    *b = (mv_build){.arena = arena, .trace = trace};
    b->strings = b->frames = b->stacks = b->streams = b->pools = b->tags = b->facts = empty;
    if (!reserve_strings(b) || !reserve_stacks(b))
        return;
    mv_build_stack(b, NULL, 0);
    mv_build_pool(b, 0, 0);
    mv_build_tag(b, &MV_TAG_ROW);
}

mv_string_id mv_build_string(mv_build *b, const char *text, uint64_t length)
{
    mv_strings *s = &b->trace->strings;
    uint64_t hash = XXH3_64bits(text, length);
    uint32_t row = s->count;

    for (mv_probe p = mv_intern_start(&b->strings, hash); mv_intern_next(&b->strings, &p);) {
        const char *other = s->bytes + s->at[p.row];
        if (s->at[p.row + 1] - s->at[p.row] == length + 1 && memcmp(other, text, length) == 0)
            return (mv_string_id){p.row};
    }
    if (b->code != MV_OK || !reserve_strings(b) || !reserve_string_bytes(b, length + 1))
        return (mv_string_id){0};
    if (!mv_intern_add(&b->strings, hash, row)) {
        fail(b, MV_NOMEM);
        return (mv_string_id){0};
    }
    memcpy(s->bytes + s->at[row], text, length);
    s->bytes[s->at[row] + length] = 0;
    s->at[row + 1] = s->at[row] + length + 1;
    s->count++;
    return (mv_string_id){row};
}

static uint32_t fx_row(mv_build *b, const mv_frame_row *row)
{
    mv_fx *f = &b->trace->fx;

    if (row->fx_op.row == MV_NO_ROW && row->fx_name.row == MV_NO_ROW &&
        row->fx_target.row == MV_NO_ROW && row->fx_trace.row == MV_NO_ROW)
        return MV_NO_ROW;
    if (!reserve_fx(b))
        return MV_NO_ROW;
    f->op[f->count] = row->fx_op;
    f->name[f->count] = row->fx_name;
    f->target[f->count] = row->fx_target;
    f->trace[f->count] = row->fx_trace;
    return f->count++;
}

static bool same_fx(const mv_fx *f, uint32_t fx, const mv_frame_row *row)
{
    if (fx == MV_NO_ROW)
        return row->fx_op.row == MV_NO_ROW && row->fx_name.row == MV_NO_ROW &&
               row->fx_target.row == MV_NO_ROW && row->fx_trace.row == MV_NO_ROW;
    return f->op[fx].row == row->fx_op.row && f->name[fx].row == row->fx_name.row &&
           f->target[fx].row == row->fx_target.row && f->trace[fx].row == row->fx_trace.row;
}

mv_frame_id mv_build_frame(mv_build *b, const mv_frame_row *row)
{
    mv_frames *f = &b->trace->frames;
    uint64_t hash = mv_mix(mv_mix(row->function.row, row->file.row), (uint64_t)row->line);
    uint32_t at = f->count;

    for (mv_probe p = mv_intern_start(&b->frames, hash); mv_intern_next(&b->frames, &p);)
        if (f->function[p.row].row == row->function.row && f->file[p.row].row == row->file.row &&
            f->line[p.row] == row->line && same_fx(&b->trace->fx, f->fx[p.row], row))
            return (mv_frame_id){p.row};
    if (b->code != MV_OK || !reserve_frames(b))
        return (mv_frame_id){0};
    if (!mv_intern_add(&b->frames, hash, at)) {
        fail(b, MV_NOMEM);
        return (mv_frame_id){0};
    }
    f->function[at] = row->function;
    f->file[at] = row->file;
    f->line[at] = row->line;
    f->fx[at] = fx_row(b, row);
    f->count++;
    return (mv_frame_id){at};
}

mv_stack_id mv_build_stack(mv_build *b, const mv_frame_id *frames, uint32_t count)
{
    mv_stacks *s = &b->trace->stacks;
    uint64_t bytes = (uint64_t)count * sizeof *frames;
    uint64_t hash = XXH3_64bits(frames, bytes);
    uint32_t row = s->count;

    for (mv_probe p = mv_intern_start(&b->stacks, hash); mv_intern_next(&b->stacks, &p);)
        if (s->first[p.row + 1] - s->first[p.row] == count &&
            (count == 0 || memcmp(s->frame + s->first[p.row], frames, bytes) == 0))
            return (mv_stack_id){p.row};
    if (b->code != MV_OK || !reserve_stacks(b) || !reserve_stack_frames(b, count))
        return (mv_stack_id){0};
    if (!mv_intern_add(&b->stacks, hash, row)) {
        fail(b, MV_NOMEM);
        return (mv_stack_id){0};
    }
    if (count)
        memcpy(s->frame + s->first[row], frames, bytes);
    s->first[row + 1] = s->first[row] + count;
    s->count++;
    return (mv_stack_id){row};
}

mv_stream_id mv_build_stream(mv_build *b, uint64_t value)
{
    mv_streams *s = &b->trace->streams;
    uint64_t hash = mv_mix(value, 1);
    uint32_t row = s->count;

    /* Neighbouring events mostly share their stream. */
    if (b->last_stream < s->count && s->value[b->last_stream] == value)
        return (mv_stream_id){b->last_stream};

    for (mv_probe p = mv_intern_start(&b->streams, hash); mv_intern_next(&b->streams, &p);)
        if (s->value[p.row] == value) {
            b->last_stream = p.row;
            return (mv_stream_id){p.row};
        }
    if (b->code != MV_OK || !reserve_streams(b))
        return (mv_stream_id){0};
    if (!mv_intern_add(&b->streams, hash, row)) {
        fail(b, MV_NOMEM);
        return (mv_stream_id){0};
    }
    s->value[row] = value;
    s->count++;
    return (mv_stream_id){row};
}

mv_pool_id mv_build_pool(mv_build *b, uint64_t a, uint64_t b_)
{
    mv_pools *s = &b->trace->pools;
    uint64_t hash = mv_mix(a, b_);
    uint32_t row = s->count;

    for (mv_probe p = mv_intern_start(&b->pools, hash); mv_intern_next(&b->pools, &p);)
        if (s->a[p.row] == a && s->b[p.row] == b_)
            return (mv_pool_id){p.row};
    if (b->code != MV_OK || !reserve_pools(b))
        return (mv_pool_id){0};
    if (!mv_intern_add(&b->pools, hash, row)) {
        fail(b, MV_NOMEM);
        return (mv_pool_id){0};
    }
    s->a[row] = a;
    s->b[row] = b_;
    s->count++;
    return (mv_pool_id){row};
}

static bool same_tag(const mv_tags *t, uint32_t at, const mv_tag_row *row)
{
    return t->compile_context[at].row == row->compile_context.row &&
           t->user_metadata[at].row == row->user_metadata.row &&
           t->internal_metadata[at].row == row->internal_metadata.row &&
           t->category[at].row == row->category.row && t->action[at].row == row->action.row &&
           t->forward[at].row == row->forward.row && t->cpp[at].row == row->cpp.row &&
           t->pool[at].row == row->pool.row;
}

mv_tag_id mv_build_tag(mv_build *b, const mv_tag_row *row)
{
    mv_tags *t = &b->trace->tags;
    uint64_t hash = XXH3_64bits(row, sizeof *row);
    uint32_t at = t->count;

    for (mv_probe p = mv_intern_start(&b->tags, hash); mv_intern_next(&b->tags, &p);)
        if (same_tag(t, p.row, row))
            return (mv_tag_id){p.row};
    if (b->code != MV_OK || !reserve_tags(b))
        return (mv_tag_id){0};
    if (!mv_intern_add(&b->tags, hash, at)) {
        fail(b, MV_NOMEM);
        return (mv_tag_id){0};
    }
    t->compile_context[at] = row->compile_context;
    t->user_metadata[at] = row->user_metadata;
    t->internal_metadata[at] = row->internal_metadata;
    t->category[at] = row->category;
    t->action[at] = row->action;
    t->forward[at] = row->forward;
    t->cpp[at] = row->cpp;
    t->pool[at] = row->pool;
    t->count++;
    return (mv_tag_id){at};
}

/* What the default stream is must not depend on which stream the file names first. */
static mv_stream_id stream_or_default(mv_build *b, mv_stream_id stream)
{
    return stream.row == MV_NO_ROW ? mv_build_stream(b, 0) : stream;
}

uint32_t mv_build_event(mv_build *b, const mv_event_row *row)
{
    mv_events *e = &b->events;
    uint32_t at = e->count;

    if (at >= b->capacity_of_events && !mv_build_reserve_events(b, 1))
        return 0;
    e->time_us[at] = row->time_us;
    e->addr[at] = row->addr;
    e->size[at] = row->size;
    e->stack[at] = row->stack;
    e->call[at] = row->call;
    e->tag[at] = row->tag;
    e->stream[at] = stream_or_default(b, row->stream);
    e->action[at] = row->action;
    e->count++;
    return at;
}

uint32_t mv_build_segment(mv_build *b, const mv_segment_row *row)
{
    mv_segments *s = &b->segments;
    uint32_t at = s->count;

    if (!reserve_segments(b))
        return 0;
    s->device[at] = row->device;
    s->address[at] = row->address;
    s->total_size[at] = row->total_size;
    s->allocated[at] = row->allocated;
    s->active[at] = row->active;
    s->requested[at] = row->requested;
    s->stream[at] = stream_or_default(b, row->stream);
    s->pool[at] = row->pool;
    s->stack[at] = row->stack;
    s->call[at] = row->call;
    s->forward[at] = row->forward;
    s->first_block[at] = row->blocks.first;
    s->blocks[at] = row->blocks.count;
    s->kind[at] = row->kind;
    s->is_expandable[at] = row->is_expandable;
    s->count++;
    return at;
}

uint32_t mv_build_block(mv_build *b, const mv_block_row *row)
{
    mv_blocks *k = &b->trace->blocks;
    uint32_t at = k->count;

    if (!reserve_blocks(b))
        return 0;
    k->address[at] = row->address;
    k->size[at] = row->size;
    k->requested[at] = row->requested;
    k->stack[at] = row->stack;
    k->call[at] = row->call;
    k->forward[at] = row->forward;
    k->first_history[at] = row->history.first;
    k->histories[at] = row->history.count;
    k->state[at] = row->state;
    k->count++;
    return at;
}

uint32_t mv_build_history(mv_build *b, const mv_history_row *row)
{
    mv_history *h = &b->trace->history;
    uint32_t at = h->count;

    if (!reserve_history(b))
        return 0;
    h->addr[at] = row->addr;
    h->real_size[at] = row->real_size;
    h->stack[at] = row->stack;
    h->call[at] = row->call;
    h->cpp[at] = row->cpp;
    h->count++;
    return at;
}

uint32_t mv_build_annotation(mv_build *b, const mv_annotation_row *row)
{
    mv_annotations *a = &b->trace->annotations;
    uint32_t at = a->count;

    if (!reserve_annotations(b))
        return 0;
    a->name[at] = row->name;
    a->time_us[at] = row->time_us;
    a->device[at] = row->device;
    a->stage[at] = row->stage;
    a->count++;
    return at;
}

uint32_t mv_build_setting(mv_build *b, const mv_setting_row *row)
{
    mv_settings *s = &b->trace->settings;
    uint32_t at = s->count;

    if (!reserve_settings(b))
        return 0;
    s->parent[at] = row->parent;
    s->key[at] = row->key;
    s->kind[at] = row->kind;
    s->integer[at] = row->integer;
    s->real[at] = row->real;
    s->text[at] = row->text;
    s->count++;
    return at;
}

uint32_t mv_build_api_call(mv_build *b, const mv_api_call_row *row)
{
    mv_api_calls *c = &b->trace->api_calls;
    uint32_t at = c->count;

    if (!reserve_api_calls(b))
        return 0;
    c->time_us[at] = row->time_us;
    c->addr[at] = row->addr;
    c->size[at] = row->size;
    c->handle[at] = row->handle;
    c->stack[at] = row->stack;
    c->api[at] = row->api;
    c->library[at] = row->library;
    c->device[at] = row->device;
    c->result[at] = row->result;
    c->event[at] = row->event;
    c->action[at] = row->action;
    c->count++;
    return at;
}

uint32_t mv_build_sample(mv_build *b, const mv_sample_row *row)
{
    mv_samples *s = &b->trace->samples;
    uint32_t at = s->count;

    if (!reserve_samples(b))
        return 0;
    s->time_us[at] = row->time_us;
    s->used[at] = row->used;
    s->total[at] = row->total;
    s->process[at] = row->process;
    s->device[at] = row->device;
    s->count++;
    return at;
}

uint32_t mv_build_fact(mv_build *b, mv_string_id key, mv_string_id value)
{
    mv_facts *f = &b->trace->facts;
    uint64_t hash = mv_mix(key.row, 1);
    uint32_t at = f->count;

    for (mv_probe p = mv_intern_start(&b->facts, hash); mv_intern_next(&b->facts, &p);)
        if (f->key[p.row].row == key.row) {
            f->value[p.row] = value;
            return p.row;
        }
    if (b->code != MV_OK || !reserve_facts(b))
        return 0;
    if (!mv_intern_add(&b->facts, hash, at)) {
        fail(b, MV_NOMEM);
        return 0;
    }
    f->key[at] = key;
    f->value[at] = value;
    f->count++;
    return at;
}

void mv_build_note(mv_build *b, mv_note_code code, const char *format, ...)
{
    mv_note *note = &b->trace->notes[code];
    va_list args;

    if (note->count++ > 0)
        return;
    va_start(args, format);
    vsnprintf(note->first, sizeof note->first, format, args);
    va_end(args);
    for (char *c = note->first; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

static mv_events events_in(const mv_events *all, mv_range r)
{
    if (r.count == 0)
        return (mv_events){0};
    return (mv_events){
        .count = r.count,
        .time_us = all->time_us + r.first,
        .addr = all->addr + r.first,
        .size = all->size + r.first,
        .stack = all->stack + r.first,
        .call = all->call + r.first,
        .tag = all->tag + r.first,
        .stream = all->stream + r.first,
        .action = all->action + r.first,
    };
}

static mv_segments segments_in(const mv_segments *all, mv_range r)
{
    if (r.count == 0)
        return (mv_segments){0};
    return (mv_segments){
        .count = r.count,
        .device = all->device + r.first,
        .address = all->address + r.first,
        .total_size = all->total_size + r.first,
        .allocated = all->allocated + r.first,
        .active = all->active + r.first,
        .requested = all->requested + r.first,
        .stream = all->stream + r.first,
        .pool = all->pool + r.first,
        .stack = all->stack + r.first,
        .call = all->call + r.first,
        .forward = all->forward + r.first,
        .first_block = all->first_block + r.first,
        .blocks = all->blocks + r.first,
        .kind = all->kind + r.first,
        .is_expandable = all->is_expandable + r.first,
    };
}

static void check_time_order(mv_build *b, uint32_t device, const mv_events *e)
{
    for (uint32_t i = 1; i < e->count; i++)
        if (e->time_us[i] < e->time_us[i - 1])
            mv_build_note(b, MV_NOTE_UNSORTED_TIME, "device %u event %u", device, i);
}

/* Blocks tile their segment; before PyTorch 2.1 that is the only way to know their addresses. */
static void place_blocks(mv_build *b, const mv_segments *s)
{
    mv_blocks *k = &b->trace->blocks;

    for (uint32_t i = 0; i < s->count; i++) {
        uint64_t at = s->address[i];
        bool tiled = true;
        for (uint32_t j = s->first_block[i]; j < s->first_block[i] + s->blocks[i]; j++) {
            if (k->address[j] == MV_NO_BYTES && s->address[i] != MV_NO_BYTES)
                k->address[j] = at;
            tiled = tiled && k->address[j] == at;
            if (s->address[i] != MV_NO_BYTES)
                at += k->size[j];
        }
        tiled = tiled && (s->address[i] == MV_NO_BYTES || at - s->address[i] == s->total_size[i]);
        if (!tiled && s->blocks[i] > 0)
            mv_build_note(b, MV_NOTE_UNTILED, "segment %u", i);
    }
}

static void drop_interning(mv_build *b)
{
    mv_intern *tables[] = {&b->strings, &b->frames, &b->stacks, &b->streams,
                           &b->pools,   &b->tags,   &b->facts};

    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++) {
        mv_arena_drop(b->arena, tables[i]->slots);
        *tables[i] = (mv_intern){.arena = b->arena};
    }
}

mv_code mv_build_finish(mv_build *b, const mv_build_ranges *ranges, mv_err *err)
{
    mv_trace *t = b->trace;

    drop_interning(b);
    t->devices = mv_push_array(b->arena, mv_device, ranges->device_count);
    if (!t->devices)
        fail(b, MV_NOMEM);
    if (b->code != MV_OK)
        return mv_fail(err, b->code, MV_NO_OFFSET, "%s", "");
    t->device_count = ranges->device_count;
    for (uint32_t i = 0; i < ranges->device_count; i++) {
        t->devices[i].events = events_in(&b->events, ranges->devices[i]);
        check_time_order(b, i, &t->devices[i].events);
    }
    t->host_events = events_in(&b->events, ranges->host_events);
    t->segments = segments_in(&b->segments, ranges->segments);
    t->host_segments = segments_in(&b->segments, ranges->host_segments);
    place_blocks(b, &t->segments);
    place_blocks(b, &t->host_segments);
    return MV_OK;
}
