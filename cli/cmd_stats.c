/* memviz stats: prints totals now and at their peaks, by device and pool, and how reliable they
 * are. */

#include "analyze/graphs/graphs.h"
#include "analyze/oom/oom_failures.h"
#include "analyze/totals/host_totals.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/input/idle_devices.h"
#include "cli/input/input.h"
#include "cli/input/pieces.h"
#include "cli/report/captured.h"
#include "cli/report/device_rest.h"
#include "cli/report/prose.h"
#include "parse/pieces.h"

enum { ALLOCATED, ACTIVE, REQUESTED, RESERVED, LEVELS };

typedef struct {
    mv_totals totals;
    mv_history_kind history;
    const char *history_why;
    mv_device_rest rest; /* device memory outside PyTorch at the reserved peak */
    mv_graphs graphs;
    int64_t time_us[LEVELS]; /* times of the device's peaks; MV_NO_TIME: none */
    bool has_requests;       /* the trace is that of PyTorch's allocator and has events, so that the
                              * following members are valid */
    uint32_t failed;         /* failed requests, as in memory_stats()["num_ooms"] */
    uint32_t retries;        /* number of requests that succeeded only after cached memory was
                              * released */
    uint64_t released;       /* bytes that were released for the retries */
} device_stats;

typedef struct {
    mv_cli *cli;
    const mv_trace *trace;
    uint32_t first, end; /* range of the reported devices */
    uint32_t count;
    device_stats *devices; /* [count] */
    device_stats host;     /* figures for the level `host`; empty if nothing is pinned */
    uint64_t limit;        /* maximum number of pools per device that text shows */
} survey;

/* ---- fields ------------------------------------------------------------------------------ */

#define LEVEL_FIELDS(MEMBER, object, levels)                      \
    MEMBER(object "allocated", mv_value_u64((levels)->allocated)) \
    MEMBER(object "active", mv_value_u64((levels)->active))       \
    MEMBER(object "requested", mv_value_u64((levels)->requested)) \
    MEMBER(object "reserved", mv_value_u64((levels)->reserved))

#define PEAK_EVENT_FIELDS(MEMBER, peak)                                     \
    MEMBER("peak.allocated_event", mv_value_event((peak)->allocated_event)) \
    MEMBER("peak.active_event", mv_value_event((peak)->active_event))       \
    MEMBER("peak.requested_event", mv_value_event((peak)->requested_event)) \
    MEMBER("peak.reserved_event", mv_value_event((peak)->reserved_event))

#define POOL_FIELDS(COLUMN, MEMBER, LIST)                                                         \
    COLUMN("pool", "pool", 1, MV_UNIT_TEXT, 9,                                                    \
           mv_value_shown(mv_value_text(mv_segment_kind_name(p->kind)), name))                    \
    MEMBER("pool_id", mv_value_pool(trace, p->pool_id))                                           \
    COLUMN("current.allocated", "allocated", 2, MV_UNIT_BYTES | MV_UNIT_SPARE, 0, now->allocated) \
    MEMBER("current.active", now->active)                                                         \
    COLUMN("current.requested", "requested", 3, MV_UNIT_BYTES | MV_UNIT_SPARE, 0, now->requested) \
    COLUMN("current.reserved", "reserved", 4, MV_UNIT_BYTES | MV_UNIT_SPARE, 0, now->reserved)    \
    COLUMN("current.segments", "segments", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0,                   \
           p->current.segments)                                                                   \
    COLUMN("current.allocations", "allocations", 6, MV_UNIT_COUNT | MV_UNIT_SPARE, 0,             \
           p->current.allocations)                                                                \
    COLUMN("peak.allocated", "peak allocated", 7, MV_UNIT_BYTES, 0,                               \
           mv_value_bound(p->peak.bytes.allocated, t->audit.peak.allocated, allocated))           \
    MEMBER("peak.active", p->peak.bytes.active)                                                   \
    MEMBER("peak.requested", p->peak.bytes.requested)                                             \
    COLUMN("peak.reserved", "peak reserved", 8, MV_UNIT_BYTES, 0,                                 \
           mv_value_bound(p->peak.bytes.reserved, t->audit.peak.reserved, reserved))              \
    PEAK_EVENT_FIELDS(MEMBER, &p->peak)

