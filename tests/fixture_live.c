#include "tests/fixture_live.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST_THREADS = 16, MOST_RECORD = 4096, PYTHON_3_8 = 3 << 8 | 8 };

typedef struct {
    uint64_t at; /* of the chunk's header; 0: none is open */
    uint32_t thread;
    uint64_t sequence, time_us;
    uint64_t recent[MV_LIVE_RECENT], last;
    uint32_t spelled;
    int64_t type, device;
} open_chunk;

struct mvt_live {
    mv_arena *arena;
    uint8_t *bytes;
    uint64_t length;
    open_chunk facts, names, threads[MOST_THREADS];
    uint64_t sequence, time_us;
    uint32_t strings, codes, modules, frames, stacks;
    struct {
        char *text;
        uint32_t id;
    } known[4096]; /* strings and stacks that were named */
    uint32_t known_count;
};

/* ---- bytes ------------------------------------------------------------------------------- */

typedef struct {
    uint8_t data[MOST_RECORD];
    uint64_t length;
} record;

static void put_byte(record *r, uint8_t byte)
{
    cr_assert_lt(r->length, MOST_RECORD);
    r->data[r->length++] = byte;
}

static void put_number(record *r, uint64_t n)
{
    for (; n >= 128; n >>= 7)
        put_byte(r, (uint8_t)(n | 128));
    put_byte(r, (uint8_t)n);
}

static uint64_t zigzag(int64_t n)
{
    return (uint64_t)n << 1 ^ (uint64_t)(n >> 63);
}

static void put_text(record *r, const char *text, uint64_t length)
{
    put_number(r, length);
    for (uint64_t i = 0; i < length; i++)
        put_byte(r, (uint8_t)text[i]);
}

static void put_string(record *r, const char *text)
{
    put_text(r, text, strlen(text));
}

static void put_size(record *r, uint64_t size)
{
    put_number(r, size % 512 ? size << 1 | 1 : size / 512 << 1);
}

/* ---- chunks ------------------------------------------------------------------------------ */

static mv_live_head *head_of(mvt_live *l, const open_chunk *chunk)
{
    return (mv_live_head *)(void *)(l->bytes + chunk->at + sizeof(mv_wire_chunk));
}

static void begin_chunk(mvt_live *l, open_chunk *chunk, uint16_t kind)
{
    uint64_t at = kind == MV_LIVE_FACTS ? sizeof(mv_wire_header) : l->length;
    uint64_t end = kind == MV_LIVE_FACTS ? MV_LIVE_CHUNK_BYTES : at + MV_LIVE_CHUNK_BYTES;
    mv_wire_chunk head = {.kind = kind, .flags = MV_WIRE_UNSEALED};

    l->bytes = mv_arena_grow(l->arena, l->bytes, end);
    cr_assert_not_null(l->bytes);
    l->length = end;
    memcpy(head.magic, MV_WIRE_CHUNK_MAGIC, MV_WIRE_CHUNK_MAGIC_BYTES);
    head.raw_bytes = head.stored_bytes = end - at - sizeof head;
    if (kind == MV_LIVE_NAMES) {
        head.first_row = l->strings | (uint64_t)l->codes << 32;
        head.table_rows = l->frames | (uint64_t)l->stacks << 32;
        head.device = l->modules;
    }
    head.hash = XXH3_64bits(&head, offsetof(mv_wire_chunk, hash));
    memcpy(l->bytes + at, &head, sizeof head);
    *chunk = (open_chunk){.at = at,
                          .thread = chunk->thread,
                          .sequence = l->sequence,
                          .time_us = l->time_us,
                          .type = -1};
    *head_of(l, chunk) = (mv_live_head){
        .first_sequence = l->sequence, .first_time_us = l->time_us, .thread = chunk->thread};
}

static void append(mvt_live *l, open_chunk *chunk, const record *r)
{
    mv_live_head *head = head_of(l, chunk);

    memcpy((uint8_t *)(head + 1) + head->committed, r->data, r->length);
    head->committed += r->length;
}

static bool has_room(mvt_live *l, const open_chunk *chunk)
{
    mv_wire_chunk head;

    if (chunk->at == 0)
        return false;
    memcpy(&head, l->bytes + chunk->at, sizeof head);
    return head.stored_bytes - sizeof(mv_live_head) - head_of(l, chunk)->committed >= MOST_RECORD;
}

