/* Reads JAX's device memory profile (docs/other-files.md): a pprof Profile, which is one protobuf
 * message. Source of the field numbers: profile.proto of github.com/google/pprof. */
#include <inttypes.h>

#include "base/grow.h"
#include "base/sort.h"
#include "base/text.h"
#include "parse/readers.h"
#include "parse/tools/block_log.h"
#include "parse/tools/protobuf.h"

enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_LOCATION = 4, PROFILE_FUNCTION, PROFILE_TEXT };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

enum {
    MOST_FRAMES = 512,     /* largest number of frames in a stack */
    MOST_BLOCKS = 1 << 20, /* largest number of buffers in all samples; if there are more, each
                            * sample is one block */
    MOST_DEVICES = 128,
    MOST_TYPES = 16
};

typedef struct {
    mv_span bytes;
    mv_string_id id; /* id of the string, set on first use, so that the string is interned only
                      * once */
} named_text;

typedef struct {
    uint64_t name, file; /* numbers of the strings with the name and the file */
} function;

typedef struct {
    uint32_t first, count; /* range of rows in `frames` */
} location;

typedef struct {
    mv_string_id device; /* name of the device; MV_NO_STRING: the file does not contain a device */
    uint32_t ordinal;
    uint64_t count, bytes;
    mv_stack_id stack;
} sample;

/* A sample that is being read. The sample's kind may come after its values. */
typedef struct {
    sample sample;
    uint32_t values;
    bool is_executable;
    const uint8_t *negative; /* position of a negative size in the file; NULL: none */
} reading;

typedef struct {
    mv_string_id label;
    uint32_t ordinal;
} device;

typedef struct {
    mv_arena scratch;
    mv_build build;
    mv_span file;
    named_text *texts;
    uint32_t text_count, text_capacity;
    function *functions;
    uint32_t function_count, function_capacity;
    location *locations;
    uint32_t location_count, location_capacity;
    mv_frame_id *frames; /* frames of all locations, innermost first */
    uint32_t frame_count, frame_capacity;
    sample *samples;
    uint32_t sample_count, sample_capacity;
    device devices[MOST_DEVICES];
    uint32_t device_count;
    bool is_jax;                              /* a type or a label shows that JAX wrote the file */
    char type_names[64];                      /* names of the value types, cut to fit:
                                               * "alloc_objects, alloc_space" */
    mv_map function_of, location_of;          /* rows of functions and locations, by their ids in
                                               * the file */
    uint32_t count_value, bytes_value, types; /* positions of the count and the bytes in a sample's
                                               * values, MV_NO_ROW: none; number of value types */
    uint64_t executables, unsized;            /* number of executables, and of those without a
                                               * size */
    mv_frame_id executable;                   /* innermost frame of the stacks of executables */
    mv_err *err;
} profile;

/* ---- detection --------------------------------------------------------------------------- */

/* Returns true if the file may be a profile. A profile begins with its value types, each of which
 * consists of two numbers. */
bool mv_pprof_probe(mv_span head)
{
    mv_cursor c = mv_cursor_over(head), inner;
    mv_pb_field f, part;
    uint32_t parts = 0;

    if (!mv_pb_next(&c, &f) || f.number != PROFILE_TYPE || f.type != MV_PB_BYTES)
        return false;
    inner = mv_cursor_over(f.bytes);
    while (mv_pb_next(&inner, &part)) {
        if (part.type != MV_PB_VARINT || part.number > TYPE_UNIT)
            return false;
        parts++;
    }
    return !inner.overrun && parts > 0 && parts <= 2;
}

/* ---- damage ------------------------------------------------------------------------------ */

static bool damaged(profile *p, mv_code code, const uint8_t *at, const char *what)
{
    mv_fail(p->err, code, (uint64_t)(at - p->file.data), "%s", what);
    return false;
}

static bool out_of_memory(profile *p)
{
    mv_fail(p->err, MV_NOMEM, MV_NO_OFFSET, "%u samples", p->sample_count);
    return false;
}

/* Finds the string with this number. Returns false and sets the error if there is none. */
static bool text_of(profile *p, uint64_t number, const uint8_t *at, mv_span *out)
{
    if (number >= p->text_count)
        return damaged(p, MV_CORRUPT, at, "a reference to a text that is missing");
    *out = p->texts[number].bytes;
    return true;
}

