/* The allocator's state at the cursor: segments with their blocks, and what the event changed. */
#include <math.h>

#include "view/document/level_calls.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

enum {
    LINE = 16,    /* height of a line of text above the rows, in pixels at scale 1 */
    WIDE = 1800,  /* at this width or above, the description of the event takes one line, otherwise
                     two */
    NARROW = 700, /* below this width, the event takes three lines, each of the sums takes two, and
                   * the buttons take one */
    BUTTON = 118,
    BUTTON_IDEAL = 56,
    ROW = 15,          /* approximate height of a row */
    HIGH_ROW = 96,     /* a pane has at least one row for each time that this height fits into it,
                        * if there are as many segments */
    PRINTED_ROW = 72,  /* maximum height of a row in a printed picture without a given height */
    EVENTS = 330,      /* minimum width of the list of events, which otherwise takes a quarter of
                        * the pane */
    MOST_EVENTS = 560, /* maximum width of the list of events */
    LEAST_ROWS = 560,  /* minimum width of the segments next to the list */
    EVENT_ACTION = 96,
    EVENT_SIZE = 70
};

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_heap_answer *answer;
    const mv_document *document;
    const mv_document_device *device;
    mv_state_scene scene;
    char label[256];
} state_frame;

/* ---- layout ------------------------------------------------------------------------------ */

static uint32_t event_lines(const mv_view *view, mv_box box)
{
    return box.w >= mv_ui_px(&view->ui, WIDE) ? 1 : box.w >= mv_ui_px(&view->ui, NARROW) ? 2 : 4;
}

static uint32_t sum_lines(const mv_view *view, mv_box box)
{
    return box.w >= mv_ui_px(&view->ui, NARROW) ? 1 : 2;
}

/* Cuts off the lines of text at the top, which printed pictures do not have. The number of lines
 * depends only on the width, so the rows stay where they are while the cursor moves. */
static mv_box cut_head(const mv_view *view, mv_box *box)
{
    if (view->sheet) /* in a printed picture, the heading contains these lines */
        return (mv_box){0};

    return mv_box_cut_top(box, (float)(event_lines(view, *box) + 2 * sum_lines(view, *box)) *
                                       mv_ui_px(&view->ui, LINE) +
                                   mv_ui_px(&view->ui, 4) + mv_state_ideal_height(view));
}

/* Cuts off the space for the legend with `columns` columns, which is below the rows in a narrow
 * pane. */
static mv_box cut_legend(const mv_view *view, mv_box *box, uint32_t *columns)
{
    if (!view->sheet)
        return mv_legend_cut(view, box, columns);
    *columns = 1; /* a printed picture always shows the legend, because names appear nowhere else */
    return mv_box_cut_right(
        box, fminf(fmaxf(box->w * 0.26f, mv_ui_px(&view->ui, 236)), mv_ui_px(&view->ui, 340)));
}

/* Cuts off the space for the list of events. There is no list in printed pictures, in narrow panes,
 * and if there are no events. */
static mv_box cut_events(const mv_view *view, mv_box *box)
{
    float width = fminf(fmaxf(roundf(box->w / 4), mv_ui_px(&view->ui, EVENTS)),
                        mv_ui_px(&view->ui, MOST_EVENTS));

    if (view->sheet || mv_view_device(view)->events == 0 ||
        box->w - width < mv_ui_px(&view->ui, LEAST_ROWS))
        width = 0;
    return mv_box_cut_right(box, width);
}

static mv_box rows_of(const mv_view *view, mv_box box)
{
    float pad = mv_ui_px(&view->ui, MV_UI_PAD);
    uint32_t columns;

    cut_head(view, &box);
    cut_legend(view, &box, &columns);
    cut_events(view, &box);
    box.x += pad;
    box.w -= 2 * pad;
    return box;
}

/* Whether the picture will be as high as what is painted. */
static bool is_cropped(const mv_view *view)
{
    return view->sheet && view->sheet->opts.height == 0;
}

