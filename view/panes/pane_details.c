/* One allocation, segment or event: a sentence that describes it, its life with links, its stacks,
 * and the other users of its address. */
#include <math.h>

#include "view/document/moment_text.h"
#include "view/frame/colour_groups.h"
#include "view/panes/panels.h"

/* Widths in pixels at scale 1. */
enum { FACTS = 340, HISTORY = 300, NAME = 92, NARROW = 1120, ONE = 600 };
enum { SENTENCE_LINES = 16, SOURCE = 28 /* indentation of a line of source code */ };

typedef struct {
    mv_view *view;
    const mv_document *document;
    const mv_document_device *device;
    const mv_lives *lives;
    const mv_event_explanation *story;
    const mv_allocation_history *history; /* the allocation's history; NULL: not known yet, or not
                                           * an allocation */
    mv_panel_lines lines;                 /* lines of the current column */
    uint32_t longest;                     /* number of lines in the longest column */
} details_frame;

static void open_column(details_frame *p, mv_box box, uint32_t first)
{
    p->lines = (mv_panel_lines){.view = p->view, .box = box, .y = box.y, .first = first};
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
    mv_box line;

    if (!*text)
        return;
    line = mv_panel_line(&p->lines);
    if (line.h <= 0)
        return;
    mv_ui_text(ui, mv_box_cut_left(&line, mv_ui_px(ui, NAME)), MV_UI_TEXT, ui->theme->faint_text,
               MV_ANCHOR_START, name);
    mv_ui_text(ui, line, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, text);
}

/* Paints an underlined fact. A click on it follows the link. */
static void put_link(details_frame *p, const char *name, const char *text, mv_command_id command,
                     uint32_t arg, const char *tip)
{
    mv_ui *ui = &p->view->ui;
    mv_box line = mv_panel_line(&p->lines), whole = line;
    float width;

    if (line.h <= 0)
        return;
    if (mv_ui_is_hot(ui, line))
        mv_ui_fill(ui, line, ui->theme->grid);
    mv_ui_text(ui, mv_box_cut_left(&line, mv_ui_px(ui, NAME)), MV_UI_TEXT, ui->theme->faint_text,
               MV_ANCHOR_START, name);
    width = mv_ui_text(ui, line, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, text);
    mv_ui_fill(ui, (mv_box){line.x, line.y + line.h - mv_ui_px(ui, 2), width, mv_ui_px(ui, 1)},
               ui->theme->faint_text);
    mv_ui_zone(ui, whole, command, arg, tip);
}

/* Paints an event, such as "event 8,407 · 1.204 s". */
static void put_event(details_frame *p, const char *name, uint32_t event, const char *otherwise)
{
    const mv_events *e = &p->lives->events;
    char count[MV_TICK_TEXT], time[MV_TICK_TEXT];

    if (event >= e->count) {
        put_fact(p, name, otherwise);
        return;
    }
    mv_event_time_text(&p->document->trace, e, event, time);
    put_link(p, name,
             mv_panel_say(p->view, "event %s%s%s", mv_axis_exact(event, count),
                          *time ? " \xc2\xb7 " : "", time),
             MV_DO_go_to_event, event, "Go there");
}

/* Results that take longer to compute appear a little later. The lines for them are reserved from
 * the start, so that nothing moves. */
static const char waiting[] = "\xe2\x80\xa6";

/* Paints another user of the address. A click pins it. */
static void put_user(details_frame *p, const char *name, uint32_t alloc)
{
    const mv_event_facts facts = {
        .trace = &p->document->trace, .kinds = p->document->sites.kinds, .lives = p->lives};
    const char *text;

    if (alloc == MV_NO_ROW) {
        put_fact(p, name, p->history ? "by no recorded block" : waiting);
        return;
    }
    text = mv_event_user_text(p->view->ui.frame, &facts, alloc);
    put_link(p, name, text ? text : "", MV_DO_pin, alloc, "Pin it");
}