static void list_pools(mv_rows *rows)
{
    const mv_trace *trace = ((const survey *)mv_rows_all(rows))->trace;
    const mv_totals *t = mv_rows_one(rows);
    uint64_t limit =
        mv_rows_are_text(rows) ? ((const survey *)mv_rows_all(rows))->limit : UINT64_MAX;
    uint32_t count = mv_rows_take(rows, t->pool_count, limit);
    char name[MV_POOL_TEXT + 16], id[MV_POOL_TEXT], allocated[MV_BOUND_TEXT],
        reserved[MV_BOUND_TEXT];

    for (uint32_t i = 0; i < count; i++) {
        const mv_pool_totals *p = &t->pools[i];
        const mv_levels *now = &p->current.bytes;
        snprintf(name, sizeof name, "%s %s", mv_segment_kind_name(p->kind),
                 mv_pool_text(trace, p->pool_id, id));
        MV_ROWS_ADD(rows, POOL_FIELDS);
    }
}

static const mv_table pool_table = {MV_TABLE(POOL_FIELDS, list_pools), .named_by = 2};

/* In text, all captures are only listed with --limit. */
enum { CAPTURE_ROWS = 12 };

static uint64_t capture_rows(const survey *s)
{
    bool is_given = mv_option_given(&s->cli->options, MV_HAS(LIMIT));

    return is_given || s->limit < CAPTURE_ROWS ? s->limit : CAPTURE_ROWS;
}

#define CAPTURE_FIELDS(COLUMN, MEMBER, LIST)                                                    \
    COLUMN("capture", "capture", 1, MV_UNIT_COUNT, 9, mv_value_u64((uint64_t)i + 1))            \
    COLUMN("name", "name", 9, MV_UNIT_TEXT | MV_UNIT_SPARE, 0, c->name)                         \
    MEMBER("pool_id", mv_value_pool(s->trace, c->pool))                                         \
    COLUMN("first_event", "event", 2, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, mv_value_u64(c->first)) \
    MEMBER("last_event", mv_value_u64(c->last))                                                 \
    MEMBER("blocks", mv_value_u64(c->blocks))                                                   \
    MEMBER("allocated", mv_value_u64(c->allocated))                                             \
    COLUMN("memory", "memory", 3, MV_UNIT_BYTES, 0, mv_value_u64(c->memory))                    \
    MEMBER("own", mv_value_u64(c->own))                                                         \
    COLUMN("shared", "shared", 4, MV_UNIT_BYTES, 0, mv_value_u64(c->shared))                    \
    MEMBER("released", mv_value_if(has_segments, mv_value_u64(c->released)))                    \
    COLUMN("grown", "pool grew", 5, MV_UNIT_BYTES, 0,                                           \
           mv_value_if(has_segments, mv_value_i64(c->grown)))                                   \
    COLUMN("kept", "kept", 6, MV_UNIT_BYTES, 0, mv_value_u64(c->kept))                          \
    COLUMN("alive", "at the end", 7, MV_UNIT_BYTES | MV_UNIT_SPARE, 0, mv_value_u64(c->alive))  \
    COLUMN("graph", "graph", 8, MV_UNIT_TEXT | MV_UNIT_SPARE, 0, mv_graph_state_name(c->graph)) \
    COLUMN("culprit", "by", 10, MV_UNIT_TEXT, 0,                                                \
           mv_value_text(mv_frame_label(s->trace, c->frame, label, sizeof label)))              \
    MEMBER("frames", mv_value_frames(s->trace, c->stack))

static void list_captures(mv_rows *rows)
{
    const survey *s = mv_rows_all(rows);
    const device_stats *d = mv_rows_one(rows);
    bool has_segments = !mv_trace_allocator(s->trace), has_names = false, has_graphs = false;
    uint32_t count =
        mv_rows_take(rows, d->graphs.count, mv_rows_are_text(rows) ? capture_rows(s) : UINT64_MAX);
    char label[256];

    for (uint32_t i = 0; i < count; i++) {
        has_names = has_names || *d->graphs.captures[i].name;
        has_graphs = has_graphs || d->graphs.captures[i].graph != MV_GRAPH_UNKNOWN;
    }
    if (!has_names)
        mv_rows_head(rows, "name", NULL);
    if (!has_graphs)
        mv_rows_head(rows, "graph", NULL);
    if (!has_segments)
        mv_rows_head(rows, "grown", NULL);
    for (uint32_t i = 0; i < count; i++) {
        const mv_graph_capture *c = &d->graphs.captures[i];
        MV_ROWS_ADD(rows, CAPTURE_FIELDS);
    }
}

