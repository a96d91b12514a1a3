/* memviz dump: the whole model as text, every row and column of it.
 *
 * The text depends on the model alone. Stacks and calls are numbered by first use within the dump,
 * and strings are written out where they are used. So the same model gives the same lines, in
 * whatever order a container stores its tables. What belongs to the container (format, sizes, its
 * notes) is left to `info`. */
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/report/chunk_list.h"

typedef struct {
    mv_out *out;
    const mv_trace *trace;
    bool with_calls;
    uint32_t *stack_name; /* [stacks.count] number in the dump, or MV_NO_ROW: not used yet */
    uint32_t *call_name;  /* [trace.calls] likewise */
    uint32_t stacks_named, calls_named;
} dump;

/* ---- fields ------------------------------------------------------------------------------ */

static void put_field(dump *d, const char *name)
{
    mv_out_char(d->out, ' ');
    mv_out_text(d->out, name);
    mv_out_char(d->out, ' ');
}

static void put_bytes(dump *d, const char *name, uint64_t bytes)
{
    put_field(d, name);
    if (bytes == MV_NO_BYTES)
        mv_out_char(d->out, '-');
    else
        mv_out_u64(d->out, bytes);
}

static void put_address(dump *d, const char *name, uint64_t address)
{
    put_field(d, name);
    if (address == MV_NO_BYTES)
        mv_out_char(d->out, '-');
    else
        mv_out_hex(d->out, address);
}

static void put_string(dump *d, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        mv_out_char(d->out, '-');
    else
        mv_out_quoted(d->out, mv_string_span(d->trace, id));
}

static void put_time(dump *d, int64_t time_us)
{
    put_field(d, "time");
    if (time_us == MV_NO_TIME)
        mv_out_char(d->out, '-');
    else
        mv_out_i64(d->out, time_us);
}

static void put_pool(dump *d, mv_pool_id pool)
{
    put_field(d, "pool");
    if (pool.row == MV_NO_ROW) {
        mv_out_char(d->out, '-');
        return;
    }
    mv_out_u64(d->out, d->trace->pools.a[pool.row]);
    mv_out_char(d->out, ',');
    mv_out_u64(d->out, d->trace->pools.b[pool.row]);
}

static void put_stream(dump *d, mv_stream_id stream)
{
    put_field(d, "stream");
    mv_out_u64(d->out, d->trace->streams.value[stream.row]);
}

static void put_stack(dump *d, const char *name, mv_stack_id stack)
{
    put_field(d, name);
    if (stack.row == MV_NO_ROW) {
        mv_out_char(d->out, '-');
        return;
    }
    mv_out_char(d->out, 'S');
    mv_out_u64(d->out, d->stack_name[stack.row]);
}

/* For stacks that are rarely present: prints nothing when there is none. */
static void put_rare_stack(dump *d, const char *name, mv_stack_id stack)
{
    if (stack.row != MV_NO_ROW)
        put_stack(d, name, stack);
}

static void put_call(dump *d, uint32_t call)
{
    if (!d->with_calls)
        return;
    put_field(d, "call");
    if (call >= d->trace->calls) {
        mv_out_char(d->out, '-');
        return;
    }
    if (d->call_name[call] == MV_NO_ROW)
        d->call_name[call] = d->calls_named++;
    mv_out_char(d->out, 'C');
    mv_out_u64(d->out, d->call_name[call]);
}

/* ---- stacks ------------------------------------------------------------------------------ */

static void put_fx(dump *d, uint32_t row)
{
    const mv_fx *fx = &d->trace->fx;

    mv_out_text(d->out, " fx ");
    put_string(d, fx->op[row]);
    mv_out_char(d->out, ' ');
    put_string(d, fx->name[row]);
    mv_out_char(d->out, ' ');
    put_string(d, fx->target[row]);
    mv_out_char(d->out, ' ');
    put_string(d, fx->trace[row]);
}