static const char *exact_size(details_frame *p, uint64_t bytes)
{
    char exact[MV_TICK_TEXT];

    return mv_panel_say(p->view, "%s (%s bytes)", mv_panel_size(p->view, bytes),
                        mv_axis_exact(bytes, exact));
}

static const char *stream_of(details_frame *p, char out[MV_GROUP_LABEL])
{
    uint32_t born = p->story->born, segment = p->story->segment;
    mv_stream_id stream = {MV_NO_ROW};

    if (born != MV_BEFORE)
        stream = p->lives->events.stream[born];
    else if (segment < p->lives->segments.count)
        stream = p->lives->segments.stream[segment];
    return mv_stream_label(&p->document->trace, stream, out);
}

static void put_place(details_frame *p)
{
    const mv_segment_lives *s = &p->lives->segments;
    uint32_t segment = p->story->segment;
    char pool[MV_GROUP_LABEL], stream[MV_GROUP_LABEL];

    if (segment >= s->count) {
        put_fact(p, "segment", "unknown");
        put_fact(p, "stream", stream_of(p, stream));
        return;
    }
    put_fact(p, "segment",
             mv_panel_say(p->view, "0x%llx of %s%s", (unsigned long long)s->addr[segment],
                          mv_panel_size(p->view, s->size[segment]),
                          s->is_expandable[segment] ? ", expandable" : ""));
    put_fact(p, "pool",
             mv_panel_say(
                 p->view, "%s, %s, %s", mv_segment_kind_name((mv_segment_kind)s->kind[segment]),
                 mv_pool_label(&p->document->trace, s->pool[segment], pool), stream_of(p, stream)));
}

static void put_age(details_frame *p)
{
    const mv_events *e = &p->lives->events;
    uint32_t born = p->story->born, freed = p->story->freed;
    bool is_known = born != MV_BEFORE && freed != MV_NEVER;
    uint32_t from = born == MV_BEFORE ? 0 : born;
    uint32_t to = freed == MV_NEVER ? e->count - 1 : freed;
    const char *span;
    char count[MV_TICK_TEXT];

    if (to >= e->count || from > to || (!is_known && from == to))
        return;
    span = mv_event_span_text(p->view->ui.frame, e, from, to);
    put_fact(p, "lifetime",
             mv_panel_say(p->view, "%s%s event%s%s%s", is_known ? "" : "more than ",
                          mv_axis_exact(to - from, count), to - from == 1 ? "" : "s",
                          span && e->time_us[from] != MV_NO_TIME ? ", " : "",
                          span && e->time_us[from] != MV_NO_TIME ? span : ""));
}

static void put_life(details_frame *p)
{
    const mv_event_explanation *s = p->story;

    if (p->lives->events.count == 0)
        return;
    put_event(p, "allocated", s->born, "before the first event");
    put_event(p, "freed", s->freed, "still allocated at the end");
    if (s->completed != s->freed && s->completed - s->freed > 1)
        put_event(p, "reusable", s->completed, "not yet at the end");
    put_user(p, "used before", s->previous);
    put_user(p, "used next", s->next);
    put_age(p);
}

/* Paints the annotations and metadata around the event. */
static void put_tags(details_frame *p)
{
    const mv_trace *t = &p->document->trace;
    const mv_tags *tags = &t->tags;
    const char *region;
    mv_tag_id tag;

    if (p->story->born >= p->lives->events.count)
        return;
    tag = p->lives->events.tag[p->story->born];
    if (t->annotations.count)
        put_fact(p, "within",
                 !p->history                           ? waiting
                 : p->history->within.row == MV_NO_ROW ? "no annotation"
                                                       : mv_string_text(t, p->history->within));
    put_fact(p, "operator", mv_string_text(t, tags->op[tag.row]));
    put_fact(p, "shapes", mv_string_text(t, tags->shapes[tag.row]));
    put_fact(p, "metadata", mv_string_text(t, tags->user_metadata[tag.row]));
    region = mv_string_text(t, tags->compile_context[tag.row]);
    put_fact(p, "compiled in", strcmp(region, "N/A") == 0 ? "" : region);
}