static bool string_of(profile *p, uint64_t number, const uint8_t *at, mv_string_id *out)
{
    mv_span bytes;
    named_text *t;

    if (!text_of(p, number, at, &bytes))
        return false;
    t = &p->texts[number];
    if (t->id.row == MV_NO_ROW)
        t->id = mv_build_string(&p->build, (const char *)bytes.data, bytes.length);
    *out = t->id;
    return true;
}

/* Reads the values of fields 1 to 4 of a message, if they are numbers. The last value of a field
 * wins. */
static bool take_numbers(profile *p, mv_span message, uint64_t out[5])
{
    mv_cursor c = mv_cursor_over(message);
    mv_pb_field f;

    memset(out, 0, 5 * sizeof *out);
    while (mv_pb_next(&c, &f))
        if (f.number < 5 && f.type == MV_PB_VARINT)
            out[f.number] = f.value;
    return !c.overrun || damaged(p, MV_CORRUPT, message.data, "inside a message");
}

/* ---- tables ------------------------------------------------------------------------------ */

static bool add_function(profile *p, mv_span message)
{
    uint64_t n[5];

    if (!take_numbers(p, message, n))
        return false;
    if (!mv_map_put(&p->function_of, n[FUNCTION_ID], p->function_count) ||
        !mv_append(&p->scratch, p->functions, p->function_count, p->function_capacity,
                   (function){n[FUNCTION_NAME], n[FUNCTION_FILE]}))
        return out_of_memory(p);
    return true;
}

static bool add_frame(profile *p, mv_span line)
{
    mv_frame_row row = MV_FRAME_ROW;
    mv_span file;
    uint64_t n[5];
    uint32_t of;

    if (!take_numbers(p, line, n))
        return false;
    of = mv_map_find(&p->function_of, n[LINE_FUNCTION]);
    if (of == MV_NOT_IN_MAP)
        return damaged(p, MV_CORRUPT, line.data, "a reference to a function that is missing");
    if (!string_of(p, p->functions[of].name, line.data, &row.function) ||
        !text_of(p, p->functions[of].file, line.data, &file))
        return false;
    if (file.length > 0)
        string_of(p, p->functions[of].file, line.data, &row.file);
    if (n[LINE_LINE] > 0 && n[LINE_LINE] <= INT32_MAX)
        row.line = (int64_t)n[LINE_LINE];
    return mv_append(&p->scratch, p->frames, p->frame_count, p->frame_capacity,
                     mv_build_frame(&p->build, &row)) ||
           out_of_memory(p);
}

/* Adds a location, whose lines are inlined functions, innermost first. */
static bool add_location(profile *p, mv_span message)
{
    mv_cursor c = mv_cursor_over(message);
    location l = {.first = p->frame_count};
    uint64_t id = 0;
    mv_pb_field f;

    while (mv_pb_next(&c, &f)) {
        if (f.number == LOCATION_ID && f.type == MV_PB_VARINT)
            id = f.value;
        else if (f.number == LOCATION_LINE && f.type == MV_PB_BYTES && !add_frame(p, f.bytes))
            return false;
    }
    if (c.overrun)
        return damaged(p, MV_CORRUPT, message.data, "inside a location");
    l.count = p->frame_count - l.first;
    return (mv_map_put(&p->location_of, id, p->location_count) &&
            mv_append(&p->scratch, p->locations, p->location_count, p->location_capacity, l)) ||
           out_of_memory(p);
}

static bool add_type(profile *p, mv_span message)
{
    uint64_t n[5];
    mv_span type, unit;

    if (!take_numbers(p, message, n) || !text_of(p, n[TYPE_TYPE], message.data, &type) ||
        !text_of(p, n[TYPE_UNIT], message.data, &unit))
        return false;
    if (p->types == MOST_TYPES)
        return damaged(p, MV_CORRUPT, message.data, "too many types of values");
    if (mv_pb_is(type, "space") && mv_pb_is(unit, "bytes"))
        p->bytes_value = p->types;
    else if (mv_pb_is(unit, "count"))
        p->count_value = p->types;
    p->is_jax |= mv_pb_is(type, "allocations");
    mv_text_append(p->type_names, sizeof p->type_names, "%s%.*s", p->types ? ", " : "",
                   (int)(type.length < 30 ? type.length : 30), (const char *)type.data);
    p->types++;
    return true;
}

static bool add_text(profile *p, mv_span bytes)
{
    return mv_append(&p->scratch, p->texts, p->text_count, p->text_capacity,
                     ((named_text){bytes, MV_NO_STRING})) ||
           out_of_memory(p);
}

