/* The pickle reader: the meaning of opcodes in every spelling. The fast and the slow path for
 * events must give equal results. testdata/bad contains files that the reader refuses. */
#include "tests/pickle/opcodes.h"

static mvt_opcodes *w;

static void begin(void)
{
    w = mvt_opcodes_new();
}

TestSuite(pickle, .init = begin);

static void read_bytes(mv_span bytes, mv_trace *out)
{
    mvt_ok(mv_trace_read_bytes(mvt_memory(), bytes, out, mvt_err()));
    cr_assert_eq(out->origin.format, MV_FORMAT_PICKLE);
}

static mv_trace read_writer(void)
{
    mv_trace trace;

    read_bytes((mv_span){w->data, w->length}, &trace);
    return trace;
}

/* {"segments": [], "device_traces": [[ ... and everything up to end_trace. */
static void begin_trace(void)
{
    mvt_spell(w, "}('segments']'device_traces'](](");
}

static void end_trace(void)
{
    MVT_OPS(w, "eeu.");
}

static void put_frame(const char *function, int line)
{
    mvt_spell(w, mvt_format("}('name''%s''filename''a.py''line'#%du", function, line));
}

/* ---- the two ways ------------------------------------------------------------------------ */

/* Returns the length of the opcode at `at`, including its operand. */
static uint64_t opcode_length(const uint8_t *at)
{
    static const uint8_t operand[256] = {
        [0x95] = 8, ['G'] = 8, [0x80] = 1, ['K'] = 1, ['h'] = 1,  ['q'] = 1, ['M'] = 2,
        ['J'] = 4,  ['j'] = 4, ['r'] = 4,  ['X'] = 4, [0x8a] = 1, [0x8c] = 1};
    uint64_t text = *at == 'X' ? mv_load_u32(at + 1) : *at == 0x8a || *at == 0x8c ? at[1] : 0;

    return 1 + operand[*at] + text;
}

/* Inserts a FRAME, which means nothing, after every EMPTY_DICT. No dict then has the spelling of
 * PyTorch's writers, so all of them take the slow path. */
static mv_span interrupted(mv_span pickle)
{
    uint8_t *out = mv_push_array(mvt_memory(), uint8_t, pickle.length * 4);
    uint64_t length = 0;

    cr_assert_not_null(out);
    for (uint64_t at = 0; at < pickle.length;) {
        uint64_t bytes = opcode_length(pickle.data + at);
        memcpy(out + length, pickle.data + at, bytes);
        length += bytes;
        if (pickle.data[at] == '}') {
            memcpy(out + length, "\x95\0\0\0\0\0\0\0\0", 9);
            length += 9;
        }
        at += bytes;
    }
    return (mv_span){out, length};
}

static void expect_same_both_ways(mv_span pickle, const char *name)
{
    mv_trace direct, slow;

    read_bytes(pickle, &direct);
    read_bytes(interrupted(pickle), &slow);
    const char *difference = mvt_content_difference(mvt_memory(), &direct, &slow);
    cr_assert_null(difference, "%s: %s", name, difference);
    for (uint32_t i = 0; i < direct.device_count; i++)
        for (uint32_t j = 0; j < direct.devices[i].events.count; j++)
            cr_assert_eq(direct.devices[i].events.call[j], slow.devices[i].events.call[j],
                         "%s: device %u event %u", name, i, j);
}

static void check_both_writers(const mv_trace *trace, const char *name)
{
    if (mv_trace_devices(trace) > 0 && trace->calls < 20000) {
        expect_same_both_ways(mvt_pickle_of(mvt_memory(), trace, false), name);
        expect_same_both_ways(mvt_pickle_of(mvt_memory(), trace, true), name);
    }
}

EachSnapshot(pickle, the_fast_path_equals_the_slow_path_on_real_snapshots, check_both_writers);