static void put_sizes(details_frame *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    uint32_t alloc = p->story->alloc;
    uint64_t block = a->block[alloc], requested = a->requested[alloc];
    char exact[MV_TICK_TEXT];

    put_fact(p, "requested", exact_size(p, requested));
    put_fact(p, "block",
             mv_panel_say(p->view, "%s%s bytes, rounding %s", a->inexact[alloc] ? "at least " : "",
                          mv_axis_exact(block, exact),
                          mv_panel_size(p->view, block > requested ? block - requested : 0)));
    put_fact(p, "address",
             mv_panel_say(p->view, "0x%llx%s", (unsigned long long)a->addr[alloc],
                          p->history && p->history->version
                              ? mv_panel_say(p->view, "#%u", p->history->version)
                              : ""));
}

static void put_alloc_facts(details_frame *p)
{
    const mv_document_device *d = p->device;
    uint32_t alloc = p->story->alloc;

    put_life(p);
    if (mv_view_is_evaluated(p->view)) {
        put_fact(p, "category",
                 d->attribution.categories.name[d->attribution.categories.of_alloc[alloc]]);
        if (d->leaks.is_leaked[alloc])
            put_fact(p, "leak", "part of a leak: see Reports");
    }
    put_tags(p);
    put_sizes(p);
    put_place(p);
    put_fact(p, "total then", p->history ? exact_size(p, p->history->total) : waiting);
}

static void put_segment_facts(details_frame *p)
{
    if (p->lives->events.count == 0) {
        put_place(p);
        return;
    }
    put_event(p, "reserved", p->story->born, "before the first event");
    put_event(p, "released", p->story->freed, "still reserved at the end");
    put_age(p);
    put_place(p);
}

/* Paints the out-of-memory report on this failed request. */
static void put_failure(details_frame *p)
{
    const mv_ooms *found = &p->device->ooms;
    uint32_t colour = p->view->ui.theme->text;

    for (uint32_t i = 0; mv_view_is_evaluated(p->view) && i < found->count; i++) {
        if (found->ooms[i].event != p->story->event || found->ooms[i].api_call != MV_NO_ROW)
            continue;
        put_title(p, "why it failed");
        mv_panel_wrap(&p->lines, 0, p->lines.box.w, colour, SENTENCE_LINES, found->ooms[i].why);
        put_title(p, "what would help");
        mv_panel_wrap(&p->lines, 0, p->lines.box.w, colour, SENTENCE_LINES, found->ooms[i].advice);
    }
}

static void put_facts(details_frame *p)
{
    if (p->story->alloc != MV_NO_ROW)
        put_alloc_facts(p);
    else if (p->story->segment != MV_NO_ROW)
        put_segment_facts(p);
    else
        put_failure(p);
}

/* ---- stacks ------------------------------------------------------------------------------ */

/* Whether frames of this kind are shown. Stacks without user frames show package frames instead. */
static bool is_shown_kind(uint8_t kind, bool has_own)
{
    return kind == MV_FRAME_USER || (!has_own && kind == MV_FRAME_PACKAGE);
}

static void put_frame(details_frame *p, mv_frame_id frame, bool is_culprit)
{
    uint8_t kind = p->document->sites.kinds[frame.row];
    const mv_theme *theme = p->view->ui.theme;
    char label[512];

    mv_frame_label(&p->document->trace, frame, label, sizeof label);
    put(p, is_culprit ? 0 : 14, kind == MV_FRAME_USER ? theme->text : theme->faint_text,
        is_culprit ? mv_panel_say(p->view, "> %s", label) : label);
    if (kind == MV_FRAME_USER) {
        /* the source line, if the file is on this machine */
        const mv_source_files *sources = p->view->opts.sources;
        const mv_trace *t = &p->document->trace;
        const char *file = mv_string_text(t, t->frames.file[frame.row]), *text = "";
        if (sources && *file && t->frames.line[frame.row] != MV_NO_LINE)
            text = sources->line(file, t->frames.line[frame.row]);
        if (*text)
            put(p, SOURCE, p->view->ui.theme->faint_text, mv_panel_say(p->view, "%s", text));
    }
}

