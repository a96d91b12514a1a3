/* Lists of the user's own before those of PyTorch: the rows are made in their order, and PyTorch's
 * lists are read in that of PyTorch. */
#include "tests/fixture/fixture.h"

typedef struct {
    uint8_t data[4096];
    uint64_t length;
} writer;

static void put(writer *w, const void *data, uint64_t length)
{
    cr_assert_leq(w->length + length, sizeof w->data);
    memcpy(w->data + w->length, data, length);
    w->length += length;
}

#define OPS(w, literal) put((w), (literal), sizeof(literal) - 1)

static void put_text(writer *w, const char *text)
{
    OPS(w, "\x8c");
    put(w, &(uint8_t){(uint8_t)strlen(text)}, 1);
    put(w, text, strlen(text));
}

/* An event of `number` bytes, which is that entry of the memo. */
static void put_event(writer *w, uint8_t number)
{
    OPS(w, "}(");
    put_text(w, "action");
    put_text(w, "alloc");
    put_text(w, "size");
    OPS(w, "K");
    put(w, &number, 1);
    OPS(w, "uq");
    put(w, &number, 1);
}

static void put_again(writer *w, uint8_t number)
{
    OPS(w, "h");
    put(w, &number, 1);
}

/* A segment of one block of `number` MiB, likewise. */
static void put_segment(writer *w, uint8_t number)
{
    uint32_t bytes = (uint32_t)number << 20;

    OPS(w, "}(");
    put_text(w, "address");
    OPS(w, "J");
    put(w, &(uint32_t){(uint32_t)number << 24}, 4);
    put_text(w, "total_size");
    OPS(w, "J");
    put(w, &bytes, 4);
    put_text(w, "blocks");
    OPS(w, "]}(");
    put_text(w, "size");
    OPS(w, "J");
    put(w, &bytes, 4);
    put_text(w, "state");
    put_text(w, "inactive");
    OPS(w, "uauq");
    put(w, &number, 1);
}

static mv_code read_writer(const writer *w, mv_trace *out)
{
    return mv_trace_read_bytes(mvt_memory(), (mv_span){w->data, w->length}, out, mvt_err());
}

/* {"mine": [events of these numbers], ... */
static void begin(writer *w, const char *numbers)
{
    *w = (writer){.length = 0};
    OPS(w, "\x80\4}(");
    put_text(w, "mine");
    OPS(w, "](");
    for (; *numbers; numbers++)
        put_event(w, (uint8_t)(*numbers - '0'));
    OPS(w, "e");
}

/* "device_traces": [[...], [...]]: a digit is an event of the own list, a letter one that is new,
 * a comma begins the next device. */
static void end(writer *w, const char *devices)
{
    put_text(w, "device_traces");
    OPS(w, "](](");
    for (; *devices; devices++)
        if (*devices == ',')
            OPS(w, "e](");
        else if (*devices >= 'a')
            put_event(w, (uint8_t)*devices);
        else
            put_again(w, (uint8_t)(*devices - '0'));
    OPS(w, "ee");
    put_text(w, "segments");
    OPS(w, "]u.");
}

static void expect_sizes(const mv_trace *trace, uint32_t device, const char *sizes)
{
    mv_events events = mv_trace_events(trace, device);

    cr_assert_eq(events.count, strlen(sizes), "%u: %u", device, events.count);
    for (uint32_t i = 0; i < events.count; i++)
        cr_expect_eq(events.size[i], (uint64_t)(sizes[i] < 'a' ? sizes[i] - '0' : sizes[i]),
                     "device %u, event %u: %llu", device, i, (unsigned long long)events.size[i]);
}

/* The notes are those of a key that memviz does not know, and of `loose` events. */
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
        writer w;
        mv_trace trace;
        begin(&w, all[i].own);
        end(&w, all[i].devices);
        cr_assert_eq(read_writer(&w, &trace), MV_OK, "%s: %s", all[i].devices, mvt_err()->detail);
        expect_sizes(&trace, 0, all[i].sizes[0]);
        if (trace.device_count > 1)
            expect_sizes(&trace, 1, all[i].sizes[1]);
        expect_notes(&trace, all[i].loose);
    }
}

/* A batch of items in order, and then one that is not. */
Test(own_lists, lists_that_grow_keep_their_order)
{
    writer w;
    mv_trace trace;

    begin(&w, "1234");
    put_text(&w, "device_traces");
    OPS(&w, "](](h\1h\2e(h\4h\3ee");
    put_text(&w, "segments");
    OPS(&w, "]u.");
    cr_assert_eq(read_writer(&w, &trace), MV_OK, "%s", mvt_err()->detail);
    expect_sizes(&trace, 0, "1243");
    expect_notes(&trace, 0);
}

/* Else a small file could say a huge history. */
Test(own_lists, an_event_is_in_one_list)
{
    static const char *const devices[] = {"1231", "11", "123,3", "21,1", "321,321", "13,123"};
    writer w;
    mv_trace trace;

    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        begin(&w, "123");
        end(&w, devices[i]);
        cr_expect_eq(read_writer(&w, &trace), MV_CORRUPT, "%s", devices[i]);
        cr_expect(strstr(mvt_err()->detail, "a record is in two lists") ||
                      strstr(mvt_err()->detail, "shares records with another list"),
                  "%s: %s", devices[i], mvt_err()->detail);
    }
    begin(&w, "123"); /* one list of two devices */
    put_text(&w, "device_traces");
    OPS(&w, "](](h\3h\1eq\x09h\x09"
            "e");
    put_text(&w, "segments");
    OPS(&w, "]u.");
    cr_expect_eq(read_writer(&w, &trace), MV_CORRUPT, "%s", mvt_err()->detail);
}

/* Segments keep their blocks; the host's, too. */
Test(own_lists, segments_have_the_order_of_pytorch)
{
    static const uint64_t first[] = {1 << 20, 2 << 20, 3 << 20};
    writer w = {.length = 0};
    mv_trace trace;

    OPS(&w, "\x80\4}(");
    put_text(&w, "mine");
    OPS(&w, "](");
    for (uint8_t i = 4; i > 0; i--)
        put_segment(&w, i);
    OPS(&w, "e");
    put_text(&w, "segments");
    OPS(&w, "](h\1h\2h\3e");
    put_text(&w, "host_segments");
    OPS(&w, "]h\4au.");
    cr_assert_eq(read_writer(&w, &trace), MV_OK, "%s", mvt_err()->detail);
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

/* Blocks lie within segments: their own list comes after those, and the line says so. */
Test(own_lists, blocks_that_came_first_are_told)
{
    writer w;
    mv_trace trace;

    w = (writer){.length = 0};
    OPS(&w, "\x80\4}(");
    put_text(&w, "mine");
    OPS(&w, "](}(");
    put_text(&w, "size");
    OPS(&w, "K\2");
    put_text(&w, "state");
    put_text(&w, "inactive");
    OPS(&w, "uq\1}(");
    put_text(&w, "size");
    OPS(&w, "K\1");
    put_text(&w, "state");
    put_text(&w, "inactive");
    OPS(&w, "uq\2e");
    put_text(&w, "segments");
    OPS(&w, "]}(");
    put_text(&w, "total_size");
    OPS(&w, "K\3");
    put_text(&w, "blocks");
    OPS(&w, "](h\2h\1euau.");
    cr_assert_eq(read_writer(&w, &trace), MV_CORRUPT);
    cr_expect_str_eq(mvt_err()->detail, "\"blocks\" shares records with another list; one of your "
                                        "own goes after PyTorch's keys");
}
