/* The allocator's state at the cursor: segments with their blocks. */
#include <math.h>
#include <string.h>

#include "analyze/lives/alive.h"
#include "view/panes/panels.h"
#include "view/timeline/plot.h"
#include "viz/scene/heading.h"

enum {
    HEAD = 22,     /* height of the line of sums, in pixels at scale 1 */
    GROUP = 17,    /* of the line above a group's rows */
    LEAST_ROW = 5, /* of a row */
    ROW = 15,      /* approximately */
    MOST_ROW = 40,
    LABEL = 44 /* least width of a text in a block */
};

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_heap_answer *answer;
    const mv_document *document;
    const mv_document_device *device;
    mv_box box; /* of the rows */
    float row;  /* height */
} state_frame;

/* Cuts off the space of the legend: none in a narrow pane. */
static mv_box cut_legend(const mv_view *view, mv_box *box)
{
    return mv_box_cut_right(box, mv_legend_width(view, box->w));
}

static mv_box rows_of(const mv_view *view, mv_box box)
{
    float pad = mv_ui_px(&view->ui, MV_UI_PAD);

    mv_box_cut_top(&box, mv_ui_px(&view->ui, HEAD));
    cut_legend(view, &box);
    box.x += pad;
    box.w -= 2 * pad;
    return box;
}

mv_heap_ask mv_state_question(const mv_view *view, mv_box box)
{
    mv_box rows = rows_of(view, box);
    float most = rows.h / mv_ui_px(&view->ui, ROW);
    mv_heap_ask ask;

    memset(&ask, 0, sizeof ask);
    ask.document = mv_view_document(view);
    ask.device = mv_view_device(view);
    ask.event = view->now->cursor;
    ask.by_address = view->now->by_address;
    ask.columns = rows.w > 4 ? (uint32_t)(rows.w / 2) : 2;
    ask.rows = most > 3 ? (uint32_t)most : 3;
    return ask;
}

static void lay_out(state_frame *p, mv_box box)
{
    uint32_t rows = p->answer->state.rows ? p->answer->state.rows : 1;
    float left;

    p->box = rows_of(p->view, box);
    left = p->box.h - mv_ui_px(p->ui, GROUP) * (float)p->answer->state.group_count - 4;
    p->row = fminf(left / (float)rows, mv_ui_px(p->ui, MOST_ROW));
    p->row = fmaxf(p->row, LEAST_ROW);
}

static float group_y(const state_frame *p, uint32_t group)
{
    return p->box.y + mv_ui_px(p->ui, GROUP) * (float)(group + 1) +
           p->row * (float)p->answer->state.groups[group].first_row;
}

static uint32_t group_of(const state_frame *p, uint32_t row)
{
    uint32_t g = 0;

    while (g + 1 < p->answer->state.group_count && p->answer->state.groups[g + 1].first_row <= row)
        g++;
    return g;
}

static float x_of(const state_frame *p, uint64_t bytes)
{
    return p->box.x + p->box.w * (float)((double)bytes / (double)p->answer->state.row_bytes);
}

static mv_box place_of(const state_frame *p, uint32_t group, const mv_state_box *box)
{
    float x = x_of(p, box->offset);
    uint32_t row = box->row - p->answer->state.groups[group].first_row;

    return (mv_box){x, group_y(p, group) + p->row * (float)row,
                    x_of(p, box->offset + box->bytes) - x, p->row - (p->row > 8 ? 3 : 1)};
}

/* The box at a point; NULL: none. */
static const mv_state_box *box_at(const state_frame *p, float x, float y)
{
    const mv_state *s = &p->answer->state;

    for (uint32_t i = 0; i < s->box_count; i++)
        if (mv_box_has(place_of(p, group_of(p, s->boxes[i].row), &s->boxes[i]), x, y))
            return &s->boxes[i];
    return NULL;
}

static uint32_t alloc_of(const state_frame *p, const mv_state_box *box)
{
    return box->count == 1 ? p->answer->heap.map.piece_row[box->piece] : MV_NO_ROW;
}

/* ---- blocks ------------------------------------------------------------------------------ */

static void rect(state_frame *p, mv_box at, mv_shape shape)
{
    mv_scene_point(&p->ui->scene, at.x, at.y);
    mv_scene_point(&p->ui->scene, at.x + at.w, at.y + at.h);
    shape.kind = MV_SHAPE_RECTS;
    mv_scene_add(&p->ui->scene, shape);
}

