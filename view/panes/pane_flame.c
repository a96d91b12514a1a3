/* The flame graph. Callers are above callees, and the width of each box is its number of bytes. */
#include <math.h>

#include "base/size.h"
#include "base/texts.h"
#include "view/panes/panels.h"
#include "viz/scene/axis.h"
#include "viz/scene/heading.h"

enum { NARROW = 24, MATCH_MOST = 1024, LEAST_SUM = 250, BUTTONS = MV_FLAMES_COUNT + 5 };

typedef struct {
    mv_view *view;
    mv_ui *ui;
    const mv_document *document;
    const mv_flames_answer *answer;
    mv_box box;  /* box around all levels */
    float level; /* height of a level */
} flame_frame;

/* ---- the query --------------------------------------------------------------------------- */

/* Whether only hits are counted while hits are isolated. Segments and differences always include
 * all blocks. */
static bool counts_hits(uint32_t source)
{
    return source != MV_FLAMES_SEGMENTS && source != MV_FLAMES_CHANGE;
}

static mv_flames_question question_of(mv_view *view, mv_box box)
{
    const mv_view_state *now = view->now;
    mv_flames_question q;
    uint32_t a, b;

    memset(&q, 0, sizeof q);
    q.document = mv_view_document(view);
    q.device = mv_view_device(view);
    q.focus = now->flame_focus;
    q.source = now->flame_source;
    q.by_blocks = now->by_blocks;
    q.is_inverted = now->is_inverted;
    q.has_all_frames = now->has_all_frames;
    q.width = box.w > 16 ? (uint32_t)box.w : 16;
    mv_panels_interval(view, &a, &b);
    if (q.source == MV_FLAMES_SEGMENTS)
        q.is_inverted = 0;
    if (q.source == MV_FLAMES_CURSOR || q.source == MV_FLAMES_SEGMENTS)
        q.event = view->now->cursor;
    else if (q.source == MV_FLAMES_PEAK)
        q.event = mv_pyramid_range(&view->levels, a ? a - 1 : MV_BEFORE, b).allocated_event;
    if (q.source == MV_FLAMES_CHANGE && mv_view_other(view)) {
        q.other = view->documents[now->other_file];
        q.other_device = mv_view_other(view);
        q.by_blocks = 0;
    }
    if (q.source == MV_FLAMES_HELD || q.source == MV_FLAMES_TEMPORARY) {
        q.a = a;
        q.b = b;
    }
    if (counts_hits(q.source) && mv_panels_isolated(view, q.only))
        q.is_evaluated = mv_view_is_evaluated(view);
    return q;
}

typedef struct {
    float width;
    bool is_on;
    mv_command_id command;
    uint32_t arg;
    const char *text;
} head_button;

/* Lists the buttons at the top, followed by the space for the sum. */
static uint32_t buttons_of(const mv_view *view, head_button out[BUTTONS], float widths[BUTTONS])
{
    static const float of_sources[MV_FLAMES_COUNT] = {98, 138, 160, 136, 92, 92};
    const mv_view_state *now = view->now;
    bool has_change = mv_view_other(view) || now->flame_source == MV_FLAMES_CHANGE;
    uint32_t count = 0;

    for (uint32_t i = 0; i < (has_change ? MV_FLAMES_COUNT : MV_FLAMES_CHANGE); i++)
        out[count++] = (head_button){of_sources[i], now->flame_source == i, MV_DO_flame_source, i,
                                     mv_flames_source_name(i)};
    if (now->flame_source != MV_FLAMES_CHANGE)
        out[count++] = (head_button){58, now->by_blocks, MV_DO_flame_weight, 0, "blocks"};
    if (now->flame_source != MV_FLAMES_SEGMENTS)
        out[count++] = (head_button){72, now->is_inverted, MV_DO_flame_invert, 0, "inverted"};
    out[count++] = (head_button){82, now->has_all_frames, MV_DO_flame_frames, 0, "all frames"};
    if (now->flame_focus)
        out[count++] = (head_button){64, false, MV_DO_flame_focus, 0, "show all"};
    out[count++] = (head_button){.width = LEAST_SUM};
    for (uint32_t i = 0; i < count; i++)
        widths[i] = out[i].width;
    return count;
}