static const mv_table capture_table = {MV_TABLE(CAPTURE_FIELDS, list_captures)};

#define GRAPH_POOL_FIELDS(COLUMN, MEMBER, LIST)         \
    MEMBER("pool_id", mv_value_pool(s->trace, p->pool)) \
    MEMBER("captures", mv_value_u64(p->captures))       \
    MEMBER("memory", mv_value_u64(p->memory))           \
    MEMBER("allocated", mv_value_u64(p->allocated))     \
    MEMBER("reserved", mv_value_bytes(p->reserved))     \
    MEMBER("used", mv_value_bytes(p->used))             \
    MEMBER("unused", mv_value_bytes(p->unused))         \
    MEMBER("left", mv_value_bytes(p->left))

MV_LIST_ROWS_OF(list_graph_pools, survey, s, device_stats, d, d->graphs.pool_count,
                const mv_graph_pool *p = &d->graphs.pools[i], GRAPH_POOL_FIELDS)

static const mv_table graph_pool_table = {MV_TABLE(GRAPH_POOL_FIELDS, list_graph_pools)};

#define REQUEST_FIELDS(MEMBER, d)                                                 \
    MEMBER("failed", mv_value_if((d)->has_requests, mv_value_u64((d)->failed)))   \
    MEMBER("retries", mv_value_if((d)->has_requests, mv_value_u64((d)->retries))) \
    MEMBER("released", mv_value_if((d)->has_requests, mv_value_u64((d)->released)))

#define DEVICE_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    MEMBER("device", mv_value_u64(t->device))                                                      \
    MEMBER("history", mv_value_text(mv_history_name(d->history)))                                  \
    MEMBER("history_why", mv_value_text(d->history_why))                                           \
    LEVEL_FIELDS(MEMBER, "current.", &t->current.bytes)                                            \
    MEMBER("current.segments", mv_value_u64(t->current.segments))                                  \
    MEMBER("current.allocations", mv_value_u64(t->current.allocations))                            \
    LEVEL_FIELDS(MEMBER, "peak.", &t->peak.bytes)                                                  \
    PEAK_EVENT_FIELDS(MEMBER, &t->peak)                                                            \
    MEMBER("total.allocated", mv_value_u64(t->total.allocated))                                    \
    MEMBER("total.freed", mv_value_u64(t->total.freed))                                            \
    REQUEST_FIELDS(MEMBER, d)                                                                      \
    LIST("pools", &pool_table, mv_value_rows(t))                                                   \
    LIST("graph_pools", &graph_pool_table, mv_value_rows(d))                                       \
    LIST("captures", &capture_table, mv_value_rows(d))                                             \
    MEMBER("audit.exact", mv_value_bool(t->audit.exact))                                           \
    MEMBER("audit.residual", mv_value_i64(t->audit.residual))                                      \
    MEMBER("audit.peak_exact.allocated", mv_value_bool(t->audit.peak.allocated == MV_BOUND_EXACT)) \
    MEMBER("audit.peak_exact.active", mv_value_bool(t->audit.peak.active == MV_BOUND_EXACT))       \
    MEMBER("audit.peak_exact.requested", mv_value_bool(t->audit.peak.requested == MV_BOUND_EXACT)) \
    MEMBER("audit.peak_exact.reserved", mv_value_bool(t->audit.peak.reserved == MV_BOUND_EXACT))   \
    MEMBER("audit.peak_bound.allocated", mv_value_text(mv_bound_name(t->audit.peak.allocated)))    \
    MEMBER("audit.peak_bound.active", mv_value_text(mv_bound_name(t->audit.peak.active)))          \
    MEMBER("audit.peak_bound.requested", mv_value_text(mv_bound_name(t->audit.peak.requested)))    \
    MEMBER("audit.peak_bound.reserved", mv_value_text(mv_bound_name(t->audit.peak.reserved)))      \
    MEMBER("audit.total_exact", mv_value_bool(t->audit.total == MV_BOUND_EXACT))                   \
    MEMBER("audit.notes", mv_value_texts(t->audit.notes, t->audit.count))                          \
    MV_REST_FIELDS(MEMBER, s->cli, &d->rest)