mv_heap_query mv_state_question(const mv_view *view, mv_box box)
{
    mv_box rows = rows_of(view, box);
    float most = rows.h / mv_ui_px(&view->ui, ROW);
    mv_heap_query ask;

    memset(&ask, 0, sizeof ask);
    if (!is_cropped(view))
        ask.fill = (uint16_t)fminf(rows.h / mv_ui_px(&view->ui, HIGH_ROW), UINT16_MAX);
    ask.document = mv_view_document(view);
    ask.device = mv_view_device(view);
    ask.event = view->now->cursor;
    ask.by_address = view->now->by_address;
    ask.columns = mv_state_columns(rows.w, view->now->heap_zoom);
    ask.rows = most > 3 ? (uint32_t)most : 3;
    return ask;
}

/* ---- marks ------------------------------------------------------------------------------- */

static mv_state_mark block_mark(const state_frame *p, uint32_t alloc, mv_state_mark_kind kind)
{
    const mv_alloc_lives *a = &p->device->lives.allocs;

    return (mv_state_mark){a->addr[alloc], a->block[alloc], kind};
}

/* Returns a mark for the range that the event at the cursor changed, which is empty if the range is
 * not in the heap. */
static mv_state_mark event_mark(const state_frame *p)
{
    const mv_lives *lives = &p->device->lives;
    uint32_t event = p->answer->ask.event, alloc;

    if (event >= lives->events.count)
        return (mv_state_mark){0};
    alloc = lives->alloc_of[event];
    switch (lives->events.action[event]) {
    case MV_ACTION_SEGMENT_ALLOC:
    case MV_ACTION_SEGMENT_MAP:
        return (mv_state_mark){lives->events.addr[event], lives->events.size[event],
                               MV_STATE_EVENT};
    case MV_ACTION_ALLOC:
    case MV_ACTION_FREE_REQUESTED:
    case MV_ACTION_FREE_COMPLETED:
        if (alloc == MV_NO_ROW)
            return (mv_state_mark){0};
        return block_mark(p, alloc,
                          mv_alloc_is_active(lives, alloc, event) ? MV_STATE_EVENT : MV_STATE_GONE);
    default:
        return (mv_state_mark){0};
    }
}

/* Returns a mark for the hole that the user chose, which is empty if the hole is in use now. */
static mv_state_mark hole_mark(const state_frame *p)
{
    uint64_t addr = p->view->now->hole;

    return (mv_state_mark){addr, addr ? mv_state_hole_at(&p->answer->heap.map, addr) : 0,
                           MV_STATE_PINNED};
}

static void set_marks(state_frame *p)
{
    uint32_t pinned = p->view->now->pinned, hover = p->view->hover, event = p->answer->ask.event;
    const mv_lives *lives = &p->device->lives;

    if (p->view->sheet)
        return;
    p->scene.marks[0] = event_mark(p);
    if (hover < lives->allocs.count && mv_alloc_is_active(lives, hover, event))
        p->scene.marks[1] = block_mark(p, hover, MV_STATE_HOVER);
    if (pinned < lives->allocs.count && mv_alloc_is_active(lives, pinned, event))
        p->scene.marks[2] = block_mark(p, pinned, MV_STATE_PINNED);
    else
        p->scene.marks[2] = hole_mark(p);
}

/* ---- callbacks of the scene -------------------------------------------------------------- */

/* Whether the block is painted grey, because it does not match the current search, or in a printed
 * picture, because it is not in sheet->largest. */
static bool is_dimmed(const state_frame *p, uint32_t alloc)
{
    if (p->view->sheet)
        return p->view->sheet->largest &&
               !(p->view->sheet->largest[alloc >> 6] >> (alloc & 63) & 1);
    return p->view->matches && p->view->now->show != MV_SHOW_ALL &&
           !mv_filter_has(p->view->matches, alloc);
}

static uint32_t colour(void *user, uint32_t alloc, bool *is_named)
{
    const state_frame *p = user;

    *is_named = !is_dimmed(p, alloc);
    return *is_named ? mv_view_colour(p->view, alloc) : p->ui->theme->rest;
}

static const char *label(void *user, uint32_t alloc)
{
    state_frame *p = user;

    return mv_culprit_label(&p->document->trace, p->document->sites.kinds,
                            p->device->lives.allocs.stack[alloc], p->label, sizeof p->label);
}