/* A function that is called for every field that has a given number and is a message or a
 * string. */
typedef bool field_fn(profile *p, mv_span bytes);

static bool each_field(profile *p, uint64_t number, field_fn *call)
{
    mv_cursor c = mv_cursor_over(p->file);
    mv_pb_field f;

    while (mv_pb_next(&c, &f))
        if (f.number == number && f.type == MV_PB_BYTES && !call(p, f.bytes))
            return false;
    if (c.overrun)
        return damaged(p, MV_TRUNCATED, p->file.data + c.at, "inside the profile");
    if (p->build.code != MV_OK) {
        mv_fail(p->err, p->build.code, MV_NO_OFFSET, "%u samples", p->sample_count);
        return false;
    }
    return true;
}

/* ---- samples ----------------------------------------------------------------------------- */

static bool add_frames(profile *p, const mv_pb_field *f, mv_frame_id *frames, uint32_t *count)
{
    uint64_t at = 0, id;
    bool is_damaged = false;

    while (mv_pb_number(f, &at, &id, &is_damaged)) {
        uint32_t row = mv_map_find(&p->location_of, id);
        if (row == MV_NOT_IN_MAP)
            return damaged(p, MV_CORRUPT, f->bytes.length ? f->bytes.data : p->file.data,
                           "a reference to a location that is missing");
        for (uint32_t i = 0; i < p->locations[row].count && *count < MOST_FRAMES; i++)
            frames[(*count)++] = p->frames[p->locations[row].first + i];
    }
    return !is_damaged || damaged(p, MV_CORRUPT, f->bytes.data, "inside a list of locations");
}

static bool add_values(profile *p, const mv_pb_field *f, reading *r)
{
    uint64_t at = 0, value;
    bool is_damaged = false;

    for (; mv_pb_number(f, &at, &value, &is_damaged); r->values++) {
        const uint8_t *where = f->bytes.length ? f->bytes.data : p->file.data;
        if (r->values == p->count_value) {
            if (value > INT64_MAX)
                return damaged(p, MV_RANGE, where, "a sample with a negative number of buffers");
            r->sample.count = value;
        } else if (r->values == p->bytes_value) {
            r->negative = value > INT64_MAX ? where : NULL;
            r->sample.bytes = value > INT64_MAX ? 0 : value;
        }
    }
    return !is_damaged || damaged(p, MV_CORRUPT, f->bytes.data, "inside a list of values");
}

static bool add_label(profile *p, mv_span message, reading *r)
{
    uint64_t n[5];
    mv_span key, text;

    if (!take_numbers(p, message, n) || !text_of(p, n[LABEL_KEY], message.data, &key) ||
        !text_of(p, n[LABEL_TEXT], message.data, &text))
        return false;
    p->is_jax |= mv_pb_is(key, "kind") || mv_pb_is(key, "device");
    if (mv_pb_is(key, "kind"))
        r->is_executable = mv_pb_is(text, "executable");
    else if (mv_pb_is(key, "device"))
        return string_of(p, n[LABEL_TEXT], message.data, &r->sample.device);
    return true;
}

static mv_frame_id frame_of_executables(profile *p)
{
    static const char name[] = "compiled program";
    mv_frame_row row = MV_FRAME_ROW;

    if (p->executable.row == MV_NO_ROW) {
        row.file = mv_build_string(&p->build, MV_EXECUTABLE_FILE, strlen(MV_EXECUTABLE_FILE));
        row.function = mv_build_string(&p->build, name, strlen(name));
        p->executable = mv_build_frame(&p->build, &row);
    }
    return p->executable;
}

/* Checks the values of a sample. Runtimes that do not report the sizes of programs, such as TPU
 * runtimes, write -1 for each program. */
static bool settle_values(profile *p, const reading *r, mv_span message)
{
    if (r->values != p->types)
        return damaged(p, MV_CORRUPT, message.data,
                       "a sample has other kinds of values than the profile: damage, or several "
                       "profiles in one file");
    if (r->negative && !r->is_executable)
        return damaged(p, MV_RANGE, r->negative, "a buffer with a negative size");
    if (r->is_executable)
        p->executables += r->sample.count;
    if (r->negative)
        p->unsized += r->sample.count;
    return true;
}

