/* The cursor, which is a moment, and the interval, which is a range of selected events. */
#include <math.h>

#include "base/size.h"
#include "view/document/moment_text.h"
#include "view/timeline/plot.h"

/* ---- the sums of an interval -------------------------------------------------------------- */

static void add_walk(const mv_index *x, const mv_interval_query *ask, mv_interval_sums *out)
{
    mv_index_walk walk = mv_index_walk_from(x, ask->a, ask->b);

    while (mv_index_walk_next(&walk)) {
        if (walk.is_end) {
            out->freed += x->bytes[walk.rank];
            out->frees++;
            continue;
        }
        out->allocated += x->bytes[walk.rank];
        out->allocs++;
        if (x->end[walk.rank] >= ask->b) {
            out->held += x->bytes[walk.rank];
            out->held_blocks++;
        }
    }
}

void *mv_interval_find(mv_arena *arena, void *context, const void *ask)
{
    mv_interval_sums *out = mv_push_struct(arena, mv_interval_sums);
    mv_pyramid_reader reader;
    mv_interval_query what;
    mv_extent extent;

    (void)context;
    memcpy(&what, ask, sizeof what);
    if (!out)
        return NULL;
    add_walk(what.index, &what, out);
    mv_pyramid_reader_init(&reader, what.pyramid);
    extent = mv_pyramid_range(&reader, what.a ? what.a - 1 : MV_BEFORE, what.b);
    out->most = what.of_segments ? extent.most.reserved : extent.most.allocated;
    return out;
}

/* ---- labels ------------------------------------------------------------------------------ */

/* Returns "hits: at most 24.0 MiB; of all: ", when nothing else is drawn. */
static const char *hits_part(mv_plot *p)
{
    char size[MV_SIZE_TEXT];
    mv_extent all;

    if (!p->rows->only)
        return "";
    all = mv_pyramid_range(p->levels, MV_BEFORE, p->lives->events.count);
    return mv_scene_format(&p->ui->scene,
                           "hits up to %s; in total: ", mv_size_text(size, all.most.allocated));
}

/* Returns "; 42,000,000 events left out: allocated bytes are lower ...". */
static const char *left_out_part(mv_plot *p)
{
    const mv_note *note = &mv_view_document(p->view)->trace.notes[MV_NOTE_THINNED];
    char count[MV_TICK_TEXT];

    if (note->count == 0)
        return "";
    return mv_scene_format(&p->ui->scene, "; %s left out: %s", mv_axis_exact(note->count, count),
                           note->first);
}

/* Returns the name of the memory, such as "device 0". Pinned memory belongs to the host. */
static const char *place_name(mv_plot *p)
{
    const char *level = p->trace->origin.level;

    return level && strcmp(level, mv_level_name(MV_LEVEL_HOST)) == 0
               ? "host"
               : mv_scene_format(&p->ui->scene, "device %u", p->device->device);
}

/* Returns a string such as "peak 3.10 GiB allocated, 4.00 GiB reserved". */
static const char *most_text(mv_plot *p, const char *peak, mv_levels most)
{
    char held[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];

    mv_size_text(held, most.allocated);
    if (!mv_level_reserves(p->trace))
        return mv_scene_format(&p->ui->scene, "%s%s%s %s", hits_part(p), peak, held,
                               mv_level_held(p->trace));
    return mv_scene_format(&p->ui->scene, "%s%s%s allocated, %s reserved", hits_part(p), peak, held,
                           mv_size_text(reserved, most.reserved));
}

