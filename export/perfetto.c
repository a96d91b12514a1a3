
#include "base/utf8.h"
#include "export/export.h"

/* Field numbers and enum values from protos/perfetto/trace/trace_packet.proto and
 * track_event/{track_event,track_descriptor,counter_descriptor,debug_annotation}.proto. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    COUNTER_UNIT = 3,
    EVENT_DEBUG = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    DEBUG_UINT = 3,
    DEBUG_STRING = 6,
    DEBUG_NAME = 10
};
enum { UNIT_SIZE_BYTES = 3, TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END, TYPE_INSTANT, TYPE_COUNTER };
enum { SEQUENCE_CLEARED = 1, OUR_SEQUENCE = 1 };

enum { MOST_MESSAGE = 4096, MOST_TEXT = 1024 };

/* A message that is being written. Fields that do not fit are dropped; all messages have a bounded
 * size. */
typedef struct {
    uint32_t length;
    uint8_t bytes[MOST_MESSAGE];
} message;

enum { COUNTERS = 4 };

static const char *const counter_names[COUNTERS] = {"allocated", "active", "requested", "reserved"};

/* The tracks of a device: the device itself, its counters, its annotations and its out-of-memory
 * events. */
enum { TRACK_ANNOTATIONS = COUNTERS + 1, TRACK_OOMS, TRACKS };

typedef struct {
    const mv_export *export;
    const mv_export_device *device;
    uint32_t row; /* row of the device */
    mv_sink *sink;
    bool is_begun; /* whether a packet has been written */
    bool has_times;
} writer;

/* ---- protobuf ---------------------------------------------------------------------------- */

static void put_varint(message *m, uint64_t value)
{
    do {
        if (m->length == MOST_MESSAGE)
            return;
        m->bytes[m->length++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    } while (value >>= 7);
}

static void put_number(message *m, uint32_t field, uint64_t value)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, value);
}

static void put_bytes(message *m, uint32_t field, const void *data, uint64_t length)
{
    if (m->length + length + 16 > MOST_MESSAGE)
        return;
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, length);
    memcpy(m->bytes + m->length, data, length);
    m->length += (uint32_t)length;
}

static void put_message(message *m, uint32_t field, const message *inner)
{
    put_bytes(m, field, inner->bytes, inner->length);
}

/* Writes a string. Protobuf strings are UTF-8, so other bytes become question marks. */
static void put_text(message *m, uint32_t field, mv_span text)
{
    uint8_t clean[MOST_TEXT];
    uint32_t length = 0, character;

    for (uint64_t at = 0; at < text.length && length + 4 < MOST_TEXT;
         at += character ? character : 1) {
        character = mv_utf8_length(text, at);
        if (character == 0)
            clean[length++] = '?';
        for (uint32_t i = 0; i < character; i++)
            clean[length++] = text.data[at + i];
    }
    put_bytes(m, field, clean, length);
}

static void put_c_text(message *m, uint32_t field, const char *text)
{
    put_text(m, field, (mv_span){(const uint8_t *)text, strlen(text)});
}

