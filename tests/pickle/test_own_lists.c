/* The user's lists come before PyTorch's. Their rows must keep their order, and PyTorch's lists
 * must be read in PyTorch's order. */
#include "tests/pickle/opcodes.h"

/* Writes an event of `number` bytes, which is memo entry `number`. */
static void put_event(mvt_opcodes *w, int number)
{
    mvt_spell(w, mvt_format("}('action''alloc''size'K%cuq%c", number, number));
}

/* {"mine": [events of these numbers], ... */
static mvt_opcodes *begin(const char *numbers)
{
    mvt_opcodes *w = mvt_opcodes_new();

    mvt_spell(w, "}('mine'](");
    for (; *numbers; numbers++)
        put_event(w, *numbers - '0');
    mvt_spell(w, "e");
    return w;
}

/* Writes "device_traces": [[...], [...]], in which a digit is an event from the user's list, a
 * letter is a new event, and a comma begins the next device. */
static void end(mvt_opcodes *w, const char *devices)
{
    mvt_spell(w, "'device_traces'](](");
    for (; *devices; devices++)
        if (*devices == ',')
            mvt_spell(w, "e](");
        else if (*devices >= 'a')
            put_event(w, *devices);
        else
            mvt_spell(w, mvt_format("h%c", *devices - '0'));
    mvt_spell(w, "ee'segments']u.");
}

static void expect_sizes(const mv_trace *trace, uint32_t device, const char *sizes)
{
    mv_events events = mv_trace_events(trace, device);

    cr_assert_eq(events.count, strlen(sizes), "%u: %u", device, events.count);
    for (uint32_t i = 0; i < events.count; i++)
        cr_expect_eq(events.size[i], (uint64_t)(sizes[i] < 'a' ? sizes[i] - '0' : sizes[i]),
                     "device %u, event %u: %llu", device, i, (unsigned long long)events.size[i]);
}

/* Expects notes about an unknown key and `loose` events. */
static void expect_notes(const mv_trace *trace, uint64_t loose)
{
    cr_expect_eq(trace->notes[MV_NOTE_UNKNOWN_KEY].count, 1);
    cr_expect_eq(trace->notes[MV_NOTE_LOOSE].count, loose > 0, "%s",
                 trace->notes[MV_NOTE_LOOSE].first);
    if (loose > 0)
        cr_expect_eq(strtoull(trace->notes[MV_NOTE_LOOSE].first, NULL, 10), loose, "%s",
                     trace->notes[MV_NOTE_LOOSE].first);
    cr_expect_null(mvt_unsound(trace), "%s", mvt_unsound(trace));
}

Test(own_lists, events_have_the_order_of_pytorch)
{
    static const struct {
        const char *own, *devices, *sizes[2];
        uint64_t loose;
    } all[] = {
        {"321", "123", {"123", ""}, 0},       {"3", "abc3de", {"abc3de", ""}, 0},
        {"12", "1a2", {"1a2", ""}, 0},        {"5142", "12,45", {"12", "45"}, 0},
        {"9512", "12,ab5", {"12", "ab5"}, 1}, {"12", "ab,21", {"ab", "21"}, 0},
        {"78", "abc", {"abc", ""}, 2},
    };

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        mvt_opcodes *w = begin(all[i].own);
        mv_trace trace;
        end(w, all[i].devices);
        cr_assert_eq(mvt_opcodes_read(w, &trace), MV_OK, "%s: %s", all[i].devices,
                     mvt_err()->detail);
        expect_sizes(&trace, 0, all[i].sizes[0]);
        if (trace.device_count > 1)
            expect_sizes(&trace, 1, all[i].sizes[1]);
        expect_notes(&trace, all[i].loose);
    }
}

/* A batch of items in order, then one out of order. */
Test(own_lists, lists_that_grow_keep_their_order)
{
    mvt_opcodes *w = begin("1234");
    mv_trace trace;

    mvt_spell(w, "'device_traces'](](h\1h\2e(h\4h\3ee'segments']u.");
    mvt_ok(mvt_opcodes_read(w, &trace));
    expect_sizes(&trace, 0, "1243");
    expect_notes(&trace, 0);
}

/* If this were accepted, a small file could claim a huge history. */
Test(own_lists, an_event_is_in_one_list)
{
    static const char *const devices[] = {"1231", "11", "123,3", "21,1", "321,321", "13,123"};
    mvt_opcodes *w;
    mv_trace trace;

    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        w = begin("123");
        end(w, devices[i]);
        cr_expect_eq(mvt_opcodes_read(w, &trace), MV_CORRUPT, "%s", devices[i]);
        cr_expect(strstr(mvt_err()->detail, "a record is in two lists") ||
                      strstr(mvt_err()->detail, "shares records with another list"),
                  "%s: %s", devices[i], mvt_err()->detail);
    }
    w = begin("123"); /* one list of two devices */
    mvt_spell(w, "'device_traces'](](h\3h\1eq\011h\011e'segments']u.");
    cr_expect_eq(mvt_opcodes_read(w, &trace), MV_CORRUPT, "%s", mvt_err()->detail);
}

/* Segments that first appear in a user's own list keep their order and their blocks. */
Test(own_lists, segments_have_the_order_of_pytorch)
{
    static const uint64_t first[] = {1 << 20, 2 << 20, 3 << 20};
    mvt_opcodes *w = mvt_opcodes_new();
    mv_trace trace;

    mvt_spell(w, "}('mine'](");
    for (int i = 4; i > 0; i--) {
        /* Writes a segment with one block of `number` MiB, which is memo entry `number`. */
        mvt_spell(w, mvt_format("}('address'#%d'total_size'#%d'blocks']}('size'#%d"
                                "'state''inactive'uauq%c",
                                i << 24, i << 20, i << 20, i));
    }
    mvt_spell(w, "e'segments'](h\1h\2h\3e'host_segments']h\4au.");
    mvt_ok(mvt_opcodes_read(w, &trace));
    cr_assert_eq(trace.segments.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(trace.segments.total_size[i], first[i]);
        cr_assert_eq(trace.segments.blocks[i], 1);
        cr_expect_eq(trace.blocks.size[trace.segments.first_block[i]], first[i]);
    }
    cr_assert_eq(trace.host_segments.count, 1);
    cr_expect_eq(trace.host_segments.total_size[0], 4 << 20);
    expect_notes(&trace, 0);
}

/* Blocks lie within segments. A list of blocks that follows the segments is refused, and the
 * message says so. */
Test(own_lists, blocks_that_came_first_are_reported)
{
    mvt_opcodes *w = mvt_opcodes_new();
    mv_trace trace;

    mvt_spell(w, "}('mine'](}('size'K\2'state''inactive'uq\1}('size'K\1'state''inactive'uq\2e"
                 "'segments']}('total_size'K\3'blocks'](h\2h\1euau.");
    cr_assert_eq(mvt_opcodes_read(w, &trace), MV_CORRUPT);
    cr_expect_str_eq(
        mvt_err()->detail,
        "\"blocks\" shares records with another list; put a list of your own after PyTorch's keys");
}
