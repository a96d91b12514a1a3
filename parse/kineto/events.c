#include "base/grow.h"
#include "parse/kineto/kineto.h"

/* The fields of an event that memviz uses, as positions in the window. */
typedef struct {
    mv_json_token phase, category, name, pid, tid, time, duration;
    uint64_t args; /* beginning of the event's arguments; MV_NO_BYTES: none */
} trace_event;

static bool take_member(mv_json *j, mv_json_token key, trace_event *e)
{
    const uint8_t *k = mv_json_span(j, key).data;

    if (key.length == 2 && k[0] == 'p' && k[1] == 'h')
        return mv_json_take(j, &e->phase);
    if (key.length == 2 && k[0] == 't' && k[1] == 's')
        return mv_json_take(j, &e->time);
    if (key.length == 3 && memcmp(k, "cat", 3) == 0)
        return mv_json_take(j, &e->category);
    if (key.length == 3 && memcmp(k, "dur", 3) == 0)
        return mv_json_take(j, &e->duration);
    if (key.length == 3 && memcmp(k, "pid", 3) == 0)
        return mv_json_take(j, &e->pid);
    if (key.length == 3 && memcmp(k, "tid", 3) == 0)
        return mv_json_take(j, &e->tid);
    if (key.length == 4 && memcmp(k, "name", 4) == 0)
        return mv_json_take(j, &e->name);
    if (key.length == 4 && memcmp(k, "args", 4) == 0 && mv_json_next(j) == '{')
        e->args = j->pos;
    return mv_json_pass(j);
}

/* Reads the thread and process of an event. Returns false if they are not numbers, as in some GPU
 * events. */
static bool take_thread(mv_kineto *k, const trace_event *e, uint32_t *thread, uint64_t *pid)
{
    uint64_t tid;
    uint32_t *row;
    bool is_below;

    if (!mv_json_whole(&k->json, e->pid, pid, &is_below) || is_below ||
        !mv_json_whole(&k->json, e->tid, &tid, &is_below))
        return false;
    row = mv_map_value(&k->thread_of, *pid * UINT64_C(0x9e3779b97f4a7c15) + tid);
    k->is_out_of_memory |= !row;
    if (!row)
        return false;
    if (*row == 0)
        *row = ++k->threads;
    *thread = *row - 1;
    return true;
}

/* ---- operators and functions --------------------------------------------------------------- */

/* Copies the text of the next value, of any kind, from the file. */
static bool copy_value(mv_json *j, char *to, uint64_t room, uint64_t *length)
{
    uint64_t first, bytes;

    mv_json_next(j);
    first = j->pos;
    if (!mv_json_pass(j))
        return false;
    bytes = j->pos - first;
    *length = bytes < room ? bytes : room;
    memcpy(to, j->source->at + first, *length);
    return true;
}

/* Reads the inputs of an operator: sizes and types. */
static bool take_inputs(mv_kineto *k, uint64_t args, uint32_t *number)
{
    char text[2 * MV_KINETO_TEXT + 1], types[MV_KINETO_TEXT];
    uint64_t length = 0, type_length = 0;
    mv_json *j = &k->json;
    mv_json_token key;

    *number = MV_NO_TEXT;
    mv_json_go(j, args);
    mv_json_enter(j, '{');
    while (mv_json_key(j, &key)) {
        bool is_sizes = mv_json_is(j, key, "Input Dims") || mv_json_is(j, key, "Input dims");
        bool is_types = mv_json_is(j, key, "Input type");
        if (is_sizes   ? !copy_value(j, text, MV_KINETO_TEXT, &length)
            : is_types ? !copy_value(j, types, MV_KINETO_TEXT, &type_length)
                       : !mv_json_pass(j))
            return false;
    }
    if (length == 0 || j->failed)
        return !j->failed;
    text[length++] = '\n';
    memcpy(text + length, types, type_length);
    *number = mv_texts_add(&k->inputs, (mv_span){(uint8_t *)text, length + type_length});
    k->is_out_of_memory |= *number == MV_NO_TEXT;
    return !k->is_out_of_memory;
}

/* Removes the address from a name such as "<built-in method empty of type object at 0x7f2c>",
 * because the function is the same at any address. */