static void list_devices(mv_rows *rows)
{
    const survey *s = mv_rows_all(rows);

    for (uint32_t i = 0; i < s->count; i++) {
        const device_stats *d = &s->devices[i];
        const mv_totals *t = &d->totals;
        MV_ROWS_ADD(rows, DEVICE_FIELDS);
    }
}

static const mv_table device_table = {MV_TABLE(DEVICE_FIELDS, list_devices)};

/* Pinned memory; null if the file contains none. */
#define REPORT_FIELDS(COLUMN, MEMBER, LIST)                                                        \
    LIST("devices", &device_table, mv_value_rows(NULL))                                            \
    MEMBER("host.current.allocated",                                                               \
           host.is_there ? mv_value_u64(host.now.allocated) : mv_value_of(MV_VALUE_NULL_OBJECT))   \
    MEMBER("host.current.reserved", mv_value_u64(host.now.reserved))                               \
    MEMBER("host.current.rounding", mv_value_u64(host.now.rounding))                               \
    MEMBER("host.peak.allocated", mv_value_u64(of->peak.bytes.allocated))                          \
    MEMBER("host.peak.reserved", mv_value_u64(of->peak.bytes.reserved))                            \
    MEMBER("host.peak_exact.allocated", mv_value_bool(of->audit.peak.allocated == MV_BOUND_EXACT)) \
    MEMBER("host.peak_exact.reserved", mv_value_bool(of->audit.peak.reserved == MV_BOUND_EXACT))   \
    MEMBER("host.history", mv_value_text(mv_history_name(s->host.history)))                        \
    MEMBER("host.segments", mv_value_u64(host.segments))                                           \
    MEMBER("host.allocations", mv_value_u64(host.allocations))                                     \
    MEMBER("host.events", mv_value_u64(host.events))

static void list_report(mv_rows *rows)
{
    const survey *s = mv_rows_all(rows);
    const mv_totals *of = &s->host.totals;
    mv_host_totals host = mv_host_totals_of(s->trace);

    MV_ROWS_ADD(rows, REPORT_FIELDS);
}

const mv_table mv_report_stats = {MV_TABLE(REPORT_FIELDS, list_report), .main = "devices"};

/* A device's levels, which only text shows. */
#define LEVEL_ROW_FIELDS(COLUMN, MEMBER, LIST)                                    \
    COLUMN(NULL, "", 1, MV_UNIT_TEXT, 9, mv_value_text(levels[i].name))           \
    COLUMN(NULL, "current", 2, MV_UNIT_BYTES, 9, mv_value_u64(levels[i].current)) \
    COLUMN(NULL, "peak", 3, MV_UNIT_BYTES, 9,                                     \
           mv_value_bound(levels[i].peak, levels[i].bound, text))                 \
    COLUMN(NULL, "at event", 4, MV_UNIT_COUNT | MV_UNIT_SPARE, 8,                 \
           is_before ? mv_value_text("before") : mv_value_u64(levels[i].event))   \
    COLUMN(NULL, "time", 5, MV_UNIT_COUNT | MV_UNIT_SPARE, 0, mv_value_text(time))

static void list_levels(mv_rows *rows)
{
    const mv_trace *trace = ((const survey *)mv_rows_all(rows))->trace;
    const device_stats *stats = mv_rows_one(rows);
    const mv_totals *t = &stats->totals;
    const mv_levels *now = &t->current.bytes, *peak = &t->peak.bytes;
    const mv_audit *audit = &t->audit;
    const struct {
        const char *name;
        uint64_t current, peak;
        mv_bound bound;
        uint32_t event;
    } levels[] = {
        {"allocated", now->allocated, peak->allocated, audit->peak.allocated,
         t->peak.allocated_event},
        {"active", now->active, peak->active, audit->peak.active, t->peak.active_event},
        {"requested", now->requested, peak->requested, audit->peak.requested,
         t->peak.requested_event},
        {"reserved", now->reserved, peak->reserved, audit->peak.reserved, t->peak.reserved_event},
    };
    bool is_unsaid = mv_trace_is_missing_reserved(trace); /* reserved bytes are missing */
    uint32_t count = mv_trace_events(trace, t->device).count;
    int64_t start = mv_position_start_us(trace);
    char text[MV_BOUND_TEXT], time[40];

    for (int i = 0; i < LEVELS - is_unsaid; i++) {
        bool is_before = levels[i].event >= count;
        if (is_before)
            *time = 0;
        else if (start == MV_NO_TIME || stats->time_us[i] == MV_NO_TIME)
            snprintf(time, sizeof time, "-");
        else
            snprintf(time, sizeof time, "%.6f s", (double)(stats->time_us[i] - start) / 1e6);
        MV_ROWS_ADD(rows, LEVEL_ROW_FIELDS);
    }
}

