/* The headings of printed pictures of memory over time and segments over time. */
#include "analyze/leaks/leak_words.h"
#include "base/size.h"
#include "view/document/moment_text.h"
#include "view/frame/file_badge.h"
#include "view/paper/paper.h"
#include "view/timeline/plot.h"

/* ---- figures ----------------------------------------------------------------------------- */

static const char *device_figure(mv_view *view)
{
    uint32_t devices = mv_trace_devices(&mv_view_document(view)->trace);
    uint32_t device = mv_view_device(view)->device;

    if (devices > 1)
        return mv_scene_format(&view->ui.scene, "device %u of %u", device, devices);
    return mv_scene_format(&view->ui.scene, "device %u", device);
}

/* Returns a string such as "6,562 events in 2.95 s" or "200 of 6,562 events". */
static const char *events_figure(mv_view *view)
{
    const mv_events *e = &mv_view_device(view)->lives.events;
    mv_window window = view->sheet->opts.window;
    uint32_t events = window.end - window.first;
    char count[MV_TICK_TEXT], all[MV_TICK_TEXT], span[MV_SPAN_TEXT];
    const char *noun;

    if (e->count == 0)
        return "no events recorded";
    mv_axis_exact(events, count);
    noun = mv_scene_format(
        &view->ui.scene, "event%s%s", e->count == 1 ? "" : "s",
        mv_events_span(&mv_view_document(view)->trace, e, window.first, window.end, span));
    if (events == e->count)
        return mv_scene_format(&view->ui.scene, "%s %s", count, noun);
    return mv_scene_format(&view->ui.scene, "%s of %s %s", count, mv_axis_exact(e->count, all),
                           noun);
}

/* Describes missing history that the picture cannot show. */
static const char *history_figure(const mv_lives *lives, bool has_hatch)
{
    switch (lives->history) {
    case MV_HISTORY_COMPLETE:
        return "complete history";
    case MV_HISTORY_LATE:
        return has_hatch ? "recording began late: hatched blocks existed before"
                         : "recording began late";
    case MV_HISTORY_TRUNCATED:
        return has_hatch ? "history truncated: earlier events were overwritten, hatched blocks are "
                           "from them"
                         : "history truncated: earlier events were overwritten";
    default:
        return "";
    }
}

/* Describes whether there may have been more before the recorded history. */
static const char *bound_words(mv_bound bound)
{
    return bound == MV_BOUND_LEAST ? "" : mv_bound_words(bound);
}

static mv_extent most_of(mv_view *view, mv_pyramid_reader *levels)
{
    mv_window window = view->sheet->opts.window;

    return mv_pyramid_range(levels, window.first == 0 ? MV_BEFORE : window.first, window.end);
}

static void add_figures(mv_view *view, mv_paper_heading *out)
{
    const mv_lives *lives = &mv_view_device(view)->lives;
    const mv_trace *trace = &mv_view_document(view)->trace;
    mv_scene *scene = &view->ui.scene;
    mv_levels most = most_of(view, &view->levels).most;
    const char *peak = mv_recording_is_state_only(lives) ? "" : "peak ";
    mv_bounds bounds = mv_bounds_of(lives);
    bool is_least = bounds.allocated == MV_BOUND_LEAST && lives->doubts.inexact_blocks > 0;
    char size[MV_SIZE_TEXT];

    mv_paper_heading_add(out, device_figure(view));
    if (view->now->main == MV_MAIN_SEGMENTS)
        mv_paper_heading_add(out, "segments");
    else
        mv_paper_heading_add(out,
                             mv_scene_format(scene, "%s%s %s%s", peak, mv_level_held(trace),
                                             is_least ? "at least " : bound_words(bounds.allocated),
                                             mv_size_text(size, most.allocated)));
    if (mv_level_reserves(trace))
        mv_paper_heading_add(out, mv_scene_format(scene, "%sreserved %s%s", peak,
                                                  bound_words(bounds.reserved),
                                                  mv_size_text(size, most.reserved)));
    mv_paper_heading_add(out, events_figure(view));
    mv_paper_heading_add(out, history_figure(lives, view->now->main != MV_MAIN_SEGMENTS));
}