/* Returns the tooltip for a printed picture. */
static const char *title(void *user, const mv_state_box *box)
{
    state_frame *p = user;

    return mv_hover_take(&p->view->sheet->hover_bytes, mv_state_scene_describe(&p->scene, box));
}

/* ---- the lines above --------------------------------------------------------------------- */

static const mv_oom *oom_at(const mv_view *view, const mv_document_device *device, uint32_t event)
{
    for (uint32_t i = 0; mv_view_is_evaluated(view) && i < device->ooms.count; i++)
        if (device->ooms.ooms[i].event == event && device->ooms.ooms[i].api_call == MV_NO_ROW)
            return &device->ooms.ooms[i];
    return NULL;
}

/* Describes the failed request at this event, with the free memory and the blocks that pin it. */
static const char *oom_text(state_frame *p)
{
    const mv_events *e = &p->device->lives.events;
    const mv_heap_moment *heap = &p->answer->heap;
    const mv_oom *oom = oom_at(p->view, p->device, heap->event);
    const char *text;
    char line[256];

    if (heap->event >= e->count || e->action[heap->event] != MV_ACTION_OOM)
        return NULL;
    text = mv_panel_say(p->view,
                        "OUT OF MEMORY: requested %s \xc2\xb7 largest hole %s \xc2\xb7 "
                        "free in total %s",
                        mv_panel_size(p->view, e->size[heap->event]),
                        mv_panel_size(p->view, heap->largest),
                        mv_panel_size(p->view, heap->sums.free));
    for (uint32_t i = 0; oom && i < oom->pins.line_count && i < 2; i++)
        text = mv_panel_say(p->view, "%s \xc2\xb7 %s pins %s", text,
                            mv_culprit_label(&p->document->trace, p->document->sites.kinds,
                                             oom->pins.lines[i].stack, line, sizeof line),
                            mv_panel_size(p->view, oom->pins.lines[i].stranded));
    return text;
}

static const char *event_text(state_frame *p)
{
    const char *moment = mv_panel_moment(p->view, p->answer->ask.event);
    const mv_event_explanation *story = mv_panels_cursor_explanation(p->view);

    if (!story || story->event != p->answer->ask.event)
        return mv_panel_say(p->view, "%s%s", moment,
                            p->device->lives.events.count ? "" : ": no events were recorded");
    return mv_panel_say(p->view, "%s: %s", moment, story->text);
}

static void paint_button(state_frame *p, mv_box *head)
{
    mv_box button = mv_box_cut_right(head, mv_ui_px(p->ui, BUTTON));
    mv_box ideal = mv_box_cut_right(head, mv_ui_px(p->ui, BUTTON_IDEAL));
    bool by_address = p->view->now->by_address;

    button.h = mv_ui_px(p->ui, LINE + 3);
    mv_ui_frame(p->ui, button, p->ui->theme->grid);
    mv_ui_button(p->ui, button, by_address, MV_DO_state_layout, 0,
                 by_address ? "by address" : "by pool and size");
    ideal.h = button.h;
    ideal.w -= mv_ui_px(p->ui, MV_UI_PAD);
    mv_ui_frame(p->ui, ideal, p->ui->theme->grid);
    mv_ui_button(p->ui, ideal, p->view->now->shows_ideal, MV_DO_state_ideal, 0, "ideal");
    mv_box_cut_right(head, mv_ui_px(p->ui, MV_UI_PAD));
}

static void paint_lines(state_frame *p, mv_box *head, uint32_t most, uint32_t colour_of,
                        const char *text)
{
    mv_box box = mv_box_cut_top(head, (float)most * mv_ui_px(p->ui, LINE));
    mv_panel_lines lines = {.view = p->view, .size = MV_UI_SMALL, .box = box, .y = box.y};

    mv_panel_wrap(&lines, 0, box.w, colour_of, most, text);
}