static const mv_table level_table = {MV_TABLE(LEVEL_ROW_FIELDS, list_levels)};

/* ---- text -------------------------------------------------------------------------------- */

static void put_audit(mv_out *out, const mv_audit *audit)
{
    mv_out_text(out, "  audit: ");
    mv_out_styled(out, audit->exact ? MV_STYLE_GREEN : MV_STYLE_YELLOW,
                  audit->exact ? "exact since event 0" : "not exact");
    mv_prose_put(out, audit->exact ? 28 : 18, 4, ", residual %lld bytes",
                 (long long)audit->residual);
    for (uint32_t i = 0; i < audit->count; i++) {
        mv_out_text(out, "    ");
        mv_prose_put(out, 4, 6, "%s", audit->notes[i]);
    }
}

/* These correspond to "cudaMalloc retries" and "CUDA OOMs" in memory_summary(). */
static void put_requests(mv_out *out, const device_stats *d)
{
    char failed[MV_COUNT_TEXT], retries[MV_COUNT_TEXT], released[MV_SIZE_TEXT], slow[96] = "";

    if (!d->has_requests)
        return;
    if (d->retries)
        snprintf(slow, sizeof slow, " after freeing %s of cache",
                 mv_size_text(released, d->released));
    mv_prose_put_item(out, "requests: %s failed, %s served on retry%s%s",
                      mv_count_text(failed, d->failed), mv_count_text(retries, d->retries), slow,
                      d->history == MV_HISTORY_COMPLETE ? "" : " (in the recorded events)");
}

static void put_graphs(const survey *s, const device_stats *stats)
{
    const char *text = mv_graphs_text(&s->cli->scratch, s->trace, &stats->graphs);

    if (!text || !*text)
        return;
    mv_out_text(&s->cli->out, "\n  ");
    mv_prose_put(&s->cli->out, 2, 4, "%s", text);
    mv_table_print(s->cli, &capture_table, s, stats, "");
}

static void put_device(const void *all, uint32_t device)
{
    const survey *s = all;
    const device_stats *stats = &s->devices[device - s->first];
    mv_cli *cli = s->cli;
    const mv_trace *trace = s->trace;
    mv_out *out = &cli->out;
    const mv_totals *t = &stats->totals;
    const char *least = mv_bound_sign(t->audit.total);
    char allocated[MV_SIZE_TEXT], freed[MV_SIZE_TEXT], place[MV_PLACE_TEXT], segments[48] = "";

    if (mv_trace_events(trace, t->device).count == 0 && t->current.segments == 0) {
        mv_captured_put_idle(out, trace, t->device);
        return;
    }

    mv_out_styled(out, MV_STYLE_BOLD, mv_level_place(trace, t->device, place));
    if (stats->history == MV_HISTORY_NONE)
        mv_prose_put(out, 10, 2, ": %s", stats->history_why);
    else
        mv_prose_put(out, 10, 2, ": history %s: %s", mv_history_name(stats->history),
                     stats->history_why);
    mv_table_print(cli, &level_table, s, stats, "");
    if (!mv_trace_allocator(trace) ||
        mv_trace_is_missing_reserved(trace)) /* otherwise, the file does not contain them */
        snprintf(segments, sizeof segments, "%llu segment%s, ",
                 (unsigned long long)t->current.segments, mv_plural(t->current.segments));
    mv_prose_put_item(
        out, "%s%s allocated in all, %s%s freed; now %s%llu allocation%s", least,
        mv_size_text(allocated, t->total.allocated), least, mv_size_text(freed, t->total.freed),
        segments, (unsigned long long)t->current.allocations, mv_plural(t->current.allocations));
    put_requests(out, stats);
    mv_rest_put(cli, &stats->rest);
    if (mv_level_reserves(trace) && !mv_trace_allocator(trace)) /* otherwise, there are no pools */
        mv_table_print(cli, &pool_table, s, t, "\n");
    put_graphs(s, stats);
    put_audit(out, &t->audit);
}