/* As much of "train.py:62 forward, 4.00 MiB" as fits. */
static void label_box(state_frame *p, const mv_state_box *box, mv_box at, uint32_t colour)
{
    uint32_t alloc = alloc_of(p, box);
    const char *size, *text;
    char label[256] = "free";

    if (at.w < mv_ui_px(p->ui, LABEL) || at.h < mv_ui_px(p->ui, 11) || box->is_begun)
        return;
    if (alloc != MV_NO_ROW)
        mv_culprit_label(&p->document->trace, p->document->sites.kinds,
                         p->device->lives.allocs.stack[alloc], label, sizeof label);
    size = mv_panel_size(p->view, p->answer->heap.map.piece_size[box->piece]);
    text = mv_panel_say(p->view, "%s, %s", label, size);
    at.x += 3;
    at.w -= 6;
    if (mv_text_width(text, 10.5f * p->ui->scale) > at.w)
        text = size;
    if (mv_text_width(text, 10.5f * p->ui->scale) <= at.w)
        mv_ui_text(p->ui, at, 10.5f, colour, MV_ANCHOR_START, text);
}

/* The rounding of a block (bytes that were not asked for): a darker edge at its end. Returns its
 * width. */
static float mark_rounding(state_frame *p, const mv_state_box *box, mv_box at)
{
    const mv_alloc_lives *a = &p->device->lives.allocs;
    uint32_t alloc = alloc_of(p, box);
    uint64_t lost;
    float w;

    if (box->goes_on || a->requested[alloc] >= a->block[alloc])
        return 0;
    lost = a->block[alloc] - a->requested[alloc];
    w = x_of(p, lost < box->bytes ? lost : box->bytes) - p->box.x;
    if (w < 1)
        return 0;
    rect(p, (mv_box){at.x + at.w - w, at.y, w, at.h}, (mv_shape){.fill = 0x00000066});
    return w;
}

/* Whether there is a search and the block does not match it. */
static bool is_dimmed(const state_frame *p, uint32_t alloc)
{
    return p->view->matches && p->view->now->show != MV_SHOW_ALL &&
           !mv_filter_has(p->view->matches, alloc);
}

static void paint_block(state_frame *p, const mv_state_box *box, mv_box at)
{
    uint32_t alloc = alloc_of(p, box);
    uint32_t fill = is_dimmed(p, alloc) ? p->ui->theme->rest : mv_view_colour(p->view, alloc);

    if (at.w > 4 && !box->goes_on)
        at.w -= 0.8f;
    rect(p, at, (mv_shape){.fill = fill, .is_crisp = at.w < 3});
    if (box->pending) {
        rect(p, at, (mv_shape){.is_hatched = true, .stroke = p->ui->theme->hatch});
        return;
    }
    at.w -= mark_rounding(p, box, at);
    label_box(p, box, at, mv_text_on(fill));
}

/* Small neighbours together: the height shows how full they are. */
static void paint_rest(state_frame *p, const mv_state_box *box, mv_box at)
{
    float used = at.h * (float)((double)(box->allocated + box->pending) / (double)box->bytes);

    rect(p, (mv_box){at.x, at.y + at.h - used, at.w, used},
         (mv_shape){.fill = p->ui->theme->native, .is_crisp = true});
}

static void paint_box(state_frame *p, uint32_t group, const mv_state_box *box)
{
    mv_box at = place_of(p, group, box);

    if (box->count > 1)
        paint_rest(p, box, at);
    else if (alloc_of(p, box) != MV_NO_ROW)
        paint_block(p, box, at);
    else
        label_box(p, box, at, p->ui->theme->faint_text);
}

/* Whether the box shows the block, alone or among small blocks of its segment. */
static bool shows(const state_frame *p, const mv_state_box *box, uint32_t alloc)
{
    const mv_heap_map *map = &p->answer->heap.map;
    uint32_t end = map->first_piece[box->segment + 1];

    for (uint32_t i = box->piece; i < end && i < box->piece + box->count; i++)
        if (map->piece_row[i] == alloc)
            return true;
    return false;
}

/* Outlines of the pinned block and the one under the pointer. */
static void outline_box(state_frame *p, uint32_t group, const mv_state_box *box)
{
    uint32_t pinned = p->view->now->pinned, hover = p->view->hover;
    bool is_pinned = pinned != MV_NO_ROW && shows(p, box, pinned);
    mv_box at = place_of(p, group, box);
    float grow = is_pinned ? 1 : 0;

    if (!is_pinned && (hover == MV_NO_ROW || !shows(p, box, hover)))
        return;
    at = (mv_box){at.x - grow, at.y - grow, fmaxf(at.w, 3) + 2 * grow, at.h + 2 * grow};
    rect(p, at, (mv_shape){.stroke = p->ui->theme->outline, .width = 1 + grow});
}

