/* Invalid msgpack is refused with its position, without a crash, without a hang, and without using
 * a lot of memory. */
#include <msgpack.h>

#include "tests/fixture/fixture.h"

#define BYTES(literal) ((mv_span){(const uint8_t *)(literal), sizeof(literal) - 1})

/* ---- bad input --------------------------------------------------------------------------- */

/* Reads the bytes in little memory; mvt_err() has the error. */
static mv_code code_of(mv_span bytes)
{
    mv_arena *own = mvt_arena_of(64u << 20);
    mv_trace trace;

    mv_code code = mv_trace_read_bytes(own, bytes, &trace, mvt_err());
    mv_arena_release(own);
    cr_assert_eq(own->budget->used, 0);
    return code;
}

static void check_cuts(mv_span bytes, uint64_t stride)
{
    for (uint64_t length = 0; length < bytes.length; length += stride) {
        uint8_t *exact = malloc(length + 1); /* so that a sanitizer notices a read past the end */
        memcpy(exact, bytes.data, length);
        mv_code code = code_of((mv_span){exact, length});
        free(exact);
        cr_assert(code == MV_TRUNCATED || (code == MV_FORMAT && length < 8), "%llu bytes: %s",
                  (unsigned long long)length, mv_code_name(code));
        cr_assert_leq(mvt_err()->offset, length);
    }
}

