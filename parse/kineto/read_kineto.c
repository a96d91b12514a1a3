#include <inttypes.h>

#include "base/sort.h"
#include "parse/kineto/kineto.h"

enum { REPORT_EVENTS = 1 << 14 };

/* Accepts any object, and any list of objects, because the key that identifies the format may be
 * the last one. */
bool mv_kineto_probe(mv_span head)
{
    uint64_t at = 0;
    uint8_t first = 0;

    for (; at < head.length; at++) {
        uint8_t c = head.data[at];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        if (first)
            return c == (first == '{' ? '"' : '{');
        first = c;
        if (c != '{' && c != '[')
            return false;
    }
    return false;
}

/* ---- the file's own members ---------------------------------------------------------------- */

/* Reads "distributedInfo": the rank and the number of ranks. */
static void read_ranks(mv_kineto *k)
{
    mv_json *j = &k->json;
    mv_json_token key, value;
    uint64_t number;
    bool is_below;

    while (mv_json_key(j, &key)) {
        const char *fact = mv_json_is(j, key, "rank")         ? "rank"
                           : mv_json_is(j, key, "world_size") ? "world_size"
                                                              : NULL;
        if (!mv_json_take(j, &value))
            return;
        if (fact && mv_json_whole(j, value, &number, &is_below) && !is_below)
            mv_live_fact_add_number(&k->build, fact, number);
    }
}

static bool read_events(mv_kineto *k)
{
    mv_source *source = k->json.source;

    k->has_events = true;
    while (mv_json_element(&k->json)) {
        if (!mv_kineto_event(k) || k->build.code != MV_OK)
            return false;
        if (k->opts && k->opts->progress && k->events % REPORT_EVENTS == 0)
            k->opts->progress(k->opts->user, mv_source_file_read(source),
                              mv_source_file_bytes(source));
    }
    return !k->json.failed;
}

/* Reads the value of one of the file's own keys. */
static bool read_member(mv_kineto *k, mv_json_token key)
{
    mv_json *j = &k->json;
    mv_json_token value;
    uint64_t base;
    bool is_below;

    if (mv_json_is(j, key, "traceEvents") && mv_json_enter(j, '['))
        return read_events(k);
    if (mv_json_is(j, key, "baseTimeNanoseconds")) {
        if (mv_json_take(j, &value) && mv_json_whole(j, value, &base, &is_below) && !is_below &&
            base < INT64_MAX / 4)
            k->base_ns = (int64_t)base;
    } else if (mv_json_is(j, key, "distributedInfo") && mv_json_enter(j, '{')) {
        read_ranks(k);
    } else {
        mv_json_pass(j);
    }
    return !j->failed;
}

static bool read_members(mv_kineto *k)
{
    mv_json *j = &k->json;
    mv_json_token key;

    if (mv_json_enter(j, '['))
        return read_events(k);
    if (!mv_json_enter(j, '{'))
        return mv_json_fail(j, MV_FORMAT, "this is not JSON");
    while (mv_json_key(j, &key))
        if (!read_member(k, key))
            return false;
    return !j->failed;
}

/* Skips blanks after the last value, because they are not worth a note. */
static void pass_blanks(mv_source *source)
{
    while (
        (source->at < source->end || mv_source_need(source, 1)) &&
        (*source->at == ' ' || *source->at == '\n' || *source->at == '\r' || *source->at == '\t'))
        source->at++;
}

/* ---- devices ------------------------------------------------------------------------------- */

/* Numbers the devices. Devices keep their numbers in the file. If there are two kinds of devices,
 * the devices of the second kind follow those of the first. The CPU comes last. */
static bool number_devices(mv_kineto *k)
{
    int64_t first_type = -1;
    uint32_t next = 0;
    bool has_cpu = false;

    for (uint32_t i = 0; i < k->device_count; i++) {
        mv_kineto_device *d = &k->devices[i];
        d->list = MV_NO_ROW;
        if (d->type == MV_KINETO_CPU)
            continue;
        first_type = first_type < 0 ? d->type : first_type;
        if (d->type == first_type && d->id >= 0)
            d->list = (uint32_t)d->id;
        if (d->list != MV_NO_ROW && d->list >= next)
            next = d->list + 1;
    }
    for (uint32_t i = 0; i < k->device_count; i++)
        if (k->devices[i].type != MV_KINETO_CPU && k->devices[i].list == MV_NO_ROW)
            k->devices[i].list = next++;
    for (uint32_t i = 0; i < k->device_count; i++)
        if (k->devices[i].type == MV_KINETO_CPU) {
            k->devices[i].list = next;
            has_cpu = true;
        }
    if (has_cpu)
        mv_live_fact_add_number(&k->build, MV_FACT_CPU_DEVICE, next++);
    return next <= MV_BLOCK_LOG_HOST;
}

/* ---- conversion to rows -------------------------------------------------------------------- */

