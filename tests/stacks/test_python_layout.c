/* Frames in memory laid out by hand as CPython's headers declare it, for versions that this machine
 * does not have: structs here repeat the order and types of the fields, and the compiler computes
 * the offsets. test_python_frames.c walks real interpreters. */
#include "capture/stacks/python_frames.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    int64_t refcount;
    const void *type;
} object;

/* With --disable-gil. */
typedef struct {
    uint64_t thread;
    uint16_t flags;
    uint8_t mutex, gc;
    uint32_t local;
    int64_t shared;
    const void *type;
} free_object;

/* PyASCIIObject and its text; PyBytesObject. `head` is object or free_object. */
#define DEFINE_OBJECTS(head, prefix) \
    typedef struct {                 \
        head ob;                     \
        int64_t length, hash;        \
        uint32_t state;              \
        char text[64];               \
    } prefix##_text_storage;         \
    typedef struct {                 \
        head ob;                     \
        int64_t size, hash;          \
        uint8_t bytes[64];           \
    } prefix##_bytes

DEFINE_OBJECTS(object, locked);
DEFINE_OBJECTS(free_object, freed);

/* PyCodeObject: _PyCode_DEF of 3.14, Include/cpython/code.h. */
#define DEFINE_CODE_3_14(head, prefix, tlbc)                                        \
    typedef struct {                                                                \
        head ob;                                                                    \
        int64_t size;                                                               \
        const void *consts, *names, *exceptions;                                    \
        int32_t flags, argcount, posonly, kwonly, stacksize, firstlineno;           \
        int32_t nlocalsplus, framesize, nlocals, ncellvars, nfreevars;              \
        uint32_t version;                                                           \
        const void *localsplusnames, *localspluskinds, *filename, *name, *qualname; \
        const void *linetable, *weakrefs, *executors, *cached;                      \
        uint64_t instrumentation;                                                   \
        const void *monitoring;                                                     \
        int64_t unique_id;                                                          \
        int32_t firsttraceable;                                                     \
        const void *extra;                                                          \
        tlbc uint16_t bytecode[64];                                                 \
    } prefix##_code_3_14

DEFINE_CODE_3_14(object, locked, );
DEFINE_CODE_3_14(free_object, freed, const void *tlbc;);

/* _PyInterpreterFrame of 3.14, Include/internal/pycore_interpframe_structs.h. */
#define DEFINE_FRAME_3_14(prefix, tlbc)                   \
    typedef struct {                                      \
        uint64_t executable;                              \
        const void *previous;                             \
        uint64_t function;                                \
        const void *globals, *builtins, *locals, *object; \
        const uint16_t *instr;                            \
        const void *stackpointer;                         \
        tlbc uint16_t return_offset;                      \
        uint8_t owner, visited;                           \
    } prefix##_frame_3_14

DEFINE_FRAME_3_14(locked, );
DEFINE_FRAME_3_14(freed, int32_t tlbc_index;);

/* The beginning of PyThreadState; only the positions of two fields matter here. */
typedef struct {
    const void *prev, *next, *interp;
    uint64_t other[6];
    const void *current_frame;
    uint64_t more[9];
    uint64_t thread_id;
} thread_state;

/* _Py_DebugOffsets of 3.14, Include/internal/pycore_debug_offsets.h, up to the last field that
 * is read. */
typedef struct {
    char cookie[8];
    uint64_t version, free_threaded;
    uint64_t runtime[3], interpreter[16];
    struct {
        uint64_t size, prev, next, interp, current_frame, thread_id, native, chunk, status;
    } thread;
    struct {
        uint64_t size, previous, executable, instr, locals, owner, stackpointer, tlbc_index;
    } frame;
    struct {
        uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, names, kinds;
        uint64_t bytecode, tlbc;
    } code;
    struct {
        uint64_t size, type;
    } object;
    struct {
        uint64_t size, name, repr, flags;
    } type;
    uint64_t tuple[3], list[3], set[4], dict[3], floating[2], integer[3];
    struct {
        uint64_t size, count, bytes;
    } bytes;
    struct {
        uint64_t size, state, length, ascii;
    } text;
    uint64_t rest[64];
} debug_offsets;