/* ---- segments ---------------------------------------------------------------------------- */

static const char *describe_segment(state_frame *p, uint32_t segment)
{
    const mv_heap_map *map = &p->answer->heap.map;

    return mv_panel_say(
        p->view, "%ssegment of %s at 0x%llx, %s of it free",
        p->device->lives.segments.is_expandable[map->segment[segment]] ? "expandable " : "",
        mv_panel_size(p->view, map->size[segment]), (unsigned long long)map->addr[segment],
        mv_panel_size(p->view, map->free[segment]));
}

static const char *describe(state_frame *p, const mv_state_box *box)
{
    const mv_heap_map *map = &p->answer->heap.map;
    const mv_alloc_lives *a = &p->device->lives.allocs;
    uint32_t alloc = alloc_of(p, box);
    const char *segment = describe_segment(p, box->segment);
    char label[256];

    if (box->count > 1)
        return mv_panel_say(p->view, "%u small pieces: %s, of it %s in use\n%s", box->count,
                            mv_panel_size(p->view, box->bytes),
                            mv_panel_size(p->view, box->allocated + box->pending), segment);
    if (alloc == MV_NO_ROW)
        return mv_panel_say(p->view, "free: %s at 0x%llx\n%s",
                            mv_panel_size(p->view, map->piece_size[box->piece]),
                            (unsigned long long)map->piece_addr[box->piece], segment);
    mv_culprit_label(&p->document->trace, p->document->sites.kinds, a->stack[alloc], label,
                     sizeof label);
    return mv_panel_say(p->view, "%s%s by %s\n%s asked for, at 0x%llx\n%s",
                        box->pending ? "freed, a stream may still use it: " : "",
                        mv_panel_size(p->view, a->block[alloc]), label,
                        mv_panel_size(p->view, a->requested[alloc]),
                        (unsigned long long)a->addr[alloc], segment);
}

/* Outlines of a group's segments, cut where rows end; segments too small to see have none. */
static void outline_segments(state_frame *p, uint32_t group)
{
    const mv_state *s = &p->answer->state;
    const mv_state_group *g = &s->groups[group];
    uint64_t offset = 0;

    for (uint32_t i = 0; i < g->segment_count; i++) {
        uint64_t left = p->answer->heap.map.size[s->order[g->segments + i]];
        bool is_seen = x_of(p, left) - p->box.x >= 3;
        while (left > 0) {
            uint64_t at = offset % s->row_bytes;
            uint64_t bytes = left < s->row_bytes - at ? left : s->row_bytes - at;
            mv_state_box box = {.row = g->first_row + (uint32_t)(offset / s->row_bytes),
                                .offset = at,
                                .bytes = bytes};
            mv_box place = place_of(p, group, &box);
            if (is_seen) {
                mv_scene_point(&p->ui->scene, place.x, place.y);
                mv_scene_point(&p->ui->scene, place.x + place.w, place.y + place.h);
            }
            offset += bytes;
            left -= bytes;
        }
    }
    mv_scene_add(
        &p->ui->scene,
        (mv_shape){.kind = MV_SHAPE_RECTS, .stroke = p->ui->theme->faint_text, .width = 1});
}

static const char *name_group(state_frame *p, const mv_state_group *group)
{
    const mv_trace *t = &p->document->trace;
    const mv_segment_lives *segments = &p->device->lives.segments;
    uint32_t row = p->answer->heap.map.segment[p->answer->state.order[group->segments]];
    mv_pool_id pool = segments->pool[row];
    mv_stream_id stream = segments->stream[row];
    const char *kind = mv_segment_kind_name((mv_segment_kind)segments->kind[row]);
    unsigned long long number = stream.row < t->streams.count ? t->streams.value[stream.row] : 0;

    if (p->answer->ask.by_address)
        return "all segments, by address";
    if (group->pools > 1)
        return mv_panel_say(p->view, "%u more pools and streams", group->pools);
    if (pool.row >= t->pools.count || (!t->pools.a[pool.row] && !t->pools.b[pool.row]))
        return mv_panel_say(p->view, "%s pool, stream %llu", kind, number);
    return mv_panel_say(p->view, "private %s pool (%llu, %llu), stream %llu", kind,
                        (unsigned long long)t->pools.a[pool.row],
                        (unsigned long long)t->pools.b[pool.row], number);
}