LongTest(msgpack_damage, a_cut_at_any_byte_is_truncated)
{
    mvt_trace *t = mvt_new();

    mvt_alloc(t, .addr = 0x1000, .bytes = 512, .stack = "step:a.py:7");
    mvt_free(t, .addr = 0x1000);
    check_cuts(mvt_plain_bytes(t), 1);
    check_cuts(mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/small_compact"), 1);
    mv_trace trace = mvt_full_trace(mvt_memory());
    check_cuts(mvt_plain_of(mvt_memory(), &trace), 7);
    check_cuts(mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/full_compact"), 7);
}

/* Damaged bytes are either refused or form another readable file. */
static void check_damage(mv_span bytes)
{
    uint8_t *copy = mv_arena_push(mvt_memory(), bytes.length, 1);
    unsigned refused = 0;

    memcpy(copy, bytes.data, bytes.length);
    for (uint64_t i = 0; i < bytes.length; i += 3) {
        copy[i] ^= i % 2 ? 0xff : (uint8_t)(1u << i / 2 % 8);
        refused += code_of((mv_span){copy, bytes.length}) != MV_OK;
        copy[i] = bytes.data[i];
    }
    cr_assert_gt(refused, bytes.length / 24);
    cr_assert_lt(refused, bytes.length / 3);
}

LongTest(msgpack_damage, a_flipped_byte_does_no_harm)
{
    mv_trace trace = mvt_full_trace(mvt_memory());

    check_damage(mvt_plain_of(mvt_memory(), &trace));
    check_damage(mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/full_compact"));
}

static void check_code(mv_span bytes, mv_code expected, uint64_t offset)
{
    mv_code code = code_of(bytes);

    cr_assert_eq(code, expected, "%s at byte %llu: %s", mv_code_name(code),
                 (unsigned long long)mvt_err()->offset, mvt_err()->detail);
    cr_assert_eq(mvt_err()->offset, offset, "%s: byte %llu", mv_code_name(code),
                 (unsigned long long)mvt_err()->offset);
}

Test(msgpack_damage, wrong_types_are_refused_at_their_place)
{
    /* an integer as a key; nil as a key; a list as a key */
    check_code(BYTES("\x82\xa8segments\x90\x05\x06"), MV_TYPE, 12);
    check_code(BYTES("\x82\xa8segments\x90\xc0\x06"), MV_TYPE, 12);
    check_code(BYTES("\x82\xa8segments\x90\x91\x01\x06"), MV_TYPE, 13);
    /* extension types, cut in their data or after their header */
    check_code(BYTES("\x81\xa8segments\xd4\x01\x02"), MV_TYPE, 12);
    check_code(BYTES("\x81\xa8segments\xc9\x7f\xff\xff\xff\x01"), MV_TYPE, 15);
    check_code(BYTES("\x81\xa8segments\xc1"), MV_CORRUPT, 10);
    /* a text and a map in place of the list of segments; an unknown root */
    check_code(BYTES("\x81\xa8segments\xa1x"), MV_TYPE, 12);
    check_code(BYTES("\x81\xa4"
                     "code\x01"),
               MV_FORMAT, 7);
    check_code(BYTES("\x91\x81\xa1x\x01"), MV_FORMAT, 5);
}

/* Users may add any value to PyTorch's dict, under separate keys. If such a value cannot be read,
 * it is skipped, and noted under its key. */
Test(msgpack_damage, values_under_a_users_key_are_skipped)
{
#define OWN(value) BYTES("\x82\xa8segments\x90\xa4mine" value)
    const mv_span files[] = {
        OWN("\x82\x01\x02\xa1x\x81\xc0\x03"),    /* {1: 2, "x": {None: 3}} */
        OWN("\x82\xa5state\xa5train\xa4size\xa2" /* not a block */
            "7B"),
        OWN("\x92\x82\xa5state\x01\xa4size\x01\x05"), /* a list of things that are not blocks */
        OWN("\x91\x82\xa8"
            "filename\x01\xa4line\x02"), /* a list of things that are not frames */
        OWN("\x82\xa6"
            "action\xa5"
            "alloc\xa6"
            "frames\x91\x81\x01\x02"), /* not an event */
    };

    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        mv_trace trace;
        mvt_ok(mv_trace_read_bytes(mvt_memory(), files[i], &trace, mvt_err()));
        for (mv_note_code note = 0; note < MV_NOTE_COUNT; note++)
            cr_expect_eq(trace.notes[note].count, note == MV_NOTE_UNKNOWN_KEY, "%u: %s", i,
                         mv_note_text(note));
    }
    /* Under PyTorch's keys, the same values are refused at the point where they end, whatever
     * follows. */
    check_code(BYTES("\x82\xa8segments\x91\x82\xa5state\xa5train\xa4size\xa2"
                     "7B\xa4mine\x90"),
               MV_TYPE, 31);
    check_code(BYTES("\x82\xa8segments\x91\x82\xa5state\xa5train\x01\xa2"
                     "7B\xa4mine\x90"),
               MV_TYPE, 27);
}

Test(msgpack_damage, wrong_fields_are_refused)
{
#define EVENT(field)                      \
    BYTES("\x81\xad"                      \
          "device_traces\x91\x91\x82\xa6" \
          "action\xa5"                    \
          "alloc" field)

    cr_assert_eq(code_of(EVENT("\xa4size\xa1x")), MV_TYPE, "the size is a text");
    cr_assert_eq(code_of(EVENT("\xa4"
                               "addr\xff")),
                 MV_RANGE, "the address is negative");
    cr_assert_eq(code_of(EVENT("\xa6"
                               "frames\x07")),
                 MV_TYPE, "the frames are an integer");
}

/* The budget of code_of is too small for the sizes that these files claim. */
Test(msgpack_damage, huge_counts_take_no_memory)
{
    check_code(BYTES("\x81\xa8segments\xdd\xff\xff\xff\xff"), MV_TRUNCATED, 15);
    check_code(BYTES("\x81\xa8segments\xdf\xff\xff\xff\xff\xa1x"), MV_TRUNCATED, 17);
    check_code(BYTES("\x81\xa8segments\xdb\xff\xff\xff\xffxyz"), MV_TRUNCATED, 18);
    check_code(BYTES("\x81\xa8segments\xc6\xff\xff\xff\xffxyz"), MV_TRUNCATED, 18);
    check_code(BYTES("\x84\xa6"
                     "format\xaememviz-compact\xa7version\x01"
                     "\xa7strings\xdd\xff\xff\xff\xff"),
               MV_TRUNCATED, 45);
    check_code(BYTES("\x84\xa6"
                     "format\xaememviz-compact\xa7version\x01"
                     "\xa6"
                     "blocks\x89\xa4size\xdd\xff\xff\xff\xfe\x01"),
               MV_TRUNCATED, 51);
}

Test(msgpack_damage, nesting_has_a_limit)
{
    uint8_t *deep = mv_arena_push(mvt_memory(), 10016, 1);

    memcpy(deep, "\x81\xa8segments", 10);
    memset(deep + 10, 0x91, 10000);
    cr_assert_eq(code_of((mv_span){deep, 10010}), MV_DEPTH);
    cr_assert_lt(mvt_err()->offset, 100);
    memcpy(deep,
           "\x82\xa6"
           "format\xa1",
           9);
    memset(deep + 9, 0x81, 10000);
    cr_assert_neq(code_of((mv_span){deep, 10009}), MV_OK);
}

/* ---- a compact file with one thing changed ----------------------------------------------- */

/* Returns the value at `path` ("device_traces/0/stack/1") in an unpacked file. */
static msgpack_object *at_path(msgpack_object *at, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        msgpack_object *found = NULL;
        if (at->type == MSGPACK_OBJECT_ARRAY) {
            uint32_t i = (uint32_t)strtoul(path, NULL, 10);
            found = i < at->via.array.size ? &at->via.array.ptr[i] : NULL;
        } else if (at->type == MSGPACK_OBJECT_MAP) {
            for (uint32_t i = 0; i < at->via.map.size; i++) {
                msgpack_object_kv *kv = &at->via.map.ptr[i];
                if (kv->key.via.str.size == length &&
                    memcmp(kv->key.via.str.ptr, path, length) == 0)
                    found = &kv->val;
            }
        }
        cr_assert_not_null(found, "%s", path);
        at = found;
        path += length + (path[length] == '/');
    }
    return at;
}

static mv_code code_with(mv_span bytes, const char *path, msgpack_object value)
{
    msgpack_unpacked file;
    msgpack_sbuffer packed;
    msgpack_packer packer;

    msgpack_unpacked_init(&file);
    cr_assert_eq(msgpack_unpack_next(&file, (const char *)bytes.data, bytes.length, NULL),
                 MSGPACK_UNPACK_SUCCESS);
    *at_path(&file.data, path) = value;
    msgpack_sbuffer_init(&packed);
    msgpack_packer_init(&packer, &packed, msgpack_sbuffer_write);
    msgpack_pack_object(&packer, file.data);
    mv_code code = code_of((mv_span){(const uint8_t *)packed.data, packed.size});
    msgpack_sbuffer_destroy(&packed);
    msgpack_unpacked_destroy(&file);
    return code;
}

static msgpack_object integer(int64_t value)
{
    msgpack_object o = {.type = MSGPACK_OBJECT_POSITIVE_INTEGER};

    if (value < 0)
        o.type = MSGPACK_OBJECT_NEGATIVE_INTEGER;
    o.via.i64 = value;
    return o;
}

static msgpack_object string(const char *value)
{
    msgpack_object o = {.type = MSGPACK_OBJECT_STR};

    o.via.str.ptr = value;
    o.via.str.size = (uint32_t)strlen(value);
    return o;
}

Test(msgpack_damage, numbers_of_the_compact_form_are_checked)
{
    static const struct {
        const char *path;
        int64_t value;
        mv_code code;
    } cases[] = {
        {"version", 2, MV_VERSION},
        {"version", 0, MV_VERSION},
        {"calls", -1, MV_RANGE},
        {"frames/0/0", 1000, MV_RANGE},
        {"frames/0/0", -2, MV_RANGE},
        {"stacks/1/0", 1000, MV_RANGE},
        {"stacks/1/0", -1, MV_RANGE},
        {"stacks/1", 5, MV_TYPE},
        {"pools/1/1", -1, MV_RANGE},
        {"tags/1/pool", 77, MV_RANGE},
        {"tags/1/cpp_stack", 77, MV_RANGE},
        {"tags/1/category", 1 << 30, MV_RANGE},
        {"device_traces/0/action/0", 11, MV_RANGE},
        {"device_traces/0/action/0", -1, MV_RANGE},
        {"device_traces/0/stack/1", 1000, MV_RANGE},
        {"device_traces/0/stack/1", -2, MV_RANGE},
        {"device_traces/0/stack/1", -1, MV_OK},
        {"device_traces/0/call/1", 4, MV_RANGE},
        {"device_traces/0/stream/1", -1, MV_RANGE},
        {"device_traces/0/stream/1", 9, MV_RANGE},
        {"device_traces/0/tag/1", -1, MV_RANGE},
        {"device_traces/0/tag/1", 9, MV_RANGE},
        {"device_traces/0/addr/0", -1, MV_RANGE},
        {"host_traces/tag/0", 9, MV_RANGE},
        {"segments/device/0", 4096, MV_RANGE},
        {"segments/device/0", -2, MV_RANGE},
        {"segments/first_block/0", 4, MV_RANGE},
        {"segments/first_block/0", UINT32_MAX, MV_RANGE},
        {"segments/first_block/0", 1ll << 32, MV_RANGE},
        {"segments/blocks/0", 4, MV_RANGE},
        {"segments/blocks/1", 2, MV_RANGE},
        {"segments/segment_type/0", 3, MV_RANGE},
        {"segments/is_expandable/0", 2, MV_RANGE},
        {"segments/segment_pool/0", 9, MV_RANGE},
        {"segments/forward_stack/0", 99, MV_RANGE},
        {"host_segments/call/0", 4, MV_RANGE},
        {"blocks/first_history/0", 1, MV_RANGE},
        {"blocks/histories/2", 1, MV_RANGE},
        {"blocks/state/0", 4, MV_RANGE},
        {"history/cpp_stack/0", 99, MV_RANGE},
        {"external_annotations/name/0", 1 << 30, MV_RANGE},
        {"external_annotations/stage/0", 3, MV_OK},
        {"external_annotations/stage/0", 4, MV_RANGE},
        {"api_calls/action/0", MV_API_ACTION_COUNT, MV_RANGE},
        {"api_calls/api/0", 1000, MV_RANGE},
        {"api_calls/stack/0", 1000, MV_RANGE},
        {"api_calls/result/0", 1ll << 31, MV_RANGE},
        {"api_calls/result/0", -(1ll << 31) - 1, MV_RANGE},
        {"api_calls/result/0", -(1ll << 31), MV_OK},
        {"api_calls/event/0", 1, MV_RANGE},
        {"api_calls/event/1", 2, MV_RANGE},
        {"facts/key/0", 1000, MV_RANGE},
        {"samples/used/0", -1, MV_RANGE},
        {"external_annotations/time_us", 3, MV_TYPE},
        {"allocator_settings", 3, MV_TYPE},
        {"device_traces/0", 3, MV_TYPE},
        {"strings/0", 3, MV_TYPE},
    };
    mv_span bytes = mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/full_compact");

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_code code = code_with(bytes, cases[i].path, integer(cases[i].value));
        cr_assert_eq(code, cases[i].code, "%s = %lld: %s %s", cases[i].path,
                     (long long)cases[i].value, mv_code_name(code), mvt_err()->detail);
    }
}