static void put_host(const survey *s)
{
    const mv_totals *of = &s->host.totals;
    mv_host_totals host = mv_host_totals_of(s->trace);
    char now[MV_SIZE_TEXT], used[MV_SIZE_TEXT], most[MV_BOUND_TEXT], most_used[MV_BOUND_TEXT];
    mv_out *out = &s->cli->out;

    if (!host.is_there)
        return;
    mv_out_char(out, '\n');
    mv_out_styled(out, MV_STYLE_BOLD, "host");
    mv_prose_put(
        out, 4, 2, ": %s pinned in %u segment%s, %s of it allocated; peaks %s pinned, %s allocated",
        mv_size_text(now, host.now.reserved), host.segments, mv_plural(host.segments),
        mv_size_text(used, host.now.allocated),
        mv_value_bound(of->peak.bytes.reserved, of->audit.peak.reserved, most).shown,
        mv_value_bound(of->peak.bytes.allocated, of->audit.peak.allocated, most_used).shown);
    if (s->host.history != MV_HISTORY_COMPLETE)
        mv_prose_put_item(out, "history %s: %s", mv_history_name(s->host.history),
                          s->host.history_why);
}

/* ---- both -------------------------------------------------------------------------------- */

static mv_code find_rest(mv_cli *cli, device_stats *stats, mv_err *err)
{
    const mv_totals *t = &stats->totals;

    return mv_rest_find(cli, t->device, stats->time_us[RESERVED], t->peak.bytes.reserved,
                        &stats->rest, err);
}

/* Finds the times of the peaks. `trace` is the last piece, or the whole trace. */
static mv_code find_times(mv_cli *cli, const mv_trace *trace, device_stats *stats, mv_err *err)
{
    const mv_peak *p = &stats->totals.peak;
    const uint32_t event[LEVELS] = {p->allocated_event, p->active_event, p->requested_event,
                                    p->reserved_event};
    uint32_t device = stats->totals.device;

    for (unsigned i = 0; i < LEVELS; i++) {
        stats->time_us[i] = MV_NO_TIME;
        for (unsigned k = 0; k < i; k++)
            if (event[k] == event[i])
                stats->time_us[i] = stats->time_us[k];
        if (event[i] == MV_BEFORE || stats->time_us[i] != MV_NO_TIME)
            continue;
        if (!cli->pieces)
            stats->time_us[i] = mv_trace_events(trace, device).time_us[event[i]];
        else if (mv_pieces_time(cli->pieces, device, event[i], &stats->time_us[i], err) != MV_OK)
            return err->code == MV_CORRUPT ? mv_input_needs_whole(cli, err) : err->code;
    }
    return MV_OK;
}

static mv_code find_requests(mv_cli *cli, mv_arena *arena, const mv_trace *trace,
                             const mv_lives *lives, device_stats *stats, mv_err *err)
{
    mv_living l = mv_living_of(trace, lives->device);
    mv_window window = {cli->pieces ? l.count : 0, UINT32_MAX};
    mv_ooms found = {0};

    stats->has_requests =
        lives->events.count > 0 && mv_level_reserves(trace) && !mv_trace_allocator(trace);
    if (!stats->has_requests)
        return MV_OK;
    if (l.is_cut && mv_oom_ends_with_releases(&lives->events))
        return mv_input_needs_whole(cli, err);
    if (!mv_oom_failures_list(arena, trace, lives, window, &found))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "failed requests");
    stats->failed += found.count;
    stats->retries += found.retries;
    stats->released += found.released;
    return MV_OK;
}

typedef struct {
    mv_cli *cli;
    mv_totals_search *search;
    device_stats *stats;
} stats_walk;