/* Events whose texts, streams, stacks and pools change in every possible way. */
static mvt_trace *random_trace(unsigned seed)
{
    static const char *const stacks[] = {NULL, "f:a.py:1", "f:a.py:1;g:a.py:2",
                                         "h:b.py:70000;f:a.py:1;g:a.py:2"};
    static const char *const texts[] = {NULL,  "", "x", "step=1", "a text of more than eight bytes",
                                        "size"};
    mvt_trace *t = mvt_new();
    uint32_t events = 200 + (uint32_t)rand_r(&seed) % 1200;

    for (uint32_t i = 0; i < events; i++)
        mvt_event(t, (mv_action)(rand_r(&seed) % MV_ACTION_OTHER),
                  (mvt_event_args){.addr = (uint64_t)rand_r(&seed) << (rand_r(&seed) % 31),
                                   .bytes = (uint64_t)rand_r(&seed) >> (rand_r(&seed) % 31),
                                   .stream = (uint64_t)(rand_r(&seed) % 3) << 40,
                                   .stack = stacks[rand_r(&seed) % 4],
                                   .metadata = texts[rand_r(&seed) % 6]});
    return t;
}

LongTest(pickle, random_traces_survive_both_writers_both_ways)
{
    for (unsigned seed = 1; seed <= 30; seed++) {
        mvt_trace *t = random_trace(seed);
        const mv_trace *trace = mvt_done(t);
        for (int cpp = 0; cpp < 2; cpp++) {
            mv_span pickle = mvt_pickle_bytes(t, cpp);
            mv_trace back;
            read_bytes(pickle, &back);
            const char *difference = mvt_content_difference(mvt_memory(), trace, &back);
            cr_assert_null(difference, "seed %u: %s", seed, difference);
            expect_same_both_ways(pickle, "random");
        }
    }
}

Test(pickle, windows_may_be_cut_anywhere)
{
    mvt_trace *t = random_trace(7);
    static char padding[2 * MV_SOURCE_WINDOW];
    mv_trace whole;
    mv_span pickle = mvt_pickle_bytes(t, false);

    read_bytes(pickle, &whole);
    /* A text before the events, of every length near the window's, shifts what the window's end
     * cuts. */
    for (uint32_t length = MV_SOURCE_WINDOW - 48; length < MV_SOURCE_WINDOW + 2; length++) {
        uint8_t *moved = mv_push_array(mvt_memory(), uint8_t, pickle.length + length + 8);
        mv_trace shifted;
        memset(padding, 'p', length);
        memcpy(moved, "\x80\x04X", 3);
        memcpy(moved + 3, &length, 4);
        memcpy(moved + 7, padding, length);
        moved[7 + length] = '0'; /* POP */
        memcpy(moved + 8 + length, pickle.data + 2, pickle.length - 2);
        read_bytes((mv_span){moved, pickle.length + length + 6}, &shifted);
        cr_assert_eq(shifted.devices[0].events.count, whole.devices[0].events.count);
        cr_assert_eq(shifted.calls, whole.calls);
    }
}

/* Missing bytes of an operand must not be read as zeros, so no cut may change the contents. */
static void expect_cuts_end_the_input(mv_span pickle)
{
    for (uint64_t length = 2; length < pickle.length; length++) {
        mv_arena *arena = mvt_arena_of(64 << 20);
        mv_err err = {.offset = MV_NO_OFFSET};
        mv_trace trace;
        mv_trace_read_bytes(arena, (mv_span){pickle.data, length}, &trace, &err);
        cr_assert_eq(err.code, MV_TRUNCATED, "%llu bytes: %s %s", (unsigned long long)length,
                     mv_code_text(err.code), err.detail);
        cr_assert_eq(err.offset, length);
        mv_arena_release(arena);
    }
}

LongTest(pickle, every_cut_is_the_end_of_the_input)
{
    mvt_trace *t = mvt_new();

    for (uint32_t i = 0; i < 60; i++)
        mvt_event(t, i % 2 ? MV_ACTION_FREE_COMPLETED : MV_ACTION_ALLOC,
                  (mvt_event_args){.addr = 1ull << (12 + i % 40),
                                   .bytes = 512 * (i / 2 + 1),
                                   .stream = 3ull << 40,
                                   .stack = i % 3 ? "f:a.py:1;g:a.py:70000" : NULL,
                                   .metadata = i % 5 ? "step=1" : NULL});
    expect_cuts_end_the_input(mvt_pickle_bytes(t, false));
    expect_cuts_end_the_input(mvt_pickle_bytes(t, true));
}