/* Prints a stack before the first row that uses it. */
static void define_stack(dump *d, mv_stack_id stack)
{
    const mv_frames *f = &d->trace->frames;
    const mv_frame_id *frames;
    uint32_t count;

    if (stack.row == MV_NO_ROW || d->stack_name[stack.row] != MV_NO_ROW)
        return;
    d->stack_name[stack.row] = d->stacks_named++;
    frames = mv_stack_frames(d->trace, stack, &count);
    mv_out_text(d->out, "stack S");
    mv_out_u64(d->out, d->stack_name[stack.row]);
    mv_out_format(d->out, " frames %u\n", count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = frames[i].row;
        mv_out_text(d->out, "  ");
        put_string(d, f->function[row]);
        mv_out_char(d->out, ' ');
        put_string(d, f->file[row]);
        mv_out_char(d->out, ' ');
        mv_out_i64(d->out, f->line[row]);
        if (f->fx[row] != MV_NO_ROW)
            put_fx(d, f->fx[row]);
        mv_out_char(d->out, '\n');
    }
}

/* ---- events ------------------------------------------------------------------------------ */

static void put_tag_text(dump *d, const char *name, mv_string_id id)
{
    if (id.row == MV_NO_ROW)
        return;
    put_field(d, name);
    put_string(d, id);
}

static void put_tag(dump *d, mv_tag_id tag)
{
    const mv_tags *t = &d->trace->tags;

    if (tag.row == MV_PLAIN_TAG.row)
        return;
    put_tag_text(d, "action", t->action[tag.row]);
    put_tag_text(d, "compile_context", t->compile_context[tag.row]);
    put_tag_text(d, "user_metadata", t->user_metadata[tag.row]);
    put_tag_text(d, "internal_metadata", t->internal_metadata[tag.row]);
    put_tag_text(d, "category", t->category[tag.row]);
    put_rare_stack(d, "forward", t->forward[tag.row]);
    put_rare_stack(d, "cpp", t->cpp[tag.row]);
    if (t->pool[tag.row].row != MV_NO_ROW)
        put_pool(d, t->pool[tag.row]);
}

static void put_events(dump *d, const mv_events *e)
{
    const mv_tags *t = &d->trace->tags;

    for (uint32_t i = 0; i < e->count; i++) {
        define_stack(d, e->stack[i]);
        define_stack(d, t->forward[e->tag[i].row]);
        define_stack(d, t->cpp[e->tag[i].row]);
        mv_out_u64(d->out, i);
        mv_out_char(d->out, ' ');
        mv_out_text(d->out, mv_action_name(e->action[i]));
        put_address(d, "addr", e->addr[i]);
        put_bytes(d, "size", e->size[i]);
        put_stream(d, e->stream[i]);
        put_time(d, e->time_us[i]);
        put_stack(d, "stack", e->stack[i]);
        put_call(d, e->call[i]);
        put_tag(d, e->tag[i]);
        mv_out_char(d->out, '\n');
    }
}

/* ---- the heap ---------------------------------------------------------------------------- */

static void put_history(dump *d, uint32_t row)
{
    const mv_history *h = &d->trace->history;

    define_stack(d, h->stack[row]);
    define_stack(d, h->cpp[row]);
    mv_out_text(d->out, "    history");
    put_address(d, "addr", h->addr[row]);
    put_bytes(d, "size", h->real_size[row]);
    put_stack(d, "stack", h->stack[row]);
    put_call(d, h->call[row]);
    put_rare_stack(d, "cpp", h->cpp[row]);
    mv_out_char(d->out, '\n');
}