static mv_code add_piece(void *user, const mv_trace *piece, const mv_lives *lives, mv_err *err)
{
    stats_walk *w = user;
    device_stats *stats = w->stats;
    mv_cli *cli = w->cli;
    mv_arena arena;

    mv_arena_init(&arena, &cli->budget);
    mv_totals_add(w->search, piece, lives, err);
    if (err->code == MV_OK)
        find_requests(cli, &arena, piece, lives, stats, err);
    if (err->code == MV_OK && !cli->pieces)
        mv_graphs_find(&cli->arena, piece, lives, NULL, &stats->graphs, err);
    mv_arena_release(&arena);
    if (err->code != MV_OK || mv_living_of(piece, lives->device).is_cut)
        return err->code;
    if (find_times(cli, piece, stats, err) != MV_OK)
        return err->code;
    stats->history = lives->history;
    stats->history_why = mv_arena_text(&cli->arena, lives->history_why, strlen(lives->history_why));
    return stats->history_why ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
}

static mv_code find_totals(mv_cli *cli, const mv_trace *trace, uint32_t device, device_stats *stats,
                           mv_err *err)
{
    stats_walk w = {cli, mv_totals_begin(&cli->arena, &stats->totals), stats};

    if (!w.search)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "totals of device %u", device);
    mv_input_each_piece(cli, trace, device, add_piece, &w, err);
    mv_totals_end(w.search);
    return err->code;
}

static mv_code find_device(mv_cli *cli, const mv_trace *trace, uint32_t device, device_stats *stats,
                           mv_err *err)
{
    mv_code code = find_totals(cli, trace, device, stats, err);

    return code == MV_OK ? find_rest(cli, stats, err) : code;
}

/* Finds figures for pinned memory, from the level `host`. That level uses the trace's own frames
 * and stacks. */
static mv_code find_host(survey *s, mv_err *err)
{
    mv_trace host = *s->trace;
    mv_cli *cli = s->cli;

    if (!mv_host_totals_of(&host).is_there)
        return MV_OK;
    /* Totals do not require steps. */
    if (mv_level_take_with(&cli->arena, &host, MV_LEVEL_HOST, &(mv_step_marks){0}, err) == MV_OK)
        find_totals(cli, &host, 0, &s->host, err);
    return err->code;
}

/* Returns the event columns that the report needs. The calls show why segments were released. */
static uint32_t columns_of(const mv_trace *trace)
{
    uint32_t columns = mv_totals_columns(trace);

    for (uint32_t i = 0; trace->digests && i < trace->device_count; i++) {
        const uint32_t *count = trace->digests[i].count;
        if (count[MV_ACTION_SEGMENT_FREE] || count[MV_ACTION_SEGMENT_UNMAP])
            columns |= MV_EVENT_call;
    }
    return columns;
}

int mv_cmd_stats(mv_cli *cli)
{
    mv_trace trace;
    survey s = {
        .cli = cli, .trace = &trace, .limit = cli->options.limit ? cli->options.limit : UINT64_MAX};
    mv_err err = {.offset = MV_NO_OFFSET};
    int status;

    cli->reads_pieces = true;
    if (!mv_input_read(cli, &trace) || !mv_input_devices(cli, &trace, &s.first, &s.end))
        return MV_EXIT_FAILED;
    if (cli->pieces && (!mv_totals_take_pieces(&trace) || mv_graphs_have_ranges(&trace) ||
                        mv_host_totals_of(&trace).is_there))
        mv_input_needs_whole(cli, &err);
    mv_pieces_need(cli->pieces, columns_of(&trace));
    s.devices = mv_push_array(&cli->arena, device_stats, s.end - s.first);
    if (!s.devices)
        mv_fail(&err, MV_NOMEM, MV_NO_OFFSET, "%s", "");
    for (uint32_t i = s.first; i < s.end && err.code == MV_OK; i++)
        find_device(cli, &trace, i, &s.devices[s.count++], &err);
    if (err.code == MV_OK)
        find_host(&s, &err);
    if (err.code != MV_OK)
        return mv_input_failed(cli, &err);
    for (uint32_t i = 0; i < s.count; i++)
        mv_gate_evaluate_totals(&cli->gates, &trace, &s.devices[i].totals);
    mv_gate_evaluate_idle(&cli->gates, &trace, s.first, s.end);
    status = mv_devices_report(cli, &trace, s.first, s.end, put_device, &s);
    if (!mv_table_is_wanted(cli))
        put_host(&s);
    return mv_gate_status(&cli->gates, status);
}
