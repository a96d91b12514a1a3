
#include "analyze/lives/alive.h"
#include "base/escape.h"
#include "export/export.h"

/* The bytes of one profile, by stack. */
typedef struct {
    uint64_t *of_stack; /* [stacks + 1] bytes of each stack; the last element is for allocations
                           without a stack */
    uint64_t all;
} weights;

typedef struct {
    const mv_export *export;
    mv_sink *sink;
    uint32_t *number; /* [frames] number of each frame in the file, counted from 1; 0: the frame is
                         not used */
    uint32_t used;
    uint32_t no_stack, no_frames; /* numbers of the frames that stand for a missing stack or a
                                     missing frame */
} writer;

/* ---- JSON -------------------------------------------------------------------------------- */

static void put_text(mv_sink *sink, mv_span text)
{
    mv_escaped piece;

    mv_sink_write(sink, "\"", 1);
    for (uint64_t at = 0; mv_escape_next(text, &at, MV_ESCAPE_JSON, &piece);) {
        mv_sink_write(sink, piece.plain.data, piece.plain.length);
        mv_sink_write(sink, piece.escape, piece.length);
    }
    mv_sink_write(sink, "\"", 1);
}

static void put_c_text(mv_sink *sink, const char *text)
{
    put_text(sink, (mv_span){(const uint8_t *)text, strlen(text)});
}

/* ---- frames ------------------------------------------------------------------------------ */

static void put_frame(writer *w, mv_frame_id frame)
{
    const mv_trace *t = w->export->trace;
    mv_span file = mv_string_span(t, t->frames.file[frame.row]);

    mv_sink_printf(w->sink, "%s{\"name\":", w->used > 0 ? "," : "");
    put_text(w->sink, mv_string_span(t, t->frames.function[frame.row]));
    if (file.length > 0) {
        mv_sink_printf(w->sink, ",\"file\":");
        put_text(w->sink, file);
    }
    if (t->frames.line[frame.row] >= 0)
        mv_sink_printf(w->sink, ",\"line\":%lld", (long long)t->frames.line[frame.row]);
    mv_sink_printf(w->sink, "}");
    w->number[frame.row] = ++w->used;
}

static mv_frame_kind shows_of(const writer *w, mv_stack_id stack)
{
    return mv_stack_shows(w->export->trace, w->export->kinds, stack);
}

static bool is_shown(const writer *w, mv_frame_kind shows, mv_frame_id frame)
{
    return w->export->all_frames ||
           mv_frame_is_shown(w->export->trace, w->export->kinds, shows, frame);
}

static void put_frames(writer *w, const bool *is_used)
{
    const mv_trace *t = w->export->trace;
    char empty[64];

    for (uint32_t s = 0; s < t->stacks.count; s++) {
        uint32_t count;
        const mv_frame_id *frame = mv_stack_frames(t, (mv_stack_id){s}, &count);
        mv_frame_kind shows;
        if (!is_used[s])
            continue;
        shows = shows_of(w, (mv_stack_id){s});
        for (uint32_t i = 0; i < count; i++)
            if (w->number[frame[i].row] == 0 && is_shown(w, shows, frame[i]))
                put_frame(w, frame[i]);
    }
    mv_culprit_label(t, w->export->kinds, MV_EMPTY_STACK, empty, sizeof empty);
    mv_sink_printf(w->sink, "%s{\"name\":\"(no stack)\"},{\"name\":\"%s\"}", w->used > 0 ? "," : "",
                   empty);
    w->no_stack = ++w->used;
    w->no_frames = ++w->used;
}

/* ---- profiles ---------------------------------------------------------------------------- */

/* Writes the frames of a stack, outermost first. */
static void put_stack(writer *w, uint32_t row)
{
    const mv_trace *t = w->export->trace;
    mv_stack_id stack = {row};
    uint32_t count, shown = 0;
    const mv_frame_id *frame = mv_stack_frames(t, stack, &count);
    mv_frame_kind shows = shows_of(w, stack);

    mv_sink_printf(w->sink, "[");
    for (uint32_t i = count; i-- > 0;) {
        if (!is_shown(w, shows, frame[i]))
            continue;
        mv_sink_printf(w->sink, "%s%u", shown++ ? "," : "", w->number[frame[i].row] - 1);
    }
    if (shown == 0)
        mv_sink_printf(w->sink, "%u", (row < t->stacks.count ? w->no_frames : w->no_stack) - 1);
    mv_sink_printf(w->sink, "]");
}

