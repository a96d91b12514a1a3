/* Reads the plain form, which is PyTorch's dict as msgpack. Every value is passed to the machine
 * that the pickle reader uses too, so no tree is built. */
#include "parse/msgpack/read_msgpack.h"
#include "parse/values/machine.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- known stacks ------------------------------------------------------------------------ */

/* The plain form repeats every stack at every event, so 95 % of all bytes have occurred before. A
 * stack whose bytes equal those of an earlier stack is compared with it instead of parsed. The
 * earlier stack is guessed from the two previous stacks; if the guess is wrong, it is looked up by
 * a hash of the bytes. */

typedef struct {
    const uint8_t *bytes;
    uint32_t length;
    mv_stack_id stack;
} spelling;

typedef struct {
    mv_arena *scratch; /* owns all memory below */
    mv_intern by_bytes;
    spelling *known; /* [count] */
    uint32_t count;
    uint64_t bytes;         /* total number of bytes of known stacks */
    uint32_t *guesses;      /* [1 << GUESS_BITS] guessed row + 1, by the two previous rows */
    uint32_t last, earlier; /* rows of the last stack and the one before it, + 1 */
    uint64_t wasted;        /* number of bytes that were searched without a result */
} spelled_stacks;

enum {
    GUESS_BITS = 12,
    MOST_KNOWN = 1 << 14,
    LONGEST = 64 << 10,
    MOST_BYTES = 32 << 20,
    LEAST_WASTE = 1 << 20
};

/* Returns false when out of memory. */
static bool init_spelled(spelled_stacks *s, mv_arena *scratch)
{
    *s = (spelled_stacks){.scratch = scratch, .by_bytes = {.arena = scratch}};
    s->known = mv_push_array(scratch, spelling, MOST_KNOWN);
    s->guesses = mv_push_array(scratch, uint32_t, 1u << GUESS_BITS);
    return s->known && s->guesses;
}

/* Returns the big-endian number of `width` bytes after the byte at `at`. */
static uint64_t number_after(const uint8_t *at, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 1; i <= width; i++)
        value = value << 8 | at[i];
    return value;
}

/* Returns the length of the token at `at` without its items, and adds the number of its items to
 * *items. Returns 0 for types that do not occur in stacks. Loads up to 8 bytes after `at`. */
static uint64_t token_length(const uint8_t *at, uint64_t *items)
{
    uint8_t byte = *at;

    if (byte <= 0x7f || byte >= 0xe0 || byte == 0xc0)
        return 1;
    if (byte <= 0x8f)
        *items += 2u * (byte & 15);
    if (byte >= 0x90 && byte <= 0x9f)
        *items += byte & 15;
    if (byte <= 0x9f)
        return 1;
    if (byte <= 0xbf)
        return 1u + (byte & 31);
    if (byte >= 0xcc && byte <= 0xd3) /* integers of 1, 2, 4, 8 bytes */
        return 1u + (1u << (byte & 3));
    if (byte >= 0xd9 && byte <= 0xdb) /* strings with a length of 1, 2, 4 bytes */
        return 1u + (1u << (byte - 0xd9)) + number_after(at, 1u << (byte - 0xd9));
    if (byte == 0xdc) {
        *items += number_after(at, 2);
        return 3;
    }
    return 0;
}

/* Returns the length of the array at the beginning of `rest`; 0 if there is no array, or if it is
 * too long or incomplete. */
static uint64_t array_length(mv_span rest, uint64_t *walked)
{
    uint64_t at = 0, left = 1;

    *walked = 0;
    if (rest.length == 0 || ((rest.data[0] & 0xf0) != 0x90 && rest.data[0] != 0xdc))
        return 0;
    while (left > 0) {
        uint64_t bytes;
        if (at + 9 > rest.length || at > LONGEST)
            return 0;
        bytes = token_length(rest.data + at, &left);
        if (bytes == 0)
            return 0;
        at += bytes;
        *walked = at;
        left--;
    }
    return at <= rest.length && at <= LONGEST ? at : 0;
}

static const spelling *is_at(const spelled_stacks *s, uint32_t row, mv_span rest)
{
    const spelling *k = &s->known[row];

    if (k->length > rest.length || memcmp(k->bytes, rest.data, k->length) != 0)
        return NULL;
    return k;
}

static uint32_t *guess_of(spelled_stacks *s)
{
    return &s->guesses[mv_mix(s->last, s->earlier) >> (64 - GUESS_BITS)];
}