/* Paints the line that shows or hides the other frames. */
static void put_fold(details_frame *p, uint32_t others, uint32_t fold, bool is_unfolded)
{
    mv_ui *ui = &p->view->ui;
    float y = p->lines.y;

    put(p, 14, ui->theme->faint_text,
        is_unfolded ? "[-] only your frames"
                    : mv_panel_say(p->view, "[+] %u more frame%s: libraries, native", others,
                                   mv_plural(others)));
    if (p->lines.y > y)
        mv_ui_zone(ui, (mv_box){p->lines.box.x, y, p->lines.box.w, p->lines.y - y},
                   MV_DO_details_fold, fold, NULL);
}

static bool is_unfolded_at(const mv_view *view, uint32_t fold)
{
    return view->now->unfolded_of == mv_details_alloc(view) && view->now->unfolded >> fold & 1;
}

/* Paints the user's frames, innermost first. All other frames are replaced with one line, and a
 * click on that line shows the whole stack in order. */
static void put_frames(details_frame *p, mv_stack_id stack, uint32_t fold)
{
    const uint8_t *kinds = p->document->sites.kinds;
    uint32_t count, others = 0;
    const mv_frame_id *frames = mv_stack_frames(&p->document->trace, stack, &count);
    mv_frame_id culprit = mv_culprit_frame(&p->document->trace, kinds, stack);
    bool is_unfolded = is_unfolded_at(p->view, fold), is_marked = false;
    bool has_own = culprit.row != MV_NO_ROW && kinds[culprit.row] == MV_FRAME_USER;

    for (uint32_t i = 0; i < count; i++) {
        bool is_culprit = !is_marked && frames[i].row == culprit.row;
        is_marked = is_marked || is_culprit;
        if (is_unfolded || is_culprit || is_shown_kind(kinds[frames[i].row], has_own))
            put_frame(p, frames[i], is_culprit);
        else
            others++;
    }
    if (others || is_unfolded)
        put_fold(p, others, fold, is_unfolded);
}

static void put_stack(details_frame *p, const char *title, mv_stack_id stack, uint32_t fold)
{
    const mv_trace *t = &p->document->trace;
    uint32_t count;
    char label[128];

    mv_stack_frames(t, stack, &count);
    put_title(p, title);
    if (count == 0)
        put(p, 14, p->view->ui.theme->text,
            mv_culprit_label(t, p->document->sites.kinds, stack, label, sizeof label));
    else
        put_frames(p, stack, fold);
}

/* Numbers of the stacks, for unfolding. */
enum { FOLD_MADE, FOLD_FORWARD, FOLD_CPP, FOLD_ENDED };

static void put_made_stacks(details_frame *p)
{
    const mv_trace *t = &p->document->trace;
    const mv_event_explanation *s = p->story;
    uint32_t birth = s->alloc == MV_NO_ROW && s->segment == MV_NO_ROW ? s->event : s->born;
    mv_stack_id forward = MV_NO_STACK, cpp = MV_NO_STACK;

    if (s->alloc != MV_NO_ROW)
        put_stack(p, "allocated by", p->lives->allocs.stack[s->alloc], FOLD_MADE);
    else if (s->segment != MV_NO_ROW)
        put_stack(p, "reserved by", p->lives->segments.stack[s->segment], FOLD_MADE);
    else if (s->event != MV_NO_ROW && p->lives->events.stack[s->event].row != MV_NO_ROW)
        put_stack(p, "called by", p->lives->events.stack[s->event], FOLD_MADE);
    if (birth < p->lives->events.count) {
        forward = t->tags.forward[p->lives->events.tag[birth].row];
        cpp = t->tags.cpp[p->lives->events.tag[birth].row];
    }
    if (forward.row != MV_NO_ROW)
        put_stack(p, "for the forward pass in", forward, FOLD_FORWARD);
    if (cpp.row != MV_NO_ROW)
        put_stack(p, "C++ frames", cpp, FOLD_CPP);
}

