/* One allocation: what it is, what made and freed it, and what else used its address. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/lives/position.h"
#include "view/panes/panels.h"
#include "viz/scene/axis.h"

enum { FACTS = 340, HISTORY = 300, NAME = 92, NARROW = 1120 }; /* pixels at scale 1 */

typedef struct {
    mv_view *view;
    const mv_document *document;
    const mv_document_device *device;
    const mv_lives *lives;
    uint32_t alloc;
    const mv_details_answer *history; /* of this allocation; NULL: not ready yet */
    mv_panel_lines lines;             /* of the column being painted */
    uint32_t longest;                 /* of the column, in lines */
} details_frame;

static void open_column(details_frame *p, mv_box box)
{
    p->lines = (mv_panel_lines){
        .view = p->view, .box = box, .y = box.y, .first = p->view->panels->details_first};
}

static void close_column(details_frame *p)
{
    if (p->lines.count > p->longest)
        p->longest = p->lines.count;
}

static void put(details_frame *p, float indent, uint32_t colour, const char *text)
{
    mv_box line = mv_panel_line(&p->lines);

    if (line.h <= 0)
        return;
    mv_box_cut_left(&line, mv_ui_px(&p->view->ui, indent));
    mv_ui_text(&p->view->ui, line, MV_UI_TEXT, colour, MV_ANCHOR_START, text);
}

static void put_title(details_frame *p, const char *text)
{
    put(p, 0, p->view->ui.theme->faint_text, text);
}

/* ---- facts ------------------------------------------------------------------------------- */

static void put_fact(details_frame *p, const char *name, const char *text)
{
    mv_ui *ui = &p->view->ui;
    mv_box line = mv_panel_line(&p->lines);

    if (line.h <= 0 || !*text)
        return;
    mv_ui_text(ui, mv_box_cut_left(&line, mv_ui_px(ui, NAME)), MV_UI_TEXT, ui->theme->faint_text,
               MV_ANCHOR_START, name);
    mv_ui_text(ui, line, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, text);
}

/* "event 8,407, 1.204 s": a click goes there. */
static void put_event(details_frame *p, const char *name, uint32_t event, const char *otherwise)
{
    const mv_events *e = &p->lives->events;
    int64_t start = mv_position_start_us(&p->document->trace);
    mv_ui *ui = &p->view->ui;
    float y = p->lines.y;
    char count[MV_TICK_TEXT], time[40] = "";

    if (event >= e->count) {
        put_fact(p, name, otherwise);
        return;
    }
    if (e->time_us[event] != MV_NO_TIME && start != MV_NO_TIME)
        snprintf(time, sizeof time, ", %.6f s", (double)(e->time_us[event] - start) / 1e6);
    put_fact(p, name, mv_panel_say(p->view, "event %s%s", mv_axis_exact(event, count), time));
    if (p->lines.y > y)
        mv_ui_zone(ui, (mv_box){p->lines.box.x, y, p->lines.box.w, p->lines.y - y},
                   MV_DO_go_to_event, event, "Go there");
}

static const char *exact_size(details_frame *p, uint64_t bytes)
{
    char exact[MV_TICK_TEXT];

    return mv_panel_say(p->view, "%s (%s bytes)", mv_panel_size(p->view, bytes),
                        mv_axis_exact(bytes, exact));
}

static void put_place(details_frame *p)
{
    const mv_segment_lives *s = &p->lives->segments;
    const mv_trace *t = &p->document->trace;
    uint32_t segment = p->lives->allocs.segment[p->alloc];
    mv_pool_id pool;

    if (segment >= s->count) {
        put_fact(p, "segment", "not known");
        return;
    }
    pool = s->pool[segment].row < t->pools.count ? s->pool[segment] : MV_DEFAULT_POOL;
    put_fact(p, "segment",
             mv_panel_say(p->view, "0x%llx of %s%s", (unsigned long long)s->addr[segment],
                          mv_panel_size(p->view, s->size[segment]),
                          s->is_expandable[segment] ? ", expandable" : ""));
    put_fact(p, "pool",
             mv_panel_say(p->view, "%s, (%llu, %llu)",
                          mv_segment_kind_name((mv_segment_kind)s->kind[segment]),
                          (unsigned long long)(t->pools.count ? t->pools.a[pool.row] : 0),
                          (unsigned long long)(t->pools.count ? t->pools.b[pool.row] : 0)));
}

