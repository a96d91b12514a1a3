/* The plain form: PyTorch's own dict as msgpack. Every value goes to the machine that the pickle
 * reader uses, so no tree of the file exists. */
#include "parse/machine.h"
#include "parse/read_msgpack.h"

/* As CPython's pickler does: long containers are filled bit by bit, so a list of a million events
 * never stands on the machine's stack. */
enum { BATCH = 1000 };

typedef struct {
    mv_machine machine;
    mv_msgpack_fault fault;
} plain;

/* What the template keeps for a value: of a container, where its items begin on the machine's
 * stack and how many are to come. */
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

static inline int array_item(plain *p, plain_object *list)
{
    mv_machine *m = &p->machine;

    if (--list->left > 0 && m->depth - list->from < BATCH)
        return 0;
    return mv_machine_append_items(m, list->from) ? 0 : failed(p);
}

static inline int map_item(plain *p, plain_object *map, const plain_object *key)
{
    mv_machine *m = &p->machine;

    if (!key->is_text)
        return mv_msgpack_refuse(&p->fault, MV_TYPE, "%s", "a key is not a string");
    if (--map->left > 0 && m->depth - map->from < 2 * BATCH)
        return 0;
    return mv_machine_set_items(m, map->from) ? 0 : failed(p);
}

static inline plain_object root(plain *p)
{
    (void)p;
    return (plain_object){0};
}

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
#define plain_on_nil(p, o)                  push((p), MV_VALUE_NONE, 0, (o))
#define plain_on_true(p, o)                 push((p), MV_VALUE_BOOL, 1, (o))
#define plain_on_false(p, o)                push((p), MV_VALUE_BOOL, 0, (o))
#define plain_on_array(p, n, o)             open_container((p), MV_VALUE_LIST, (n), (o))
#define plain_on_map(p, n, o)               open_container((p), MV_VALUE_DICT, (n), (o))
#define plain_on_array_item(p, c, item)     ((void)(item), array_item((p), (c)))
#define plain_on_map_item(p, c, key, value) ((void)(value), map_item((p), (c), &(key)))
#define plain_on_str(p, base, at, n, o)     ((void)(base), push_text((p), (at), (n), (o)))
#define plain_on_bin(p, base, at, n, o)     ((void)(base), push_text((p), (at), (n), (o)))
#define plain_on_ext(p, base, at, n, o)     ((void)(base), (void)(at), (void)(n), (void)(o), -1)
#include <msgpack/unpack_template.h>

static mv_msgpack_step step(void *parser, mv_span window)
{
    struct plain_context *context = parser;
    mv_msgpack_step s = {0};

    s.status = plain_execute(context, (const char *)window.data, window.length, &s.used);
    s.state = context->cs;
    s.wanted = context->trail;
    return s;
}

mv_code mv_msgpack_plain_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                              mv_trace *out, mv_err *err)
{
    struct plain_context context;
    mv_arena scratch;
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    context.user.fault = (mv_msgpack_fault){0};
    mv_machine_init(&context.user.machine, arena, &scratch, out);
    plain_init(&context);
    if (context.user.machine.code != MV_OK)
        code = mv_fail(err, context.user.machine.code, 0, "%s", context.user.machine.detail);
    else
        code = mv_msgpack_feed(source, opts, step, &context, &context.user.fault, err);
    if (code == MV_OK)
        code = mv_machine_finish(&context.user.machine, err);
    mv_arena_release(&scratch);
    return code;
}
