#include "view/timeline/device_lane.h"

#include <math.h>

#include "view/document/moment_text.h"
#include "view/timeline/viewport.h"

/* ---- time -------------------------------------------------------------------------------- */

bool mv_device_lane_is_there(const mv_document *document, const mv_document_device *device)
{
    const mv_events *e = &device->lives.events;

    return mv_document_has_ledger(document) && e->count > 0 && e->time_us[0] != MV_NO_TIME;
}

/* Returns the last time in the file. */
static int64_t end_of(const mv_trace *read)
{
    const mv_api_calls *c = &read->api_calls;
    const mv_samples *s = &read->samples;
    int64_t end = c->count ? c->time_us[c->count - 1] : MV_NO_TIME;

    if (s->count && (end == MV_NO_TIME || s->time_us[s->count - 1] > end))
        end = s->time_us[s->count - 1];
    return end;
}

int64_t mv_device_lane_time(const mv_document *document, const mv_document_device *device,
                            double event)
{
    const mv_events *e = &device->lives.events;
    uint32_t before = (uint32_t)fmin(fmax(event, 0), e->count - 1);
    int64_t from = e->time_us[before], to = end_of(mv_trace_as_read(&document->trace)) + 1;

    if (before + 1 < e->count)
        to = e->time_us[before + 1];
    return to <= from ? from : from + (int64_t)((event - before) * (double)(to - from));
}

static bool find_borders(mv_arena *arena, mv_device_lane *lane, int64_t *edges)
{
    const mv_device_lane_query *q = &lane->ask;
    mv_viewport at = {.box = {0, 0, (float)q->columns, 1}, .x = q->x, .dx = q->dx};
    double events = q->device->lives.events.count;
    mv_timescale scale;
    mv_arena scratch;
    mv_err err;
    bool is_made = true;

    mv_arena_init(&scratch, arena->budget);
    if (q->clock != MV_CLOCK_TICKS)
        is_made = mv_timescale_make(&scratch, &q->device->index, (mv_clock)q->clock, NULL, &scale,
                                    &err) == MV_OK;
    at.scale = &scale;
    for (uint32_t c = 0; is_made && c <= q->columns; c++) {
        double event = q->clock == MV_CLOCK_TICKS
                           ? q->first + (double)(q->end - q->first) * c / q->columns
                           : mv_viewport_border(&at, c);
        lane->border[c] = fmin(fmax(event, 0), events);
        edges[c] = mv_device_lane_time(q->document, q->device, lane->border[c]);
        if (c > 0 && edges[c] < edges[c - 1])
            edges[c] = edges[c - 1];
    }
    mv_arena_release(&scratch);
    return is_made;
}

/* ---- parts ------------------------------------------------------------------------------- */

static mv_device_part part_of(const mv_ledger_series *s, uint32_t library)
{
    uint32_t rank = 0;

    if (s->libraries[library].is_framework)
        return MV_DEVICE_ALLOCATED;
    for (uint32_t k = 0; k < library; k++)
        rank += !s->libraries[k].is_framework;
    return MV_DEVICE_LIBRARY + (rank < MV_DEVICE_OTHERS - MV_DEVICE_LIBRARY
                                    ? rank
                                    : MV_DEVICE_OTHERS - MV_DEVICE_LIBRARY);
}

/* Splits PyTorch's memory into blocks and unused memory. The unused memory is always part of the
 * memory that PyTorch's calls hold. */
static void split(mv_device_parts *parts, uint64_t unused)
{
    int64_t *b = parts->bytes;

    if (unused == MV_NO_BYTES)
        return;
    b[MV_DEVICE_UNUSED] =
        (int64_t)unused < b[MV_DEVICE_ALLOCATED] ? (int64_t)unused : b[MV_DEVICE_ALLOCATED];
    b[MV_DEVICE_ALLOCATED] -= b[MV_DEVICE_UNUSED];
}