static void close_chunk(mvt_live *l, open_chunk *chunk, bool sealed)
{
    mv_live_head *head;

    if (chunk->at == 0)
        return;
    head = head_of(l, chunk);
    if (sealed)
        head->seal = XXH3_64bits(head + 1, head->committed);
    chunk->at = 0;
}

mvt_live *mvt_live_new(mv_arena *arena)
{
    mvt_live *l = mv_push_struct(arena, mvt_live);
    mv_wire_header header = {.version = MV_WIRE_VERSION};

    cr_assert_not_null(l);
    l->arena = arena;
    l->time_us = 1000000;
    begin_chunk(l, &l->facts, MV_LIVE_FACTS);
    memcpy(header.magic, MV_WIRE_MAGIC, MV_WIRE_MAGIC_BYTES);
    header.hash = XXH3_64bits(&header, offsetof(mv_wire_header, hash));
    memcpy(l->bytes, &header, sizeof header);
    mvt_live_fact(l, "pid", "1234");
    mvt_live_fact(l, "monotonic_us", "1000000");
    mvt_live_fact(l, "realtime_us", "1700000000000000");
    return l;
}

mv_span mvt_live_bytes(mvt_live *l)
{
    return (mv_span){l->bytes, l->length};
}

void mvt_live_fact(mvt_live *l, const char *key, const char *value)
{
    record r = {.length = 0};

    put_string(&r, key);
    put_string(&r, value);
    append(l, &l->facts, &r);
}

/* ---- names ------------------------------------------------------------------------------- */

static void append_name(mvt_live *l, const record *r)
{
    if (!has_room(l, &l->names)) {
        close_chunk(l, &l->names, true);
        begin_chunk(l, &l->names, MV_LIVE_NAMES);
    }
    append(l, &l->names, r);
}

static uint32_t *known(mvt_live *l, char kind, const char *text)
{
    char key[2048];

    snprintf(key, sizeof key, "%c%s", kind, text);
    for (uint32_t i = 0; i < l->known_count; i++)
        if (strcmp(l->known[i].text, key) == 0)
            return &l->known[i].id;
    cr_assert_lt(l->known_count, sizeof l->known / sizeof *l->known);
    l->known[l->known_count].text = mv_arena_text(l->arena, key, strlen(key));
    return &l->known[l->known_count++].id;
}

uint32_t mvt_live_string(mvt_live *l, const char *text)
{
    uint32_t *id = known(l, '"', text);
    record r = {.length = 0};

    if (*id == 0) {
        put_byte(&r, MV_LIVE_NAME_STRING);
        put_string(&r, text);
        append_name(l, &r);
        *id = ++l->strings;
    }
    return *id;
}

static void put_python(mvt_live *l, record *r, char *text)
{
    char *line = strrchr(text, ':'), *file;
    record code = {.length = 0};

    *line++ = 0;
    file = strrchr(text, ':');
    cr_assert_not_null(file, "%s", text);
    *file++ = 0;
    put_byte(&code, MV_LIVE_NAME_CODE);
    put_number(&code, mvt_live_string(l, file) - 1);
    put_number(&code, mvt_live_string(l, text) - 1);
    put_number(&code, (uint64_t)strtol(line, NULL, 10) - 1);
    put_number(&code, PYTHON_3_8);
    put_text(&code, "\2\1", 2); /* the next line from byte 2 on */
    append_name(l, &code);
    l->codes++;
    put_byte(r, MV_LIVE_NAME_PYTHON);
    put_number(r, l->codes - 1);
    put_number(r, 4);
}

static void put_native(mvt_live *l, record *r, char *text)
{
    char *address = strrchr(text, '+');
    record module = {.length = 0};

    *address++ = 0;
    put_byte(&module, MV_LIVE_NAME_MODULE);
    put_number(&module, mvt_live_string(l, text + 1) - 1);
    put_text(&module, "\1\2\3", 3);
    put_number(&module, 0x7f0000000000);
    put_number(&module, 0x7f0000000000);
    put_number(&module, 0x7f0000100000);
    append_name(l, &module);
    l->modules++;
    put_byte(r, MV_LIVE_NAME_NATIVE);
    put_number(r, l->modules);
    put_number(r, strtoull(address, NULL, 10));
}