static void put_block(dump *d, uint32_t row)
{
    const mv_blocks *b = &d->trace->blocks;

    define_stack(d, b->stack[row]);
    define_stack(d, b->forward[row]);
    mv_out_text(d->out, "  ");
    mv_out_text(d->out, mv_block_state_name(b->state[row]));
    put_address(d, "addr", b->address[row]);
    put_bytes(d, "size", b->size[row]);
    put_bytes(d, "requested", b->requested[row]);
    put_stack(d, "stack", b->stack[row]);
    put_call(d, b->call[row]);
    put_rare_stack(d, "forward", b->forward[row]);
    mv_out_char(d->out, '\n');
    for (uint32_t i = 0; i < b->histories[row]; i++)
        put_history(d, b->first_history[row] + i);
}

static void put_segments(dump *d, const mv_segments *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        define_stack(d, s->stack[i]);
        define_stack(d, s->forward[i]);
        mv_out_text(d->out, mv_segment_kind_name(s->kind[i]));
        mv_out_text(d->out, s->is_expandable[i] ? " expandable" : "");
        put_field(d, "device");
        mv_out_i64(d->out, s->device[i]);
        put_address(d, "addr", s->address[i]);
        put_bytes(d, "size", s->total_size[i]);
        put_bytes(d, "allocated", s->allocated[i]);
        put_bytes(d, "active", s->active[i]);
        put_bytes(d, "requested", s->requested[i]);
        put_stream(d, s->stream[i]);
        put_pool(d, s->pool[i]);
        put_stack(d, "stack", s->stack[i]);
        put_call(d, s->call[i]);
        put_rare_stack(d, "forward", s->forward[i]);
        mv_out_char(d->out, '\n');
        for (uint32_t j = 0; j < s->blocks[i]; j++)
            put_block(d, s->first_block[i] + j);
    }
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void put_settings(dump *d)
{
    const mv_settings *s = &d->trace->settings;

    mv_out_format(d->out, "settings %u\n", s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->parent[i].row != MV_NO_ROW) {
            put_string(d, s->parent[i]);
            mv_out_char(d->out, ' ');
        }
        put_string(d, s->key[i]);
        switch (s->kind[i]) {
        case MV_SETTING_INT:
            put_field(d, "int");
            mv_out_i64(d->out, s->integer[i]);
            break;
        case MV_SETTING_FLOAT:
            mv_out_format(d->out, " float %.17g", s->real[i]);
            break;
        case MV_SETTING_BOOL:
            mv_out_text(d->out, s->integer[i] ? " bool true" : " bool false");
            break;
        case MV_SETTING_TEXT:
            put_field(d, "text");
            put_string(d, s->text[i]);
            break;
        default:
            mv_out_text(d->out, " none");
        }
        mv_out_char(d->out, '\n');
    }
}

static void put_annotations(dump *d)
{
    static const char *const stages[] = {"start", "end", "other", "mark"};
    const mv_annotations *a = &d->trace->annotations;

    mv_out_format(d->out, "annotations %u\n", a->count);
    for (uint32_t i = 0; i < a->count; i++) {
        mv_out_text(d->out, stages[a->stage[i] <= MV_STAGE_MARK ? a->stage[i] : MV_STAGE_OTHER]);
        put_field(d, "device");
        mv_out_i64(d->out, a->device[i]);
        put_time(d, a->time_us[i]);
        mv_out_char(d->out, ' ');
        put_string(d, a->name[i]);
        mv_out_char(d->out, '\n');
    }
}

/* ---- what captures know besides ---------------------------------------------------------- */

static void put_api_calls(dump *d)
{
    const mv_api_calls *c = &d->trace->api_calls;

    mv_out_format(d->out, "api_calls %u\n", c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        define_stack(d, c->stack[i]);
        mv_out_text(d->out, mv_api_action_name(c->action[i]));
        mv_out_char(d->out, ' ');
        put_string(d, c->api[i]);
        mv_out_text(d->out, " device ");
        mv_out_i64(d->out, c->device[i]);
        mv_out_text(d->out, " result ");
        mv_out_i64(d->out, c->result[i]);
        put_address(d, "addr", c->addr[i]);
        put_bytes(d, "size", c->size[i]);
        put_field(d, "handle");
        mv_out_hex(d->out, c->handle[i]);
        put_time(d, c->time_us[i]);
        put_field(d, "event");
        mv_out_u64(d->out, c->event[i]);
        put_stack(d, "stack", c->stack[i]);
        put_field(d, "library");
        put_string(d, c->library[i]);
        mv_out_char(d->out, '\n');
    }
}

