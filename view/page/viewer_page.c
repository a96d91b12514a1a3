#include "view/page/viewer_page.h"

#include "analyze/advice/headline.h"
#include "analyze/ranks/summary.h"
#include "base/parallel_for.h"
#include "view/page/letters.h"
#include "view/page/page_file.h"
#include "viz/scene/markup.h"

/* The placeholders for the snapshot and the title. */
#define PLACE "<!--snapshot-->"
#define TITLE "<title>memviz</title>"

/* ---- the verdict ------------------------------------------------------------------------- */

/* The work on a device: the verdict, and leaving out events, at the same time. */
typedef struct {
    mv_arena *arena, *work; /* for the events, and for the verdict */
    const mv_trace *trace;
    const mv_lives *lives;
    mv_viewer_page_opts *page;
    mv_headline headline;
    mv_err err[2];
} evaluation;

static mv_code find_headline(evaluation *e, mv_err *err)
{
    mv_fragmentation_opts opts = {.window = MV_ALL_EVENTS, .no_advice = true};
    mv_arena *work = e->work;
    const mv_trace *trace = e->trace;
    const mv_lives *lives = e->lives;
    mv_fragmentation fragmentation;
    mv_leaks leaks;
    mv_sites sites;
    mv_ooms ooms;
    const mv_reports reports = {.trace = trace,
                                .sites = &sites,
                                .lives = lives,
                                .leaks = &leaks,
                                .ooms = &ooms,
                                .fragmentation = &fragmentation};

    if (mv_leaks_find(work, trace, lives, &leaks, err) != MV_OK ||
        mv_sites_find(work, trace, &sites, err) != MV_OK ||
        mv_ooms_find(work, trace, lives, &sites, MV_ALL_EVENTS, &ooms, err) != MV_OK ||
        mv_fragmentation_find(work, trace, lives, &sites, opts, &fragmentation, err) != MV_OK)
        return err->code;
    return mv_headline_find(work, &reports, &e->headline, err);
}

static void evaluate_part(void *user, uint32_t part)
{
    evaluation *e = user;

    if (part == 0 && !e->page->is_alarm)
        find_headline(e, &e->err[0]);
    else if (part == 1 && e->page->thinned)
        mv_downsample_device(e->arena, e->trace, e->lives, e->page->thinned, &e->err[1]);
}

static uint64_t most_events(const mv_viewer_page_opts *opts)
{
    return opts->most_events ? opts->most_events : MV_PAGE_EVENTS;
}

static mv_code begin(mv_arena *arena, const mv_trace *trace, const mv_viewer_page_opts *page,
                     uint64_t most, mv_thinned *out, mv_err *err)
{
    mv_code code = mv_downsample_begin(arena, trace, most, out, err);

    out->has_no_columns = page->joined;
    return code;
}

/* Begins to leave out events, unless the page contains other levels than the one that is
 * evaluated. */
static mv_code begin_thinning(mv_arena *arena, const mv_trace *trace, mv_viewer_page_opts *page,
                              mv_err *err)
{
    if (page->thinned || mv_trace_as_read(trace) != trace)
        return MV_OK;
    page->thinned = mv_push_struct(arena, mv_thinned);
    if (!page->thinned)
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    return begin(arena, trace, page, most_events(page), page->thinned, err);
}

/* Reads the events that are kept of the joined lives. */
static mv_code read_kept(mv_arena *arena, const mv_viewer_page_opts *page, mv_thinned *thinned,
                         mv_err *err)
{
    uint32_t device = page->joined->device;

    return page->read_kept(page->reader, arena, device, &thinned->kept[device],
                           &thinned->trace.devices[device].events, err);
}

mv_code mv_viewer_page_evaluate(mv_arena *arena, mv_arena *work, const mv_trace *trace,
                                const mv_lives *lives, mv_viewer_page_opts *page, mv_err *err)
{
    evaluation e = {.arena = arena, .work = work, .trace = trace, .lives = lives, .page = page};

    if (begin_thinning(arena, trace, page, err) != MV_OK)
        return err->code;
    mv_parallel_for(2, 0, evaluate_part, &e);
    for (int i = 0; i < 2; i++)
        if (e.err[i].code != MV_OK) {
            *err = e.err[i];
            return err->code;
        }
    if (page->joined && page->joined->device == lives->device &&
        read_kept(arena, page, page->thinned, err) != MV_OK)
        return err->code;
    if (page->is_alarm || (page->verdict && e.headline.alarms == 0))
        return MV_OK;
    page->is_alarm = e.headline.alarms > 0;
    page->verdict = mv_arena_text(arena, e.headline.line, strlen(e.headline.line));
    return page->verdict ? MV_OK : mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
}

/* ---- the container ----------------------------------------------------------------------- */

typedef struct {
    mv_arena *arena;
    uint8_t *data;
    uint64_t length, room;
} bytes;