static void put_stream(details_frame *p)
{
    const mv_trace *t = &p->document->trace;
    uint32_t birth = p->lives->allocs.birth[p->alloc];
    uint32_t segment = p->lives->allocs.segment[p->alloc];
    uint32_t row = MV_NO_ROW;

    if (birth != MV_BEFORE)
        row = p->lives->events.stream[birth].row;
    else if (segment < p->lives->segments.count)
        row = p->lives->segments.stream[segment].row;
    put_fact(p, "stream",
             row < t->streams.count
                 ? mv_panel_say(p->view, "0x%llx", (unsigned long long)t->streams.value[row])
                 : "not known");
}

static void put_life(details_frame *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const mv_events *e = &p->lives->events;
    uint32_t birth = a->birth[p->alloc], freed = a->freed[p->alloc];
    uint32_t from = birth == MV_BEFORE ? 0 : birth, to = freed == MV_NEVER ? e->count : freed;
    char count[MV_TICK_TEXT], time[40] = "";

    put_event(p, "allocated", birth, "before the first event");
    put_event(p, "freed", freed, "never, as far as the trace goes");
    if (a->completed[p->alloc] != freed && a->completed[p->alloc] - freed > 1)
        put_event(p, "reusable", a->completed[p->alloc], "never, as far as the trace goes");
    if (to < e->count && from < e->count && e->time_us[from] != MV_NO_TIME &&
        e->time_us[to] != MV_NO_TIME)
        snprintf(time, sizeof time, ", %.6f s", (double)(e->time_us[to] - e->time_us[from]) / 1e6);
    put_fact(p, "lifetime",
             mv_panel_say(p->view, "%s%s events%s",
                          birth == MV_BEFORE || freed == MV_NEVER ? "more than " : "",
                          mv_axis_exact(to - from, count), time));
}

/* What the program said about it. */
static void put_tags(details_frame *p)
{
    const mv_trace *t = &p->document->trace;
    uint32_t birth = p->lives->allocs.birth[p->alloc];
    const mv_tags *tags = &t->tags;
    mv_tag_id tag;

    if (birth >= p->lives->events.count)
        return;
    tag = p->lives->events.tag[birth];
    if (tags->user_metadata[tag.row].row != MV_NO_ROW)
        put_fact(p, "metadata", mv_string_text(t, tags->user_metadata[tag.row]));
    if (tags->compile_context[tag.row].row != MV_NO_ROW)
        put_fact(p, "compiled in", mv_string_text(t, tags->compile_context[tag.row]));
    if (p->history && p->history->history.within.row != MV_NO_ROW)
        put_fact(p, "within", mv_string_text(t, p->history->history.within));
}

static void put_facts(details_frame *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const mv_document_device *d = p->device;
    uint64_t block = a->block[p->alloc], requested = a->requested[p->alloc];
    const mv_allocation_history *history = p->history ? &p->history->history : NULL;
    char exact[MV_TICK_TEXT];

    put_fact(p, "address",
             mv_panel_say(p->view, "0x%llx%s", (unsigned long long)a->addr[p->alloc],
                          history && history->version
                              ? mv_panel_say(p->view, "#%u", history->version)
                              : ""));
    put_fact(p, "size", exact_size(p, requested));
    put_fact(p, "block",
             mv_panel_say(p->view, "%s bytes%s, rounding %s", mv_axis_exact(block, exact),
                          a->inexact[p->alloc] ? " at least" : "",
                          mv_panel_size(p->view, block > requested ? block - requested : 0)));
    put_life(p);
    if (history)
        put_fact(p, "total then", exact_size(p, history->total));
    if (mv_view_is_judged(p->view)) {
        put_fact(p, "category",
                 d->attribution.categories.name[d->attribution.categories.of_alloc[p->alloc]]);
        if (d->leaks.is_leaked[p->alloc])
            put_fact(p, "leak", "part of a leak: see Reports");
    }
    put_stream(p);
    put_place(p);
    put_tags(p);
}

/* ---- stacks ------------------------------------------------------------------------------ */

static bool is_folded_kind(uint8_t kind)
{
    return kind != MV_FRAME_USER && kind != MV_FRAME_PACKAGE;
}

static void put_frame(details_frame *p, mv_frame_id frame, bool is_culprit)
{
    uint8_t kind = p->document->sites.kinds[frame.row];
    const mv_theme *theme = p->view->ui.theme;
    char label[512];

    mv_frame_label(&p->document->trace, frame, label, sizeof label);
    put(p, is_culprit ? 0 : 14, kind == MV_FRAME_USER ? theme->text : theme->faint_text,
        is_culprit ? mv_panel_say(p->view, "> %s", label) : label);
}