static void put_samples(dump *d)
{
    const mv_samples *s = &d->trace->samples;

    mv_out_format(d->out, "samples %u\n", s->count);
    for (uint32_t i = 0; i < s->count; i++) {
        mv_out_text(d->out, "device ");
        mv_out_i64(d->out, s->device[i]);
        put_time(d, s->time_us[i]);
        put_bytes(d, "used", s->used[i]);
        put_bytes(d, "total", s->total[i]);
        put_bytes(d, "process", s->process[i]);
        mv_out_char(d->out, '\n');
    }
}

/* Prints nothing for files that are not captures. */
static void put_captured(dump *d)
{
    const mv_facts *f = &d->trace->facts;

    if (f->count) {
        mv_out_format(d->out, "facts %u\n", f->count);
        for (uint32_t i = 0; i < f->count; i++) {
            put_string(d, f->key[i]);
            mv_out_char(d->out, ' ');
            put_string(d, f->value[i]);
            mv_out_char(d->out, '\n');
        }
    }
    if (d->trace->api_calls.count)
        put_api_calls(d);
    if (d->trace->samples.count)
        put_samples(d);
}

/* Only the notes that every reader finds again in the model itself. */
static void put_notes(dump *d)
{
    static const mv_note_code codes[] = {MV_NOTE_UNSORTED_TIME, MV_NOTE_UNTILED};

    mv_out_text(d->out, "notes\n");
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++)
        if (d->trace->notes[codes[i]].count)
            mv_out_format(d->out, "%s %llu\n", mv_note_name(codes[i]),
                          (unsigned long long)d->trace->notes[codes[i]].count);
}

static uint32_t *unnamed(mv_arena *arena, uint32_t count)
{
    uint32_t *names = mv_push_array(arena, uint32_t, count);

    for (uint32_t i = 0; names && i < count; i++)
        names[i] = MV_NO_ROW;
    return names;
}

int mv_cmd_dump(mv_cli *cli)
{
    mv_trace trace;
    dump d = {.out = &cli->out,
              .trace = &trace,
              .with_calls = mv_option_given(&cli->options, MV_HAS(CALLS))};

    if (mv_option_given(&cli->options, MV_HAS(CHUNKS)))
        return mv_chunks_list(cli);
    if (!mv_input_read(cli, &trace))
        return MV_EXIT_FAILED;
    d.stack_name = unnamed(&cli->scratch, trace.stacks.count);
    d.call_name = unnamed(&cli->scratch, d.with_calls ? trace.calls : 0);
    if (!d.stack_name || !d.call_name)
        return mv_complain_of(mv_input_name(cli), "%s", mv_code_text(MV_NOMEM));
    mv_out_text(d.out, "memviz dump 1\n");
    put_settings(&d);
    put_annotations(&d);
    mv_out_format(d.out, "devices %u\n", trace.device_count);
    for (uint32_t i = 0; i < trace.device_count; i++) {
        mv_out_format(d.out, "device %u events %u\n", i, trace.devices[i].events.count);
        put_events(&d, &trace.devices[i].events);
    }
    mv_out_format(d.out, "segments %u\n", trace.segments.count);
    put_segments(&d, &trace.segments);
    mv_out_format(d.out, "host_events %u\n", trace.host_events.count);
    put_events(&d, &trace.host_events);
    mv_out_format(d.out, "host_segments %u\n", trace.host_segments.count);
    put_segments(&d, &trace.host_segments);
    put_captured(&d);
    put_notes(&d);
    return MV_EXIT_DONE;
}