/* ---- the meaning of opcodes ---------------------------------------------------------------- */

Test(pickle, a_stack_of_more_than_a_thousand_frames_comes_in_batches)
{
    uint32_t count;

    begin_trace();
    mvt_spell(w, "}('action''alloc''size'#8'frames']q\x07(");
    for (int i = 0; i < 1000; i++)
        put_frame("deep", i);
    MVT_OPS(w, "e(");
    for (int i = 1000; i < 1500; i++)
        put_frame("deep", i);
    MVT_OPS(w, "e");
    put_frame("root", 1500);
    mvt_spell(w, "au}('action''free_requested''frames'h\x07u");
    end_trace();
    mv_trace trace = read_writer();
    cr_assert_eq(trace.devices[0].events.count, 2);
    mv_stack_frames(&trace, trace.devices[0].events.stack[0], &count);
    cr_assert_eq(count, 1501);
    cr_assert_eq(trace.devices[0].events.stack[1].row, trace.devices[0].events.stack[0].row);
    cr_assert_eq(trace.devices[0].events.call[1], trace.devices[0].events.call[0]);
}

Test(pickle, an_overwritten_memo_entry_means_the_new_value)
{
    /* Entry 3 is a frame. It is written again, with the same spelling, between two events. */
    mvt_spell(w, "}('segments']'device_traces''action'q~0'alloc'q\x01"
                 "0'frames'q\x02"
                 "0");
    put_frame("first", 1);
    mvt_spell(w, "q\x03"
                 "0](](}(h~h\x01h\x02](h\x03"
                 "eu}(h~h\x01h\x02](h\x03"
                 "eu");
    put_frame("second", 2);
    mvt_spell(w, "q\x03"
                 "0}(h~h\x01h\x02](h\x03"
                 "eu");
    end_trace();
    mv_trace trace = read_writer();
    cr_assert_eq(trace.devices[0].events.count, 3);
    cr_assert_eq(trace.devices[0].events.stack[0].row, trace.devices[0].events.stack[1].row);
    cr_assert_neq(trace.devices[0].events.stack[0].row, trace.devices[0].events.stack[2].row);
}

Test(pickle, dicts_filled_pair_by_pair_are_the_same_records)
{
    begin_trace();
    mvt_spell(w, "}'size'#512s'addr'#4096s'action''alloc's");
    end_trace();
    mv_trace trace = read_writer();
    cr_assert_eq(trace.devices[0].events.count, 1);
    cr_assert_eq(trace.devices[0].events.action[0], MV_ACTION_ALLOC);
    cr_assert_eq(trace.devices[0].events.addr[0], 4096);
    cr_assert_eq(trace.devices[0].events.size[0], 512);
}

Test(pickle, lists_dicts_and_tuples_are_built_from_a_mark)
{
    mvt_spell(w, "(('junk'1'device_traces'((('action''oom''device_free'"
                 "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff~'pool_id'(K\x02K~tdllN0d.");
    mv_trace trace = read_writer();
    cr_assert_eq(trace.device_count, 1);
    cr_assert_eq(trace.devices[0].events.count, 1);
    cr_assert_eq(trace.devices[0].events.addr[0], UINT64_MAX);
    cr_assert_eq(trace.pools.a[trace.tags.pool[trace.devices[0].events.tag[0].row].row], 2);
}

