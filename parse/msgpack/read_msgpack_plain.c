/* The plain form: PyTorch's own dict as msgpack. Every value goes to the machine that the pickle
 * reader uses, so no tree of the file exists. */
#include "parse/msgpack/read_msgpack.h"
#include "parse/msgpack/read_msgpack_spelled.h"
#include "parse/values/machine.h"

/* Long containers are filled piece by piece, as CPython's pickler does it, so a list of a million
 * events is never on the machine's stack as a whole. */
enum { BATCH = 1000 };

typedef struct {
    mv_machine machine;
    mv_msgpack_fault fault;
    mv_spelled spelled;
    const mv_spelling *recalled; /* the stack that the next nil means */
    mv_stack_id parsed;          /* what the last array that ended is, if it is a stack */
    uint64_t seen;               /* bytes of the file */
    uint64_t base;               /* offset of the first byte that the template was given */
    uint64_t at;                 /* offset of the byte that it is at */
} plain;

/* The template's record of a value. For a container: where its items begin on the machine's stack,
 * and how many are still to come. */
typedef struct {
    uint64_t from;
    uint32_t left;
    bool is_text;
} plain_object;

static int failed(plain *p)
{
    const mv_machine *m = &p->machine;

    return mv_msgpack_refuse(&p->fault, m->code, "%s", m->detail);
}

static inline int push(plain *p, mv_value_kind kind, uint64_t bits, plain_object *o)
{
    o->is_text = false;
    return mv_machine_push(&p->machine, mv_value_of(kind, bits)) ? 0 : failed(p);
}

static inline int push_real(plain *p, double value, plain_object *o)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return push(p, MV_VALUE_FLOAT, bits, o);
}

/* A stack of its own, as if it had been parsed again. */
static int push_stack(plain *p, plain_object *o)
{
    mv_machine *m = &p->machine;
    uint64_t from = m->depth + 1;
    uint32_t count;
    const mv_frame_id *frame = mv_stack_frames(m->build.trace, p->recalled->stack, &count);

    p->recalled = NULL;
    o->is_text = false;
    if (!mv_machine_push(m, mv_value_fresh(MV_VALUE_LIST)))
        return failed(p);
    for (uint32_t i = 0; i < count; i++)
        if (!mv_machine_push(m, mv_value_of(MV_VALUE_FRAME, frame[i].row)))
            return failed(p);
    return mv_machine_append_items(m, from) ? 0 : failed(p);
}

static inline int push_nil(plain *p, plain_object *o)
{
    return p->recalled ? push_stack(p, o) : push(p, MV_VALUE_NONE, 0, o);
}

static inline int push_text(plain *p, const char *text, uint32_t length, plain_object *o)
{
    mv_machine *m = &p->machine;
    mv_value value = mv_machine_string(m, length ? text : "", length);

    o->is_text = true;
    return m->code == MV_OK && mv_machine_push(m, value) ? 0 : failed(p);
}

static inline int open_container(plain *p, mv_value_kind kind, uint32_t count, plain_object *o)
{
    mv_machine *m = &p->machine;

    if (!mv_machine_push(m, mv_value_fresh(kind)))
        return failed(p);
    *o = (plain_object){.from = m->depth, .left = count};
    return 0;
}

static inline int array_item(plain *p, plain_object *list, ptrdiff_t at)
{
    mv_machine *m = &p->machine;

    p->at = p->base + (uint64_t)at;
    if (--list->left > 0 && m->depth - list->from < BATCH)
        return 0;
    if (!mv_machine_append_items(m, list->from))
        return failed(p);
    p->parsed = MV_NO_STACK;
    if (list->left == 0 && m->stack[m->depth - 1].kind == MV_VALUE_STACK)
        p->parsed = m->stack_of_call[m->stack[m->depth - 1].bits];
    return 0;
}

static inline int map_item(plain *p, plain_object *map, const plain_object *key, ptrdiff_t at)
{
    mv_machine *m = &p->machine;

    p->at = p->base + (uint64_t)at;
    if (!key->is_text && !mv_machine_refuse_dict(m, map->from))
        return failed(p);
    if (--map->left > 0 && m->depth - map->from < 2 * BATCH)
        return 0;
    return mv_machine_set_items(m, map->from) ? 0 : failed(p);
}

static inline plain_object root(plain *p)
{
    (void)p;
    return (plain_object){0};
}

/* The template's own variables: the byte that it is at, and the first that it was given. */
#define TEMPLATE_AT (p - (const unsigned char *)data)