static void put_profile(writer *w, const weights *found, const char *name)
{
    uint32_t stacks = w->export->trace->stacks.count;
    bool is_first = true;

    mv_sink_printf(w->sink, "{\"type\":\"sampled\",\"name\":");
    put_c_text(w->sink, name);
    mv_sink_printf(w->sink, ",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":%llu,\"samples\":[",
                   (unsigned long long)found->all);
    for (uint32_t i = 0; i <= stacks; i++) {
        if (found->of_stack[i] == 0)
            continue;
        mv_sink_printf(w->sink, "%s", is_first ? "" : ",");
        put_stack(w, i);
        is_first = false;
    }
    mv_sink_printf(w->sink, "],\"weights\":[");
    is_first = true;
    for (uint32_t i = 0; i <= stacks; i++) {
        if (found->of_stack[i] == 0)
            continue;
        mv_sink_printf(w->sink, "%s%llu", is_first ? "" : ",",
                       (unsigned long long)found->of_stack[i]);
        is_first = false;
    }
    mv_sink_printf(w->sink, "]}");
}

/* Adds up the bytes allocated at the device's requested time, or if `is_total` is set, all bytes
 * ever allocated. */
static void weigh(const writer *w, const mv_export_device *d, bool is_total, weights *out)
{
    const mv_alloc_lives *a = &d->lives.allocs;
    uint32_t stacks = w->export->trace->stacks.count;

    memset(out->of_stack, 0, ((uint64_t)stacks + 1) * sizeof *out->of_stack);
    out->all = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!is_total && !mv_alloc_is_allocated(&d->lives, i, d->event))
            continue;
        out->of_stack[a->stack[i].row < stacks ? a->stack[i].row : stacks] += a->block[i];
        out->all += a->block[i];
    }
}

static void put_device(writer *w, const mv_export_device *d, weights *found)
{
    char name[128];

    if (d->event == MV_BEFORE)
        snprintf(name, sizeof name, "device %u: allocated before the first event", d->lives.device);
    else
        snprintf(name, sizeof name, "device %u: allocated after event %u", d->lives.device,
                 d->event);
    weigh(w, d, false, found);
    put_profile(w, found, name);
    snprintf(name, sizeof name, "device %u: all allocations", d->lives.device);
    mv_sink_printf(w->sink, ",");
    weigh(w, d, true, found);
    put_profile(w, found, name);
}

static void mark_used(const mv_export *export, bool *is_used)
{
    for (uint32_t d = 0; d < export->device_count; d++) {
        const mv_alloc_lives *a = &export->devices[d].lives.allocs;
        for (uint32_t i = 0; i < a->count; i++)
            if (a->stack[i].row < export->trace->stacks.count)
                is_used[a->stack[i].row] = true;
    }
}

mv_code mv_speedscope_write(mv_arena *scratch, const mv_export *export, mv_sink *sink, mv_err *err)
{
    uint64_t stacks = export->trace->stacks.count;
    writer w = {.export = export, .sink = sink};
    bool *is_used = mv_push_array(scratch, bool, stacks + 1);
    weights found = {.of_stack = mv_push_array(scratch, uint64_t, stacks + 1)};

    w.number = mv_push_array(scratch, uint32_t, export->trace->frames.count);
    if (!is_used || !found.of_stack || !w.number)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "speedscope");
    mark_used(export, is_used);
    mv_sink_printf(sink, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                         "\"exporter\":\"memviz " MV_PROGRAM_VERSION "\",\"name\":");
    put_c_text(sink, export->name);
    mv_sink_printf(sink, ",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
    put_frames(&w, is_used);
    mv_sink_printf(sink, "]},\"profiles\":[");
    for (uint32_t i = 0; i < export->device_count; i++) {
        if (i > 0)
            mv_sink_printf(sink, ",");
        put_device(&w, &export->devices[i], &found);
    }
    mv_sink_printf(sink, "]}\n");
    return MV_OK;
}