Test(pickle, unknown_keys_are_kept_or_counted)
{
    begin_trace();
    mvt_spell(w, "}('action''teleport''colour'](K\x01](K\x02"
                 "ee'forward_frames']('line one''line two'eu");
    end_trace();
    MVT_OPS(w, "\0\0\0\0"); /* one more than _memory_viz pads with */
    mv_trace trace = read_writer();
    cr_assert_str_eq(mv_event_action(&trace, &trace.devices[0].events, 0), "teleport");
    cr_assert_eq(trace.notes[MV_NOTE_UNKNOWN_ACTION].count, 1);
    cr_assert_eq(trace.notes[MV_NOTE_UNKNOWN_KEY].count, 1);
    cr_assert_str_eq(trace.notes[MV_NOTE_UNKNOWN_KEY].first, "\"colour\"");
    cr_assert_eq(trace.notes[MV_NOTE_TRAILING].count, 4);
    uint32_t count;
    mv_stack_frames(&trace, trace.tags.forward[trace.devices[0].events.tag[0].row], &count);
    cr_assert_eq(count, 2);
}

/* Pickles written one after another, as when dump() is called repeatedly on an open file. */
Test(pickle, another_snapshot_after_the_first_is_reported)
{
    mvt_trace *t = mvt_small();
    mv_span first = mvt_pickle_bytes(t, false);
    const struct {
        mv_span rest;
        const char *text;
    } cases[] = {
        {mvt_pickle_bytes(t, true), "another pickle; only the first is read: from byte"},
        {mvt_plain_bytes(t), "another snapshot; only the first is read: from byte"},
        {mvt_snapshot_bytes(t), "another snapshot; only the first is read: from byte"},
        {{(const uint8_t *)"\n", 1}, "from byte"},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        mv_span rest = cases[i].rest;
        uint8_t *both = mv_arena_push(mvt_memory(), first.length + rest.length, 1);
        mv_trace trace;

        memcpy(both, first.data, first.length);
        memcpy(both + first.length, rest.data, rest.length);
        read_bytes((mv_span){both, first.length + rest.length}, &trace);
        cr_expect_eq(trace.notes[MV_NOTE_TRAILING].count, rest.length);
        cr_expect_str_eq(trace.notes[MV_NOTE_TRAILING].first,
                         mvt_format("%s %u on", cases[i].text, (unsigned)first.length));
    }
}

/* If this were accepted, a small file could describe a huge heap, in which every segment has all
 * blocks. */
Test(pickle, a_record_is_in_one_list)
{
    mv_trace trace;

    MVT_OPS(w, "](");
    for (int i = 0; i < 2; i++) {
        mvt_spell(w, "}('total_size'#512'blocks'");
        mvt_spell(w, i == 0 ? "]q\x09}('size'#512'state''inactive'uau" : "h\x09u");
    }
    MVT_OPS(w, "e.");
    cr_assert_eq(mvt_opcodes_read(w, &trace), MV_CORRUPT);
    cr_assert(strstr(mvt_err()->detail, "\"blocks\" shares records with another list"), "%s",
              mvt_err()->detail);
}

/* ---- values of the user ------------------------------------------------------------------ */

/* Writes three events, which are memo entries 1 to 3, and then `value` under `key`. Returns the
 * offset of the value. */
static uint64_t put_beside_events(const char *key, const char *value, uint64_t length)
{
    mvt_spell(w, "}('device_traces'](](");
    for (uint8_t i = 1; i <= 3; i++) {
        mvt_spell(w, "}('action''alloc''size'#512uq");
        mvt_put(w, &i, 1);
    }
    MVT_OPS(w, "ee");
    mvt_put_text(w, key);
    uint64_t at = w->length;
    mvt_put(w, value, length);
    mvt_spell(w, "'host_segments']u.");
    return at;
}