static bool add_sample(profile *p, mv_span message)
{
    mv_cursor c = mv_cursor_over(message);
    mv_frame_id frames[MOST_FRAMES + 1]; /* the first frame is reserved for executables */
    reading r = {.sample = {.device = MV_NO_STRING, .count = 1}};
    uint32_t depth = 0;
    mv_pb_field f;

    while (mv_pb_next(&c, &f)) {
        if (f.number == SAMPLE_LOCATIONS && !add_frames(p, &f, frames + 1, &depth))
            return false;
        if (f.number == SAMPLE_VALUES && !add_values(p, &f, &r))
            return false;
        if (f.number == SAMPLE_LABEL && f.type == MV_PB_BYTES && !add_label(p, f.bytes, &r))
            return false;
    }
    if (c.overrun)
        return damaged(p, MV_CORRUPT, message.data, "inside a sample");
    if (!settle_values(p, &r, message))
        return false;
    if (r.is_executable)
        frames[0] = frame_of_executables(p);
    r.sample.stack = mv_build_stack(&p->build, frames + !r.is_executable, depth + r.is_executable);
    if (r.sample.bytes == 0)
        return true;
    return mv_append(&p->scratch, p->samples, p->sample_count, p->sample_capacity, r.sample) ||
           out_of_memory(p);
}

/* ---- devices ----------------------------------------------------------------------------- */

static bool is_cpu(const char *label)
{
    for (; *label; label++)
        if ((label[0] | 0x20) == 'c' && (label[1] | 0x20) == 'p' && (label[2] | 0x20) == 'u')
            return true;
    return false;
}

/* Returns the first number in a label; UINT64_MAX if there is none. */
static uint64_t number_in(const char *label)
{
    uint64_t number = 0;

    while (*label && (*label < '0' || *label > '9'))
        label++;
    if (!*label)
        return UINT64_MAX;
    for (; *label >= '0' && *label <= '9' && number < MOST_DEVICES; label++)
        number = number * 10 + (uint64_t)(*label - '0');
    return number;
}

static uint32_t device_of(profile *p, mv_string_id label)
{
    uint32_t i = 0;

    while (i < p->device_count && p->devices[i].label.row != label.row)
        i++;
    if (i == p->device_count && i < MOST_DEVICES)
        p->devices[p->device_count++] = (device){.label = label};
    return i < MOST_DEVICES ? i : MOST_DEVICES - 1;
}

/* Gives the devices their ordinals, which are the numbers in their labels if these are all
 * different. CPU devices follow all other devices. Returns the number of ordinals. */
static uint32_t number_devices(profile *p)
{
    bool is_taken[2 * MOST_DEVICES] = {false};
    uint32_t end = 0;

    for (int cpu = 0; cpu < 2; cpu++) {
        uint32_t first = cpu ? end : 0;
        for (uint32_t i = 0; i < p->device_count; i++) {
            const char *label = mv_string_text(p->build.trace, p->devices[i].label);
            uint64_t wanted = number_in(label);
            uint32_t ordinal = wanted < MOST_DEVICES && !cpu ? (uint32_t)wanted : first;
            if (is_cpu(label) != cpu)
                continue;
            if (is_taken[ordinal])
                for (ordinal = 0; is_taken[ordinal];)
                    ordinal++;
            is_taken[ordinal] = true;
            p->devices[i].ordinal = ordinal;
            if (cpu && ordinal == first)
                mv_live_fact_add_number(&p->build, MV_FACT_CPU_DEVICE, ordinal);
            end = ordinal >= end ? ordinal + 1 : end;
        }
    }
    return end;
}

static uint32_t lowest_ordinal(const profile *p)
{
    uint32_t lowest = p->device_count ? p->devices[0].ordinal : 0;

    for (uint32_t i = 1; i < p->device_count; i++)
        lowest = p->devices[i].ordinal < lowest ? p->devices[i].ordinal : lowest;
    return lowest;
}