mv_device_parts mv_device_parts_of(const mv_device_lane *lane, const mv_ledger_answer *answer,
                                   uint64_t unused)
{
    const mv_ledger_series *s = &lane->found.series;
    const mv_ledger *ledger = &answer->ledger;
    mv_device_parts parts = {.bytes[MV_DEVICE_CONTEXT] = ledger->context_estimate,
                             .bytes[MV_DEVICE_UNEXPLAINED] = ledger->unexplained};

    for (uint32_t i = 0; i < ledger->count && s->library_count > 0; i++) {
        const char *path = mv_string_text(answer->trace, ledger->by[i].library);
        mv_device_part part = part_of(s, mv_ledger_series_place(s, path));
        parts.bytes[part] += (int64_t)ledger->by[i].bytes;
    }
    split(&parts, unused);
    return parts;
}

const char *mv_device_part_name(const mv_device_lane *lane, mv_device_part part)
{
    const mv_ledger_series *s = &lane->found.series;
    bool has_samples = s->count > 0;

    if (part == MV_DEVICE_CONTEXT)
        return has_samples ? "context, code (estimate)" : NULL;
    if (part == MV_DEVICE_UNEXPLAINED)
        return has_samples ? "unexplained" : NULL;
    if (part == MV_DEVICE_UNUSED && !lane->has_unused)
        return NULL;
    for (uint32_t k = 0; k < s->library_count; k++) {
        mv_device_part found = part_of(s, k);
        if (part == MV_DEVICE_UNUSED && found == MV_DEVICE_ALLOCATED)
            return "PyTorch: not in use";
        if (part != found)
            continue;
        if (part == MV_DEVICE_ALLOCATED)
            return lane->has_unused ? "PyTorch: allocated" : s->libraries[k].name;
        return part == MV_DEVICE_OTHERS ? "other libraries" : s->libraries[k].name;
    }
    return NULL;
}

/* ---- the columns ------------------------------------------------------------------------- */

static void fill_parts(mv_device_lane *lane)
{
    const mv_device_lane_query *q = &lane->ask;
    const mv_ledger_series *s = &lane->found.series;
    mv_pyramid_reader levels;

    mv_pyramid_reader_init(&levels, &q->device->pyramid);
    for (uint32_t c = 0; c < q->columns; c++) {
        const mv_ledger_column *column = &lane->found.columns[c];
        mv_device_parts *parts = &lane->parts[c];
        uint32_t events = mv_events_until(&q->device->lives.events, column->time_us);
        uint64_t unused = mv_document_unused(q->document, &levels, events - 1); /* the argument may
                                                                                   be MV_BEFORE */
        lane->has_unused = unused != MV_NO_BYTES;
        for (uint32_t k = 0; k < s->library_count; k++)
            parts->bytes[part_of(s, k)] += (int64_t)mv_ledger_columns_by(&lane->found, c)[k];
        parts->bytes[MV_DEVICE_CONTEXT] = column->context_estimate;
        parts->bytes[MV_DEVICE_UNEXPLAINED] = column->unexplained;
        split(parts, unused);
    }
}

void *mv_device_lane_find(mv_arena *arena, void *context, const void *ask)
{
    mv_device_lane *lane = mv_push_struct(arena, mv_device_lane);
    int64_t *edges;
    mv_err err;

    (void)context;
    if (!lane)
        return NULL;
    memcpy(&lane->ask, ask, sizeof lane->ask);
    lane->border = mv_push_array(arena, double, (uint64_t)lane->ask.columns + 1);
    lane->parts = mv_push_array(arena, mv_device_parts, (uint64_t)lane->ask.columns + 1);
    edges = mv_push_array(arena, int64_t, (uint64_t)lane->ask.columns + 1);
    if (!lane->border || !lane->parts || !edges || !find_borders(arena, lane, edges) ||
        mv_ledger_columns_find(arena, mv_trace_as_read(&lane->ask.document->trace),
                               lane->ask.device->device, edges, lane->ask.columns, &lane->found,
                               &err) != MV_OK)
        return NULL;
    fill_parts(lane);
    return lane;
}