static void paint_head(state_frame *p, mv_box head)
{
    const mv_theme *theme = p->ui->theme;
    const mv_heap_moment *heap = &p->answer->heap;
    const char *oom = oom_text(p);
    const char *sums = mv_state_sums_text(&p->ui->scene, &mv_view_document(p->view)->trace,
                                          &heap->sums, p->answer->state.whole);
    const char *holes = oom ? oom
                            : mv_state_holes_text(&p->ui->scene, &p->document->trace,
                                                  &p->device->lives, &heap->sums, heap->largest);
    uint32_t most = event_lines(p->view, head), more = sum_lines(p->view, head);
    mv_box event;

    mv_state_ideal_paint(p->view, mv_box_cut_bottom(&head, mv_state_ideal_height(p->view)));
    mv_box_cut_top(&head, mv_ui_px(p->ui, 2));
    head.x += mv_ui_px(p->ui, MV_UI_PAD);
    head.w -= 2 * mv_ui_px(p->ui, MV_UI_PAD);
    mv_ui_zone(
        p->ui, head, MV_DO_NOTHING, 0,
        "Hatched: freed, but a stream may still use it. Empty: free. Dark edge: lost to rounding. "
        "Grey bars: small blocks; the height shows how full they are.");
    event = mv_box_cut_top(&head, (float)most * mv_ui_px(p->ui, LINE));
    if (most > 2) { /* the buttons are on a separate line */
        mv_box line = mv_box_cut_top(&event, mv_ui_px(p->ui, LINE));
        paint_button(p, &line);
        most--;
    } else {
        paint_button(p, &event);
    }
    paint_lines(p, &event, most, theme->text, event_text(p));
    paint_lines(p, &head, more, theme->text, sums);
    paint_lines(p, &head, more, oom ? theme->alarm : theme->text, holes);
}

/* Paints the key of the picture's symbols, and below it the key of the colours. */
static void paint_legend(state_frame *p, mv_box box)
{
    mv_plot plot = {.view = p->view,
                    .ui = p->ui,
                    .pane = p->view->timeline,
                    .trace = &p->document->trace,
                    .document = p->document,
                    .device = p->device,
                    .levels = &p->view->levels,
                    .lives = &p->device->lives,
                    .index = &p->device->index};
    mv_box legend, signs;
    uint32_t columns;
    float below;

    cut_head(p->view, &box);
    legend = cut_legend(p->view, &box, &columns);
    legend.w -= mv_ui_px(p->ui, MV_UI_PAD);
    if (legend.w <= 0 || legend.h <= 0)
        return;
    if (columns > 1) {
        mv_box_cut_left(&legend, mv_ui_px(p->ui, MV_UI_PAD));
        signs = mv_box_cut_left(&legend, floorf(legend.w / (float)columns));
        mv_state_scene_key(&p->scene, signs.x, signs.y, signs.w, signs.y + signs.h);
        mv_plot_colours(&plot, legend, columns - 1);
        return;
    }
    below = mv_state_scene_key(&p->scene, legend.x, legend.y, legend.w, legend.y + legend.h / 2);
    mv_box_cut_top(&legend, below - legend.y + mv_ui_px(p->ui, 6));
    mv_plot_colours(&plot, legend, 1);
}

/* ---- the events around the cursor --------------------------------------------------------- */

/* Returns the last event of the call that contains the cursor's event. If the cursor is before the
 * first event, returns the last event of the first call. */
static uint32_t cursor_call(const state_frame *p)
{
    uint32_t cursor = p->view->now->cursor;

    return mv_call_last(&p->document->trace, &p->device->lives.events,
                        cursor == MV_BEFORE ? 0 : cursor);
}

static void paint_event(state_frame *p, mv_box line, uint32_t event, float number_width)
{
    const mv_events *e = &p->device->lives.events;
    const mv_theme *theme = p->ui->theme;
    bool is_cursor = p->view->now->cursor != MV_BEFORE && event == cursor_call(p);
    char number[MV_TICK_TEXT], label_text[256];
    mv_box whole = line, cell;

    if (is_cursor || mv_ui_is_hot(p->ui, line))
        mv_ui_fill(p->ui, line, theme->grid);
    if (is_cursor)
        mv_ui_fill(p->ui, (mv_box){line.x, line.y, mv_ui_px(p->ui, 3), line.h}, theme->outline);
    cell = mv_box_cut_left(&line, number_width);
    mv_ui_text(p->ui, cell, MV_UI_SMALL, theme->faint_text, MV_ANCHOR_END,
               mv_axis_exact(event, number));
    mv_box_cut_left(&line, mv_ui_px(p->ui, MV_UI_PAD));
    mv_ui_text(p->ui, mv_box_cut_left(&line, mv_ui_px(p->ui, EVENT_ACTION)), MV_UI_SMALL,
               e->action[event] == MV_ACTION_OOM ? theme->alarm : theme->text, MV_ANCHOR_START,
               mv_call_action(&p->document->trace, e, event));
    cell = mv_box_cut_left(&line, mv_ui_px(p->ui, EVENT_SIZE));
    cell.w -= mv_ui_px(p->ui, MV_UI_PAD);
    mv_ui_text(p->ui, cell, MV_UI_SMALL, theme->text, MV_ANCHOR_END,
               mv_panel_size(p->view, e->size[event]));
    mv_ui_text(p->ui, line, MV_UI_SMALL, theme->faint_text, MV_ANCHOR_START,
               mv_culprit_label(&p->document->trace, p->document->sites.kinds, e->stack[event],
                                label_text, sizeof label_text));
    mv_ui_zone(p->ui, whole, MV_DO_go_to_event, event, "");
}