/* Describes the picture when nothing is selected, in as many words as fit. */
static const char *summary_line(mv_plot *p, float width)
{
    const mv_document_device *d = p->device;
    uint32_t events = d->lives.events.count;
    mv_extent all = mv_pyramid_range(&p->view->levels, MV_BEFORE, events);
    char count[MV_TICK_TEXT], span[MV_SPAN_TEXT];
    const char *texts[4];

    if (mv_recording_is_state_only(&d->lives)) {
        texts[2] = most_text(p, "", all.most);
        texts[1] = mv_scene_format(&p->ui->scene, "%s; %s", texts[2], d->lives.history_why);
        texts[0] = mv_scene_format(&p->ui->scene, "%s: %s", place_name(p), texts[1]);
        return mv_ui_longest(p->ui, MV_UI_TEXT, width, texts, 3);
    }
    texts[3] = most_text(p, "peak ", all.most);
    texts[2] = mv_scene_format(&p->ui->scene, "%s: %s", place_name(p), texts[3]);
    texts[1] =
        mv_scene_format(&p->ui->scene, "%s; %s %s%s%s", texts[2],
                        mv_axis_exact(d->calls ? d->calls : events, count),
                        d->calls ? "call" : "event", (d->calls ? d->calls : events) == 1 ? "" : "s",
                        mv_events_span(p->trace, &d->lives.events, 0, events, span));
    texts[0] = mv_scene_format(
        &p->ui->scene, "%s%s%s%s", texts[1], d->lives.history == MV_HISTORY_COMPLETE ? "" : "; ",
        d->lives.history == MV_HISTORY_COMPLETE ? "" : d->lives.history_why, left_out_part(p));
    return mv_ui_longest(p->ui, MV_UI_TEXT, width, texts, 4);
}

/* Describes the changes in the interval, in a long or a short form. */
static const char *sums_line(mv_plot *p, const mv_interval_sums *sums, bool is_short)
{
    char in[MV_SIZE_TEXT], out[MV_SIZE_TEXT], held[MV_SIZE_TEXT], most[MV_SIZE_TEXT];
    char allocs[MV_TICK_TEXT], frees[MV_TICK_TEXT], blocks[MV_TICK_TEXT];
    const char *noun = p->of_segments ? "segment" : "block";
    const char *whose = p->rows->only ? "hits and all others: " : "";

    mv_size_text(in, sums->allocated);
    mv_size_text(out, sums->freed);
    mv_size_text(held, sums->held);
    mv_size_text(most, sums->most);
    if (is_short)
        return mv_scene_format(&p->ui->scene,
                               "%s+%s, \xe2\x88\x92%s; %s of the new bytes remain; highest %s",
                               whose, in, out, held, most);
    return mv_scene_format(
        &p->ui->scene,
        "%s+%s in %s %ss, \xe2\x88\x92%s in %s; %s in %s of the new %ss remain;  highest %s", whose,
        in, mv_axis_exact(sums->allocs, allocs), noun, out, mv_axis_exact(sums->frees, frees), held,
        mv_axis_exact(sums->held_blocks, blocks), noun, most);
}

/* Returns "selected events 613 to 1,218 (15.63 ms to 20.88 ms): ", with or without the times. */
static const char *interval_part(mv_plot *p, bool has_times)
{
    const mv_view_state *now = p->view->now;
    const char *from = has_times ? mv_plot_time(p, now->a) : "", *to = mv_plot_time(p, now->b);
    bool is_to_end = now->b >= p->lives->events.count;
    char a[MV_TICK_TEXT], b[MV_TICK_TEXT];

    mv_axis_exact(now->a, a);
    mv_axis_exact(now->b, b);
    return mv_scene_format(&p->ui->scene,
                           "%sevents %s to %s%s%s%s%s%s: ", has_times ? "selected " : "", a,
                           is_to_end ? "the end" : b, *from ? " (" : "", from, *from ? " to " : "",
                           !*from      ? ""
                           : is_to_end ? "the end"
                                       : to,
                           *from ? ")" : "");
}

/* Returns the longest of four texts that fits in the width. */
static const char *interval_line(mv_plot *p, float width)
{
    const mv_view_state *now = p->view->now;
    mv_interval_query ask = {p->index, &p->device->pyramid, now->a, now->b, p->of_segments};
    bool is_current;
    const mv_interval_sums *sums = mv_slot_query(p->pane->interval_slot, &ask, &is_current);
    const char *text = "";

    for (int words = 0; words < 4; words++) {
        const char *part = words < 3 ? interval_part(p, words == 0) : "";
        text = mv_scene_format(&p->ui->scene, "%s%s", part,
                               sums && is_current ? sums_line(p, sums, words > 1) : "\xe2\x80\xa6");
        if (mv_ui_text_width(p->ui, MV_UI_TEXT, text) <= width)
            break;
    }
    return text;
}