static void put_end_stack(details_frame *p)
{
    const mv_event_explanation *s = p->story;
    bool is_alloc = s->alloc != MV_NO_ROW;

    if (!is_alloc && s->segment == MV_NO_ROW)
        return;
    if (s->freed < p->lives->events.count)
        put_stack(p, is_alloc ? "freed by" : "released by", p->lives->events.stack[s->freed],
                  FOLD_ENDED);
    else
        put_title(p, p->lives->events.count == 0 ? ""
                     : is_alloc                  ? "still allocated at the end"
                                                 : "still reserved at the end");
}

/* ---- the address ------------------------------------------------------------------------- */

/* Whether the next line is not visible. Making labels is expensive, so only visible lines have
 * them. */
static bool is_out_of_sight(const details_frame *p)
{
    return p->lines.count < p->lines.first ||
           p->lines.y + MV_UI_LINE * p->view->ui.scale > p->lines.box.y + p->lines.box.h + 0.5f;
}

static void put_history_row(details_frame *p, uint32_t row)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    mv_ui *ui = &p->view->ui;
    uint32_t alloc = p->history->history[row], birth = a->birth[alloc];
    bool is_own = alloc == p->story->alloc;
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
    const mv_allocation_history *history = p->history;
    char count[MV_TICK_TEXT];

    if (!history)
        return;
    put_title(p, mv_panel_say(p->view, "%s block%s covered its first byte",
                              mv_axis_exact(history->covered, count), mv_plural(history->covered)));
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

mv_explanation_question mv_details_question(const mv_view *view)
{
    const mv_view_state *now = view->now;
    mv_explanation_question q;

    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = mv_view_device(view);
    q.event = q.alloc = q.segment = MV_NO_ROW;
    q.has_history = true;
    if (now->pinned != MV_NO_ROW)
        q.alloc = now->pinned;
    else if (now->pinned_segment != MV_NO_ROW)
        q.segment = now->pinned_segment;
    else if (view->hover != MV_NO_ROW)
        q.alloc = view->hover;
    else if (view->hover_segment != MV_NO_ROW)
        q.segment = view->hover_segment;
    else
        q.event = now->cursor;
    return q;
}

uint32_t mv_details_alloc(const mv_view *view)
{
    return mv_details_question(view).alloc;
}

/* Whether a question can be answered. Rows of a device that is no longer shown have no
 * description. */
static bool is_question(const mv_explanation_question *q)
{
    const mv_lives *lives = &q->device->lives;

    return q->alloc < lives->allocs.count || q->segment < lives->segments.count ||
           q->event < lives->events.count;
}

static const mv_explanation_answer *ask(mv_view *view, const mv_explanation_question *q)
{
    bool is_current;
    const mv_explanation_answer *a = mv_slot_query(view->panels->details, q, &is_current);

    if (!is_current)
        a = NULL;
    view->panels->details_shown = a;
    return a;
}

const mv_event_explanation *mv_details_explanation(mv_view *view)
{
    mv_explanation_question q = mv_details_question(view);
    const mv_explanation_answer *a = is_question(&q) ? ask(view, &q) : NULL;

    return a ? &a->story : NULL;
}

/* Paints two columns: the facts and the address, and the stacks of allocation and free. */
static void paint_narrow(details_frame *p, mv_box box, uint32_t first)
{
    mv_box left = mv_box_cut_left(&box, roundf(box.w * 0.48f));

    left.w -= mv_ui_px(&p->view->ui, 16);
    open_column(p, left, first);
    put_facts(p);
    put_history(p);
    close_column(p);
    open_column(p, box, first);
    put_made_stacks(p);
    put_end_stack(p);
    close_column(p);
}