static mv_box levels_of(const mv_view *view, mv_box box)
{
    head_button buttons[BUTTONS];
    float widths[BUTTONS];
    uint32_t count = buttons_of(view, buttons, widths);

    mv_box_cut_top(&box, mv_ui_px(&view->ui, MV_PANEL_HEAD) *
                             (float)mv_panel_flow(view, box, widths, count, NULL));
    return box;
}

/* ---- boxes that match the search -------------------------------------------------------- */

/* Parses the filter again if the search has changed. */
static void read_search(mv_view *view)
{
    mv_panels *p = view->panels;
    char why[MV_FILTER_WHY];

    if (strcmp(p->filter_text, view->now->search) == 0)
        return;
    mv_arena_release(&p->filter_arena);
    mv_arena_init(&p->filter_arena, view->budget);
    memcpy(p->filter_text, view->now->search, sizeof p->filter_text);
    p->filter_text[sizeof p->filter_text - 1] = 0;
    if (*p->filter_text == 0 || !mv_filter_read(&p->filter_arena, p->filter_text, &p->filter, why))
        p->filter = (mv_filter){0};
}

static bool is_change(const flame_frame *p)
{
    return p->answer->ask.source == MV_FLAMES_CHANGE;
}

/* Returns the trace that a node belongs to. In a difference, frames may belong to the compared
 * file. Returns NULL for a diff that is printed, because it has no document. */
static const mv_trace *trace_of(const flame_frame *p, const mv_flame_node *node)
{
    const mv_document *document =
        is_change(p) && node->side == 0 ? p->answer->ask.other : p->document;

    return document ? &document->trace : NULL;
}

static bool is_match(const flame_frame *p, const mv_flame_node *node)
{
    const mv_filter *filter = &p->view->panels->filter;
    const mv_trace *trace = trace_of(p, node);
    const mv_frames *f;
    char text[MATCH_MOST], line[24] = "";
    const char *file;

    if (filter->count == 0 || node->kind != MV_FLAME_FRAME || !trace)
        return false;
    f = &trace->frames;
    file = mv_string_text(trace, f->file[node->frame.row]);
    if (f->line[node->frame.row] != MV_NO_LINE)
        snprintf(line, sizeof line, "%lld:", (long long)f->line[node->frame.row]);
    snprintf(text, sizeof text, "%s%s%s%s", file, *file ? ":" : "", line,
             mv_string_text(trace, f->function[node->frame.row]));
    for (uint32_t i = 0; i < filter->count; i++) {
        const mv_filter_term *term = &filter->terms[i];
        if (!term->is_negated &&
            ((term->kind == MV_FILTER_TEXT && strcasestr(text, term->text)) ||
             (term->kind == MV_FILTER_REGEX && mv_pattern_is_in(term->regex, mv_text_span(text)))))
            return true;
    }
    return false;
}

/* ---- boxes ------------------------------------------------------------------------------- */

static mv_box place_of(const flame_frame *p, const mv_icicle_box *box)
{
    const mv_flame_node *root = &p->answer->flames.tree.nodes[p->answer->focus];
    double all = root->bytes ? (double)root->bytes : 1;
    float x = p->box.x + p->box.w * (float)((double)box->offset / all);
    float end = p->box.x + p->box.w * (float)((double)(box->offset + box->bytes) / all);

    return (mv_box){x,
                    p->box.y + p->level * ((float)box->depth - (float)p->view->panels->flame_first),
                    end - x, p->level};
}

static bool is_in_sight(const flame_frame *p, mv_box at)
{
    return at.y >= p->box.y - 0.5f && at.y + 4 < p->box.y + p->box.h;
}

static const mv_icicle_box *box_at(const flame_frame *p, float x, float y)
{
    const mv_icicle_boxes *b = &p->answer->boxes;

    for (uint32_t i = 0; i < b->count; i++) {
        mv_box at = place_of(p, &b->boxes[i]);
        if (is_in_sight(p, at) && mv_box_has(at, x, y))
            return &b->boxes[i];
    }
    return NULL;
}

/* Returns both amounts, such as "68.2 MiB in 12 blocks", whichever of them determines the
 * widths. */
static const char *amount(const flame_frame *p, uint64_t weight, uint64_t other)
{
    uint64_t bytes = p->answer->ask.by_blocks ? other : weight;
    uint64_t blocks = p->answer->ask.by_blocks ? weight : other;
    char count[MV_TICK_TEXT];

    return mv_panel_say(p->view, "%s in %s block%s", mv_panel_size(p->view, bytes),
                        mv_axis_exact(blocks, count), blocks == 1 ? "" : "s");
}