static void head_group(state_frame *p, uint32_t group)
{
    const mv_state_group *g = &p->answer->state.groups[group];
    float h = mv_ui_px(p->ui, GROUP);
    const char *text = mv_panel_say(
        p->view, "%s: %s in %u segment%s, %s allocated%s%s, %s free%s%s", name_group(p, g),
        mv_panel_size(p->view, g->bytes), g->segment_count, g->segment_count == 1 ? "" : "s",
        mv_panel_size(p->view, g->allocated), g->pending ? ", waiting " : "",
        g->pending ? mv_panel_size(p->view, g->pending) : "", mv_panel_size(p->view, g->free),
        g->free ? ", largest hole " : "", g->free ? mv_panel_size(p->view, g->largest) : "");
    float y = p->box.y + h * (float)group + p->row * (float)g->first_row;

    mv_ui_text(p->ui, (mv_box){p->box.x, y, p->box.w, h}, MV_UI_SMALL, p->ui->theme->text,
               MV_ANCHOR_START, text);
}

static void paint_groups(state_frame *p)
{
    const mv_state *s = &p->answer->state;
    uint32_t box = 0, first;

    for (uint32_t g = 0; g < s->group_count; g++) {
        uint32_t end = s->groups[g].first_row + s->groups[g].rows;
        head_group(p, g);
        first = box;
        for (; box < s->box_count && s->boxes[box].row < end; box++)
            paint_box(p, g, &s->boxes[box]);
        outline_segments(p, g);
        for (uint32_t i = first; i < box; i++)
            outline_box(p, g, &s->boxes[i]);
    }
}

/* ---- the line of sums -------------------------------------------------------------------- */

static const mv_oom *oom_at(const mv_view *view, const mv_document_device *device, uint32_t event)
{
    for (uint32_t i = 0; mv_view_is_judged(view) && i < device->ooms.count; i++)
        if (device->ooms.ooms[i].event == event && device->ooms.ooms[i].api_call == MV_NO_ROW)
            return &device->ooms.ooms[i];
    return NULL;
}

/* What failed at this event, next to what was free and which blocks keep it from being released. */
static const char *oom_text(state_frame *p)
{
    const mv_events *e = &p->device->lives.events;
    const mv_heap_moment *heap = &p->answer->heap;
    const mv_oom *oom = oom_at(p->view, p->device, heap->event);
    const char *text;
    char label[256];

    if (heap->event >= e->count || e->action[heap->event] != MV_ACTION_OOM)
        return NULL;
    text = mv_panel_say(p->view,
                        "OUT OF MEMORY: asked for %s \xc2\xb7 largest hole %s \xc2\xb7 "
                        "free in all %s",
                        mv_panel_size(p->view, e->size[heap->event]),
                        mv_panel_size(p->view, heap->largest),
                        mv_panel_size(p->view, heap->sums.free));
    for (uint32_t i = 0; oom && i < oom->pins.line_count && i < 2; i++)
        text = mv_panel_say(p->view, "%s \xc2\xb7 %s pins %s", text,
                            mv_culprit_label(&p->document->trace, p->document->sites.kinds,
                                             oom->pins.lines[i].stack, label, sizeof label),
                            mv_panel_size(p->view, oom->pins.lines[i].stranded));
    return text;
}

static const char *sums_text(state_frame *p)
{
    const mv_heap_sums *s = &p->answer->heap.sums;
    uint64_t largest = p->answer->heap.largest;
    const char *text =
        mv_panel_say(p->view, "%s: %s reserved = %s allocated + %s pending + %s free",
                     mv_panel_moment(p->view, p->answer->heap.event),
                     mv_panel_size(p->view, s->reserved), mv_panel_size(p->view, s->allocated),
                     mv_panel_size(p->view, s->pending), mv_panel_size(p->view, s->free));

    if (mv_heap_unexplained(s))
        text = mv_panel_say(p->view, "%s + %lld bytes unexplained", text,
                            (long long)mv_heap_unexplained(s));
    if (s->free)
        text = mv_panel_say(p->view, "%s \xc2\xb7 largest hole %s, %.0f %% in smaller ones", text,
                            mv_panel_size(p->view, largest),
                            100 - 100.0 * (double)largest / (double)s->free);
    if (s->rounding)
        text = mv_panel_say(p->view, "%s \xc2\xb7 %srounding %s", text,
                            p->device->lives.doubts.inexact_blocks ? "estimated " : "",
                            mv_panel_size(p->view, s->rounding));
    return text;
}