/* Returns the first row of a list of `room` calls. The cursor's call is in the middle if there are
 * enough calls around it. Events that are not parts of calls count as calls. */
static uint32_t first_call(const state_frame *p, uint32_t room)
{
    const mv_trace *trace = &p->document->trace;
    const mv_events *e = &p->device->lives.events;
    uint32_t first = cursor_call(p), above, last = first, below = 0;

    while (below < room - room / 2 - 1 && last + 1 < e->count) {
        last = mv_call_last(trace, e, last + 1);
        below++;
    }
    for (above = room - 1 - below; above > 0; above--) {
        uint32_t start = mv_call_first(trace, e, first);
        if (start == 0)
            break;
        first = start - 1;
    }
    return first;
}

static void paint_events(state_frame *p, mv_box pane)
{
    const mv_trace *trace = &p->document->trace;
    const mv_events *e = &p->device->lives.events;
    mv_box box;
    uint32_t count = e->count;
    float h = mv_ui_px(p->ui, LINE);
    uint32_t room, columns;
    char last[MV_TICK_TEXT];
    float number = mv_ui_px(p->ui, MV_UI_PAD) +
                   mv_ui_text_width(p->ui, MV_UI_SMALL, mv_axis_exact(count, last));

    cut_head(p->view, &pane);
    cut_legend(p->view, &pane, &columns);
    box = cut_events(p->view, &pane);
    box.w -= mv_ui_px(p->ui, MV_UI_PAD);
    room = box.h > 2 * h ? (uint32_t)((box.h - h) / h) : 0;
    if (box.w <= 0 || room == 0 || count == 0)
        return;
    mv_ui_text(p->ui, mv_box_cut_top(&box, h), MV_UI_SMALL, p->ui->theme->faint_text,
               MV_ANCHOR_START, "events: click one, or use the wheel");
    p->view->panels->heap_events = box;
    for (uint32_t event = first_call(p, room), row = 0; row < room; row++) {
        paint_event(p, mv_box_cut_top(&box, h), event, number);
        if (event + 1 >= count)
            break;
        event = mv_call_last(trace, e, event + 1);
    }
}

/* ---- the pane ---------------------------------------------------------------------------- */

/* Returns how the state is placed, according to what the user zoomed to. Once the cursor has moved,
 * the range that its event changed is also made visible. */
static mv_state_place place_of(const state_frame *p, mv_box rows)
{
    const mv_view_state *now = p->view->now;
    const mv_heap_map *map = &p->answer->heap.map;
    mv_state_shown shown = {now->heap_zoom, now->heap_left, now->heap_top};
    mv_state_place place = mv_state_place_make(&p->answer->state, rows, p->ui->scale, shown);
    mv_state_mark mark = event_mark(p);
    uint32_t segment = mark.bytes ? mv_state_segment_at(map, mark.addr) : MV_NO_ROW;

    if (is_cropped(p->view)) {
        rows.h = fminf(rows.h, place.head * (float)p->answer->state.group_count +
                                   mv_ui_px(p->ui, PRINTED_ROW) * (float)p->answer->state.rows + 4);
        return mv_state_place_make(&p->answer->state, rows, p->ui->scale, shown);
    }
    if (now->cursor == now->heap_seen || now->hole || segment == MV_NO_ROW)
        return place;
    shown = mv_state_reveal(&place, segment, mark.addr - map->addr[segment], mark.bytes);
    return mv_state_place_make(&p->answer->state, rows, p->ui->scale, shown);
}