/* Returns the amount of a node; for a difference, how much it changed. */
static const char *amount_of(const flame_frame *p, const mv_flame_node *node)
{
    return is_change(p) ? mv_icicle_change_amount(&p->ui->scene, node)
                        : amount(p, node->bytes, node->blocks);
}

/* Returns the amount for a box. In boxes of segments there is no room for the number of blocks. */
static const char *short_amount(const flame_frame *p, const mv_flame_node *node)
{
    if (p->answer->ask.source != MV_FLAMES_SEGMENTS)
        return amount_of(p, node);
    return mv_panel_size(p->view, p->answer->ask.by_blocks ? node->blocks : node->bytes);
}

/* Returns a percentage such as "27.1 %"; "0.0 %" only for zero. */
static const char *share_of(const flame_frame *p, uint64_t weight)
{
    uint64_t all = p->answer->flames.tree.nodes[0].bytes;
    double share = all ? 100.0 * (double)weight / (double)all : 0;

    return weight && share < 0.1 ? "<0.1 %" : mv_panel_say(p->view, "%.1f %%", share);
}

/* Returns additional lines about a node, such as "\n71,303,168 bytes\n/home/me/train.py". Unknown
 * lines are left out. */
static const char *more_of(const flame_frame *p, const mv_flame_node *node)
{
    uint64_t bytes = p->answer->ask.by_blocks ? node->blocks : node->bytes;
    const mv_trace *trace;
    const char *file = "";
    char exact[MV_TICK_TEXT];

    if (is_change(p) && !p->document)
        return "";
    trace = trace_of(p, node);
    if (node->kind == MV_FLAME_FRAME && trace->frames.file[node->frame.row].row != MV_NO_ROW)
        file = mv_string_text(trace, trace->frames.file[node->frame.row]);
    if (is_change(p))
        return mv_panel_say(p->view, "%s%s", *file ? "\n" : "", file);
    return mv_panel_say(p->view, "\n%s bytes%s%s", mv_axis_exact(bytes, exact), *file ? "\n" : "",
                        file);
}

static const char *describe(const flame_frame *p, const mv_icicle_box *box)
{
    const mv_flame_node *node = &p->answer->flames.tree.nodes[box->node];
    const char *share = share_of(p, box->bytes), *of = is_change(p) ? " of all changes" : " of all";
    char count[MV_TICK_TEXT];

    if (box->rest)
        return mv_panel_say(p->view, "%s %s too narrow to show, %s%s",
                            mv_axis_exact(box->rest, count), box->rest == 1 ? "frame" : "frames",
                            share, of);
    return mv_panel_say(p->view, "%s\n%s, %s%s%s%s", node->label, amount_of(p, node), share, of,
                        more_of(p, node), p->view->sheet ? "" : "\nclick: focus and search for it");
}

static uint32_t colour_of(const flame_frame *p, const mv_flame_node *node)
{
    return is_change(p) ? mv_icicle_change_colour(p->ui->theme, node)
                        : mv_icicle_colour(p->ui->theme, p->document->sites.kinds, node);
}

/* Whether this box has the keyboard focus. */
static bool is_marked(const flame_frame *p, const mv_icicle_box *box)
{
    const mv_view *view = p->view;

    return view->spot.is_shown && view->spot.is_inside && view->spot.place == MV_PART_LOWER &&
           box->node == mv_flames_node(&p->answer->flames, view->panels->flame_spot);
}

/* Paints a frame inside the box, for a match or for the keyboard focus. */
static void mark_box(flame_frame *p, mv_box at, uint32_t colour, float width)
{
    mv_scene_point(&p->ui->scene, at.x + 1, at.y + 1);
    mv_scene_point(&p->ui->scene, at.x + at.w - 2, at.y + at.h - 2);
    mv_scene_add(&p->ui->scene,
                 (mv_shape){.kind = MV_SHAPE_RECTS, .stroke = colour, .width = width});
}