void mv_plot_readout(mv_plot *p)
{
    const mv_view_state *now = p->view->now;
    mv_box box = p->head;
    const char *text;

    box.x += mv_ui_px(p->ui, MV_UI_PAD);
    box.w -= 2 * mv_ui_px(p->ui, MV_UI_PAD);
    if (now->has_interval)
        text = interval_line(p, box.w);
    else
        text = summary_line(p, box.w);
    mv_ui_text(p->ui, box, MV_UI_TEXT, p->ui->theme->text, MV_ANCHOR_START, text);
}

/* ---- painting ----------------------------------------------------------------------------- */

static void shade(mv_plot *p, float from, float to, uint32_t colour)
{
    from = fmaxf(from, p->plot.x);
    to = fminf(to, p->plot.x + p->plot.w);
    if (to > from)
        mv_ui_fill(p->ui, (mv_box){from, p->plot.y, to - from, p->plot.h}, colour);
}

/* Paints a vertical line from top to bottom, which is interrupted at labels. */
static void upright(mv_plot *p, float x, float w, uint32_t colour)
{
    float y = p->plot.y, end = p->plot.y + p->plot.h;

    while (y < end) {
        float stop = end, next = end;
        for (uint32_t i = 0; i < p->callouts.count; i++) {
            const mv_box *text = &p->callouts.taken[i];
            bool is_text = text->h < p->plot.h && x + w > text->x && x < text->x + text->w;
            if (!is_text || text->y + text->h <= y || text->y >= stop)
                continue;
            stop = fmaxf(text->y, y);
            next = text->y + text->h;
        }
        if (stop > y)
            mv_ui_fill(p->ui, (mv_box){x, y, w, stop - y}, colour);
        y = next;
    }
}

/* Paints a veil over everything outside the selection, so that the selection keeps its colours. */
void mv_plot_veil(mv_plot *p)
{
    const mv_view_state *now = p->view->now;
    uint32_t veil = (p->ui->theme->plot & ~0xffu) | 0xa0;

    if (!now->has_interval)
        return;
    shade(p, p->plot.x, roundf(mv_viewport_x(&p->at, now->a)), veil);
    shade(p, roundf(mv_viewport_x(&p->at, now->b)), p->plot.x + p->plot.w, veil);
}

void mv_plot_interval(mv_plot *p)
{
    const mv_view_state *now = p->view->now;
    uint32_t edge = p->ui->theme->outline;
    float from, to;

    if (!now->has_interval)
        return;
    from = roundf(mv_viewport_x(&p->at, now->a));
    to = roundf(mv_viewport_x(&p->at, now->b));
    for (int i = 0; i < 2; i++) {
        float left = fmaxf((i ? to : from) - 1, p->plot.x);
        float right = fminf((i ? to : from) + 1, p->plot.x + p->plot.w);
        if (right > left)
            upright(p, left, right - left, edge);
    }
    if (from < p->plot.x + p->plot.w && to > p->plot.x) {
        mv_box bar = {fmaxf(from, p->plot.x), p->plot.y,
                      fminf(to, p->plot.x + p->plot.w) - fmaxf(from, p->plot.x),
                      mv_ui_px(p->ui, 3)};
        mv_ui_fill(p->ui, bar, edge);
    }
}

float mv_plot_cursor_x(const mv_plot *p)
{
    uint32_t cursor = p->view->now->cursor;

    if (cursor == MV_BEFORE || p->lives->events.count == 0)
        return -1;
    return roundf(mv_viewport_x(
        &p->at, cursor + (p->rows->scale.clock == MV_CLOCK_EVENTS && p->at.dx < 1 ? 0.5 : 0)));
}

void mv_plot_cursor(mv_plot *p)
{
    uint32_t colour = p->ui->theme->outline;
    float x = mv_plot_cursor_x(p);

    if (x < p->plot.x || x >= p->plot.x + p->plot.w)
        return;
    upright(p, x, 1, colour);
    mv_scene_point(&p->ui->scene, x + 0.5f, p->ruler.y);
    mv_scene_point(&p->ui->scene, x - 4.5f, p->ruler.y + 7);
    mv_scene_point(&p->ui->scene, x + 5.5f, p->ruler.y + 7);
    mv_scene_add(&p->ui->scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = colour});
}