static bool open_frame(mv_view *view, mv_box box, state_frame *p)
{
    mv_heap_query ask = mv_state_question(view, box);
    bool is_current;

    *p = (state_frame){.view = view,
                       .ui = &view->ui,
                       .document = ask.document,
                       .device = ask.device,
                       .answer = mv_slot_query(view->panels->heap, &ask, &is_current)};
    view->panels->heap_shown = NULL;
    if (!p->answer || p->answer->ask.device != ask.device)
        return false;
    p->scene = (mv_state_scene){.trace = &p->document->trace,
                                .lives = &p->device->lives,
                                .map = &p->answer->heap.map,
                                .event = p->answer->ask.event,
                                .by_address = p->answer->ask.by_address,
                                .place = place_of(p, rows_of(view, box)),
                                .theme = view->ui.theme,
                                .scene = &view->ui.scene,
                                .user = p,
                                .colour = colour,
                                .label = label,
                                .title = view->sheet ? title : NULL};
    view->panels->heap_shown = p->answer;
    view->panels->heap_place = p->scene.place;
    view->ui.is_animating |= view->panels->fits_hole && is_current;
    return true;
}

static void paint_hover(state_frame *p)
{
    const mv_state_box *box = mv_state_box_at(&p->scene.place, p->ui->pointer_x, p->ui->pointer_y);

    if (!box)
        return;
    p->view->hover = box->count == 1 ? p->answer->heap.map.piece_row[box->piece] : MV_NO_ROW;
    p->view->hover_segment = p->answer->heap.map.segment[box->segment];
    mv_ui_zone(p->ui, mv_state_box_of(&p->scene.place, box), MV_DO_NOTHING, 0,
               mv_state_scene_describe(&p->scene, box));
}

/* Marks the visible part at the edges, like scroll bars, unless everything is visible. */
static void paint_share(state_frame *p)
{
    const mv_box *box = &p->scene.place.box;
    mv_box share = mv_state_share(&p->scene.place);
    float thick = mv_ui_px(p->ui, 3);

    if (share.w < 1)
        mv_ui_fill(p->ui,
                   (mv_box){box->x + share.x * box->w, box->y + box->h - thick,
                            fmaxf(share.w * box->w, thick), thick},
                   p->ui->theme->faint_text);
    if (share.h < 1)
        mv_ui_fill(p->ui,
                   (mv_box){box->x + box->w + 1, box->y + share.y * box->h, thick,
                            fmaxf(share.h * box->h, thick)},
                   p->ui->theme->faint_text);
}

void mv_state_paint(mv_view *view, mv_box box)
{
    const mv_document *document;
    const mv_document_device *device;
    mv_box rest = box;
    state_frame p;

    if (!mv_panels_device(view, box, &document, &device))
        return;
    if (!open_frame(view, box, &p)) {
        mv_panel_remark(view, box, "laying out the heap ...");
        return;
    }
    view->panels->heap_events = (mv_box){0};
    if (!view->sheet)
        paint_head(&p, cut_head(view, &rest));
    paint_events(&p, box);
    if (p.answer->state.group_count == 0) {
        mv_panel_remark(view, p.scene.place.box, "nothing is reserved at this moment");
        return;
    }
    paint_hover(&p);
    set_marks(&p);
    mv_state_scene_paint(&p.scene);
    if (view->sheet)
        view->sheet->drawn = p.scene.seen.drawn;
    else
        paint_share(&p);
    paint_legend(&p, box);
}

bool mv_state_at(mv_view *view, float x, float y, uint32_t *alloc, uint32_t *segment)
{
    const mv_heap_answer *answer = view->panels->heap_shown;
    const mv_state_box *hit = answer ? mv_state_box_at(&view->panels->heap_place, x, y) : NULL;

    if (!hit)
        return false;
    *alloc = hit->count == 1 ? answer->heap.map.piece_row[hit->piece] : MV_NO_ROW;
    *segment = answer->heap.map.segment[hit->segment];
    return true;
}