/* Sets the label of a box, in as many lines as fit. */
static void label_box(const flame_frame *p, const mv_icicle_box *box, mv_icicle_shape *shape)
{
    const mv_flame_node *node = &p->answer->flames.tree.nodes[box->node];
    char count[MV_TICK_TEXT];

    if (box->rest) {
        shape->label[0] = mv_panel_say(p->view, "%s more", mv_axis_exact(box->rest, count));
        shape->lines = 1;
        return;
    }
    mv_icicle_label(&p->ui->scene, node, short_amount(p, node), shape);
}

static void paint_box(flame_frame *p, const mv_icicle_box *box)
{
    const mv_flame_node *node = &p->answer->flames.tree.nodes[box->node];
    mv_paper_sheet *sheet = p->view->sheet;
    mv_box at = place_of(p, box);
    mv_icicle_shape shape = {.at = at,
                             .fill = box->rest ? p->ui->theme->rest : colour_of(p, node),
                             .is_idle = !box->rest && mv_icicle_is_idle(node),
                             .size = MV_UI_SMALL * p->ui->scale};

    if (!is_in_sight(p, at))
        return;
    if (at.w > mv_ui_px(p->ui, NARROW))
        label_box(p, box, &shape);
    if (sheet)
        shape.title = mv_hover_take(&sheet->hover_bytes, describe(p, box));
    mv_icicle_paint(&p->ui->scene, p->ui->theme, &shape);
    if (!box->rest && is_match(p, node))
        mark_box(p, at, p->ui->theme->outline, 2);
    if (!box->rest && is_marked(p, box))
        mark_box(p, at, p->ui->theme->alarm, 3);
}

static void paint_boxes(flame_frame *p)
{
    const mv_icicle_boxes *b = &p->answer->boxes;

    for (uint32_t i = 0; i < b->count; i++)
        paint_box(p, &b->boxes[i]);
}

static uint32_t room_of(const flame_frame *p)
{
    return (uint32_t)(p->box.h / p->level);
}

/* Paints the boxes, which react to the pointer and the wheel. */
static void paint_live_boxes(flame_frame *p)
{
    const mv_icicle_boxes *b = &p->answer->boxes;
    uint32_t room = room_of(p);
    const mv_icicle_box *hot = NULL;

    p->view->panels->flame_room = room ? room : 1;
    mv_ui_scroll(p->ui, p->box, b->depth + 1, room ? room : 1, &p->view->panels->flame_first);
    if (b->depth + 1 > room)
        p->box.w -= mv_ui_px(p->ui, 10);
    paint_boxes(p);
    if (mv_ui_is_hot(p->ui, p->box))
        hot = box_at(p, p->ui->pointer_x, p->ui->pointer_y);
    if (!hot)
        return;
    mv_ui_frame(p->ui, place_of(p, hot), p->ui->theme->text);
    mv_ui_zone(p->ui, place_of(p, hot), MV_DO_NOTHING, 0, describe(p, hot));
}

/* ---- the key ----------------------------------------------------------------------------- */

enum { SIGN = 11, SIGN_GAP = 6, KEY_GAP = 16 };

static float key_width(const flame_frame *p, const mv_icicle_key *key)
{
    return mv_ui_px(p->ui, SIGN + SIGN_GAP + KEY_GAP) +
           mv_ui_text_width(p->ui, MV_UI_SMALL, key->text);
}

static uint32_t keys_of(const flame_frame *p, mv_icicle_key keys[MV_ICICLE_KEYS])
{
    const mv_trace *trace = is_change(p) ? NULL : &p->document->trace;
    const uint8_t *kinds = is_change(p) ? NULL : p->document->sites.kinds;

    return mv_icicle_keys(p->ui->theme, trace, kinds, &p->answer->flames.tree, &p->answer->boxes,
                          keys);
}

/* Whether the whole key fits on a line. */
static bool has_room(const flame_frame *p, float width)
{
    mv_icicle_key keys[MV_ICICLE_KEYS];
    uint32_t count = keys_of(p, keys);

    for (uint32_t i = 0; i < count; i++)
        width -= key_width(p, &keys[i]);
    return count > 0 && width >= 0;
}