static uint32_t frame_of(mvt_live *l, const char *frame)
{
    uint32_t *id = known(l, '#', frame);
    char *text = mv_arena_text(l->arena, frame, strlen(frame));
    record r = {.length = 0};

    if (*id)
        return *id;
    if (*text == '@') {
        put_native(l, &r, text);
    } else if (strchr(text, ':')) {
        put_python(l, &r, text);
    } else {
        uint32_t words = mvt_live_string(l, text) - 1;
        put_byte(&r, MV_LIVE_NAME_WORDS);
        put_number(&r, words);
    }
    append_name(l, &r);
    *id = ++l->frames;
    return *id;
}

uint32_t mvt_live_stack(mvt_live *l, const char *frames)
{
    uint32_t *id = known(l, ';', frames), caller = 0, frame;
    const char *rest = strchr(frames, ';');
    record r = {.length = 0};
    char *first;

    if (*id || !*frames)
        return *id;
    if (rest)
        caller = mvt_live_stack(l, rest + 1);
    first = mv_arena_text(l->arena, frames, rest ? (uint64_t)(rest - frames) : strlen(frames));
    frame = frame_of(l, first);
    put_byte(&r, MV_LIVE_NAME_STACK);
    put_number(&r, caller);
    put_number(&r, frame - 1);
    append_name(l, &r);
    *id = ++l->stacks;
    return *id;
}

/* ---- events ------------------------------------------------------------------------------ */

static open_chunk *thread_of(mvt_live *l, uint32_t thread)
{
    cr_assert_lt(thread, MOST_THREADS);
    l->threads[thread].thread = thread;
    return &l->threads[thread];
}

void mvt_live_next_chunk(mvt_live *l, uint32_t thread, bool sealed)
{
    close_chunk(l, thread ? thread_of(l, thread) : &l->names, sealed);
}

static uint32_t slot_of(const open_chunk *c, uint64_t addr)
{
    for (uint32_t i = 0; i < MV_LIVE_RECENT && i < c->spelled; i++)
        if (c->recent[i] == addr)
            return i;
    return MV_LIVE_NOT_RECENT;
}

static void put_address(open_chunk *c, record *r, uint32_t slot, uint64_t addr)
{
    int64_t by = (int64_t)(addr - c->last);

    if (slot != MV_LIVE_NOT_RECENT)
        return;
    put_number(r, by % 512 ? zigzag(by) << 1 : zigzag(by >> 9) << 1 | 1);
    c->last = c->recent[c->spelled++ % MV_LIVE_RECENT] = addr;
}

static void start_record(open_chunk *c, record *r, mv_live_event kind, uint32_t slot,
                         uint64_t sequence, uint64_t time_us)
{
    put_byte(r, (uint8_t)(kind | slot << 4));
    put_number(r, sequence - c->sequence);
    put_number(r, time_us > c->time_us ? time_us - c->time_us : 0);
    c->sequence = sequence;
    c->time_us = time_us > c->time_us ? time_us : c->time_us;
}

static void name_device(mvt_live *l, open_chunk *c, const mvt_live_args *a)
{
    int64_t type = a->cpu ? 0 : 1, device = a->cpu ? -1 : (int64_t)a->device;
    record r = {.length = 0};

    if (c->type == type && c->device == device)
        return;
    start_record(c, &r, MV_LIVE_EVENT_DEVICE, MV_LIVE_NOT_RECENT, c->sequence, c->time_us);
    put_number(&r, zigzag(type));
    put_number(&r, zigzag(device));
    append(l, c, &r);
    c->type = type;
    c->device = device;
}

void mvt_live_follow(mvt_live *l, uint32_t thread, uint32_t follower)
{
    open_chunk *c = thread_of(l, thread);
    record r = {.length = 0};

    start_record(c, &r, MV_LIVE_EVENT_THREAD, MV_LIVE_NOT_RECENT, c->sequence, c->time_us);
    put_number(&r, follower);
    append(l, c, &r);
    c->type = c->device = -1;
}