#define T5(text)       "\x8c\x05" text
#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *what, *value;
    uint64_t length;
    mv_code code;
    const char *detail;
} own_values[] = {
    {"rows backwards", BYTES("](h\3h\1e"), MV_CORRUPT,
     "a record is in two lists, or in a list of others"},
    {"rows with gaps", BYTES("](h\1h\3e"), MV_CORRUPT,
     "a record is in two lists, or in a list of others"},
    {"rows one by one", BYTES("]h\1ah\1aK\1a](K\2ea"), MV_CORRUPT,
     "a record is in two lists, or in a list of others"},
    {"numbers as keys", BYTES("}(K\0K\1K\1](h\1h\1eu"), MV_TYPE, "a key is not a string"},
    {"numbers as keys, in two batches", BYTES("}q\7(K\0K\1u(" T5("state") "](K\1eu"), MV_TYPE,
     "a key is not a string"},
    {"numbers as keys, later", BYTES("}(" T5("first") "K\1uK\5K\6s"), MV_TYPE,
     "a key is not a string"},
    {"a list as a key", BYTES("}(](K\1eK\1u"), MV_TYPE, "a key is not a string"},
    {"no block",
     BYTES("}(" T5("state") T5("train") "\x8c\4size\x8c\2"
                                        "7Bu"),
     MV_TYPE, "\"size\" is not an integer"},
    {"no block, in two batches", BYTES("}(" T5("state") "K\1\x8c\4sizeK\1u(" T5("other") "K\1u"),
     MV_TYPE, "\"state\" is not a string"},
    {"no block, pair by pair", BYTES("}" T5("state") "K\1s\x8c\4sizeK\1s"), MV_TYPE,
     "\"state\" is not a string"},
    {"a list of no blocks", BYTES("](}(" T5("state") "K\1\x8c\4sizeK\1uK\5e"), MV_TYPE,
     "\"state\" is not a string"},
    {"a list of an event and no block", BYTES("](h\1}(" T5("state") "K\1\x8c\4sizeK\1ueK\5a"),
     MV_TYPE, "\"state\" is not a string"},
    {"a negative size", BYTES("}(\x8c\6actionX\0\0\0\0\x8c\4sizeJ\xff\xff\xff\xffu"), MV_RANGE,
     "\"size\" is negative"},
    {"bytes", BYTES("C\3abc"), MV_TYPE, "SHORT_BINBYTES does not occur in a memory snapshot"},
    {"more bytes", BYTES("B\3\0\0\0abc"), MV_TYPE, "BINBYTES does not occur in a memory snapshot"},
    {"many bytes", BYTES("\x8e\3\0\0\0\0\0\0\0abc"), MV_TYPE,
     "BINBYTES8 does not occur in a memory snapshot"},
    {"an array of bytes", BYTES("\x96\3\0\0\0\0\0\0\0abcq\7"), MV_TYPE,
     "BYTEARRAY8 does not occur in a memory snapshot"},
    {"a set", BYTES("\x8fq\7(K\1](h\1e\x90(K\2\x90"), MV_TYPE,
     "a set does not occur in a memory snapshot"},
    {"a frozen set", BYTES("(K\1K\2\x91q\7"), MV_TYPE, "a set does not occur in a memory snapshot"},
    {"100 bits", BYTES("\x8a\x0d\0\0\0\0\0\0\0\0\0\0\0\0\x10q\7"), MV_RANGE,
     "an integer of 13 bytes"},
    {"a tuple of them", BYTES("C\1aK\1\x86q\7"), MV_TYPE,
     "SHORT_BINBYTES does not occur in a memory snapshot"},
};

/* Users may add any value to PyTorch's dict, under separate keys. */
Test(pickle, values_under_a_users_key_are_skipped)
{
    for (unsigned i = 0; i < sizeof own_values / sizeof *own_values; i++) {
        const char *what = own_values[i].what;
        mv_trace trace;
        begin();

        put_beside_events("mine", own_values[i].value, own_values[i].length);
        cr_expect_eq(mvt_opcodes_read(w, &trace), MV_OK, "%s: %s", what, mvt_err()->detail);
        if (mvt_err()->code != MV_OK)
            continue;
        cr_expect_eq(mv_trace_events(&trace, 0).count, 3, "%s", what);
        for (mv_note_code note = 0; note < MV_NOTE_COUNT; note++)
            cr_expect_eq(trace.notes[note].count,
                         note == MV_NOTE_UNKNOWN_KEY || note == MV_NOTE_NO_HEAP, "%s: %s", what,
                         mv_note_text(note));
        cr_expect_str_eq(trace.notes[MV_NOTE_UNKNOWN_KEY].first, "\"mine\"", "%s", what);
    }
}