/* Paints as much of the key as fits on the line. Returns what is left of the line. */
static mv_box paint_key(flame_frame *p, mv_box line)
{
    mv_icicle_key keys[MV_ICICLE_KEYS];
    uint32_t count = keys_of(p, keys);
    float side = mv_ui_px(p->ui, SIGN), width = p->ui->scale;

    for (uint32_t i = 0; i < count; i++) {
        mv_box at = line, sign;
        if (key_width(p, &keys[i]) > line.w)
            break;
        at = mv_box_cut_left(&line, key_width(p, &keys[i]));
        sign = (mv_box){at.x, at.y + (at.h - side) / 2, side, side};
        mv_scene_point(&p->ui->scene, sign.x, sign.y);
        mv_scene_point(&p->ui->scene, sign.x + sign.w, sign.y + sign.h);
        mv_scene_add(&p->ui->scene,
                     (mv_shape){.kind = MV_SHAPE_RECTS,
                                .fill = keys[i].fill,
                                .stroke = keys[i].is_idle ? p->ui->theme->faint_text : 0,
                                .width = keys[i].is_idle ? 0.6f * width : 0});
        mv_box_cut_left(&at, side + mv_ui_px(p->ui, SIGN_GAP));
        mv_ui_text(p->ui, at, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_START, keys[i].text);
    }
    return line;
}

/* ---- the head ---------------------------------------------------------------------------- */

static const char *sum_of(const flame_frame *p)
{
    mv_view *view = p->view;
    const mv_flames_answer *a = p->answer;
    const mv_flame_node *root = &a->flames.tree.nodes[0];
    const char *whose = view->now->show != MV_SHOW_ISOLATE || !view->matches ? ""
                        : *a->ask.only                                       ? "hits: "
                                       : "hits and all others: ";
    const char *all = mv_panel_say(view, "%s%s", whose, amount(p, root->bytes, root->blocks));
    char change[MV_SIZE_TEXT], from[MV_TICK_TEXT], to[MV_TICK_TEXT];

    switch ((mv_flames_source)a->ask.source) {
    case MV_FLAMES_HELD:
        return mv_panel_say(view, "%s, allocated in events %s to %s and still alive", all,
                            mv_axis_exact(a->ask.a, from), mv_axis_exact(a->ask.b, to));
    case MV_FLAMES_TEMPORARY:
        return mv_panel_say(view, "%s over time, allocated and freed in events %s to %s", all,
                            mv_axis_exact(a->ask.a, from), mv_axis_exact(a->ask.b, to));
    case MV_FLAMES_CHANGE:
        mv_size_change_text(change, mv_flame_change(root));
        return mv_panel_say(view, "%speaks: %s to %s, %s", whose,
                            mv_panel_size(view, a->level[0].allocated),
                            mv_panel_size(view, a->level[1].allocated), change);
    case MV_FLAMES_SEGMENTS:
        return mv_panel_say(view, "%s: %s%s %s", mv_panel_moment(view, a->ask.event), whose,
                            mv_panel_size(view, a->ask.by_blocks ? root->blocks : root->bytes),
                            mv_trace_allocator(&mv_view_document(view)->trace) ? "allocated"
                                                                               : "reserved");
    default: /* the event comes first, because "allocated after event 5" would have a different
                meaning */
        return mv_panel_say(view, "%s: %s allocated", mv_panel_moment(view, a->ask.event), all);
    }
}

/* Paints the top of the pane. Returns the space between the buttons and the sum. */
static mv_box paint_head(flame_frame *p, mv_box pane)
{
    head_button buttons[BUTTONS];
    float widths[BUTTONS];
    uint32_t count = buttons_of(p->view, buttons, widths);
    mv_box boxes[BUTTONS], rest;
    const char *texts[2];

    mv_panel_flow(p->view, pane, widths, count, boxes);
    for (uint32_t i = 0; i + 1 < count; i++)
        mv_ui_button(p->ui, boxes[i], buttons[i].is_on, buttons[i].command, buttons[i].arg,
                     buttons[i].text);
    rest = boxes[count - 1];
    mv_box_cut_left(&rest, mv_ui_px(p->ui, MV_UI_PAD));
    rest.w -= mv_ui_px(p->ui, MV_UI_PAD);
    if (!p->answer)
        return rest;
    texts[0] = sum_of(p);
    texts[1] = amount_of(p, &p->answer->flames.tree.nodes[0]);
    rest.w -= mv_ui_text(p->ui, rest, MV_UI_TEXT, p->ui->theme->text, MV_ANCHOR_END,
                         mv_ui_longest(p->ui, MV_UI_TEXT, rest.w, texts, 2));
    return rest;
}

/* ---- the pane ---------------------------------------------------------------------------- */