static void put_call(open_chunk *c, record *r, uint32_t slot, const mvt_live_args *a)
{
    put_address(c, r, slot, a->addr);
    put_number(r, a->action);
    put_size(r, a->size);
    put_number(r, a->handle);
    put_number(r, a->text);
    put_number(r, a->library);
    put_number(r, zigzag(a->device));
    put_number(r, zigzag(a->result));
    put_number(r, a->stack);
}

static void put_fields(open_chunk *c, record *r, mv_live_event kind, uint32_t slot,
                       const mvt_live_args *a)
{
    switch (kind) {
    case MV_LIVE_EVENT_BLOCK:
    case MV_LIVE_EVENT_FREE:
        put_address(c, r, slot, a->addr);
        put_size(r, a->size);
        if (kind == MV_LIVE_EVENT_BLOCK)
            put_number(r, a->stack);
        break;
    case MV_LIVE_EVENT_OOM:
        put_size(r, a->size);
        put_number(r, a->allocated);
        put_number(r, a->reserved);
        put_number(r, a->stack);
        break;
    case MV_LIVE_EVENT_TOTALS:
        put_number(r, a->allocated);
        put_number(r, a->reserved);
        break;
    case MV_LIVE_EVENT_CALL:
        put_call(c, r, slot, a);
        break;
    case MV_LIVE_EVENT_BEGIN:
        put_number(r, a->number);
        put_number(r, a->text - 1);
        break;
    case MV_LIVE_EVENT_END:
        put_number(r, a->number);
        break;
    case MV_LIVE_EVENT_MARK:
    case MV_LIVE_EVENT_PUSH:
        put_number(r, a->text - 1);
        break;
    default:
        break;
    }
}

static bool has_device(mv_live_event kind)
{
    return kind == MV_LIVE_EVENT_BLOCK || kind == MV_LIVE_EVENT_FREE || kind == MV_LIVE_EVENT_OOM ||
           kind == MV_LIVE_EVENT_TOTALS;
}

static bool has_address(mv_live_event kind)
{
    return kind == MV_LIVE_EVENT_BLOCK || kind == MV_LIVE_EVENT_FREE || kind == MV_LIVE_EVENT_CALL;
}

void mvt_live_event(mvt_live *l, mv_live_event kind, mvt_live_args a)
{
    open_chunk *c = thread_of(l, a.thread ? a.thread : 1);
    record r = {.length = 0};
    uint32_t slot = MV_LIVE_NOT_RECENT;

    l->time_us = a.time_us ? a.time_us : l->time_us + 10;
    if (!has_room(l, c)) {
        close_chunk(l, c, true);
        begin_chunk(l, c, MV_LIVE_EVENTS);
        if (a.sequence && a.sequence <= l->sequence)
            c->sequence = head_of(l, c)->first_sequence = a.sequence - 1;
    }
    if (has_device(kind))
        name_device(l, c, &a);
    if (has_address(kind))
        slot = slot_of(c, a.addr);
    if (kind == MV_LIVE_EVENT_TOTALS)
        a.sequence = c->sequence;
    else if (a.sequence == 0)
        a.sequence = l->sequence + 1;
    l->sequence = a.sequence > l->sequence ? a.sequence : l->sequence;
    start_record(c, &r, kind, slot, a.sequence, l->time_us);
    put_fields(c, &r, kind, slot, &a);
    append(l, c, &r);
}

/* ---- from a trace ------------------------------------------------------------------------ */

typedef struct {
    mvt_live *l;
    const mv_trace *trace;
    uint32_t allocator;
    uint32_t *stacks; /* [stacks.count] ids + 1; 0: not written yet */
} replay;

static void print_frame(const mv_trace *t, uint32_t frame, char *out, size_t size)
{
    const mv_frames *f = &t->frames;

    if (f->file[frame].row == MV_NO_ROW)
        snprintf(out, size, "%s", mv_string_text(t, f->function[frame]));
    else
        snprintf(out, size, "%s:%s:%lld", mv_string_text(t, f->function[frame]),
                 mv_string_text(t, f->file[frame]), (long long)f->line[frame]);
}

