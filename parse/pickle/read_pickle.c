/* Reads PyTorch snapshots as pickles of protocols 2 to 5, written by CPython's pickler or by
 * PyTorch's.
 *
 * A pickle is a program for a stack machine. The machine here runs the opcodes that build plain
 * data, and refuses all others by name, so nothing is ever imported, called or executed. */
#include "parse/pickle/read_pickle.h"

#include <stdio.h>

#include "base/parallel_for.h"
#include "parse/pickle/opcodes.h"
#include "parse/pickle/pickle_event.h"
#include "parse/values/populate.h"
#include "parse/values/records.h"

static const char *const opcode_names[256] = {
#define OPCODE_NAME(name, byte) [byte] = #name,
    MV_OPCODE_LIST(OPCODE_NAME)
#undef OPCODE_NAME
};

/* Maximum length of an operand of fixed length, 9 bytes. The padding of the source's window is
 * longer. */
enum { LONGEST_FIXED = 16, PROGRESS_BYTES = 4 << 20 };

typedef struct {
    mv_machine machine;
    mv_populate populate;
    mv_pickle_memory *memory;
    mv_source *source;
    const mv_read_opts *opts;
    uint64_t next_progress;
    uint8_t protocol;
} pickle;

/* ---- operands ---------------------------------------------------------------------------- */

/* Returns the two's complement number of `length` bytes, 0 to 8. */
static int64_t short_long(const uint8_t *at, unsigned length)
{
    unsigned shift = 64 - 8 * length;

    return length ? (int64_t)(mv_load_u64(at) << shift) >> shift : 0;
}

/* Pushes a number of up to nine bytes, which are enough for an unsigned 64-bit number and its
 * sign. */
static bool push_long(mv_machine *m, const uint8_t *at, uint64_t length)
{
    if (length <= 8)
        return mv_machine_push(
            m, mv_value_of(MV_VALUE_INT, (uint64_t)short_long(at, (unsigned)length)));
    if (length == 9 && at[8] == 0)
        return mv_machine_push(m, mv_value_of(MV_VALUE_UINT, mv_load_u64(at)));
    return mv_machine_push_refused(m, MV_RANGE, "an integer of %llu bytes",
                                   (unsigned long long)length);
}

/* ---- rare or complex opcodes ------------------------------------------------------------- */

/* Returns true if users add objects of this module to snapshots, such as a counter, an array or a
 * time. */