static ssize_t append(void *cookie, const char *data, size_t length)
{
    bytes *b = cookie;

    if (b->length + length > b->room) {
        uint64_t room = 2 * (b->length + length);
        uint8_t *grown = mv_arena_grow(b->arena, b->data, room);
        if (!grown)
            return 0;
        b->data = grown;
        b->room = room;
    }
    memcpy(b->data + b->length, data, length);
    b->length += length;
    return (ssize_t)length;
}

/* Opens a file that appends what is written to `out`. */
#ifdef __APPLE__
static int append_some(void *cookie, const char *data, int length)
{
    return (int)append(cookie, data, (size_t)length);
}

static FILE *open_bytes(bytes *out)
{
    return funopen(out, NULL, append_some, NULL, NULL);
}
#else
static FILE *open_bytes(bytes *out)
{
    return fopencookie(out, "w", (cookie_io_functions_t){.write = append});
}
#endif

static mv_code pack(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts, bytes *out,
                    mv_err *err)
{
    mv_sink sink = {.file = open_bytes(out)};
    mv_code code = MV_NOMEM;

    if (sink.file) {
        code = mv_snapshot_write(scratch, trace, opts, &sink, err);
        if ((fclose(sink.file) != 0 || sink.failed) && code == MV_OK)
            code = MV_NOMEM;
    }
    return code == MV_NOMEM ? mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page") : code;
}

/* ---- the page ---------------------------------------------------------------------------- */

static void put(mv_sink *sink, const char *text)
{
    mv_sink_write(sink, text, strlen(text));
}

static void put_text(mv_sink *sink, const char *text)
{
    mv_markup_write(sink, MV_MARKUP_HTML, text);
}

static const char *name_of(const mv_viewer_page_opts *opts)
{
    return opts->write.name ? opts->write.name : "snapshot";
}

/* Writes the part of the page before the snapshot, with the page's title. */
static void write_head(const mv_viewer_page_opts *opts, mv_span head, mv_sink *sink)
{
    const uint8_t *title = memmem(head.data, head.length, TITLE, strlen(TITLE));
    const uint8_t *rest = title ? title + strlen(TITLE) : head.data;

    if (title) {
        mv_sink_write(sink, head.data, (uint64_t)(title - head.data));
        put(sink, "<title>");
        put_text(sink, opts->title ? opts->title : name_of(opts));
        if (opts->is_alarm) {
            put(sink, " \xc2\xb7 ");
            put_text(sink, opts->verdict);
        }
        put(sink, " \xc2\xb7 memviz</title>");
    }
    mv_sink_write(sink, rest, head.length - (uint64_t)(rest - head.data));
}

static void put_line(mv_sink *sink, const char *id, const char *text)
{
    if (!text || !*text)
        return;
    mv_sink_printf(sink, "<p id=\"%s\">", id);
    put_text(sink, text);
    put(sink, "</p>\n");
}

static void write_snapshot(const mv_viewer_page_opts *opts, const char *state, const bytes *packed,
                           mv_sink *sink)
{
    put(sink, "<script type=\"text/plain\" id=\"snapshot\" data-name=\"");
    put_text(sink, name_of(opts));
    if (state) {
        put(sink, "\" data-state=\"");
        put_text(sink, state);
    }
    put(sink, "\">");
    mv_letters_write(sink, packed->data, packed->length);
    put(sink, "</script>");
}

/* ---- leaving out parts of a long trace ---------------------------------------------------- */

typedef struct {
    mv_thinned thinned;
    mv_session session; /* session that the page opens with, if `has_session` */
    bool has_session;
    bytes packed;
} contents;

/* Returns the ordinal of the session's device. */
static uint32_t device_of(const mv_trace *trace, uint32_t row)
{
    for (uint32_t i = 0; i < trace->device_count; i++)
        if (mv_device_is_used(trace, i) && row-- == 0)
            return i;
    return 0;
}

/* Returns the last remaining event at or before `event`. */
static uint32_t moment_at(const mv_thinned *t, uint32_t device, uint32_t event)
{
    uint32_t before = event == MV_BEFORE ? 0 : mv_thinned_before(t, device, event + 1);

    return before ? before - 1 : MV_BEFORE;
}

static double edge_at(const mv_thinned *t, uint32_t device, double event)
{
    return event < UINT32_MAX ? mv_thinned_before(t, device, (uint32_t)event) : event;
}