static void add_memory(mv_kineto *k, const mv_kineto_memory *m)
{
    mv_block_entry entry = {.time_us = (k->base_ns + m->time_ns) / 1000,
                            .addr = m->addr,
                            .requested = m->bytes,
                            .bytes = m->bytes,
                            .stack = m->stack,
                            .tag = m->tag,
                            .has_total = m->allocated != MV_NO_BYTES,
                            .total = m->allocated,
                            .reserved = m->reserved};

    /* The file does not contain the size of reserved CPU memory. */
    entry.has_reserved = k->devices[m->device].type != MV_KINETO_CPU && m->reserved != MV_NO_BYTES;
    k->failures += m->kind == MV_BLOCK_STEP_FAILURE;
    if (m->kind == MV_BLOCK_STEP_ALLOC)
        mv_block_log_alloc(&k->log, &entry);
    else if (m->kind == MV_BLOCK_STEP_FREE)
        mv_block_log_free(&k->log, &entry);
    else
        mv_block_log_failure(&k->log, &entry);
}

static void add_lists(mv_kineto *k)
{
    uint32_t list = MV_NO_ROW;

    for (uint64_t i = 0; i < k->memory_count; i++)
        k->memory[i].list = k->devices[k->memory[i].device].list;
    mv_sort_rows(&k->scratch, k->memory, k->memory_count, MV_RISING(mv_kineto_memory, list),
                 MV_RISING(mv_kineto_memory, time_ns), MV_RISING(mv_kineto_memory, order));
    for (uint64_t i = 0; i < k->memory_count && !k->log.failed && k->build.code == MV_OK; i++) {
        const mv_kineto_memory *m = &k->memory[i];
        if (m->list != list)
            mv_block_log_device(&k->log, m->list);
        list = m->list;
        add_memory(k, m);
    }
}

static void add_steps(mv_kineto *k)
{
    mv_sort_rows(&k->scratch, k->steps, k->step_count, MV_RISING(mv_kineto_step, time_ns));
    for (uint64_t i = 0; i < k->step_count; i++) {
        mv_annotation_row row = MV_ANNOTATION_ROW;
        row.name = k->steps[i].name;
        row.stage = k->steps[i].stage;
        row.time_us = (k->base_ns + k->steps[i].time_ns) / 1000;
        row.device = -1;
        mv_build_annotation(&k->build, &row);
    }
}

/* Fails with the reason why the file contains nothing that can be shown, or nothing trustworthy. */
static mv_code refuse(mv_kineto *k)
{
    const char *why;

    if (!k->has_events)
        return mv_fail(k->err, MV_FORMAT, 0, "%s",
                       "this looks like text (JSON), but has no \"traceEvents\" of torch.profiler; "
                       "pass its trace, or the snapshot pickle itself");
    if (k->refusal)
        return mv_fail(k->err, MV_FORMAT, k->refused_at, "%s", k->refusal);
    if (k->memory_count > 0)
        return MV_OK;
    if (k->unreadable > 0)
        why = "a trace of torch.profiler whose [memory] events have no address: PyTorch writes "
              "them from 1.11 on";
    else
        why = "a trace of torch.profiler without [memory] events: record with "
              "torch.profiler.profile(profile_memory=True), and with_stack=True for the lines";
    return mv_fail(k->err, MV_ABSENT, MV_NO_OFFSET, "%s", why);
}

static mv_code finish(mv_kineto *k)
{
    if (refuse(k) != MV_OK)
        return k->err->code;
    if (!mv_kineto_find_stacks(k))
        return mv_fail(k->err, MV_NOMEM, MV_NO_OFFSET, "%" PRIu64 " events", k->events);
    mv_live_fact_add(&k->build, MV_FACT_ALLOCATOR, "pytorch");
    mv_live_fact_add_number(&k->build, "pid", k->devices[0].pid);
    if (!number_devices(k))
        return mv_fail(k->err, MV_FORMAT, MV_NO_OFFSET, "%s", "more than 128 devices");
    if (k->unreadable > 0) {
        mv_build_note(&k->build, MV_NOTE_LOOSE,
                      "%" PRIu64 " memory events without a size, an "
                      "address or a time",
                      k->unreadable);
        mv_build_note(&k->build, MV_NOTE_LOST_EVENTS, "%" PRIu64 " memory events cannot be read",
                      k->unreadable);
    }
    add_lists(k);
    add_steps(k);
    mv_live_fact_add_number(&k->build, "failures", k->failures);
    return mv_block_log_end(&k->log, k->err);
}

mv_code mv_kineto_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                       mv_err *err)
{
    mv_arena heap;
    mv_kineto *k;
    mv_code code;

    mv_arena_init(&heap, arena->budget);
    k = mv_push_struct(&heap, mv_kineto);
    if (!k) {
        mv_arena_release(&heap);
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    }
    k->json = (mv_json){.source = source, .err = err};
    k->err = err;
    k->opts = opts;
    mv_arena_init(&k->scratch, arena->budget);
    k->functions.arena = k->operators.arena = k->inputs.arena = k->thread_of.arena = &k->scratch;
    mv_build_init(&k->build, arena, out);
    mv_block_log_begin(&k->log, &k->build, &k->scratch);
    if (read_members(k)) {
        mv_json_keep(&k->json, false);
        pass_blanks(source);
        out->origin.data_bytes = mv_source_offset(source);
        code = finish(k);
    } else if (k->json.failed) {
        code = err->code;
    } else {
        code = mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%" PRIu64 " events", k->events);
    }
    if (code == MV_OK)
        code = mv_rest_drain(source, out, 0, err);
    out->origin.format = MV_FORMAT_KINETO;
    mv_arena_release(&k->scratch);
    mv_arena_release(&heap);
    return code;
}
