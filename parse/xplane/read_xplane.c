#include <inttypes.h>
#include <stdio.h>

#include "base/sort.h"
#include "parse/model/sums.h"
#include "parse/readers.h"
#include "parse/xplane/xplane.h"

typedef struct {
    mv_arena scratch;
    mv_build build;
    mv_block_log log;
    mv_xlines lines;
    mv_span file;
    const mv_read_opts *opts;
    mv_err *err;
} xspace;

/* ---- detection --------------------------------------------------------------------------- */

/* Returns true if the file may be an XSpace. An XSpace begins with a plane, and the plane begins
 * with its number, if it has one, and its name. */
bool mv_xspace_probe(mv_span head)
{
    mv_cursor c = mv_cursor_over(head);
    uint64_t length;

    if (mv_take_u8(&c) != (SPACE_PLANE << 3 | MV_PB_BYTES) || mv_take_varint(&c) < 4)
        return false;
    if (mv_take_u8(&c) == (1 << 3 | MV_PB_VARINT))
        mv_take_varint(&c);
    else
        c.at--;
    if (mv_take_u8(&c) != (PLANE_NAME << 3 | MV_PB_BYTES))
        return false;
    length = mv_take_varint(&c);
    if (c.overrun || length == 0)
        return false;
    for (; length > 0 && c.at < head.length; length--, c.at++)
        if (head.data[c.at] < ' ' || head.data[c.at] > '~')
            return false;
    return true;
}

/* ---- planes ------------------------------------------------------------------------------ */

static bool stop(xspace *x, mv_code code, mv_span at)
{
    if (code == MV_CORRUPT)
        mv_fail(x->err, code, (uint64_t)(at.data - x->file.data), "%s", "inside a plane");
    else
        mv_fail(x->err, code, MV_NO_OFFSET, "%" PRIu64 " memory events", x->lines.memory_count);
    return false;
}

static void add_text_fact(xspace *x, const char *key, mv_span value)
{
    mv_build_fact(&x->build, mv_build_string(&x->build, key, strlen(key)),
                  mv_build_string(&x->build, (const char *)value.data, value.length));
}

static void take_facts(xspace *x, const mv_xstats *s)
{
    if (s->has[MV_XSTAT_START_TIME] && s->number[MV_XSTAT_START_TIME] < INT64_MAX / 4)
        x->lines.start_ns = (int64_t)s->number[MV_XSTAT_START_TIME];
    if (s->has[MV_XSTAT_PROCESS])
        mv_live_fact_add_number(&x->build, "pid", s->number[MV_XSTAT_PROCESS]);
    if (s->has[MV_XSTAT_JAX_VERSION])
        add_text_fact(x, "jax_version", s->text[MV_XSTAT_JAX_VERSION]);
}

static mv_code read_lines(xspace *x, mv_xplane *plane, mv_span bytes)
{
    mv_cursor c = mv_cursor_over(bytes);
    mv_code code = MV_OK;
    mv_pb_field f;

    while (code == MV_OK && mv_pb_next(&c, &f)) {
        if (f.number != PLANE_LINE || f.type != MV_PB_BYTES)
            continue;
        code = mv_xline_read(&x->lines, plane, f.bytes);
        if (x->opts && x->opts->progress)
            x->opts->progress(x->opts->user, (uint64_t)(f.bytes.data - x->file.data),
                              x->file.length);
    }
    return code;
}

/* Reads a plane's statistics; a first pass reads only these, because times depend on them. If
 * `with_lines` is set, also reads the lines of a plane that has memory events. */
static bool read_plane(xspace *x, mv_span bytes, bool with_lines)
{
    mv_arena own;
    mv_xplane plane;
    mv_code code;

    mv_arena_init(&own, x->scratch.budget);
    code = mv_xplane_read(&own, bytes, &plane);
    if (code == MV_OK && !with_lines)
        take_facts(x, &plane.own);
    else if (code == MV_OK && plane.has_memory)
        code = read_lines(x, &plane, bytes);
    x->lines.plane++;
    mv_arena_release(&own);
    return code == MV_OK || stop(x, code, bytes);
}

static bool read_planes(xspace *x, bool with_lines)
{
    mv_cursor c = mv_cursor_over(x->file);
    mv_pb_field f;

    while (mv_pb_next(&c, &f)) {
        if (f.type != MV_PB_BYTES)
            continue;
        if (f.number == SPACE_PLANE && !read_plane(x, f.bytes, with_lines))
            return false;
        if (with_lines)
            continue;
        if (f.number == SPACE_HOST)
            add_text_fact(x, "host", f.bytes);
        else if (f.number == SPACE_ERROR || f.number == SPACE_WARNING)
            mv_build_note(&x->build, MV_NOTE_FILE_NOTE, "%.*s",
                          (int)(f.bytes.length < 80 ? f.bytes.length : 80),
                          (const char *)f.bytes.data);
    }
    if (c.overrun) {
        mv_fail(x->err, MV_TRUNCATED, c.at, "%s", "inside the profile");
        return false;
    }
    return true;
}

/* ---- events ------------------------------------------------------------------------------ */

static void add_event(xspace *x, const mv_xmemory *m)
{
    mv_block_entry entry = {.time_us = m->time_ns / 1000,
                            .addr = m->addr,
                            .requested = m->requested,
                            .bytes = m->bytes,
                            .stack = m->stack,
                            .allocator = m->allocator,
                            .has_total = m->has_total,
                            .total = m->total};

    if (m->is_alloc)
        mv_block_log_alloc(&x->log, &entry);
    else
        mv_block_log_free(&x->log, &entry);
}