static void put_packet(writer *w, message *packet)
{
    message head = {0};

    put_number(packet, PACKET_SEQUENCE, OUR_SEQUENCE);
    if (!w->is_begun)
        put_number(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
    w->is_begun = true;
    put_varint(&head, (uint64_t)TRACE_PACKET << 3 | 2);
    put_varint(&head, packet->length);
    mv_sink_write(w->sink, head.bytes, head.length);
    mv_sink_write(w->sink, packet->bytes, packet->length);
}

/* ---- tracks ------------------------------------------------------------------------------ */

static uint64_t track_of(const writer *w, uint32_t track)
{
    return (uint64_t)w->row * TRACKS + track + 1;
}

static void put_track(writer *w, uint32_t track, const char *name)
{
    message packet = {0}, descriptor = {0}, inner = {0};

    put_number(&descriptor, TRACK_UUID, track_of(w, track));
    if (track == 0) {
        put_number(&inner, PROCESS_PID, w->device->lives.device + 1);
        put_c_text(&inner, PROCESS_NAME, name);
        put_message(&descriptor, TRACK_PROCESS, &inner);
    } else {
        put_c_text(&descriptor, TRACK_NAME, name);
        put_number(&descriptor, TRACK_PARENT, track_of(w, 0));
    }
    if (track > 0 && track <= COUNTERS) {
        put_number(&inner, COUNTER_UNIT, UNIT_SIZE_BYTES);
        put_message(&descriptor, TRACK_COUNTER, &inner);
    }
    put_message(&packet, PACKET_TRACK_DESCRIPTOR, &descriptor);
    put_packet(w, &packet);
}

static void put_tracks(writer *w)
{
    char name[MOST_TEXT];

    snprintf(name, sizeof name, "%.900s, device %u%s", w->export->name, w->device->lives.device,
             w->has_times ? "" : " (no times in the file: one event is 1 us)");
    put_track(w, 0, name);
    for (uint32_t i = 0; i < COUNTERS; i++)
        put_track(w, i + 1, counter_names[i]);
    put_track(w, TRACK_ANNOTATIONS, "annotations");
    put_track(w, TRACK_OOMS, "out of memory");
}

/* ---- events ------------------------------------------------------------------------------ */

static uint64_t time_of(const writer *w, uint32_t event)
{
    const mv_events *e = &w->device->lives.events;

    if (!w->has_times)
        return (uint64_t)event * 1000;
    return e->time_us[event] < 0 ? 0 : (uint64_t)e->time_us[event] * 1000;
}

static void put_event(writer *w, uint64_t time, message *event)
{
    message packet = {0};

    put_number(&packet, PACKET_TIMESTAMP, time);
    put_message(&packet, PACKET_TRACK_EVENT, event);
    put_packet(w, &packet);
}

static uint64_t level_of(const mv_series *s, uint32_t counter, uint32_t event)
{
    const uint64_t *const levels[COUNTERS] = {s->allocated, s->active, s->requested, s->reserved};

    return levels[counter][event];
}

static void put_levels(writer *w, uint32_t event)
{
    const mv_series *s = &w->device->series;

    for (uint32_t i = 0; i < COUNTERS; i++) {
        message m = {0};
        if (event > 0 && level_of(s, i, event) == level_of(s, i, event - 1))
            continue;
        put_number(&m, EVENT_TYPE, TYPE_COUNTER);
        put_number(&m, EVENT_TRACK, track_of(w, i + 1));
        put_number(&m, EVENT_COUNTER_VALUE, level_of(s, i, event));
        put_event(w, time_of(w, event), &m);
    }
}

static void put_debug_bytes(message *event, const char *name, uint64_t value)
{
    message m = {0};

    if (value == MV_NO_BYTES)
        return;
    put_c_text(&m, DEBUG_NAME, name);
    put_number(&m, DEBUG_UINT, value);
    put_message(event, EVENT_DEBUG, &m);
}

static void put_oom(writer *w, uint32_t event)
{
    const mv_events *e = &w->device->lives.events;
    message m = {0}, where = {0};
    char label[256];

    put_number(&m, EVENT_TYPE, TYPE_INSTANT);
    put_number(&m, EVENT_TRACK, track_of(w, TRACK_OOMS));
    put_c_text(&m, EVENT_NAME, "out of memory");
    put_debug_bytes(&m, "requested", e->size[event]);
    put_debug_bytes(&m, "device_free", e->addr[event]);
    put_c_text(&where, DEBUG_NAME, "line");
    put_c_text(
        &where, DEBUG_STRING,
        mv_culprit_label(w->export->trace, w->export->kinds, e->stack[event], label, sizeof label));
    put_message(&m, EVENT_DEBUG, &where);
    put_event(w, time_of(w, event), &m);
}

static bool has_track(const mv_export *x, uint32_t device)
{
    for (uint32_t i = 0; i < x->device_count; i++)
        if (x->devices[i].lives.device == device)
            return true;
    return false;
}

/* Whether an annotation is shown on a device. Annotations without a device are shown on all
 * devices. Annotations of a device that is not exported are shown on the first device, unless their
 * own device is left out. */
static bool shows_annotation(const writer *w, int32_t device)
{
    if (device < 0 || (uint32_t)device == w->device->lives.device)
        return true;
    return w->row == 0 && !w->export->leaves_out[device] && !has_track(w->export, (uint32_t)device);
}

/* Writes a mark, or one end of a range. */
static void put_annotation(writer *w, uint32_t row)
{
    const mv_annotations *a = &w->export->trace->annotations;
    uint8_t stage = a->stage[row];
    message m = {0};

    if (!shows_annotation(w, a->device[row]))
        return;
    if (a->time_us[row] == MV_NO_TIME || a->time_us[row] < 0 || !w->has_times)
        return;
    put_number(&m, EVENT_TYPE,
               stage == MV_STAGE_START ? TYPE_SLICE_BEGIN
               : stage == MV_STAGE_END ? TYPE_SLICE_END
                                       : TYPE_INSTANT);
    put_number(&m, EVENT_TRACK, track_of(w, TRACK_ANNOTATIONS));
    put_text(&m, EVENT_NAME, mv_string_span(w->export->trace, a->name[row]));
    put_event(w, (uint64_t)a->time_us[row] * 1000, &m);
}

static void put_device(writer *w)
{
    const mv_events *e = &w->device->lives.events;

    w->has_times = true;
    for (uint32_t i = 0; i < e->count && w->has_times; i++)
        w->has_times = e->time_us[i] != MV_NO_TIME;
    put_tracks(w);
    for (uint32_t i = 0; i < e->count; i++) {
        put_levels(w, i);
        if (e->action[i] == MV_ACTION_OOM)
            put_oom(w, i);
        if (w->export->progress && i % 65536 == 0)
            w->export->progress(w->export->user, i, e->count);
    }
    for (uint32_t i = 0; i < w->export->trace->annotations.count; i++)
        put_annotation(w, i);
}

void mv_perfetto_write(const mv_export *export, mv_sink *sink)
{
    writer w = {.export = export, .sink = sink};

    for (uint32_t i = 0; i < export->device_count; i++) {
        w.row = i;
        w.device = &export->devices[i];
        put_device(&w);
    }
}