#define msgpack_unpack_struct(name)         struct plain##name
#define msgpack_unpack_func(ret, name)      static inline ret plain##name
#define msgpack_unpack_callback(name)       plain_on##name
#define msgpack_unpack_object               plain_object
#define msgpack_unpack_user                 plain
#define plain_on_root(p)                    root(p)
#define plain_on_uint8(p, v, o)             push((p), MV_VALUE_INT, (v), (o))
#define plain_on_uint16(p, v, o)            push((p), MV_VALUE_INT, (v), (o))
#define plain_on_uint32(p, v, o)            push((p), MV_VALUE_INT, (v), (o))
#define plain_on_uint64(p, v, o)            push((p), (v) >> 63 ? MV_VALUE_UINT : MV_VALUE_INT, (v), (o))
#define plain_on_int8(p, v, o)              push((p), MV_VALUE_INT, (uint64_t)(int64_t)(v), (o))
#define plain_on_int16(p, v, o)             push((p), MV_VALUE_INT, (uint64_t)(int64_t)(v), (o))
#define plain_on_int32(p, v, o)             push((p), MV_VALUE_INT, (uint64_t)(int64_t)(v), (o))
#define plain_on_int64(p, v, o)             push((p), MV_VALUE_INT, (uint64_t)(int64_t)(v), (o))
#define plain_on_float(p, v, o)             push_real((p), (double)(v), (o))
#define plain_on_double(p, v, o)            push_real((p), (v), (o))
#define plain_on_nil(p, o)                  push_nil((p), (o))
#define plain_on_true(p, o)                 push((p), MV_VALUE_BOOL, 1, (o))
#define plain_on_false(p, o)                push((p), MV_VALUE_BOOL, 0, (o))
#define plain_on_array(p, n, o)             open_container((p), MV_VALUE_LIST, (n), (o))
#define plain_on_map(p, n, o)               open_container((p), MV_VALUE_DICT, (n), (o))
#define plain_on_array_item(u, c, item)     ((void)(item), array_item((u), (c), TEMPLATE_AT))
#define plain_on_map_item(u, c, key, value) ((void)(value), map_item((u), (c), &(key), TEMPLATE_AT))
#define plain_on_str(p, base, at, n, o)     ((void)(base), push_text((p), (at), (n), (o)))
#define plain_on_bin(p, base, at, n, o)     ((void)(base), push_text((p), (at), (n), (o)))
#define plain_on_ext(p, base, at, n, o)     ((void)(base), (void)(at), (void)(n), (void)(o), -1)
#include <msgpack/unpack_template.h>

/* The end of the first key "frames" after `from`: a stack may begin there. */
static size_t after_frames(mv_span window, size_t from)
{
    static const char key[] = "\xa6"
                              "frames";
    const uint8_t *at;

    if (from >= window.length)
        return window.length;
    at = memmem(window.data + from, window.length - from, key, sizeof key - 1);
    return at ? (size_t)(at - window.data) + sizeof key - 1 : window.length;
}

static uint64_t notes_of(const plain *p)
{
    const mv_note *notes = p->machine.build.trace->notes;

    return notes[MV_NOTE_UNKNOWN_KEY].count + notes[MV_NOTE_DUPLICATE_KEY].count;
}

/* The parser is before a value. If that is a stack whose bytes are known, a nil is parsed instead,
 * for which push_nil pushes the stack. Else the value is parsed, and remembered unless it has
 * something to note, which must be counted each time. */
static int recall(struct plain_context *context, mv_span window, size_t *used)
{
    plain *p = &context->user;
    mv_span rest = {window.data + *used, window.length - *used};
    size_t nil_used = 0;
    uint64_t length, notes;
    int status;

    p->recalled = mv_spelled_find(&p->spelled, rest, p->seen + *used, &length);
    if (p->recalled) {
        *used += p->recalled->length;
        p->base = p->seen + *used;
        return plain_execute(context, "\xc0", 1, &nil_used);
    }
    if (length == 0)
        return 0;
    p->parsed = MV_NO_STACK;
    p->base = p->seen;
    notes = notes_of(p);
    status = plain_execute(context, (const char *)window.data, *used + length, used);
    if (status == 0 && p->parsed.row != MV_NO_ROW && notes_of(p) == notes)
        mv_spelled_learn(&p->spelled, (mv_span){rest.data, length}, p->parsed);
    return status;
}

static mv_msgpack_step step(void *parser, mv_span window)
{
    struct plain_context *context = parser;
    mv_msgpack_step s = {0};

    for (size_t end = 0; s.status == 0 && end < window.length;) {
        /* Bytes that look like the key may be inside a text that the parser has begun. */
        size_t begun = context->cs == MSGPACK_CS_HEADER ? 0 : context->trail;
        end = after_frames(window, s.used + begun);
        context->user.base = context->user.seen;
        s.status = plain_execute(context, (const char *)window.data, end, &s.used);
        if (s.status == 0 && s.used == end && end < window.length &&
            context->cs == MSGPACK_CS_HEADER)
            s.status = recall(context, window, &s.used);
    }
    context->user.seen += s.used;
    s.state = context->cs;
    s.wanted = context->trail;
    return s;
}

static uint64_t offset_of(const void *reader)
{
    return ((const plain *)reader)->at;
}

mv_code mv_msgpack_plain_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                              mv_trace *out, mv_err *err)
{
    struct plain_context context;
    plain *p = &context.user;
    mv_arena scratch;
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    *p = (plain){0};
    mv_machine_init(&p->machine, arena, &scratch, out);
    p->machine.offset = offset_of;
    p->machine.reader = p;
    if (!mv_spelled_init(&p->spelled, &scratch) || p->machine.code != MV_OK) {
        code = mv_fail(err, MV_NOMEM, 0, "%s", p->machine.detail);
    } else {
        plain_init(&context);
        code = mv_msgpack_feed(source, opts, step, &context, &p->fault, err);
        if (code == MV_OK)
            code = mv_machine_finish(&p->machine, err);
    }
    mv_arena_release(&scratch);
    return code;
}