/* A run of frames outside the user's code is one line until it is clicked. */
static void put_run(details_frame *p, const mv_frame_id *frames, uint32_t count, uint32_t fold)
{
    bool is_unfolded = fold < MV_MOST_FOLDS && p->view->now->unfolded_of == p->alloc &&
                       p->view->now->unfolded >> fold & 1;
    mv_ui *ui = &p->view->ui;
    float y = p->lines.y;

    if (count == 1) {
        put_frame(p, frames[0], false);
        return;
    }
    put(p, 14, ui->theme->faint_text,
        mv_panel_say(p->view, "%s %u frames of the framework and native code",
                     is_unfolded ? "[-]" : "[+]", count));
    if (p->lines.y > y && fold < MV_MOST_FOLDS)
        mv_ui_zone(ui, (mv_box){p->lines.box.x, y, p->lines.box.w, p->lines.y - y},
                   MV_DO_details_fold, fold, NULL);
    for (uint32_t i = 0; is_unfolded && i < count; i++)
        put_frame(p, frames[i], false);
}

/* `*fold` numbers the runs of all stacks. */
static void put_stack(details_frame *p, const char *title, mv_stack_id stack, uint32_t *fold)
{
    const uint8_t *kinds = p->document->sites.kinds;
    uint32_t count;
    const mv_frame_id *frames = mv_stack_frames(&p->document->trace, stack, &count);
    mv_frame_id culprit = mv_culprit_frame(&p->document->trace, kinds, stack);
    bool is_marked = false;
    char label[128];

    put_title(p, title);
    if (count == 0)
        put(p, 14, p->view->ui.theme->text,
            mv_culprit_label(&p->document->trace, kinds, stack, label, sizeof label));
    for (uint32_t i = 0, end; i < count; i = end) {
        end = i + 1;
        if (!is_folded_kind(kinds[frames[i].row]) || frames[i].row == culprit.row) {
            put_frame(p, frames[i], !is_marked && frames[i].row == culprit.row);
            is_marked = is_marked || frames[i].row == culprit.row;
            continue;
        }
        while (end < count && is_folded_kind(kinds[frames[end].row]) &&
               frames[end].row != culprit.row)
            end++;
        put_run(p, frames + i, end - i, (*fold)++);
    }
}

static void put_alloc_stacks(details_frame *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const mv_trace *t = &p->document->trace;
    uint32_t birth = a->birth[p->alloc], fold = 0;
    mv_stack_id forward = MV_NO_STACK, cpp = MV_NO_STACK;

    put_stack(p, "allocated by", a->stack[p->alloc], &fold);
    if (birth < p->lives->events.count) {
        forward = t->tags.forward[p->lives->events.tag[birth].row];
        cpp = t->tags.cpp[p->lives->events.tag[birth].row];
    }
    if (forward.row != MV_NO_ROW)
        put_stack(p, "for the forward pass in", forward, &fold);
    if (cpp.row != MV_NO_ROW)
        put_stack(p, "C++ frames", cpp, &fold);
}

static void put_free_stack(details_frame *p)
{
    uint32_t freed = p->lives->allocs.freed[p->alloc], fold = MV_MOST_FOLDS / 2;

    if (freed < p->lives->events.count)
        put_stack(p, "freed by", p->lives->events.stack[freed], &fold);
    else
        put_title(p, "never freed");
}

/* ---- the address ------------------------------------------------------------------------- */

/* Labels cost more than lines do: only visible lines have one. */
static bool is_out_of_sight(const details_frame *p)
{
    return p->lines.count < p->lines.first ||
           p->lines.y + MV_UI_LINE * p->view->ui.scale > p->lines.box.y + p->lines.box.h + 0.5f;
}

static void put_history_row(details_frame *p, uint32_t row)
{
    const mv_allocation_history *history = &p->history->history;
    const mv_alloc_lives *a = &p->lives->allocs;
    mv_ui *ui = &p->view->ui;
    uint32_t alloc = history->history[row], birth = a->birth[alloc];
    bool is_own = alloc == p->alloc;
    float y = p->lines.y;
    char label[256], count[MV_TICK_TEXT];

    mv_culprit_label(&p->document->trace, p->document->sites.kinds, a->stack[alloc], label,
                     sizeof label);
    put(p, is_own ? 0 : 14, is_own ? ui->theme->text : ui->theme->faint_text,
        mv_panel_say(p->view, "%s%s %s %s", is_own ? "> " : "",
                     birth == MV_BEFORE ? "before" : mv_axis_exact(birth, count),
                     mv_panel_size(p->view, a->block[alloc]), label));
    if (p->lines.y > y)
        mv_ui_zone(ui, (mv_box){p->lines.box.x, y, p->lines.box.w, p->lines.y - y},
                   MV_DO_history_row, row, "Pin it");
}