static mv_span without_address(mv_span name)
{
    static const char at[] = " object at 0x";
    const uint8_t *found = name.length > 0 && name.data[0] == '<'
                               ? memmem(name.data, name.length, at, sizeof at - 1)
                               : NULL;

    return found ? (mv_span){name.data, (uint64_t)(found - name.data)} : name;
}

static bool add_range(mv_kineto *k, const trace_event *e, mv_around_kind kind)
{
    mv_texts *names = kind == MV_AROUND_OPERATOR ? &k->operators : &k->functions;
    mv_kineto_range range = {.inputs = MV_NO_TEXT, .kind = (uint8_t)kind};
    uint8_t text[MV_KINETO_TEXT];
    int64_t duration;
    uint64_t pid;
    mv_span name;

    if (!mv_json_ns(&k->json, e->time, &range.start_ns) ||
        !mv_json_ns(&k->json, e->duration, &duration) || !take_thread(k, e, &range.thread, &pid))
        return !k->is_out_of_memory;
    /* If a range was still open at the end of the profile, some releases of PyTorch write an end
     * that is before its beginning. */
    range.end_ns = duration < 0 ? INT64_MAX : range.start_ns + duration;
    name = without_address(mv_json_text(&k->json, e->name, text, sizeof text));
    range.name = mv_texts_add(names, name);
    if (range.name == MV_NO_TEXT)
        return !(k->is_out_of_memory = true);
    if (kind == MV_AROUND_OPERATOR && e->args != MV_NO_BYTES &&
        !take_inputs(k, e->args, &range.inputs))
        return false;
    k->is_out_of_memory |=
        !mv_append(&k->scratch, k->ranges, k->range_count, k->range_capacity, range);
    return !k->is_out_of_memory;
}