/* A record's key among the root's keys must not turn the root into a record. */
Test(pickle, the_root_may_have_a_key_of_a_record)
{
    static const char *const keys[] = {"action", "filename", "blocks",    "total_size",
                                       "state",  "stage",    "real_size", "line"};

    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        mv_trace trace;
        begin();

        put_beside_events(keys[i], "\x8c\x05train", 7);
        mvt_ok(mvt_opcodes_read(w, &trace));
        cr_expect_eq(mv_trace_events(&trace, 0).count, 3, "%s", keys[i]);
        cr_expect_eq(trace.notes[MV_NOTE_UNKNOWN_KEY].count, 1, "%s", keys[i]);
    }
}

/* Under one of PyTorch's keys, these values are an error in the file, reported with its
 * position. */
Test(pickle, values_under_a_key_of_pytorch_are_refused)
{
    static const char *const keys[] = {"segments", "allocator_settings", "host_traces",
                                       "external_annotations"};

    for (unsigned i = 0; i < sizeof own_values / sizeof *own_values; i++)
        for (unsigned k = 0; k < sizeof keys / sizeof *keys; k++) {
            const char *what = own_values[i].what;
            mv_trace trace;
            begin();
            uint64_t at = put_beside_events(keys[k], own_values[i].value, own_values[i].length);

            cr_expect_eq(mvt_opcodes_read(w, &trace), own_values[i].code, "%s: %s", what,
                         mvt_err()->detail);
            cr_expect_str_eq(mvt_err()->detail, own_values[i].detail, "%s", what);
            /* A dict that is filled pair by pair is complete when the surrounding dict is
             * complete. */
            cr_expect(mvt_err()->offset >= at && mvt_err()->offset < w->length, "%s: %llu", what,
                      (unsigned long long)mvt_err()->offset);
        }
}

/* No Python code is run, so the remaining bytes cannot be read. The message names the object that
 * should be left out. */
Test(pickle, an_object_of_python_is_named)
{
    mv_trace trace;

    mvt_spell(w, "}('segments']'stats''collections''OrderedDict'\x93)Ru.");
    cr_expect_eq(mvt_opcodes_read(w, &trace), MV_FORBIDDEN);
    cr_expect_str_eq(mvt_err()->detail,
                     "STACK_GLOBAL of collections.OrderedDict: a Python object (memory_stats() "
                     "under a key of your own?); dump it without; nothing was executed");
}

/* A checkpoint that a user pickled. */
Test(pickle, a_file_of_one_object_is_not_a_snapshot)
{
    mv_trace trace;

    mvt_spell(w, "'collections''OrderedDict'\x93)R.");
    cr_expect_eq(mvt_opcodes_read(w, &trace), MV_FORBIDDEN);
    cr_expect_str_eq(
        mvt_err()->detail,
        "STACK_GLOBAL of collections.OrderedDict: the file is a Python object, such as "
        "a model's state_dict, not a memory snapshot; nothing was executed");
}

static void put_setting(const char *name, int value)
{
    mvt_spell(w, mvt_format("'%s'#%d", name, value));
}

static mv_code read_shared_settings(int settings, int pairs, mv_trace *trace)
{
    begin();
    mvt_spell(w, "}('segments']'allocator_settings'");
    /* Writes {name 0: d, name 1: d, ...}, with the same d of `pairs` pairs each time, which is memo
     * entry 9. */
    MVT_OPS(w, "}(");
    for (int i = 0; i < settings; i++) {
        mvt_put_text(w, mvt_format("k%d", i));
        if (i > 0) {
            MVT_OPS(w, "h\x09");
            continue;
        }
        MVT_OPS(w, "}q\x09(");
        for (int j = 0; j < pairs; j++)
            put_setting(mvt_format("%d", j), j);
        MVT_OPS(w, "u");
    }
    MVT_OPS(w, "uu.");
    return mvt_opcodes_read(w, trace);
}