/* Assigns samples to devices. Samples without a device belong to the first device of the file. */
static uint32_t place_samples(profile *p)
{
    uint32_t end, lowest;

    for (uint32_t i = 0; i < p->sample_count; i++)
        if (p->samples[i].device.row != MV_NO_ROW)
            p->samples[i].ordinal = device_of(p, p->samples[i].device);
    end = number_devices(p);
    lowest = lowest_ordinal(p);
    for (uint32_t i = 0; i < p->sample_count; i++) {
        sample *s = &p->samples[i];
        s->ordinal = s->device.row == MV_NO_ROW ? lowest : p->devices[s->ordinal].ordinal;
    }
    mv_sort_rows(&p->scratch, p->samples, p->sample_count, MV_RISING(sample, ordinal));
    return end > 0 || p->sample_count == 0 ? end : 1;
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Adds the buffers of a sample as blocks of equal size, because the file contains only the sum of
 * their sizes. The remainder is added to the first buffer. */
static bool add_blocks(profile *p, const sample *s, bool are_single, uint64_t *address)
{
    uint64_t count = are_single || s->count == 0 || s->count > s->bytes ? 1 : s->count;
    uint64_t bytes = s->bytes / count + s->bytes % count;
    uint32_t call = p->build.trace->calls;

    if (s->bytes > UINT64_MAX - *address)
        return damaged(p, MV_RANGE, p->file.data, "the samples add up to more than 2^63 bytes");
    for (uint64_t i = 0; i < count && p->build.code == MV_OK; i++) {
        bool has_stack = s->stack.row != MV_EMPTY_STACK.row;
        p->build.trace->calls += has_stack;
        mv_block_log_final(&p->build, (int32_t)s->ordinal, *address, bytes, bytes, 0, s->stack,
                           has_stack ? call++ : MV_NO_CALL);
        *address += bytes;
        bytes = s->bytes / count;
    }
    return true;
}

static mv_code finish(profile *p)
{
    mv_range none[MOST_DEVICES * 2] = {0};
    mv_build_ranges ranges = {.devices = none, .device_count = place_samples(p)};
    uint64_t address = MV_BLOCK_LOG_ADDRESS, buffers = 0;

    for (uint32_t i = 0; i < p->sample_count; i++)
        buffers += p->samples[i].count < UINT64_MAX - buffers ? p->samples[i].count : 0;
    mv_live_fact_add(&p->build, MV_FACT_ALLOCATOR, "jax");
    mv_live_fact_add_number(&p->build, MV_FACT_EXECUTABLES, p->executables);
    if (p->unsized)
        mv_live_fact_add_number(&p->build, MV_FACT_UNSIZED_EXECUTABLES, p->unsized);
    for (uint32_t i = 0; i < p->sample_count; i++)
        if (!add_blocks(p, &p->samples[i], buffers >= MOST_BLOCKS, &address))
            return p->err->code;
    if (buffers >= MOST_BLOCKS)
        mv_live_fact_add_number(&p->build, MV_FACT_BUFFERS, buffers);
    ranges.segments.count = p->build.segments.count;
    return mv_build_finish(&p->build, &ranges, p->err);
}

static mv_code read_profile(profile *p)
{
    if (!each_field(p, PROFILE_TEXT, add_text) || !each_field(p, PROFILE_TYPE, add_type))
        return p->err->code;
    if (p->bytes_value == MV_NO_ROW)
        return mv_fail(p->err, MV_FORMAT, 0,
                       "a pprof profile of %s, not of a device's memory: write one with "
                       "jax.profiler.save_device_memory_profile",
                       p->type_names);
    if (!each_field(p, PROFILE_FUNCTION, add_function) ||
        !each_field(p, PROFILE_LOCATION, add_location) ||
        !each_field(p, PROFILE_SAMPLE, add_sample))
        return p->err->code;
    if (!p->is_jax)
        return mv_fail(p->err, MV_FORMAT, 0, "%s",
                       "a pprof profile of a CPU heap: its samples have neither a kind nor a "
                       "device (jax.profiler.save_device_memory_profile writes both)");
    return finish(p);
}

mv_code mv_pprof_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                      mv_err *err)
{
    profile *p;
    mv_arena own;
    mv_code code;

    (void)opts;
    mv_arena_init(&own, arena->budget);
    p = mv_push_struct(&own, profile);
    if (!p)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    code = mv_source_rest(source, &p->file, err);
    mv_arena_init(&p->scratch, arena->budget);
    if (code == MV_OK) {
        mv_build_init(&p->build, arena, out);
        p->err = err;
        p->function_of.arena = p->location_of.arena = &p->scratch;
        p->count_value = p->bytes_value = p->executable.row = MV_NO_ROW;
        code = read_profile(p);
        out->origin.format = MV_FORMAT_PPROF;
        out->origin.data_bytes = p->file.length;
    }
    mv_arena_release(&p->scratch);
    mv_arena_release(&own);
    return code;
}