static void put_history(details_frame *p)
{
    const mv_allocation_history *history;

    if (!p->history) {
        put_title(p, "looking for users of the address ...");
        return;
    }
    history = &p->history->history;
    put_title(p, mv_panel_say(p->view, "%u block%s covered its first byte", history->covered,
                              history->covered == 1 ? "" : "s"));
    if (history->covered > history->count)
        put_title(p, mv_panel_say(p->view, "the latest %u:", history->count));
    for (uint32_t i = 0; i < history->count; i++) {
        if (is_out_of_sight(p))
            p->lines.count++;
        else
            put_history_row(p, i);
    }
}

/* ---- the pane ---------------------------------------------------------------------------- */

uint32_t mv_details_alloc(const mv_view *view)
{
    return view->now->pinned != MV_NO_ROW ? view->now->pinned : view->hover;
}

static void ask_story(details_frame *p)
{
    mv_details_question q;
    bool is_current;

    memset(&q, 0, sizeof q);
    q.document = p->document;
    q.device = p->device;
    q.alloc = p->alloc;
    p->history = mv_slot_ask(p->view->panels->history, &q, &is_current);
    if (p->history && (p->history->ask.device != q.device || p->history->ask.alloc != q.alloc))
        p->history = NULL;
    p->view->panels->details_shown = p->history;
}

/* Two columns: what it is and its address; what made it and what freed it. */
static void paint_narrow(details_frame *p, mv_box box)
{
    mv_box left = mv_box_cut_left(&box, roundf(box.w * 0.48f));

    left.w -= mv_ui_px(&p->view->ui, 16);
    open_column(p, left);
    put_facts(p);
    put_history(p);
    close_column(p);
    open_column(p, box);
    put_alloc_stacks(p);
    put_free_stack(p);
    close_column(p);
}

static void paint_wide(details_frame *p, mv_box box)
{
    mv_ui *ui = &p->view->ui;
    float pad = mv_ui_px(ui, 16);
    mv_box facts = mv_box_cut_left(&box, mv_ui_px(ui, FACTS));
    mv_box history = mv_box_cut_right(&box, mv_ui_px(ui, HISTORY)), left;

    facts.w -= pad;
    box.w -= pad;
    left = mv_box_cut_left(&box, roundf(box.w * 0.55f));
    left.w -= pad;
    open_column(p, facts);
    put_facts(p);
    close_column(p);
    open_column(p, left);
    put_alloc_stacks(p);
    close_column(p);
    open_column(p, box);
    put_free_stack(p);
    close_column(p);
    open_column(p, history);
    put_history(p);
    close_column(p);
}

static void paint_columns(details_frame *p, mv_box box)
{
    mv_ui *ui = &p->view->ui;

    box.x += mv_ui_px(ui, MV_UI_PAD);
    box.y += 2;
    box.h -= 2;
    box.w -= mv_ui_px(ui, MV_UI_PAD + 10);
    if (box.w < mv_ui_px(ui, NARROW))
        paint_narrow(p, box);
    else
        paint_wide(p, box);
}

void mv_details_paint(mv_view *view, mv_box box)
{
    mv_panels *panels = view->panels;
    details_frame p = {.view = view, .alloc = mv_details_alloc(view)};

    if (!mv_panels_device(view, box, &p.document, &p.device))
        return;
    p.lives = &p.device->lives;
    if (p.alloc >= p.lives->allocs.count) {
        panels->details_shown = NULL;
        mv_ui_text(&view->ui, box, MV_UI_TEXT, view->ui.theme->faint_text, MV_ANCHOR_MIDDLE,
                   "point at an allocation in the picture, or click one to keep it here");
        return;
    }
    if (panels->details_of != p.alloc) {
        panels->details_of = p.alloc;
        panels->details_first = 0;
    }
    ask_story(&p);
    paint_columns(&p, box);
    mv_ui_scroll(&view->ui, box, p.longest, mv_panel_room(view, box), &panels->details_first);
}