Test(msgpack_damage, tables_of_the_compact_form_are_checked)
{
    msgpack_object none = {.type = MSGPACK_OBJECT_NIL};
    msgpack_object empty = {.type = MSGPACK_OBJECT_ARRAY};
    msgpack_object map = {.type = MSGPACK_OBJECT_MAP};
    msgpack_object numbers[] = {integer(1), integer(2)};
    msgpack_object two = {.type = MSGPACK_OBJECT_ARRAY, .via.array = {2, numbers}};
    mv_span bytes = mvt_file(mvt_memory(), MV_TESTDATA "/corpus/msgpack/full_compact");

    cr_assert_eq(code_with(bytes, "format", string("other")), MV_FORMAT);
    cr_assert_eq(code_with(bytes, "stacks/0", integer(0)), MV_TYPE);
    cr_assert_eq(code_with(bytes, "stacks/0", two), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "pools/0", two), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "frames/0", empty), MV_CORRUPT);
    /* Rows may equal other rows, because a damaged container may have lost the parts in which they
     * differed. */
    cr_assert_eq(code_with(bytes, "strings/1", string("size")), MV_OK);
    cr_assert_eq(code_with(bytes, "stacks/1", empty), MV_OK);
    cr_assert_eq(code_with(bytes, "tags/1", map), MV_OK);
    cr_assert_eq(code_with(bytes, "device_traces/0/size", empty), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "device_traces/0/size/1", none), MV_OK);
    cr_assert_eq(code_with(bytes, "device_traces/0/stack/1", none), MV_TYPE);
    cr_assert_eq(code_with(bytes, "device_traces/0", map), MV_CORRUPT);
    cr_assert_eq(code_with(bytes, "device_traces/0/size/1", string("7")), MV_TYPE);
    cr_assert_eq(code_with(bytes, "names", none), MV_TYPE);
    cr_assert_eq(code_with(bytes, "notes", map), MV_OK);
}