static bool open_frame(mv_view *view, mv_box box, flame_frame *p)
{
    mv_flames_question q = question_of(view, box);
    bool is_current;

    *p = (flame_frame){.view = view,
                       .ui = &view->ui,
                       .document = q.document,
                       .box = levels_of(view, box),
                       .level = mv_ui_px(&view->ui, MV_FLAME_LEVEL)};
    if (q.source != MV_FLAMES_CHANGE || q.other_device)
        p->answer = mv_slot_query(view->panels->flames, &q, &is_current);
    if (p->answer &&
        (p->answer->ask.device != q.device ||
         (p->answer->ask.source == MV_FLAMES_CHANGE) != (q.source == MV_FLAMES_CHANGE) ||
         p->answer->ask.other_device != q.other_device))
        p->answer = NULL;
    view->panels->flames_shown = p->answer;
    return p->answer != NULL;
}

void mv_flame_paint(mv_view *view, mv_box box)
{
    const mv_document *document;
    const mv_document_device *device;
    mv_box room;
    flame_frame p;
    bool is_there;

    if (!mv_panels_device(view, box, &document, &device))
        return;
    read_search(view);
    is_there = open_frame(view, box, &p);
    room = paint_head(&p, box);
    if (!is_there) {
        mv_panel_remark(view, p.box,
                        view->now->flame_source == MV_FLAMES_CHANGE && !mv_view_other(view)
                            ? "no device is compared: Shift+C chooses another device or file"
                            : "adding up bytes ...");
    } else if (p.answer->flames.tree.nodes[0].bytes == 0) {
        mv_panel_remark(view, p.box,
                        is_change(&p) ? "nothing changed between the two peaks"
                                      : "nothing is allocated there");
    } else {
        /* The key is at the top if all of it fits there, otherwise on an empty line below the boxes.
         * If there is no such line, the part that fits is painted at the top. */
        mv_box foot = p.box;
        if (has_room(&p, room.w))
            paint_key(&p, room);
        else if (p.answer->boxes.depth + 1 < room_of(&p))
            paint_key(&p, mv_box_cut_bottom(&foot, mv_ui_px(p.ui, MV_FLAME_LEVEL)));
        else
            paint_key(&p, room);
        paint_live_boxes(&p);
    }
}

void mv_flame_paint_answer(mv_view *view, mv_box box, const mv_flames_answer *answer)
{
    const mv_flame_tree *tree = &answer->flames.tree;
    flame_frame p = {.view = view,
                     .ui = &view->ui,
                     .document = answer->ask.document,
                     .answer = answer,
                     .box = box};
    float levels = (float)(answer->boxes.depth + 1);

    if (tree->nodes[0].bytes == 0)
        return;
    mv_box_cut_bottom(&p.box, mv_ui_px(p.ui, MV_FLAME_FOOT));
    p.level = mv_ui_px(p.ui, MV_FLAME_LEVEL);
    if (view->sheet->opts.height) /* the levels fill the box. If no height is given, the picture is
                                     as high as the levels */
        p.level = fmaxf(p.level, floorf(p.box.h / levels));
    paint_boxes(&p);
    box = paint_key(
        &p, (mv_box){box.x, box.y + p.level * levels, box.w, mv_ui_px(p.ui, MV_FLAME_FOOT)});
    if (answer->boxes.depth < tree->depth && answer->boxes.depth + 1 >= answer->levels)
        mv_ui_text(
            p.ui, box, MV_UI_SMALL, p.ui->theme->text, MV_ANCHOR_END,
            mv_panel_say(view, "%u more levels do not fit", tree->depth - answer->boxes.depth));
}

uint32_t mv_flame_at(mv_view *view, mv_box box, float x, float y)
{
    const mv_icicle_box *hit;
    flame_frame p = {.view = view,
                     .ui = &view->ui,
                     .answer = view->panels->flames_shown,
                     .box = levels_of(view, box),
                     .level = mv_ui_px(&view->ui, MV_FLAME_LEVEL)};

    if (!p.answer)
        return MV_NO_ROW;
    if (p.answer->boxes.depth + 1 > room_of(&p))
        p.box.w -= mv_ui_px(p.ui, 10);
    hit = box_at(&p, x, y);
    return hit && !hit->rest ? hit->node : MV_NO_ROW;
}