static char code_type, bytes_type, text_type, none;

/* The layout that both builds of 3.14 report about themselves. */
#define OFFSETS_3_14(head, prefix, is_free)                                         \
    {                                                                               \
        .cookie = "xdebugpy", .version = 0x030e00f0, .free_threaded = (is_free),    \
        .thread = {.current_frame = offsetof(thread_state, current_frame),          \
                   .thread_id = offsetof(thread_state, thread_id)},                 \
        .frame = {.previous = offsetof(prefix##_frame_3_14, previous),              \
                  .executable = offsetof(prefix##_frame_3_14, executable),          \
                  .instr = offsetof(prefix##_frame_3_14, instr),                    \
                  .owner = offsetof(prefix##_frame_3_14, owner)},                   \
        .code = {.size = offsetof(prefix##_code_3_14, bytecode) + 8,                \
                 .filename = offsetof(prefix##_code_3_14, filename),                \
                 .name = offsetof(prefix##_code_3_14, name),                        \
                 .qualname = offsetof(prefix##_code_3_14, qualname),                \
                 .linetable = offsetof(prefix##_code_3_14, linetable),              \
                 .firstlineno = offsetof(prefix##_code_3_14, firstlineno),          \
                 .bytecode = offsetof(prefix##_code_3_14, bytecode)},               \
        .object = {.size = sizeof(head), .type = offsetof(head, type)},             \
        .type = {.size = 400, .name = sizeof(head) + 8},                            \
        .bytes = {.count = sizeof(head), .bytes = offsetof(prefix##_bytes, bytes)}, \
        .text = {.state = offsetof(prefix##_text_storage, state),                   \
                 .length = offsetof(prefix##_text_storage, length),                 \
                 .ascii = sizeof(head) + 24},                                       \
    }

static const debug_offsets locked_offsets = OFFSETS_3_14(object, locked, 0);
static const debug_offsets freed_offsets = OFFSETS_3_14(free_object, freed, 1);

static mv_python_interp python = {
    .code = (uintptr_t)&code_type, .bytes = (uintptr_t)&bytes_type, .text = (uintptr_t)&text_type};
static mv_python_frame frames[8]; /* of the last walk */

static void find_layout(const debug_offsets *offsets)
{
    const char *why = NULL;

    cr_assert(mv_python_layout_find(0x30e, offsets, &python.layout, &why), "%s", why);
}

/* Makes an ASCII string as the interpreter lays it out: kind 1, compact, ascii, after
 * `interned`. */
#define SET_TEXT(prefix, storage, words, interned_bits)                               \
    do {                                                                              \
        (storage).ob.type = &text_type;                                               \
        (storage).length = sizeof(words) - 1;                                         \
        (storage).state = (1u | 8u | 16u) << (interned_bits);                         \
        memcpy((char *)&(storage) + sizeof((storage).ob) + 24, words, sizeof(words)); \
    } while (0)

/* Three frames of one function that was called from C: the outermost one, one called from
 * non-Python code through an interpreter shim, and one that has not begun. */
#define DEFINE_CHAIN(head, prefix, interned_bits)                                           \
    static struct {                                                                         \
        prefix##_text_storage file, name;                                                   \
        prefix##_bytes table;                                                               \
        prefix##_code_3_14 code;                                                            \
        prefix##_frame_3_14 outer, shim, foreign, inner, unstarted;                         \
        thread_state thread;                                                                \
    } prefix;                                                                               \
                                                                                            \
    static void set_##prefix(void)                                                          \
    {                                                                                       \
        find_layout(&prefix##_offsets);                                                     \
        SET_TEXT(prefix, prefix.file, "train.py", interned_bits);                           \
        SET_TEXT(prefix, prefix.name, "Model.forward", interned_bits);                      \
        prefix.table.ob.type = &bytes_type;                                                 \
        prefix.table.size = 2;                                                              \
        memcpy(prefix.table.bytes, "\200\0", 2);                                            \
        prefix.code.ob.type = &code_type;                                                   \
        prefix.code.size = 64;                                                              \
        prefix.code.firstlineno = 17;                                                       \
        prefix.code.version = 4711;                                                         \
        prefix.code.filename = &prefix.file;                                                \
        prefix.code.name = prefix.code.qualname = &prefix.name;                             \
        prefix.code.linetable = &prefix.table;                                              \
        prefix.code.firsttraceable = 2;                                                     \
        prefix.outer = (prefix##_frame_3_14){.executable = (uintptr_t)&prefix.code,         \
                                             .instr = prefix.code.bytecode + 10};           \
        prefix.shim = (prefix##_frame_3_14){                                                \
            .executable = (uintptr_t)&none, .previous = &prefix.outer, .owner = 3};         \
        prefix.foreign = (prefix##_frame_3_14){.executable = (uintptr_t)&prefix.name | 1,   \
                                               .previous = &prefix.shim};                   \
        prefix.inner = (prefix##_frame_3_14){.executable = (uintptr_t)&prefix.code | 1,     \
                                             .previous = &prefix.foreign,                   \
                                             .instr = prefix.code.bytecode + 2,             \
                                             .owner = 2};                                   \
        prefix.unstarted = (prefix##_frame_3_14){.executable = (uintptr_t)&prefix.code | 1, \
                                                 .previous = &prefix.inner,                 \
                                                 .instr = prefix.code.bytecode + 1};        \
        prefix.thread.thread_id = (uint64_t)pthread_self();                                 \
        prefix.thread.current_frame = &prefix.unstarted;                                    \
    }

DEFINE_CHAIN(object, locked, 2)
DEFINE_CHAIN(free_object, freed, 8)

static uint32_t walk(const thread_state *thread)
{
    mv_python_frame again[8];
    uint32_t count, count_again;

    mv_python_outcome first =
        mv_python_walk_state(&python, (uintptr_t)thread, true, frames, 8, &count);
    mv_python_outcome second =
        mv_python_walk_state(&python, (uintptr_t)thread, false, again, 8, &count_again);
    cr_assert_eq(first, MV_PYTHON_WALKED);
    cr_assert_eq(second, MV_PYTHON_WALKED);
    cr_assert_eq(count, count_again);
    cr_assert_arr_eq(frames, again, count * sizeof *frames);
    return count;
}

static void expect_code(const mv_python_frame *frame)
{
    static mv_python_code code;

    cr_assert(mv_python_describe_with(&python, frame, &code));
    cr_expect_eq(code.first_line, 17);
    cr_expect_eq(code.table_bytes, 2);
    cr_expect_eq(code.file_bytes, 8);
    cr_expect_eq(memcmp(code.file, "train.py", 8), 0);
    cr_expect_eq(code.name_bytes, 13);
    cr_expect_eq(memcmp(code.name, "Model.forward", 13), 0);
}

Test(python_layout, frames_of_3_14_are_read)
{
    set_locked();
    cr_assert_eq(walk(&locked.thread), 2);
    cr_expect_eq(frames[0].code, (uintptr_t)&locked.code, "the tag is taken off");
    cr_expect_eq(frames[0].offset, 4);
    cr_expect_eq(frames[1].offset, 20);
    cr_expect_eq(frames[0].version, 0x30e);
    expect_code(&frames[1]);
}

/* Threads run copies of the bytecode, so the position in it is unknown, and all frames are at their
 * function's definition. */
Test(python_layout, frames_of_3_14_without_the_gil_are_read)
{
    set_freed();
    cr_assert(python.layout.is_free_threaded);
    cr_assert_eq(walk(&freed.thread), 3);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(frames[i].code, (uintptr_t)&freed.code);
        cr_expect_eq(frames[i].offset, 0);
        expect_code(&frames[i]);
    }
}

/* The interpreter's code around a class call is not a function of the program. */
Test(python_layout, own_code_without_the_gil_is_omitted)
{
    set_freed();
    freed.code.filename = &freed.name;
    cr_expect_eq(walk(&freed.thread), 0);
}

Test(python_layout, another_code_object_at_the_address_is_another)
{
    static mv_python_code code;

    set_locked();
    walk(&locked.thread);
    mv_python_frame before = frames[0];
    locked.code.version++;
    walk(&locked.thread);
    cr_expect_neq(before.fingerprint, frames[0].fingerprint);
    cr_expect_not(mv_python_describe_with(&python, &before, &code));
    expect_code(&frames[0]);
    locked.code.version--;
    locked.code.firstlineno++;
    cr_expect_not(mv_python_describe_with(&python, &before, &code));
    locked.code.firstlineno--;
    expect_code(&before);
}

static mv_python_outcome outcome_of(const thread_state *thread)
{
    uint32_t count;
    mv_python_outcome outcome =
        mv_python_walk_state(&python, (uintptr_t)thread, true, frames, 8, &count);

    cr_expect(outcome == MV_PYTHON_WALKED || count == 0);
    return outcome;
}

/* A checked walk must end properly, whatever is wrong. */
Test(python_layout, unexpected_bytes_do_no_harm)
{
    const void *nowhere = (const void *)(uintptr_t)0x1000;

    set_locked();
    locked.thread.thread_id++;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_STRANGER);
    cr_expect_eq(outcome_of(nowhere), MV_PYTHON_STRANGER);
    set_locked();
    locked.thread.current_frame = nowhere;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_UNEXPECTED);
    set_locked();
    locked.inner.previous = nowhere;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_UNEXPECTED);
    set_locked();
    locked.code.filename = nowhere;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_UNEXPECTED);
    set_locked();
    locked.code.linetable = &locked.name;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_UNEXPECTED);
    set_locked();
    locked.outer.instr += 1000;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_UNEXPECTED);
    set_locked();
    locked.inner.executable = 0;
    cr_expect_eq(outcome_of(&locked.thread), MV_PYTHON_UNEXPECTED);
}

/* A chain with a cycle ends all the same. */
Test(python_layout, endless_chains_end)
{
    set_locked();
    locked.outer.previous = &locked.inner;
    cr_expect_eq(walk(&locked.thread), 8);
    locked.shim.previous = &locked.shim;
    cr_expect_eq(walk(&locked.thread), 1);
}

static bool finds(uint32_t version, const debug_offsets *offsets)
{
    mv_python_layout layout;
    const char *why = NULL;
    bool is_found = mv_python_layout_find(version, offsets, &layout, &why);

    cr_expect(is_found || why, "a reason is given");
    return is_found;
}

Test(python_layout, only_known_layouts_are_used)
{
    for (uint32_t version = 0x308; version <= 0x30c; version++)
        cr_expect(finds(version, NULL), "%x", version);
    cr_expect_not(finds(0x307, NULL));
    cr_expect_not(finds(0x30d, NULL), "needs what the interpreter publishes");
    cr_expect_not(finds(0x30f, &locked_offsets));
    cr_expect_not(finds(0x20e, &locked_offsets));
    cr_expect(finds(0x30e, &locked_offsets));
    debug_offsets changed = locked_offsets;
    changed.cookie[0] = 'y';
    cr_expect_not(finds(0x30e, &changed));
    changed = locked_offsets;
    changed.version = 0x030d00f0;
    cr_expect_not(finds(0x30e, &changed));
    changed = locked_offsets;
    changed.code.linetable = 1 << 20;
    cr_expect_not(finds(0x30e, &changed));
    changed = locked_offsets;
    changed.object.size = 32;
    cr_expect_not(finds(0x30e, &changed));
    changed = locked_offsets;
    changed.code.size += 8;
    cr_expect_not(finds(0x30e, &changed));
}