/* Adjusts a session to a downsampled trace, in which events and blocks have different numbers. */
static void move_session(const mv_thinned *t, mv_session *s)
{
    mv_view_state *now = &s->now;
    uint32_t device = device_of(&t->trace, now->device);

    now->cursor = moment_at(t, device, now->cursor);
    now->heap_seen = moment_at(t, device, now->heap_seen);
    now->from = edge_at(t, device, now->from);
    now->to = edge_at(t, device, now->to);
    now->a = mv_thinned_before(t, device, now->a);
    now->b = mv_thinned_before(t, device, now->b);
    now->pinned = now->pinned_segment = now->unfolded_of = MV_NO_ROW;
    for (uint32_t i = 0; i < s->bookmarks.count; i++) {
        mv_bookmark *b = &s->bookmarks.rows[i];
        device = device_of(&t->trace, b->device);
        b->cursor = moment_at(t, device, b->cursor);
        b->from = edge_at(t, device, b->from);
        b->to = edge_at(t, device, b->to);
        b->a = mv_thinned_before(t, device, b->a);
        b->b = mv_thinned_before(t, device, b->b);
    }
}

/* Returns how many letters are left for the container, after the page and some strings. */
static uint64_t room_in(uint64_t page)
{
    return page + 100000 < MV_PAGE_BYTES ? (MV_PAGE_BYTES - page - 100000) / 16 * 13 : 0;
}

/* Leaves out the events of the devices that mv_viewer_page_evaluate has not thinned. The trace does
 * not have the columns of the joined lives, so these are thinned and read here. */
static mv_code end_thinning(mv_arena *scratch, const mv_trace *trace,
                            const mv_viewer_page_opts *opts, mv_thinned *out, mv_err *err)
{
    const mv_lives *joined = opts->joined;

    if (joined && !out->kept[joined->device].word &&
        (mv_downsample_device(scratch, trace, joined, out, err) != MV_OK ||
         read_kept(scratch, opts, out, err) != MV_OK))
        return err->code;
    return mv_downsample_end(scratch, trace, out, err);
}

enum { MOST_ROUNDS = 3 };

/* Makes the container. If it is larger than `room`, it is compressed further. After that more events
 * are left out in up to MOST_ROUNDS rounds, unless --most-events gives their number. */
static mv_code fill(mv_arena *scratch, const mv_trace *trace, const mv_viewer_page_opts *opts,
                    uint64_t room, contents *out, mv_err *err)
{
    mv_write_opts write = opts->write;
    uint64_t most;

    if (opts->thinned)
        out->thinned = *opts->thinned;
    else if (begin(scratch, trace, opts, most_events(opts), &out->thinned, err) != MV_OK)
        return err->code;
    if (end_thinning(scratch, trace, opts, &out->thinned, err) != MV_OK)
        return err->code;
    most = mv_events_of_all(&out->thinned.trace);
    write.size = most > MV_PAGE_QUICK_EVENTS ? MV_WRITE_SMALL : MV_WRITE_SMALLEST;
    out->packed.arena = scratch;
    for (int rounds = 0;;) {
        out->packed.length = 0;
        if (pack(scratch, &out->thinned.trace, &write, &out->packed, err) != MV_OK)
            return err->code;
        if (out->packed.length <= room || most == 0)
            break;
        if (write.size != MV_WRITE_SMALLEST) {
            write.size = MV_WRITE_SMALLEST;
            continue;
        }
        if (opts->most_events || rounds++ == MOST_ROUNDS)
            break;
        most = (uint64_t)((double)most * 0.95 * (double)room / (double)out->packed.length);
        if (begin(scratch, trace, opts, most, &out->thinned, err) != MV_OK ||
            end_thinning(scratch, trace, opts, &out->thinned, err) != MV_OK)
            return err->code;
    }
    out->has_session = opts->session;
    if (opts->session)
        out->session = *opts->session;
    if (opts->session && out->thinned.left_out > 0)
        move_session(&out->thinned, &out->session);
    return MV_OK;
}

mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace,
                             const mv_viewer_page_opts *opts, mv_sink *sink, mv_page_gap *gap,
                             mv_err *err)
{
    contents c = {0};
    const char *state = NULL;
    const uint8_t *place;
    mv_span page = {0};
    uint64_t before;

    if (mv_page_file_read(scratch, &page, err) != MV_OK)
        return err->code;
    place = memmem(page.data, page.length, PLACE, strlen(PLACE));
    if (!place)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET,
                       "memviz.html has no placeholder for a snapshot");
    /* The page contains all levels of the file, and not only the trace's level. */
    if (fill(scratch, mv_trace_as_read(trace), opts, room_in(page.length), &c, err) != MV_OK)
        return err->code;
    if (c.has_session && !(state = mv_session_line(scratch, &c.session)))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    *gap = (mv_page_gap){c.thinned.left_out, mv_thinned_text(scratch, &c.thinned)};
    before = (uint64_t)(place - page.data);
    write_head(opts, (mv_span){page.data, before}, sink);
    put_line(sink, "verdict", opts->verdict);
    put_line(sink, "left_out", gap->words);
    write_snapshot(opts, state && *state ? state : NULL, &c.packed, sink);
    mv_sink_write(sink, place + strlen(PLACE), page.length - before - strlen(PLACE));
    mv_arena_drop(scratch, c.packed.data);
    return MV_OK;
}