/* If this were accepted, 80 KB could describe 16 million settings. */
Test(pickle, settings_that_share_a_dict_take_bounded_time)
{
    mv_trace trace;

    mvt_ok(read_shared_settings(10, 20, &trace));
    cr_expect_eq(trace.settings.count, 200);
    cr_expect_eq(read_shared_settings(1000, 1000, &trace), MV_LIMIT);
    cr_expect_str_eq(mvt_err()->detail,
                     "\"allocator_settings\": one dict is used in too many settings");
}

/* If a key occurs again and again, only one value is read. */
Test(pickle, a_root_key_that_is_given_twice_has_its_last_value)
{
    mvt_spell(w, "}('device_traces'");
    MVT_OPS(w, "K\x01"); /* this value would be refused */
    mvt_spell(w, "'segments']'device_traces'](]]eu.");
    mv_trace trace = read_writer();
    cr_expect_eq(trace.device_count, 2);
    cr_expect_gt(trace.notes[MV_NOTE_DUPLICATE_KEY].count, 0);
}

Test(pickle, a_setting_that_is_given_twice_has_its_last_value)
{
    mvt_spell(w, "}('segments']'device_traces']'allocator_settings'}(");
    put_setting("limit", 1);
    put_setting("table", 7);
    put_setting("limit", 2);
    for (int i = 0; i < 2; i++) {
        mvt_spell(w, "'table'}(");
        put_setting(i ? "second" : "first", 10 + i);
        put_setting("both", 20 + i);
        put_setting("both", 30 + i);
        MVT_OPS(w, "u");
        put_setting("between", i);
    }
    MVT_OPS(w, "uu.");
    mv_trace trace = read_writer();
    cr_assert_eq(trace.settings.count, 4);
    uint32_t row = mv_setting_find(&trace, NULL, "limit");
    cr_assert_eq(trace.settings.integer[row], 2);
    cr_assert_eq(mv_setting_find(&trace, NULL, "table"), MV_NO_ROW);
    cr_assert_eq(mv_setting_find(&trace, "table", "first"), MV_NO_ROW);
    row = mv_setting_find(&trace, "table", "both");
    cr_assert_eq(trace.settings.integer[row], 31);
    cr_assert_gt(trace.notes[MV_NOTE_DUPLICATE_KEY].count, 0);
}

static void put_annotations(const char *key, int count)
{
    mvt_put_text(w, key);
    MVT_OPS(w, "](");
    for (int i = 0; i < count; i++) {
        mvt_spell(w, "}('stage''START''name'");
        mvt_put_text(w, key);
        MVT_OPS(w, "u");
    }
    MVT_OPS(w, "e");
}

Test(pickle, annotations_in_another_list_do_not_count)
{
    mvt_spell(w, "}('segments']");
    put_annotations("before", 3);
    put_annotations("external_annotations", 2);
    put_annotations("after", 1);
    MVT_OPS(w, "u.");
    mv_trace trace = read_writer();
    cr_assert_eq(trace.annotations.count, 2);
    for (uint32_t i = 0; i < 2; i++)
        cr_expect_str_eq(mv_string_text(&trace, trace.annotations.name[i]), "external_annotations");
    cr_assert_eq(trace.notes[MV_NOTE_LOOSE].count, 1);
}

Test(pickle, a_bare_list_of_segments_is_a_snapshot)
{
    mvt_spell(w, "](}('device'K~'address'#2097152'total_size'#1048576'blocks'](");
    for (int i = 0; i < 2; i++) {
        mvt_spell(w, "}('size'#524288'state'");
        mvt_put_text(w, i ? "inactive" : "active_awaiting_free");
        MVT_OPS(w, "u");
    }
    MVT_OPS(w, "eue.");
    mv_trace trace = read_writer();
    cr_assert_eq(trace.segments.count, 1);
    cr_assert_eq(trace.notes[MV_NOTE_LIST_ROOT].count, 1);
    cr_assert_eq(trace.notes[MV_NOTE_UNTILED].count, 0);
    cr_assert_eq(trace.blocks.state[0], MV_BLOCK_PENDING_FREE);
    cr_assert_eq(trace.blocks.address[1], (1 << 21) + (1 << 19), "computed: the file has none");
}
