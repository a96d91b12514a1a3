/* Decides what a page shows at first, and how much data it contains. */

#include "analyze/filter/isolate.h"
#include "analyze/ranks/summary.h"
#include "cli/complain.h"
#include "cli/input/input.h"
#include "cli/input/pieces.h"
#include "cli/pictures/pictures.h"
#include "view/panes/flames.h"
#include "viz/core/segment_rows.h"

/* Height of the flame graph as a fraction of the page, if it was requested. */
#define FLAME_SHARE 0.62

/* Sets a member of the session and marks it as given. */
#define GIVE(session, member, ...) \
    ((session)->member = (__VA_ARGS__), mv_session_give(session, &(session)->member))

/* Returns a device's number in the viewer, which lists only the devices in use. */
static uint32_t row_of(const mv_trace *trace, uint32_t device)
{
    uint32_t row = 0;

    for (uint32_t i = 0; i < device; i++)
        row += mv_device_is_used(trace, i);
    return row;
}

/* Returns how many bytes the smallest of the `top` largest rows has. */
static mv_code least_of_top(mv_drawing *d, const mv_lives *lives, const mv_place *place,
                            mv_arena *work, uint64_t *out, mv_err *err)
{
    mv_lives segments;
    mv_filter_bits largest;
    mv_window w = place->window;

    if (d->picture->shows_segments) {
        if (mv_segment_lives_as_allocs(work, lives, &segments, err) != MV_OK)
            return err->code;
        lives = &segments;
    }
    if (d->picture->is_of_moment)
        w = (mv_window){0, lives->events.count};
    if (mv_isolate_largest(work, lives, w.first, w.end, (uint32_t)d->cli->options.top, &largest,
                           err) != MV_OK)
        return err->code;
    *out = UINT64_MAX;
    for (uint32_t i = 0; i < lives->allocs.count; i++)
        if (mv_filter_has(&largest, i) && lives->allocs.block[i] < *out)
            *out = lives->allocs.block[i];
    return MV_OK;
}

/* --filter and --top become the page's search, which either shows only the hits or colors them. */
static mv_code search(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                      mv_err *err)
{
    const mv_options *o = &d->cli->options;
    mv_session *s = &d->session;
    char size[48] = "";
    uint64_t least = 0;

    if (o->top && !d->picture->flame) {
        if (least_of_top(d, lives, place, work, &least, err) != MV_OK)
            return err->code;
        snprintf(size, sizeof size, "%ssize>=%llu", o->filter ? " " : "",
                 (unsigned long long)least);
    }
    if (!o->filter && !*size)
        return MV_OK;
    if (snprintf(s->now.search, sizeof s->now.search, "%s%s", o->filter ? o->filter : "", size) >=
        (int)sizeof s->now.search)
        return mv_fail(err, MV_LIMIT, MV_NO_OFFSET,
                       "--filter is too long for the page's search (at most %d bytes)",
                       MV_SEARCH_TEXT - 1);
    mv_session_give(s, &s->now.search);
    GIVE(s, now.show, o->filter ? MV_SHOW_ISOLATE : MV_SHOW_HIGHLIGHT);
    return MV_OK;
}

static void open_flame(mv_drawing *d)
{
    mv_session *s = &d->session;

    GIVE(s, now.tab, MV_TAB_FLAME);
    if (d->picture->flame == mv_flame_of_segments)
        GIVE(s, now.flame_source, MV_FLAMES_SEGMENTS);
    if (d->cli->options.all_frames)
        GIVE(s, now.has_all_frames, true);
    GIVE(s, desk.lower_share, FLAME_SHARE);
}

mv_code mv_page_open_at(mv_drawing *d, const mv_lives *lives, const mv_place *place, mv_arena *work,
                        mv_err *err)
{
    const mv_options *o = &d->cli->options;
    mv_session *s = &d->session;

    if (d->devices > 0 && lives->events.count <= d->page_events)
        return MV_OK;
    d->page_events = lives->events.count;
    *s = (mv_session){.now = mv_view_state_first, .desk = mv_view_desk_first};
    if (d->picture->is_of_moment ||
        mv_option_given(o, MV_HAS(DEVICE) | MV_HAS(FROM) | MV_HAS(TO) | MV_HAS(AT)))
        GIVE(s, now.device, row_of(d->trace, lives->device));
    if (o->level) {
        snprintf(s->now.level, sizeof s->now.level, "%s", o->level);
        mv_session_give(s, &s->now.level);
    }
    if (d->picture->main != MV_MAIN_TIMELINE)
        GIVE(s, now.main, (uint8_t)d->picture->main);
    if (d->picture->is_of_moment || o->at)
        GIVE(s, now.cursor, place->event);
    if (!d->picture->is_of_moment && (o->from || o->to)) {
        GIVE(s, now.from, place->window.first);
        GIVE(s, now.to, place->window.end);
    }
    if (d->picture->flame)
        open_flame(d);
    if (mv_option_given(o, MV_HAS(THEME)))
        GIVE(s, desk.is_dark, o->is_dark);
    return search(d, lives, place, work, err);
}

uint64_t mv_page_most_events(const mv_cli *cli)
{
    const mv_options *o = &cli->options;

    if (!mv_option_given(o, MV_HAS(MOST_EVENTS)))
        return 0;
    return o->most_events ? o->most_events : UINT64_MAX;
}

void mv_page_reads(mv_cli *cli)
{
    uint64_t most = mv_page_most_events(cli);

    mv_input_follows_heap(cli);
    cli->whole_events = most ? most : MV_PAGE_EVENTS;
}

void mv_page_init(mv_cli *cli, mv_viewer_page_opts *page)
{
    page->most_events = mv_page_most_events(cli);
    page->joined = cli->joined;
    page->read_kept = mv_input_read_kept;
    page->reader = cli;
}

mv_code mv_page_put(mv_cli *cli, const mv_trace *trace, mv_viewer_page_opts *page, const char *path,
                    mv_sink *sink, mv_page_gap *gap, mv_err *err)
{
    mv_page_gap found = {0};

    if (mv_viewer_page_write(&cli->scratch, trace, page, sink, &found, err) == MV_OK &&
        found.words && !mv_option_given(&cli->options, MV_HAS(QUIET)))
        mv_complain_of(path, "%s (--most-events 0: keep all)", found.words);
    if (gap)
        *gap = found;
    return err->code;
}