static void paint_head(state_frame *p, mv_box box)
{
    mv_box head = mv_box_cut_top(&box, mv_ui_px(p->ui, HEAD)), button;
    const char *oom = oom_text(p);

    head.x += mv_ui_px(p->ui, MV_UI_PAD);
    head.w -= 2 * mv_ui_px(p->ui, MV_UI_PAD);
    button = mv_box_cut_right(&head, mv_ui_px(p->ui, 118));
    button.y += 2;
    button.h -= 3;
    mv_ui_button(p->ui, button, p->view->now->by_address, MV_DO_state_layout, 0,
                 p->view->now->by_address ? "by address" : "by pool and size");
    mv_box_cut_right(&head, mv_ui_px(p->ui, MV_UI_PAD));
    mv_ui_text(p->ui, head, MV_UI_TEXT, oom ? p->ui->theme->alarm : p->ui->theme->text,
               MV_ANCHOR_START, oom ? oom : sums_text(p));
    mv_ui_zone(
        p->ui, head, MV_DO_NOTHING, 0,
        "Hatched: freed, a stream may still use it. Empty: free. Dark edge: lost to rounding. "
        "Grey bars: small pieces; the height shows how full they are.");
}

static void paint_legend(state_frame *p, mv_box box)
{
    mv_plot plot = {.view = p->view,
                    .ui = p->ui,
                    .pane = p->view->timeline,
                    .trace = &p->document->trace,
                    .document = p->document,
                    .device = p->device,
                    .lives = &p->device->lives,
                    .index = &p->device->index};
    mv_box legend;

    mv_box_cut_top(&box, mv_ui_px(p->ui, HEAD));
    legend = cut_legend(p->view, &box);
    legend.w -= mv_ui_px(p->ui, MV_UI_PAD);
    if (legend.w > 0)
        mv_plot_colours(&plot, legend);
}

/* ---- the pane ---------------------------------------------------------------------------- */

static bool open_frame(mv_view *view, mv_box box, state_frame *p)
{
    mv_heap_ask ask = mv_state_question(view, box);
    bool is_current;

    *p = (state_frame){.view = view,
                       .ui = &view->ui,
                       .document = ask.document,
                       .device = ask.device,
                       .answer = mv_slot_ask(view->panels->heap, &ask, &is_current)};
    if (!p->answer || p->answer->ask.device != ask.device)
        return false;
    lay_out(p, box);
    return true;
}

static void paint_hover(state_frame *p)
{
    const mv_state_box *box = NULL;

    if (mv_ui_is_hot(p->ui, p->box))
        box = box_at(p, p->ui->pointer_x, p->ui->pointer_y);
    if (!box)
        return;
    p->view->hover = alloc_of(p, box);
    p->view->hover_segment = p->answer->heap.map.segment[box->segment];
    mv_ui_zone(p->ui, place_of(p, group_of(p, box->row), box), MV_DO_NOTHING, 0, describe(p, box));
}

void mv_state_paint(mv_view *view, mv_box box)
{
    const mv_document *document;
    const mv_document_device *device;
    state_frame p;

    if (!mv_panels_device(view, box, &document, &device))
        return;
    if (!open_frame(view, box, &p)) {
        mv_ui_text(&view->ui, box, MV_UI_TEXT, view->ui.theme->faint_text, MV_ANCHOR_MIDDLE,
                   "laying out the heap ...");
        return;
    }
    paint_head(&p, box);
    paint_legend(&p, box);
    if (p.answer->state.group_count == 0) {
        mv_ui_text(p.ui, p.box, MV_UI_TEXT, p.ui->theme->faint_text, MV_ANCHOR_MIDDLE,
                   "nothing is reserved at this moment");
        return;
    }
    paint_hover(&p);
    paint_groups(&p);
}

bool mv_state_at(mv_view *view, mv_box box, float x, float y, uint32_t *alloc, uint32_t *segment)
{
    const mv_state_box *hit;
    state_frame p;

    if (!mv_view_device(view) || !open_frame(view, box, &p))
        return false;
    hit = box_at(&p, x, y);
    if (!hit)
        return false;
    *alloc = alloc_of(&p, hit);
    *segment = p.answer->heap.map.segment[hit->segment];
    return true;
}