static bool is_of_data(mv_machine *m, const mv_value *module)
{
    static const char *const modules[] = {"collections", "torch", "numpy", "datetime", "pathlib"};
    const char *name = mv_machine_quote(m, module);

    for (unsigned i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t length = strlen(modules[i]);
        if (strncmp(name, modules[i], length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return false;
}

/* Refuses an object that only Python can construct, because the values after it cannot be read. */
static bool refuse_object(mv_machine *m, uint8_t op)
{
    const mv_value *top = m->depth < 2 ? NULL : &m->stack[m->depth - 2];
    bool is_all = m->depth == (op == MV_OP_STACK_GLOBAL ? 2 : 0); /* not inside a container */
    char what[64] = "";
    bool may_be_data = true;

    if (op == MV_OP_STACK_GLOBAL && top && mv_value_is_text(&top[0]) && mv_value_is_text(&top[1])) {
        may_be_data = is_of_data(m, &top[0]);
        snprintf(what, sizeof what, " of %.28s.%.28s", mv_machine_quote(m, &top[0]),
                 mv_machine_quote(m, &top[1]));
    }
    return mv_machine_fail(
        m, MV_FORBIDDEN, "%s%s: %s; nothing was executed", opcode_names[op], what,
        !may_be_data
            ? "snapshots do not contain it; in Python, load only files that you created yourself"
        : is_all ? "the file is a Python object, such as a model's state_dict, not a memory "
                   "snapshot"
                 : "a Python object (memory_stats() under a key of your own?); dump it without");
}

static bool refuse(pickle *p, uint8_t op)
{
    if (!opcode_names[op])
        return mv_machine_fail(&p->machine, MV_CORRUPT, "0x%02x is not a pickle opcode", op);
    switch (op) {
    case MV_OP_GLOBAL:
    case MV_OP_STACK_GLOBAL:
    case MV_OP_REDUCE:
    case MV_OP_BUILD:
    case MV_OP_NEWOBJ:
    case MV_OP_NEWOBJ_EX:
    case MV_OP_INST:
    case MV_OP_OBJ:
    case MV_OP_PERSID:
    case MV_OP_BINPERSID:
    case MV_OP_EXT1:
    case MV_OP_EXT2:
    case MV_OP_EXT4:
        return refuse_object(&p->machine, op);
    default:
        return mv_machine_fail(&p->machine, MV_TYPE, "%s does not occur in a memory snapshot",
                               opcode_names[op]);
    }
}

static bool push_mark(mv_machine *m)
{
    if (m->mark_count == MV_LEAST_MARKS)
        return mv_machine_fail(m, MV_DEPTH, "%u open marks", m->mark_count);
    m->marks[m->mark_count++] = m->depth;
    return true;
}

/* Removes the topmost mark and returns its depth. There must be at least `below` values below the
 * mark, such as the container to which the items are added. */
static bool pop_mark(mv_machine *m, uint64_t below, uint64_t *from)
{
    if (m->mark_count == 0)
        return mv_machine_fail(m, MV_CORRUPT, "%s", "no mark");
    *from = m->marks[--m->mark_count];
    if (*from < below || *from > m->depth)
        return mv_machine_fail(m, MV_CORRUPT, "%s", "no container below the mark");
    return true;
}

/* Returns true if `count` values are above the topmost mark. */
static bool has_values(mv_machine *m, uint64_t count)
{
    uint64_t floor = m->mark_count ? m->marks[m->mark_count - 1] : 0;

    return m->depth >= floor + count ||
           mv_machine_fail(m, MV_CORRUPT, "%s", "the stack is too short");
}

/* Runs LIST, DICT or TUPLE, which make a container from the values above the mark. */
static bool make_from_mark(mv_machine *m, uint8_t op)
{
    uint64_t from = 0;

    if (!pop_mark(m, 0, &from))
        return false;
    if (op == MV_OP_TUPLE)
        return mv_machine_make_tuple(m, from);
    if (!mv_machine_push(m, mv_value_fresh(op == MV_OP_LIST ? MV_VALUE_LIST : MV_VALUE_DICT)))
        return false;
    for (uint64_t i = m->depth - 1; i > from; i--) {
        mv_value swap = m->stack[i];
        m->stack[i] = m->stack[i - 1];
        m->stack[i - 1] = swap;
    }
    return op == MV_OP_LIST ? mv_machine_append_items(m, from + 1)
                            : mv_machine_set_items(m, from + 1);
}

/* Drops the value at `from` and all values above it. Fails for a container to which a memo entry
 * refers. */
static bool drop(mv_machine *m, uint64_t from)
{
    for (uint64_t at = from; at < m->depth; at++)
        if (m->stack[at].fresh && m->stack[at].slot != MV_NO_SLOT)
            return mv_machine_fail(m, MV_CORRUPT, "%s", "POP of a remembered container");
    m->depth = from;
    return true;
}

static bool pop_to_mark(mv_machine *m)
{
    uint64_t from = 0;

    return pop_mark(m, 0, &from) && drop(m, from);
}

static bool duplicate(mv_machine *m)
{
    if (!has_values(m, 1))
        return false;
    if (m->stack[m->depth - 1].fresh)
        return mv_machine_fail(m, MV_CYCLE, "%s", "DUP of a container that is being filled");
    return mv_machine_push(m, m->stack[m->depth - 1]);
}

/* Returns the position before which opcodes can run without checks, because their operands are in
 * the window. */
static const uint8_t *safe_end(const mv_source *source, const uint8_t *at)
{
    return source->end - at > LONGEST_FIXED ? source->end - LONGEST_FIXED : at;
}

/* Makes sure that the `length` bytes at `at` are in the window, and returns their position; NULL if
 * the stream ends before they do. */
static const uint8_t *bring(pickle *p, const uint8_t *at, uint64_t length)
{
    mv_machine *m = &p->machine;

    if (at > p->source->end || length > (uint64_t)(p->source->end - at)) {
        bool past = at > p->source->end; /* the length itself was cut by the end of the stream */
        p->source->at = past ? p->source->end : at;
        if (past || !mv_source_need(p->source, length)) {
            mv_machine_fail(m, MV_TRUNCATED, "%s", "the stream ends inside a string");
            return NULL;
        }
        at = p->source->at;
    }
    return at;
}

/* Pushes a string, and returns the position after it. */
static const uint8_t *push_text(pickle *p, const uint8_t *at, uint64_t length, const uint8_t **safe)
{
    const uint8_t *text = bring(p, at, length);

    if (!text)
        return at;
    mv_machine_push(&p->machine, mv_machine_string(&p->machine, (const char *)text, length));
    *safe = safe_end(p->source, text + length);
    return text + length;
}

static const uint8_t *pass_over(pickle *p, const uint8_t *at, uint64_t length, const uint8_t **safe)
{
    const uint8_t *bytes = bring(p, at, length);

    if (!bytes)
        return at;
    *safe = safe_end(p->source, bytes + length);
    return bytes + length;
}

/* Pushes a refused value, because bytes may occur under a key that the user added. */
static const uint8_t *push_bytes(pickle *p, uint8_t op, const uint8_t *at, uint64_t length,
                                 const uint8_t **safe)
{
    if (!mv_machine_push_refused(&p->machine, MV_TYPE, "%s does not occur in a memory snapshot",
                                 opcode_names[op]))
        return at;
    return pass_over(p, at, length, safe);
}

static bool run_set(mv_machine *m, uint8_t op)
{
    uint64_t from = 0;

    if (op == MV_OP_EMPTY_SET)
        return mv_machine_push_set(m);
    if (op == MV_OP_FROZENSET)
        return pop_mark(m, 0, &from) && mv_machine_make_frozen_set(m, from);
    return pop_mark(m, 1, &from) && mv_machine_add_items(m, from);
}

/* Runs opcodes that occur once, or only in few files. `*at` is the position after the opcode. */
static bool run_rare(pickle *p, uint8_t op, const uint8_t **at)
{
    mv_machine *m = &p->machine;
    const uint8_t *operand = *at;

    switch (op) {
    case MV_OP_PROTO:
        *at += 1;
        p->protocol = *operand;
        return (*operand >= 2 && *operand <= 5) ||
               mv_machine_fail(m, MV_FORMAT, "pickle protocol %u; 2 to 5 are read", *operand);
    case MV_OP_FRAME: /* framing, which is not needed for reading */
        *at += 8;
        return true;
    case MV_OP_NEWTRUE:
    case MV_OP_NEWFALSE:
        return mv_machine_push(m, mv_value_of(MV_VALUE_BOOL, op == MV_OP_NEWTRUE));
    case MV_OP_NONE:
        return mv_machine_push(m, mv_value_of(MV_VALUE_NONE, 0));
    case MV_OP_BINFLOAT:
        *at += 8;
        return mv_machine_push(
            m, mv_value_of(MV_VALUE_FLOAT, __builtin_bswap64(mv_load_u64(operand))));
    case MV_OP_LONG4:
        if (mv_load_u32(operand) > 9)
            return mv_machine_fail(m, MV_RANGE, "an integer of %u bytes", mv_load_u32(operand));
        *at += 4 + mv_load_u32(operand);
        return push_long(m, operand + 4, mv_load_u32(operand));
    case MV_OP_EMPTY_TUPLE:
        return mv_machine_make_tuple(m, m->depth);
    case MV_OP_TUPLE1:
    case MV_OP_TUPLE2:
    case MV_OP_TUPLE3:
        return has_values(m, op - MV_OP_TUPLE1 + 1u) &&
               mv_machine_make_tuple(m, m->depth - (op - MV_OP_TUPLE1 + 1u));
    case MV_OP_TUPLE:
    case MV_OP_LIST:
    case MV_OP_DICT:
        return make_from_mark(m, op);
    case MV_OP_POP:
        return has_values(m, 1) && drop(m, m->depth - 1);
    case MV_OP_POP_MARK:
        return pop_to_mark(m);
    case MV_OP_DUP:
        return duplicate(m);
    case MV_OP_EMPTY_SET:
    case MV_OP_ADDITEMS:
    case MV_OP_FROZENSET:
        return run_set(m, op);
    default:
        return refuse(p, op);
    }
}

/* ---- the loop ---------------------------------------------------------------------------- */

static void report_progress(pickle *p)
{
    uint64_t done = mv_source_file_read(p->source);

    if (!p->opts->progress || done < p->next_progress)
        return;
    p->next_progress = (done / PROGRESS_BYTES + 1) * PROGRESS_BYTES;
    p->opts->progress(p->opts->user, done, mv_source_file_bytes(p->source));
}

/* The operand bytes of fixed length, including the length of a string or number. */
static const uint8_t fixed_operand[256] = {
    [MV_OP_PROTO] = 1,          [MV_OP_BINGET] = 1,      [MV_OP_BINPUT] = 1,
    [MV_OP_BININT1] = 1,        [MV_OP_LONG1] = 1,       [MV_OP_SHORT_BINUNICODE] = 1,
    [MV_OP_SHORT_BINBYTES] = 1, [MV_OP_BININT2] = 2,     [MV_OP_LONG_BINGET] = 4,
    [MV_OP_LONG_BINPUT] = 4,    [MV_OP_BININT] = 4,      [MV_OP_LONG4] = 4,
    [MV_OP_BINUNICODE] = 4,     [MV_OP_BINBYTES] = 4,    [MV_OP_FRAME] = 8,
    [MV_OP_BINFLOAT] = 8,       [MV_OP_BINUNICODE8] = 8, [MV_OP_BINBYTES8] = 8,
    [MV_OP_BYTEARRAY8] = 8};

/* Reads more of the stream into the window, which then begins at `at`. Returns false if no complete
 * opcode follows, not counting the padding. */
static bool refill(pickle *p, const uint8_t *at)
{
    bool past = at > p->source->end; /* an operand extended into the padding */

    p->source->at = past ? p->source->end : at;
    if (!past)
        mv_source_need(p->source, LONGEST_FIXED + 1);
    report_progress(p);
    at = p->source->at;
    return at < p->source->end && fixed_operand[*at] < (uint64_t)(p->source->end - at);
}

/* Runs the opcode before `at`, and returns the position of the next opcode. Operands of fixed
 * length are loaded without a check, because the window is padded. Failures are recorded in the
 * machine. */
static inline __attribute__((always_inline)) const uint8_t *
run_one(pickle *p, uint8_t op, const uint8_t *at, const uint8_t **safe)
{
    mv_machine *m = &p->machine;
    const uint8_t *next = at;
    uint64_t from = 0;

    switch (op) {
    case MV_OP_BINGET:
        mv_machine_get(m, *at);
        return at + 1;
    case MV_OP_LONG_BINGET:
        mv_machine_get(m, mv_load_u32(at));
        return at + 4;
    case MV_OP_MEMOIZE:
        mv_machine_put(m, m->memo_count);
        return at;
    case MV_OP_BINPUT:
        mv_machine_put(m, *at);
        return at + 1;
    case MV_OP_LONG_BINPUT:
        mv_machine_put(m, mv_load_u32(at));
        return at + 4;
    case MV_OP_BININT1:
        mv_machine_push(m, mv_value_of(MV_VALUE_INT, *at));
        return at + 1;
    case MV_OP_BININT2:
        mv_machine_push(m, mv_value_of(MV_VALUE_INT, mv_load_u16(at)));
        return at + 2;
    case MV_OP_BININT:
        mv_machine_push(m, mv_value_of(MV_VALUE_INT, (uint64_t)(int32_t)mv_load_u32(at)));
        return at + 4;
    case MV_OP_LONG1:
        push_long(m, at + 1, *at);
        return *at > 9 ? pass_over(p, at + 1, *at, safe) : at + 1 + *at;
    case MV_OP_SHORT_BINUNICODE:
        return push_text(p, at + 1, *at, safe);
    case MV_OP_BINUNICODE:
        return push_text(p, at + 4, mv_load_u32(at), safe);
    case MV_OP_BINUNICODE8:
        return push_text(p, at + 8, mv_load_u64(at), safe);
    case MV_OP_SHORT_BINBYTES:
        return push_bytes(p, op, at + 1, *at, safe);
    case MV_OP_BINBYTES:
        return push_bytes(p, op, at + 4, mv_load_u32(at), safe);
    case MV_OP_BINBYTES8:
    case MV_OP_BYTEARRAY8:
        return push_bytes(p, op, at + 8, mv_load_u64(at), safe);
    case MV_OP_MARK:
        push_mark(m);
        return at;
    case MV_OP_EMPTY_DICT:
        next = mv_pickle_events(m, p->memory, at, *safe);
        if (next == at)
            mv_machine_push(m, mv_value_fresh(MV_VALUE_DICT));
        return next;
    case MV_OP_EMPTY_LIST:
        mv_machine_push(m, mv_value_fresh(MV_VALUE_LIST));
        return at;
    case MV_OP_SETITEMS:
        if (pop_mark(m, 1, &from))
            mv_machine_set_items(m, from);
        return at;
    case MV_OP_SETITEM:
        if (has_values(m, 3))
            mv_machine_set_items(m, m->depth - 2);
        return at;
    case MV_OP_APPENDS:
        if (pop_mark(m, 1, &from))
            mv_machine_append_items(m, from);
        return at;
    case MV_OP_APPEND:
        if (has_values(m, 2))
            mv_machine_append_items(m, m->depth - 1);
        return at;
    default:
        run_rare(p, op, &next);
        return next;
    }
}

/* Runs opcodes until STOP. Opcodes in the last bytes of the stream are run one by one. A string or
 * number that extends beyond the window is detected before the next opcode. On failure,
 * p->source->at is the opcode that failed, or the end of the stream. */
static bool run(pickle *p)
{
    mv_machine *m = &p->machine;
    const uint8_t *at = p->source->at, *safe = at;

    while (m->code == MV_OK) {
        if (at >= safe) {
            if (!refill(p, at))
                return mv_machine_fail(
                    m, MV_TRUNCATED, "%s",
                    "the pickle ends before STOP; copy it again, or wait until it is written");
            at = p->source->at;
            safe = safe_end(p->source, at);
        }
        p->source->at = at;
        if (*at == MV_OP_STOP) {
            if (m->mark_count > 0)
                return mv_machine_fail(m, MV_CORRUPT, "%s", "STOP after an open mark");
            p->source->at = at + 1;
            return true;
        }
        at = run_one(p, *at, at + 1, &safe);
    }
    return false;
}

/* _memory_viz pads the pickle in its pages with NULs to a multiple of three bytes. */
enum { MOST_FILL = 3 };

static mv_code finish(pickle *p, mv_trace *out, mv_err *err)
{
    mv_machine *m = &p->machine;
    mv_code code = MV_OK;

    if (!run(p)) {
        uint64_t offset = m->failed_at == MV_NO_OFFSET ? mv_source_offset(p->source) : m->failed_at;
        if (m->code == MV_TRUNCATED)
            return mv_source_fail(p->source, err, m->detail);
        return mv_fail(err, m->code, offset, "%s", m->detail);
    }
    code = mv_machine_finish(m, err);
    if (code == MV_OK)
        code = mv_rest_drain(p->source, out, MOST_FILL, err);
    else if (err->offset == MV_NO_OFFSET)
        err->offset = mv_source_offset(p->source) - 1;
    out->origin.format = MV_FORMAT_PICKLE;
    out->origin.pickle_protocol = p->protocol;
    out->origin.data_bytes = mv_source_offset(p->source);
    return code;
}

static uint64_t offset_of(const void *reader)
{
    return mv_source_offset(reader);
}

bool mv_pickle_probe(mv_span head)
{
    static const char torch_save[] = MV_OLD_TORCH_SAVE;

    return head.length >= 2 && head.data[0] == MV_OP_PROTO && head.data[1] >= 2 &&
           head.data[1] <= 5 &&
           (head.length < sizeof torch_save - 1 ||
            memcmp(head.data, torch_save, sizeof torch_save - 1) != 0);
}

mv_code mv_pickle_read_in_blocks(mv_arena *arena, mv_source *source, const mv_read_opts *opts,
                                 uint32_t block_bytes, mv_trace *out, mv_err *err)
{
    pickle p = {.source = source, .opts = opts};
    mv_arena scratch;
    mv_code code;

    mv_arena_init(&scratch, arena->budget);
    mv_machine_init(&p.machine, arena, &scratch, out);
    p.machine.offset = offset_of;
    p.machine.reader = source;
    p.memory = mv_pickle_memory_new(&scratch);
    if (p.memory) {
        mv_source_ahead how = {.block_bytes = block_bytes,
                               .prepare = mv_populate_prepare,
                               .work = mv_populate_work,
                               .user = &p.populate};
        p.populate.m = &p.machine;
        if (block_bytes > 0)
            mv_source_read_ahead(p.source, &how);
        code = finish(&p, out, err);
        mv_source_stop_ahead(source);
    } else {
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "pickle reader");
    }
    mv_arena_release(&scratch);
    return code;
}

/* Another thread takes a tenth of a millisecond to start, and its blocks take 2.3 MB. */
enum { BLOCK = 512 << 10, LEAST_BYTES = 8 << 20 };

mv_code mv_pickle_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                       mv_err *err)
{
    bool is_large = mv_source_file_bytes(source) >= LEAST_BYTES;

    return mv_pickle_read_in_blocks(
        arena, source, opts, is_large && mv_parallel_for_threads(2, 0) > 1 ? BLOCK : 0, out, err);
}
