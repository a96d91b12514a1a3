/* Files from other tools that contain a long text once and refer to it again and again: the time to
 * read them must be proportional to their size. Also files that contain several profiles. */
#include <time.h>

#include "tests/fixture/fixture.h"

enum {
    LONG = 4 << 20,     /* bytes of the text */
    REFERENCES = 20000, /* which refer to 80 GB together */
    /* limit on CPU time in seconds; this once took minutes and now takes 0.1 s */
    MOST_SECONDS = 8
};

typedef struct {
    uint8_t *data;
    uint64_t length, capacity;
} message;

static void put_bytes(message *m, const void *data, uint64_t length)
{
    while (m->length + length > m->capacity) {
        uint8_t *more = mv_push_array(mvt_memory(), uint8_t, m->capacity * 2 + 64);
        cr_assert_not_null(more);
        if (m->length > 0)
            memcpy(more, m->data, m->length);
        m->data = more;
        m->capacity = m->capacity * 2 + 64;
    }
    memcpy(m->data + m->length, data, length);
    m->length += length;
}

static void put_varint(message *m, uint64_t n)
{
    for (; n > 127; n >>= 7)
        put_bytes(m, &(uint8_t){(uint8_t)(n & 127) | 128}, 1);
    put_bytes(m, &(uint8_t){(uint8_t)n}, 1);
}

static void put_number(message *m, uint32_t field, uint64_t n)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, n);
}

static void put_text(message *m, uint32_t field, const void *data, uint64_t length)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, length);
    put_bytes(m, data, length);
}

static void put_message(message *m, uint32_t field, const message *inner)
{
    put_text(m, field, inner->data, inner->length);
}

static message pair(uint32_t first, uint64_t a, uint32_t second, uint64_t b)
{
    message m = {0};

    put_number(&m, first, a);
    put_number(&m, second, b);
    return m;
}

static const char *long_text(const char *begin)
{
    char *text = mv_push_array(mvt_memory(), char, LONG + 1);

    cr_assert_not_null(text);
    memset(text, 'x', LONG);
    memcpy(text, begin, strlen(begin));
    return text;
}

static mv_trace read_quickly(const message *file)
{
    clock_t from = clock();
    mv_trace trace;

    mvt_ok(
        mv_trace_read_bytes(mvt_memory(), (mv_span){file->data, file->length}, &trace, mvt_err()));
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    cr_expect_lt(seconds, MOST_SECONDS, "%.1f s", seconds);
    cr_expect_null(mvt_unsound(&trace));
    return trace;
}

/* Text 9 is the long one. */
static void put_texts(message *m, const char *ninth)
{
    static const char *const texts[] = {"",     "allocations", "count",  "space", "bytes",
                                        "kind", "buffer",      "device", "gpu:1"};

    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(m, 6, texts[i], strlen(texts[i]));
    put_text(m, 6, ninth, LONG);
}

static message profile_head(void)
{
    message m = {0}, count = pair(1, 1, 2, 2), space = pair(1, 3, 2, 4);

    put_message(&m, 1, &count);
    put_message(&m, 1, &space);
    return m;
}

/* A sample of one buffer of 64 bytes. */
static message sample_on(uint32_t device)
{
    message m = {0}, values = {0}, label = pair(1, 7, 2, device);

    put_varint(&values, 1);
    put_varint(&values, 64);
    put_message(&m, 2, &values);
    put_message(&m, 3, &label);
    return m;
}

Test(long_texts, samples_of_jax_share_the_label_of_their_device)
{
    message file = profile_head(), sample = sample_on(9);

    for (uint32_t i = 0; i < REFERENCES; i++)
        put_message(&file, 2, &sample);
    put_texts(&file, long_text("gpu:1"));
    mv_trace trace = read_quickly(&file);
    cr_expect_eq(trace.blocks.count, REFERENCES);
    cr_expect_eq(trace.device_count, 2);
}

Test(long_texts, lines_of_jax_share_the_names_of_their_function)
{
    message file = profile_head(), sample = sample_on(8), place = {0}, line = {0};
    message function = pair(1, 1, 2, 9);

    put_number(&function, 4, 9);
    put_number(&place, 1, 1);
    for (uint32_t i = 0; i < REFERENCES; i++) {
        line = pair(1, 1, 2, i + 1);
        put_message(&place, 4, &line);
    }
    put_number(&sample, 1, 1);
    put_message(&file, 2, &sample);
    put_message(&file, 4, &place);
    put_message(&file, 5, &function);
    put_texts(&file, long_text("f"));
    mv_trace trace = read_quickly(&file);
    cr_expect_eq(trace.frames.count, REFERENCES);
}

enum { ALLOCATOR = 1, BYTES, ADDRESS, NAME }; /* statistics */

static void put_name(message *plane, uint32_t field, uint32_t id, const char *text, uint64_t length)
{
    message entry = {0}, named = {0};

    put_text(&named, 2, text, length);
    put_number(&entry, 1, id);
    put_message(&entry, 2, &named);
    put_message(plane, field, &entry);
}

static void put_stat(message *event, uint32_t id, uint32_t field, uint64_t value)
{
    message stat = pair(1, id, field, value);

    put_message(event, 4, &stat);
}

/* Writes `count` allocations of 256 bytes by an allocator with that name. */
static message plane_of(const char *name, uint64_t length, uint32_t count, uint64_t address)
{
    message m = {0}, line = {0};

    put_text(&m, 2, "/host:CPU", 9);
    put_number(&line, 3, 1700000000000000000);
    for (uint32_t i = 0; i < count; i++) {
        message event = pair(1, 1, 2, 1000000ull * i);
        put_stat(&event, ALLOCATOR, 7, NAME);
        put_stat(&event, BYTES, 4, 256);
        put_stat(&event, ADDRESS, 4, address + 256ull * i);
        put_message(&line, 4, &event);
    }
    put_message(&m, 3, &line);
    put_name(&m, 4, 1, "MemoryAllocation", 16);
    put_name(&m, 5, ALLOCATOR, "allocator_name", 14);
    put_name(&m, 5, BYTES, "allocation_bytes", 16);
    put_name(&m, 5, ADDRESS, "addr", 4);
    put_name(&m, 5, NAME, name, length);
    return m;
}

LongTest(long_texts, events_of_xla_share_the_name_of_their_allocator)
{
    message plane = plane_of(long_text("GPU_3_bfc"), LONG, REFERENCES, 1u << 30), file = {0};

    put_message(&file, 1, &plane);
    mv_trace trace = read_quickly(&file);
    cr_expect_eq(trace.devices[3].events.count, 2 * REFERENCES);
}

/* Concatenating two profiles gives a profile with all of their planes: one heap for two hosts. */
Test(long_texts, profiles_of_several_hosts_are_not_one_heap)
{
    message one = plane_of("GPU_0_bfc", 9, 4, 1u << 30),
            same = plane_of("GPU_0_bfc", 9, 4, 2u << 30);
    message other = plane_of("GPU_1_bfc", 9, 4, 3u << 30), file = {0};
    mv_err err;

    put_message(&file, 1, &one);
    put_message(&file, 1, &other);
    mv_trace trace = read_quickly(&file);
    cr_expect_eq(trace.device_count, 2);
    put_message(&file, 1, &same);
    cr_assert_eq(mv_trace_read_bytes(mvt_memory(), (mv_span){file.data, file.length}, &trace, &err),
                 MV_FORMAT);
    cr_expect(strstr(err.detail, "pass each profile separately"), "%s", err.detail);
}