static uint32_t stack_of(replay *p, mv_stack_id stack)
{
    const mv_frame_id *frames;
    char text[2000] = "";
    uint32_t count;

    if (stack.row == MV_NO_ROW || p->stacks[stack.row])
        return stack.row == MV_NO_ROW ? 0 : p->stacks[stack.row];
    frames = mv_stack_frames(p->trace, stack, &count);
    for (uint32_t i = 0; i < count; i++) {
        size_t at = strlen(text);
        if (i)
            text[at++] = ';';
        print_frame(p->trace, frames[i].row, text + at, sizeof text - at);
    }
    return p->stacks[stack.row] = mvt_live_stack(p->l, text);
}

static void replay_call(replay *p, mvt_live_args a, mv_api_action action, const char *api)
{
    a.action = action;
    a.text = mvt_live_string(p->l, api);
    a.library = p->allocator;
    mvt_live_event(p->l, MV_LIVE_EVENT_CALL, a);
}

static void replay_event(replay *p, uint32_t device, uint32_t i)
{
    const mv_events *e = &p->trace->devices[device].events;
    mvt_live_args a = {.device = device, .addr = e->addr[i], .stack = stack_of(p, e->stack[i])};

    a.time_us = (uint64_t)e->time_us[i] + 1000000;
    a.size = e->size[i] ? (e->size[i] + 511) / 512 * 512 : 512;
    switch (e->action[i]) {
    case MV_ACTION_ALLOC:
        mvt_live_event(p->l, MV_LIVE_EVENT_BLOCK, a);
        break;
    case MV_ACTION_FREE_REQUESTED:
        mvt_live_event(p->l, MV_LIVE_EVENT_FREE, a);
        break;
    case MV_ACTION_SEGMENT_ALLOC:
        replay_call(p, a, MV_API_ALLOC, "cudaMalloc");
        break;
    case MV_ACTION_SEGMENT_FREE:
        a.size = 0;
        replay_call(p, a, MV_API_FREE, "cudaFree");
        break;
    case MV_ACTION_SEGMENT_MAP:
        replay_call(p, a, MV_API_MAP, "cuMemMap");
        break;
    case MV_ACTION_SEGMENT_UNMAP:
        replay_call(p, a, MV_API_UNMAP, "cuMemUnmap");
        break;
    case MV_ACTION_OOM:
        mvt_live_event(p->l, MV_LIVE_EVENT_OOM, a);
        break;
    default:
        break;
    }
}

static void replay_annotation(replay *p, uint32_t i)
{
    const mv_annotations *a = &p->trace->annotations;
    mvt_live_args args = {.text = mvt_live_string(p->l, mv_string_text(p->trace, a->name[i]))};

    args.time_us = (uint64_t)a->time_us[i] + 1000000;
    mvt_live_event(p->l,
                   a->stage[i] == MV_STAGE_START ? MV_LIVE_EVENT_PUSH
                   : a->stage[i] == MV_STAGE_END ? MV_LIVE_EVENT_POP
                                                 : MV_LIVE_EVENT_MARK,
                   args);
}

/* By time: annotations ahead of the events of the same time, devices by number. */
mv_span mvt_live_of(mv_arena *arena, const mv_trace *trace)
{
    replay p = {.l = mvt_live_new(arena), .trace = trace};
    uint32_t *next = mv_push_array(arena, uint32_t, trace->device_count + 1);
    uint32_t annotation = 0;

    p.stacks = mv_push_array(arena, uint32_t, trace->stacks.count);
    cr_assert(next && p.stacks);
    p.allocator = mvt_live_string(p.l, "/venv/lib/libc10_cuda.so");
    for (;;) {
        const mv_annotations *a = &trace->annotations;
        int64_t least = annotation < a->count ? a->time_us[annotation] : INT64_MAX;
        uint32_t best = MV_NO_ROW;
        for (uint32_t d = 0; d < trace->device_count; d++) {
            const mv_events *e = &trace->devices[d].events;
            if (next[d] < e->count && e->time_us[next[d]] < least) {
                least = e->time_us[next[d]];
                best = d;
            }
        }
        if (best != MV_NO_ROW)
            replay_event(&p, best, next[best]++);
        else if (annotation < a->count)
            replay_annotation(&p, annotation++);
        else
            return mvt_live_bytes(p.l);
    }
}