/* ---- the part shown ---------------------------------------------------------------------- */

static uint32_t count_in_window(const mv_alloc_lives *a, mv_window window)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < a->count; i++)
        count += (a->birth[i] == MV_BEFORE || a->birth[i] < window.end) && a->block[i] > 0 &&
                 a->freed[i] >= window.first;
    return count;
}

static uint64_t level_of(const mv_plot *p, mv_levels levels)
{
    return p->of_segments ? levels.reserved : levels.allocated;
}

static const char *largest_text(const mv_plot *p)
{
    const mv_paper_sheet *sheet = p->view->sheet;
    char top[MV_TICK_TEXT], all[MV_TICK_TEXT];

    if (!sheet->opts.top || sheet->opts.top >= sheet->matches)
        return NULL;
    return mv_scene_format(&p->ui->scene,
                           "the %s largest of %s %s separately, all others as a grey band on top",
                           mv_axis_exact(sheet->opts.top, top), mv_axis_exact(sheet->matches, all),
                           p->of_segments ? "segments" : "allocations");
}

/* Describes the filter, as in "only size>1M: 12 of 5,402 allocations, ...", at the moment when most
 * is allocated overall. */
static const char *filter_text(mv_plot *p)
{
    mv_view *view = p->view;
    const mv_paper_sheet *sheet = view->sheet;
    mv_extent all = most_of(view, &view->levels);
    uint32_t event = p->of_segments ? all.reserved_event : all.allocated_event;
    mv_heading_part part = {sheet->opts.filter ? sheet->opts.filter : "", sheet->matches,
                            sheet->rows, level_of(p, mv_pyramid_at(p->levels, event)),
                            level_of(p, all.most)};

    if (!p->rows->only)
        return NULL;
    return mv_heading_part_line(&view->ui.scene, part, p->of_segments ? "segments" : "allocations",
                                "the peak of");
}

static void add_part(mv_plot *p, mv_paper_heading *out)
{
    const char *filter = filter_text(p), *largest = largest_text(p);

    if (filter && largest)
        out->part = mv_scene_format(&p->ui->scene, "%s \xc2\xb7 %s", filter, largest);
    else
        out->part = filter ? filter : largest;
}

/* ---- verdicts ---------------------------------------------------------------------------- */

void mv_paper_add_verdict(mv_paper_heading *out, const char *text, bool is_alarm)
{
    if (out->verdict_count == MV_PAPER_VERDICTS)
        return;
    out->verdict[out->verdict_count].text = text;
    out->verdict[out->verdict_count++].is_alarm = is_alarm;
}

/* Returns the cause of the first verdict; "": the verdict needs no explanation. */
static const char *reason(mv_view *view, const mv_headline *headline)
{
    const mv_document *d = mv_view_document(view);
    const mv_headline_row *first = &headline->rows[0];
    char line[512];

    if (headline->count == 0 || first->level == MV_HEADLINE_FINE)
        return "";
    if (first->kind != MV_FINDING_LEAK)
        return first->why;
    if (first->level == MV_HEADLINE_UNKNOWN) /* the headline already mentions the missing data */
        mv_leaks_why(&mv_view_device(view)->leaks, line, sizeof line);
    else
        mv_verdict_line(&d->trace, d->sites.kinds, &mv_view_device(view)->leaks, line, sizeof line);
    return mv_scene_format(&view->ui.scene, "%s", line);
}

/* Adds the worst problem on another level of the file. */
static void add_other_level(mv_view *view, mv_paper_heading *out)
{
    const mv_file_verdicts *v = view->verdicts;

    for (uint32_t i = 0; v && i < v->count && v->rows[i].kind <= MV_FINDING_WAITING; i++)
        if (strcmp(v->rows[i].level, mv_view_level_name(view)) != 0) {
            mv_paper_add_verdict(out,
                                 mv_scene_format(&view->ui.scene, "%s on level %s: %s",
                                                 mv_headline_problem(v->rows[i].kind),
                                                 v->rows[i].level, v->rows[i].text),
                                 true);
            return;
        }
}