/* Paints everything in one column, as on a phone. */
static void paint_one(details_frame *p, mv_box box, uint32_t first)
{
    open_column(p, box, first);
    put_facts(p);
    put_made_stacks(p);
    put_end_stack(p);
    put_history(p);
    close_column(p);
}

static void paint_wide(details_frame *p, mv_box box, uint32_t first)
{
    mv_ui *ui = &p->view->ui;
    float pad = mv_ui_px(ui, 16);
    float wide = roundf(box.w * 0.22f);
    mv_box facts = mv_box_cut_left(&box, fmaxf(mv_ui_px(ui, FACTS), wide));
    mv_box history = mv_box_cut_right(&box, fmaxf(mv_ui_px(ui, HISTORY), wide)), left;

    facts.w -= pad;
    box.w -= pad;
    left = mv_box_cut_left(&box, roundf(box.w * 0.55f));
    left.w -= pad;
    open_column(p, facts, first);
    put_facts(p);
    close_column(p);
    open_column(p, left, first);
    put_made_stacks(p);
    close_column(p);
    open_column(p, box, first);
    put_end_stack(p);
    close_column(p);
    open_column(p, history, first);
    put_history(p);
    close_column(p);
}

/* Paints the sentence above the columns, which scrolls away first. Returns the number of its
 * lines. */
static uint32_t paint_sentence(details_frame *p, mv_box box)
{
    const mv_ui *ui = &p->view->ui;
    uint32_t event = p->story->event;
    const char *text = p->story->text;
    char count[MV_TICK_TEXT];

    if (event != MV_BEFORE)
        text = mv_panel_say(p->view, "Event %s: %s", mv_axis_exact(event, count), text);
    open_column(p, box, p->view->panels->details_first);
    return mv_panel_wrap(&p->lines, 0, box.w, ui->theme->text, SENTENCE_LINES, text);
}

static void paint_columns(details_frame *p, mv_box box)
{
    mv_ui *ui = &p->view->ui;
    uint32_t first = p->view->panels->details_first, above;
    float line = MV_UI_LINE * ui->scale;

    box.x += mv_ui_px(ui, MV_UI_PAD);
    box.w -= mv_ui_px(ui, MV_UI_PAD + 10);
    above = paint_sentence(p, box);
    if (first < above)
        mv_box_cut_top(&box, (float)(above - first) * line);
    first = first > above ? first - above : 0;
    if (box.w < mv_ui_px(ui, ONE))
        paint_one(p, box, first);
    else if (box.w < mv_ui_px(ui, NARROW))
        paint_narrow(p, box, first);
    else
        paint_wide(p, box, first);
    p->longest += above;
}

void mv_details_paint(mv_view *view, mv_box box)
{
    mv_panels *panels = view->panels;
    details_frame p = {.view = view};
    const mv_explanation_answer *a;
    mv_explanation_question q;

    if (!mv_panels_device(view, box, &p.document, &p.device))
        return;
    p.lives = &p.device->lives;
    q = mv_details_question(view);
    if (!is_question(&q)) {
        panels->details_shown = NULL;
        mv_panel_remark(view, box,
                        "point at an allocation in the picture, or click one to keep it here");
        return;
    }
    if (memcmp(&panels->details_of, &q, sizeof q) != 0) {
        if (panels->details_of.device) /* otherwise a session has set the scroll position */
            panels->details_first = 0;
        panels->details_of = q;
    }
    a = ask(view, &q);
    p.story = a ? &a->story : mv_panels_explain(view, &q);
    if (!p.story)
        return;
    p.history = a && a->story.alloc != MV_NO_ROW ? &a->history : NULL;
    mv_box_cut_top(&box, 2);
    paint_columns(&p, box);
    mv_ui_scroll(&view->ui, box, p.longest, mv_panel_room(view, box), &panels->details_first);
}