/* Makes `row` the previous row, on which the next guess depends. */
static void follow(spelled_stacks *s, uint32_t row)
{
    *guess_of(s) = row + 1;
    s->earlier = s->last;
    s->last = row + 1;
}

/* Returns the known stack at the beginning of `rest`, or NULL. If the result is NULL, *length is
 * the length of an array that is worth remembering, or 0. `seen` is the number of bytes of the file
 * read so far, which limits the number of bytes that are searched. */
static const spelling *find_spelled(spelled_stacks *s, mv_span rest, uint64_t seen,
                                    uint64_t *length)
{
    uint32_t guess = *guess_of(s);
    uint64_t walked, hash;

    *length = 0;
    if (guess > 0 && is_at(s, guess - 1, rest)) {
        follow(s, guess - 1);
        return &s->known[guess - 1];
    }
    if (s->wasted > seen / 8 + LEAST_WASTE)
        return NULL;
    *length = array_length(rest, &walked);
    if (*length == 0) {
        s->wasted += walked;
        return NULL;
    }
    hash = XXH3_64bits_withSeed(rest.data, *length, mv_hash_key());
    for (mv_probe p = mv_intern_start(&s->by_bytes, hash); mv_intern_next(&s->by_bytes, &p);) {
        if (s->known[p.row].length == *length && is_at(s, p.row, rest)) {
            follow(s, p.row);
            return &s->known[p.row];
        }
    }
    return NULL;
}

/* Remembers the stack for these bytes, unless the table is full. */
static void learn_spelled(spelled_stacks *s, mv_span bytes, mv_stack_id stack)
{
    uint8_t *copy;

    if (s->count == MOST_KNOWN || s->bytes + bytes.length > MOST_BYTES)
        return;
    copy = mv_push_array(s->scratch, uint8_t, bytes.length);
    if (!copy ||
        !mv_intern_add(&s->by_bytes, XXH3_64bits_withSeed(bytes.data, bytes.length, mv_hash_key()),
                       s->count))
        return;
    memcpy(copy, bytes.data, bytes.length);
    s->known[s->count] = (spelling){copy, (uint32_t)bytes.length, stack};
    s->bytes += bytes.length;
    follow(s, s->count++);
}

/* ---- the machine ------------------------------------------------------------------------- */

/* Long containers are filled in batches, as CPython's pickler does, so a list of a million events
 * is never on the machine's stack as a whole. */
enum { BATCH = 1000 };

typedef struct {
    mv_machine machine;
    mv_msgpack_fault fault;
    spelled_stacks spelled;
    const spelling *recalled; /* the stack that the next nil represents */
    mv_stack_id parsed;       /* stack of the last array, if the array was a stack */
    uint64_t seen;            /* number of bytes of the file consumed so far */
    uint64_t base;            /* offset of the first byte passed to the template */
    uint64_t at;              /* offset of the template's current byte */
} plain;

/* The template's record of a value. For a container, it has the stack position of its first item,
 * and the number of items still to come. */
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

/* Pushes the recalled stack as a new call, as if it had been parsed again. */
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

/* Local variables of the template: the current byte, and the first byte passed to the template. */
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

/* Returns the position after the next key "frames" at or after `from`, where a stack may begin. */
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

/* Called when the parser is before a value. If the value is a known stack, a nil is parsed in its
 * place, for which push_nil pushes the stack. Any other value is parsed. Stacks are remembered,
 * unless parsing them adds a note, because notes must be counted each time. */
static int recall(struct plain_context *context, mv_span window, size_t *used)
{
    plain *p = &context->user;
    mv_span rest = {window.data + *used, window.length - *used};
    size_t nil_used = 0;
    uint64_t length, notes;
    int status;

    p->recalled = find_spelled(&p->spelled, rest, p->seen + *used, &length);
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
        learn_spelled(&p->spelled, (mv_span){rest.data, length}, p->parsed);
    return status;
}

static mv_msgpack_step step(void *parser, mv_span window)
{
    struct plain_context *context = parser;
    mv_msgpack_step s = {0};

    for (size_t end = 0; s.status == 0 && end < window.length;) {
        /* A string that the parser has begun may contain bytes that look like the key. */
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
    if (!init_spelled(&p->spelled, &scratch) || p->machine.code != MV_OK) {
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