static bool add_step(mv_kineto *k, const trace_event *e)
{
    uint8_t text[MV_KINETO_TEXT];
    mv_span name = mv_json_text(&k->json, e->name, text, sizeof text);
    mv_kineto_step step = {.stage = MV_STAGE_START};
    int64_t duration;

    if (!mv_json_ns(&k->json, e->time, &step.time_ns) ||
        !mv_json_ns(&k->json, e->duration, &duration) || duration < 0)
        return true;
    step.name = mv_build_string(&k->build, (const char *)name.data, name.length);
    for (int i = 0; i < 2; i++) {
        k->is_out_of_memory |=
            !mv_append(&k->scratch, k->steps, k->step_count, k->step_capacity, step);
        step.stage = MV_STAGE_END;
        step.time_ns += duration;
    }
    return !k->is_out_of_memory;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Reads the absolute value and the sign of a number in the arguments. */
static bool take_number(mv_json *j, uint64_t *out, bool *is_below)
{
    mv_json_token value;

    return mv_json_take(j, &value) && mv_json_whole(j, value, out, is_below);
}

/* Records that the current event, which begins the window, makes the file unusable. */
static uint32_t refuse(mv_kineto *k, const char *why)
{
    if (!k->refusal)
        k->refused_at = mv_source_offset(k->json.source);
    k->refusal = why;
    return MV_NO_ROW;
}

/* Returns the row of a device; MV_NO_ROW if the file is refused. */
static uint32_t device_row(mv_kineto *k, int64_t type, int64_t id, uint64_t pid)
{
    for (uint32_t i = 0; i < k->device_count; i++) {
        const mv_kineto_device *d = &k->devices[i];
        if (d->type == type && d->id == id)
            return d->pid == pid
                       ? i
                       : refuse(k, "traces of several processes in one file: two have "
                                   "events of one device; pass the trace of each rank separately");
    }
    if (k->device_count == MV_KINETO_DEVICES || id >= MV_KINETO_DEVICES)
        return refuse(k, "more than 64 devices with memory events");
    k->devices[k->device_count] = (mv_kineto_device){.type = type, .id = id, .pid = pid};
    return k->device_count++;
}

typedef struct {
    bool has_addr, has_bytes, is_free;
    int64_t type, id;
} memory_args;

static bool take_memory_args(mv_kineto *k, uint64_t args, mv_kineto_memory *m, memory_args *out)
{
    mv_json *j = &k->json;
    mv_json_token key;
    uint64_t number;

    mv_json_go(j, args);
    mv_json_enter(j, '{');
    while (mv_json_key(j, &key)) {
        mv_json_token name = key;
        bool is_below, is_number;
        is_number = take_number(j, &number, &is_below);
        if (j->failed)
            return false;
        if (!is_number)
            continue;
        if (mv_json_is(j, name, "Addr")) {
            m->addr = number;
            out->has_addr = !is_below;
        } else if (mv_json_is(j, name, "Bytes")) {
            m->bytes = number;
            out->is_free = is_below;
            out->has_bytes = true;
        } else if (mv_json_is(j, name, "Total Allocated") && !is_below) {
            m->allocated = number;
        } else if (mv_json_is(j, name, "Total Reserved") && !is_below) {
            m->reserved = number;
        } else if (mv_json_is(j, name, "Device Type") && number < INT32_MAX) {
            out->type = (int64_t)number;
        } else if (mv_json_is(j, name, "Device Id") && number < INT32_MAX) {
            out->id = is_below ? -(int64_t)number : (int64_t)number;
        } else if (mv_json_is(j, name, "Ev Idx") && !is_below) {
            m->order = number;
        }
    }
    return !j->failed;
}

static bool add_memory(mv_kineto *k, const trace_event *e, bool is_failure)
{
    mv_kineto_memory m = {.allocated = MV_NO_BYTES,
                          .reserved = MV_NO_BYTES,
                          .order = k->events,
                          .stack = MV_NO_STACK};
    memory_args args = {.id = -1};
    uint64_t pid;

    if (e->args == MV_NO_BYTES || !mv_json_ns(&k->json, e->time, &m.time_ns) ||
        !take_thread(k, e, &m.thread, &pid)) {
        k->unreadable++;
        return !k->is_out_of_memory;
    }
    if (!take_memory_args(k, e->args, &m, &args))
        return false;
    if (!args.has_bytes || !(args.has_addr || is_failure) || m.bytes == 0) {
        k->unreadable += !args.has_bytes || m.bytes != 0;
        return true;
    }
    m.kind = is_failure     ? MV_BLOCK_STEP_FAILURE
             : args.is_free ? MV_BLOCK_STEP_FREE
                            : MV_BLOCK_STEP_ALLOC;
    m.device = device_row(k, args.type, args.id, pid);
    if (m.device == MV_NO_ROW)
        return true;
    k->is_out_of_memory |=
        !mv_append(&k->scratch, k->memory, k->memory_count, k->memory_capacity, m);
    return !k->is_out_of_memory;
}

/* ---- events -------------------------------------------------------------------------------- */

static bool begins(const mv_json *j, mv_json_token t, const char *with)
{
    return t.length >= strlen(with) && memcmp(mv_json_span(j, t).data, with, strlen(with)) == 0;
}

/* The category names are those in libkineto's ActivityType.cpp; PyTorch 1.8 to 1.11 called
 * operators "Operator". */
static bool add_event(mv_kineto *k, const trace_event *e)
{
    mv_json *j = &k->json;

    if (mv_json_is(j, e->category, "python_function"))
        return add_range(k, e, MV_AROUND_FUNCTION);
    if (mv_json_is(j, e->category, "cpu_op") || mv_json_is(j, e->category, "Operator"))
        return (begins(j, e->name, "ProfilerStep#") ? add_step(k, e)
                                                    : add_range(k, e, MV_AROUND_OPERATOR));
    if (mv_json_is(j, e->category, "user_annotation"))
        return add_step(k, e);
    if (mv_json_is(j, e->name, "[memory]"))
        return add_memory(k, e, false);
    if (mv_json_is(j, e->name, "[OutOfMemory]"))
        return add_memory(k, e, true);
    return true;
}

bool mv_kineto_event(mv_kineto *k)
{
    trace_event e = {.args = MV_NO_BYTES};
    mv_json *j = &k->json;
    mv_json_token key;
    uint64_t after;

    mv_json_keep(j, true);
    k->events++;
    if (mv_json_enter(j, '{')) {
        while (mv_json_key(j, &key))
            if (!take_member(j, key, &e))
                return false;
        after = j->pos;
        if (j->failed || !add_event(k, &e))
            return false;
        mv_json_go(j, after);
    } else if (!mv_json_pass(j)) {
        return false;
    }
    mv_json_keep(j, false);
    return true;
}
