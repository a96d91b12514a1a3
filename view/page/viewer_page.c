#include "view/page/viewer_page.h"

#include <stdio.h>
#include <string.h>

#include "analyze/advice/headline.h"
#include "analyze/code/sites.h"
#include "view/page/letters.h"
#include "view/page/page_file.h"
#include "viz/scene/markup.h"

/* Where the snapshot goes, and the title. */
#define PLACE "<!--snapshot-->"
#define TITLE "<title>memviz</title>"

/* ---- the verdict ------------------------------------------------------------------------- */

mv_code mv_viewer_page_judge(mv_arena *arena, mv_arena *work, const mv_trace *trace,
                             const mv_lives *lives, mv_viewer_page_opts *page, mv_err *err)
{
    mv_fragmentation_opts opts = {.window = MV_ALL_EVENTS, .no_advice = true};
    mv_fragmentation fragmentation;
    mv_headline headline;
    mv_leaks leaks;
    mv_sites sites;
    mv_ooms ooms;
    const mv_reports reports = {.trace = trace,
                                .sites = &sites,
                                .lives = lives,
                                .leaks = &leaks,
                                .ooms = &ooms,
                                .fragmentation = &fragmentation};

    if (page->is_alarm)
        return MV_OK;
    if (mv_leaks_find(work, trace, lives, &leaks, err) != MV_OK ||
        mv_sites_find(work, trace, &sites, err) != MV_OK ||
        mv_ooms_find(work, trace, lives, &sites, MV_ALL_EVENTS, &ooms, err) != MV_OK ||
        mv_fragmentation_find(work, trace, lives, &sites, opts, &fragmentation, err) != MV_OK ||
        mv_headline_find(work, &reports, &headline, err) != MV_OK)
        return err->code;
    if (page->verdict && headline.alarms == 0)
        return MV_OK;
    page->is_alarm = headline.alarms > 0;
    page->verdict = mv_arena_text(arena, headline.line, strlen(headline.line));
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

static mv_code pack(mv_arena *scratch, const mv_trace *trace, const mv_write_opts *opts, bytes *out,
                    mv_err *err)
{
    mv_sink sink = {.file = fopencookie(out, "w", (cookie_io_functions_t){.write = append})};
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

/* What is before the snapshot, with its title. */
static void write_head(const mv_viewer_page_opts *opts, mv_span head, mv_sink *sink)
{
    const uint8_t *title = memmem(head.data, head.length, TITLE, strlen(TITLE));
    const uint8_t *rest = title ? title + strlen(TITLE) : head.data;

    if (title) {
        mv_sink_write(sink, head.data, (uint64_t)(title - head.data));
        put(sink, "<title>");
        put_text(sink, name_of(opts));
        if (opts->is_alarm) {
            put(sink, " \xc2\xb7 ");
            put_text(sink, opts->verdict);
        }
        put(sink, " \xc2\xb7 memviz</title>");
    }
    mv_sink_write(sink, rest, head.length - (uint64_t)(rest - head.data));
}

static void write_snapshot(const mv_viewer_page_opts *opts, const char *state, const bytes *packed,
                           mv_sink *sink)
{
    if (opts->verdict && *opts->verdict) {
        put(sink, "<p id=\"verdict\">");
        put_text(sink, opts->verdict);
        put(sink, "</p>\n");
    }
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

mv_code mv_viewer_page_write(mv_arena *scratch, const mv_trace *trace,
                             const mv_viewer_page_opts *opts, mv_sink *sink, mv_err *err)
{
    bytes packed = {.arena = scratch};
    mv_write_opts tight = opts->write;
    const char *state = NULL;
    const uint8_t *place;
    mv_span page = {0};
    uint64_t before;

    if (mv_page_file_read(scratch, &page, err) != MV_OK)
        return err->code;
    place = memmem(page.data, page.length, PLACE, strlen(PLACE));
    if (!place)
        return mv_fail(err, MV_FORMAT, MV_NO_OFFSET, "memviz.html has no place for a snapshot");
    if (opts->session && !(state = mv_session_line(scratch, opts->session)))
        return mv_fail(err, MV_NOMEM, MV_NO_OFFSET, "%s", "page");
    tight.is_tight = true;
    if (pack(scratch, trace, &tight, &packed, err) != MV_OK)
        return err->code;
    before = (uint64_t)(place - page.data);
    write_head(opts, (mv_span){page.data, before}, sink);
    write_snapshot(opts, state && *state ? state : NULL, &packed, sink);
    mv_sink_write(sink, place + strlen(PLACE), page.length - before - strlen(PLACE));
    mv_arena_drop(scratch, packed.data);
    return MV_OK;
}