/* ---- limits ------------------------------------------------------------------------------ */

/* Numbers that an allocator reports in its events in a list. */
typedef struct {
    uint64_t limit;       /* memory limit, from the allocator's first event */
    uint64_t peak;        /* largest number of bytes allocated at once, from the allocator's last
                           * event */
    uint64_t peak_before; /* the peak in the allocator's first event, if that peak was before the
                           * event; else 0 */
    bool is_seen;
} own_words;

static void listen(own_words *of, const mv_xmemory *m)
{
    if (!of->is_seen) {
        of->limit = m->limit < MV_SUM_LIMIT ? m->limit : 0;
        of->peak_before = m->peak > m->total && m->peak < MV_SUM_LIMIT ? m->peak : 0;
    }
    of->is_seen = true;
    if (m->has_total && m->peak >= m->total && m->peak < MV_SUM_LIMIT && m->peak > of->peak)
        of->peak = m->peak;
}

static void add_device_fact(xspace *x, const char *key, uint32_t device, uint64_t value)
{
    char text[64];

    snprintf(text, sizeof text, "%s%u", key, device);
    if (value)
        mv_live_fact_add_number(&x->build, text, value);
}

/* Adds facts about the limits of a device's memory. A device may have several allocators. Their
 * limits add up, but their peaks may be at different times, so the highest peak is a lower bound
 * for the device. */
static void add_limits(xspace *x, uint64_t first, uint64_t end)
{
    own_words of[UINT8_MAX + 1] = {{0}};
    uint32_t device = x->lines.memory[first].list;
    uint64_t limit = 0, peak = 0, before = 0;
    char names[256] = "", key[64];

    for (uint64_t i = first; i < end; i++)
        listen(&of[x->lines.memory[i].allocator], &x->lines.memory[i]);
    for (uint32_t a = 0; a < x->lines.allocator_count; a++) {
        if (!of[a].is_seen)
            continue;
        limit += of[a].limit;
        peak = of[a].peak > peak ? of[a].peak : peak;
        before = of[a].peak_before > before ? of[a].peak_before : before;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", *names ? ", " : "",
                 mv_string_text(x->build.trace, x->lines.allocators[a].name));
    }
    add_device_fact(x, "limit_", device, limit);
    add_device_fact(x, MV_FACT_PEAK, device, peak);
    add_device_fact(x, MV_FACT_PEAK_BEFORE, device, before);
    snprintf(key, sizeof key, "allocators_%u", device);
    mv_live_fact_add(&x->build, key, names);
}

static void add_list(xspace *x, uint64_t first, uint64_t end)
{
    mv_block_log_device(&x->log, x->lines.memory[first].list);
    for (uint64_t i = first; i < end && !x->log.failed && x->build.code == MV_OK; i++)
        add_event(x, &x->lines.memory[i]);
    if (x->lines.memory[first].list != MV_BLOCK_LOG_HOST)
        add_limits(x, first, end);
}

static void add_steps(xspace *x)
{
    mv_xlines *l = &x->lines;

    mv_sort_rows(&x->scratch, l->steps, l->step_count, MV_RISING(mv_xstep, time_us));
    for (uint64_t i = 0; i < l->step_count; i++) {
        mv_annotation_row row = MV_ANNOTATION_ROW;
        row.name = l->steps[i].name;
        row.stage = l->steps[i].stage;
        row.time_us = l->steps[i].time_us;
        row.device = -1;
        mv_build_annotation(&x->build, &row);
    }
}

static mv_code finish(xspace *x)
{
    mv_xlines *l = &x->lines;
    uint64_t first = 0, end;

    if (l->memory_count == 0)
        return mv_fail(x->err, MV_ABSENT, MV_NO_OFFSET, "%s",
                       "a profile of XLA without memory events: record on a GPU, with "
                       "host_tracer_level 2 or more and XLA's own allocator (BFC)");
    if (l->are_several)
        return mv_fail(x->err, MV_FORMAT, MV_NO_OFFSET, "%s",
                       "profiles of several hosts, or several times, in one file: two planes have "
                       "events of one allocator; pass each profile separately");
    mv_sort_rows(&x->scratch, l->memory, l->memory_count, MV_RISING(mv_xmemory, list),
                 MV_RISING(mv_xmemory, time_ns), MV_RISING(mv_xmemory, ps));
    mv_live_fact_add(&x->build, MV_FACT_ALLOCATOR, "xla");
    for (; first < l->memory_count; first = end) {
        for (end = first; end < l->memory_count && l->memory[end].list == l->memory[first].list;)
            end++;
        add_list(x, first, end);
    }
    add_steps(x);
    return mv_block_log_end(&x->log, x->err);
}

mv_code mv_xspace_read(mv_arena *arena, mv_source *source, const mv_read_opts *opts, mv_trace *out,
                       mv_err *err)
{
    xspace x = {.opts = opts, .err = err};
    mv_code code = mv_source_rest(source, &x.file, err);

    if (code != MV_OK)
        return code;
    mv_arena_init(&x.scratch, arena->budget);
    mv_build_init(&x.build, arena, out);
    mv_block_log_begin(&x.log, &x.build, &x.scratch);
    x.lines = (mv_xlines){.build = &x.build, .arena = &x.scratch};
    code = read_planes(&x, false) && read_planes(&x, true) ? finish(&x) : err->code;
    out->origin.format = MV_FORMAT_XPLANE;
    out->origin.data_bytes = x.file.length;
    mv_arena_release(&x.scratch);
    return code;
}