void mv_paper_add_headline(mv_view *view, bool has_reason, mv_paper_heading *out)
{
    const mv_headline *headline = &mv_view_device(view)->headline;

    if (!mv_view_is_evaluated(view) || !*headline->line)
        return;
    mv_paper_add_verdict(out, headline->line, headline->alarms > 0);
    if (has_reason && *reason(view, headline))
        mv_paper_add_verdict(out, reason(view, headline), false);
    add_other_level(view, out);
}

/* Returns the largest number of bytes that were allocated while `reserved` bytes were reserved.
 * Skips most ranges of events. */
static uint64_t most_used(mv_view *view, uint64_t reserved)
{
    enum { STRETCH = 64 * MV_PYRAMID_BUCKET };
    mv_window window = view->sheet->opts.window;
    uint32_t first = window.first - (window.first == 0); /* MV_BEFORE */
    uint64_t used = 0;

    for (uint32_t from = first, to; from == first || from < window.end; from = to) {
        to = from == MV_BEFORE ? 0 : from - from % STRETCH + STRETCH;
        to = to < window.end ? to : window.end;
        if (mv_pyramid_range(&view->levels, from, to).most.reserved < reserved)
            continue;
        for (uint32_t e = from; e == from || e + 1 < to + 1; e++) {
            mv_levels at = mv_pyramid_at(&view->levels, e);
            if (at.reserved == reserved && at.allocated > used)
                used = at.allocated;
        }
    }
    return used;
}

/* Adds the largest number of bytes that were in use while the reserved bytes were at their peak. */
static void add_use(mv_view *view, mv_paper_heading *out)
{
    uint64_t reserved = most_of(view, &view->levels).most.reserved;
    uint64_t used = most_used(view, reserved);
    char most[MV_SIZE_TEXT], part[MV_SIZE_TEXT];

    if (mv_trace_is_missing_reserved(&mv_view_document(view)->trace)) {
        mv_paper_add_verdict(out,
                             mv_scene_format(&view->ui.scene, "%s was allocated at the peak",
                                             mv_size_text(part, used)),
                             false);
        return;
    }
    if (reserved == 0) {
        mv_paper_add_verdict(out, "nothing was reserved", false);
        return;
    }
    mv_paper_add_verdict(
        out,
        mv_scene_format(&view->ui.scene,
                        "%s was reserved at the peak; tensors used up to %s of it (%.0f %%)",
                        mv_size_text(most, reserved), mv_size_text(part, used),
                        100.0 * (double)used / (double)reserved),
        false);
}

/* ---- the kinds --------------------------------------------------------------------------- */

static void describe(mv_view *view, mv_paper_heading *out)
{
    mv_box any = {0, 0, view->ui.scene.width, view->ui.scene.height};
    mv_paper_sheet *sheet = view->sheet;
    mv_plot p;

    if (!mv_plot_open(&p, view, any))
        return;
    sheet->events = sheet->opts.window.end - sheet->opts.window.first;
    sheet->rows = sheet->matches = count_in_window(&p.lives->allocs, sheet->opts.window);
    if (p.rows->only)
        sheet->matches = count_in_window(&p.rows->part.allocs, sheet->opts.window);
    add_figures(view, out);
    add_part(&p, out);
    mv_paper_add_headline(view, !p.of_segments, out);
    if (p.of_segments)
        add_use(view, out);
    if (p.of_pools)
        mv_paper_add_pools(view, out);
}

const mv_paper_kind mv_paper_timeline = {
    .main = MV_MAIN_TIMELINE, .describe = describe, .paint = mv_timeline_paint};
const mv_paper_kind mv_paper_pools = {
    .main = MV_MAIN_POOLS, .describe = describe, .paint = mv_timeline_paint};
const mv_paper_kind mv_paper_segments = {
    .main = MV_MAIN_SEGMENTS, .describe = describe, .paint = mv_timeline_paint};
