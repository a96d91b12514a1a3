#include "view/timeline/pane_ranks.h"

#include <math.h>

#include "base/size.h"
#include "view/timeline/hit_ticks.h"
#include "view/timeline/rank_lanes.h"
#include "viz/scene/distinct_texts.h"

enum {
    TALLEST = 320,
    TWO_LINES = 36,
    OUTLINED = 30,
    PEAK_COLUMN = 70,
    VALUE_COLUMN = 96,
    LEAST_SHORT = 60,    /* minimum width of a name; otherwise the value is dropped */
    LEAST_VERDICT = 180, /* minimum width of the sentence; otherwise buttons are dropped */
    NARROW = 560,        /* in a narrower pane, the sentence takes all the width it needs */
    LEAST_NAME = 150,
    MARK = 4,
    HITS = 5, /* height of the ticks for hits */
    GAP = 3,
    MOST_EVENTS_OOM = 1000,
    FIRST_COLUMNS = 60000, /* columns found for all lanes in the first frame of a window */
    EXACT_COLUMNS = 6000   /* columns made exact in each later frame */
};

typedef struct {
    mv_plot p;
    mv_ranks_pane *pane;
    mv_device_row *rows;
    mv_lane_choice *choices; /* [count] what the user chose for each row */
    uint32_t count, shown;   /* number of lanes, and how many of them are on the shown level */
    uint32_t pinned, folded; /* number of pinned lanes and of folded lanes; no lane is both */
    uint32_t judged;         /* number of these lanes' devices whose reports are finished */
    mv_align by;
    float high;          /* height of a lane */
    uint32_t room;       /* number of lanes that fit */
    double top;          /* bytes at the top of the common scale */
    uint32_t *outlier;   /* [count] first reason why each row is an outlier, or MV_NO_ROW */
    const char **names;  /* names of the lanes that may be shown, cut to fit */
    uint32_t left;       /* number of columns that this frame may still make exact */
    float verdict_width; /* width that the buttons leave for the verdict */
    double place;        /* position of the displayed values: the pointer, or else the cursor */
    const mv_compared_ranks *found;
} ranks_frame;

bool mv_ranks_pane_open(mv_view *view)
{
    mv_timeline_pane *timeline = view->timeline;
    mv_ranks_pane *pane = mv_push_struct(&timeline->arena, mv_ranks_pane);

    timeline->ranks = pane;
    if (!pane)
        return false;
    pane->judged = mv_slot_open(view->jobs, mv_ranks_find, NULL, sizeof(mv_ranks_query));
    pane->lanes = mv_push_array(&timeline->arena, mv_rank_lane, MV_RANK_LANES);
    pane->order = mv_push_array(&timeline->arena, uint32_t, MV_MOST_DEVICE_ROWS);
    return pane->judged && pane->lanes && pane->order;
}

float mv_ranks_names_width(mv_view *view)
{
    uint32_t count;
    const mv_device_row *rows = mv_lane_rows(view, &count);
    float most = mv_ui_px(&view->ui, LEAST_NAME);

    for (uint32_t i = 0; rows && i < count; i++)
        most = fmaxf(most, mv_ui_text_width(&view->ui, MV_UI_SMALL, rows[i].name));
    return ceilf(most) + mv_ui_px(&view->ui, MV_UI_PAD + 6 + PEAK_COLUMN + VALUE_COLUMN);
}

/* ---- the rows ---------------------------------------------------------------------------- */

static bool is_evaluated(const mv_document_device *d)
{
    return atomic_load_explicit(&d->stage, memory_order_acquire) == MV_DEVICE_REPORTED;
}

static mv_align find_best(ranks_frame *f, const mv_document_device *here)
{
    const mv_document_device **others =
        mv_push_array(f->p.ui->frame, const mv_document_device *, f->count);
    uint32_t count = 0;

    for (uint32_t i = 0; others && i < f->count; i++)
        if (f->rows[i].shown && f->rows[i].shown != here && !f->rows[i].level)
            others[count++] = f->rows[i].shown;
    return others ? mv_alignment_best(here, others, count) : MV_ALIGN_SHARE;
}

/* Returns the alignment, which is the same for all lanes. */
static mv_align alignment_of(ranks_frame *f)
{
    mv_align wanted = (mv_align)f->p.view->now->align;
    const mv_document_device *here = mv_view_device(f->p.view);
    mv_ranks_pane *pane = f->pane;

    if (wanted != MV_ALIGN_AUTO)
        return wanted;
    if (pane->best_here != here || pane->best_shown != f->shown ||
        pane->best_evaluated != f->judged) {
        pane->best_here = here;
        pane->best_shown = f->shown;
        pane->best_evaluated = f->judged;
        pane->best = find_best(f, here);
    }
    return pane->best;
}

static bool open_rows(ranks_frame *f, mv_view *view)
{
    f->pane = view->timeline->ranks;
    f->rows = mv_lane_rows(view, &f->count);
    f->choices = f->rows ? mv_lane_choices(view, f->rows, f->count) : NULL;
    for (uint32_t i = 0; f->choices && i < f->count; i++) {
        bool is_shown = f->rows[i].shown && !f->rows[i].level;
        f->shown += is_shown;
        f->judged += is_shown && is_evaluated(f->rows[i].shown);
        f->pinned += f->choices[i].is_pinned;
        f->folded += f->choices[i].is_folded;
    }
    f->by = f->choices ? alignment_of(f) : MV_ALIGN_SHARE;
    return f->choices != NULL;
}

static void lay_out(ranks_frame *f)
{
    float least = mv_ui_px(f->p.ui, MV_RANK_LEAST), most = mv_ui_px(f->p.ui, TALLEST);
    uint32_t open = f->count > f->folded ? f->count - f->folded : 1;
    float thin = least * (float)f->folded, all;

    f->high = floorf(fminf(fmaxf((f->p.plot.h - thin) / (float)open, least), most));
    all = f->high * (float)open + thin;
    f->room = all <= f->p.plot.h + 1 ? f->count : (uint32_t)fmaxf(1, f->p.plot.h / f->high);
    f->room = f->room < MV_RANK_LANES ? f->room : MV_RANK_LANES;
    /* At least one lane scrolls, however many lanes are pinned. */
    f->pinned = f->pinned < f->room || f->room == f->count ? f->pinned : f->room - 1;
}

static mv_extent all_of(const mv_document_device *d)
{
    mv_pyramid_reader reader;

    mv_pyramid_reader_init(&reader, &d->pyramid);
    return mv_pyramid_range(&reader, MV_BEFORE, d->lives.events.count);
}

static uint64_t highest(const mv_document_device *d)
{
    mv_extent all = all_of(d);

    return all.most.reserved > all.most.allocated ? all.most.reserved : all.most.allocated;
}

static double common_top(const ranks_frame *f)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t one = f->rows[i].shown ? highest(f->rows[i].shown) : 0;
        most = one > most ? one : most;
    }
    return mv_viewport_top(most);
}

/* ---- results of `ranks` ----------------------------------------------------------------- */

/* Asks for the comparison of the ranks. Does not ask until nothing is loading, because earlier
 * results would soon be wrong. */
static const mv_compared_ranks *ask_ranks(const ranks_frame *f)
{
    mv_view *view = f->p.view;
    mv_ranks_query ask = {view->documents, view->document_count, f->shown};
    bool is_current;
    const mv_compared_ranks *found;

    if (!mv_loader_is_idle(view->loader))
        return NULL;
    found = mv_slot_query(f->pane->judged, &ask, &is_current);
    return is_current ? found : NULL;
}

/* Returns the `nth` reason why a row is an outlier; NULL: there are fewer. */
static const mv_rank_outlier *outlier_of(const ranks_frame *f, const mv_device_row *row,
                                         uint32_t nth)
{
    uint32_t first = f->outlier[row - f->rows];
    const mv_rank_outlier *all = first == MV_NO_ROW ? NULL : f->found->found.outliers;

    return all && first + nth < f->found->found.count && all[first + nth].rank == all[first].rank
               ? &all[first + nth]
               : NULL;
}

/* Finds the outliers. Ranks are the shown rows, and outliers are sorted by rank. */
static bool find_outliers(ranks_frame *f)
{
    const mv_ranks *found = f->found ? &f->found->found : NULL;
    uint32_t rank = 0, at = 0;

    f->outlier = mv_push_array(f->p.ui->frame, uint32_t, f->count);
    for (uint32_t i = 0; f->outlier && i < f->count; i++) {
        while (found && at < found->count && found->outliers[at].rank < rank)
            at++;
        f->outlier[i] = f->rows[i].shown && !f->rows[i].level && found && at < found->count &&
                                found->outliers[at].rank == rank
                            ? at
                            : MV_NO_ROW;
        rank += f->rows[i].shown && !f->rows[i].level;
    }
    return f->outlier != NULL;
}

/* ---- the order of the lanes --------------------------------------------------------------- */

static bool find_order(ranks_frame *f)
{
    bool is_found =
        mv_lanes_sort(f->p.view, f->rows, f->choices, f->outlier, f->count, f->pane->order);

    f->pane->ordered = is_found ? f->count : 0;
    return is_found;
}

/* ---- one lane: its picture --------------------------------------------------------------- */

typedef struct {
    ranks_frame *f;
    uint32_t index; /* index of the lane */
    const mv_device_row *row;
    const char *name; /* name of the lane, cut to fit the column */
    mv_rank_lane *lane;
    const mv_lane_choice *choice;
    mv_alignment to;
    mv_viewport at; /* viewport of the lane */
    mv_box names, plot;
    mv_extent all;
    const mv_filter_bits *hits; /* hits of the search; NULL: none are shown, or not known yet */
} lane_frame;

/* Returns the y of a column, rounded to half a pixel. */
static float column_y(const lane_frame *l, uint32_t column)
{
    double bytes = (double)l->lane->columns.columns[column].most.allocated;

    return (float)(int)(mv_viewport_y(&l->at, bytes) * 2 + 0.5f) / 2;
}

static void paint_area(const lane_frame *l)
{
    mv_scene *scene = &l->f->p.ui->scene;
    const mv_envelope *e = &l->lane->columns;
    float bottom = l->plot.y + l->plot.h, y = e->from < e->end ? column_y(l, e->from) : 0;
    uint32_t first = e->from;

    for (uint32_t c = e->from; c < e->end; c++) {
        float next = c + 1 < e->end ? column_y(l, c + 1) : -1;
        if (next == y) /* one wide step is drawn faster than many narrow ones */
            continue;
        mv_scene_point(scene, l->plot.x + (float)first, y);
        mv_scene_point(scene, l->plot.x + (float)first, bottom);
        mv_scene_point(scene, l->plot.x + (float)c + 1, y);
        mv_scene_point(scene, l->plot.x + (float)c + 1, bottom);
        first = c + 1;
        y = next;
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = mv_site_colour(0)});
}

static void paint_peak(const lane_frame *l)
{
    const mv_plot *p = &l->f->p;
    float side = mv_ui_px(p->ui, MARK), x, y;
    uint32_t column;

    if (!mv_envelope_column(&l->lane->columns, l->all.allocated_event, &column))
        return;
    x = l->plot.x + (float)column + 0.5f;
    y = fmaxf(column_y(l, column), l->plot.y + 1.5f * side);
    mv_scene_point(&p->ui->scene, x - side, y - 1.5f * side);
    mv_scene_point(&p->ui->scene, x + side, y - 1.5f * side);
    mv_scene_point(&p->ui->scene, x, y);
    mv_scene_add(&p->ui->scene,
                 (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = p->ui->theme->outline});
}

static void paint_ooms(const lane_frame *l)
{
    const mv_trace_marks *marks = &l->row->shown->trace_marks;
    mv_ui *ui = l->f->p.ui;
    uint32_t most = marks->oom_count < MOST_EVENTS_OOM ? marks->oom_count : MOST_EVENTS_OOM, column;

    for (uint32_t i = 0; i < most; i++)
        if (mv_envelope_column(&l->lane->columns, marks->ooms[i], &column))
            mv_ui_fill(ui, (mv_box){l->plot.x + (float)column, l->plot.y, 2 * ui->scale, l->plot.h},
                       ui->theme->alarm);
}

static void paint_hits(lane_frame *l)
{
    const mv_plot *p = &l->f->p;
    float high = fminf(mv_ui_px(p->ui, HITS), floorf(l->plot.h / 3));

    l->hits = mv_search_matches(p->view, &l->lane->hits, l->row->document, l->row->shown);
    if (l->hits)
        mv_hit_ticks_of(p->view, &l->row->shown->index, l->hits, &l->lane->columns,
                        (mv_box){l->plot.x, l->plot.y + l->plot.h - high, l->plot.w, high});
}

/* Paints a triangle at the edge where the recording continues outside this picture. */
static void paint_more(const lane_frame *l, bool is_left)
{
    mv_ui *ui = l->f->p.ui;
    float side = mv_ui_px(ui, MARK), y = l->plot.y + l->plot.h / 2;
    float x = is_left ? l->plot.x : l->plot.x + l->plot.w, to = is_left ? side : -side;

    mv_scene_point(&ui->scene, x + to, y - side);
    mv_scene_point(&ui->scene, x + to, y + side);
    mv_scene_point(&ui->scene, x, y);
    mv_scene_add(&ui->scene, (mv_shape){.kind = MV_SHAPE_POLYGON, .fill = ui->theme->text});
}

/* Finds the columns of a lane. All lanes share the time available in a frame. */
static void find_columns(const lane_frame *l)
{
    const mv_plot *p = &l->f->p;
    bool is_moving = p->pane->is_easing || p->pane->is_zooming || p->pane->drag.kind == MV_DRAG_PAN;
    uint32_t most = !p->view->opts.is_threaded ? UINT32_MAX : is_moving ? 0 : l->f->left, before;
    mv_rank_lane *lane = l->lane;

    if (lane->device != l->row->shown) {
        mv_pyramid_reader_init(&lane->levels, &l->row->shown->pyramid);
        lane->columns.count = 0;
    }
    lane->device = l->row->shown;
    lane->columns.coarse = (uint32_t)((double)l->f->room * (double)p->plot.w / FIRST_COLUMNS) + 1;
    before = lane->columns.exact;
    if (!mv_envelope_find(p->pane, &lane->columns, &lane->levels, p->at, &l->to, most) &&
        !is_moving)
        p->ui->is_animating = true;
    if (lane->columns.exact > before)
        l->f->left -=
            lane->columns.exact - before < l->f->left ? lane->columns.exact - before : l->f->left;
}

static void paint_picture(lane_frame *l)
{
    const mv_plot *p = &l->f->p;
    const mv_theme *theme = p->ui->theme;
    uint32_t events = l->row->shown->lives.events.count;
    float unit = p->ui->scale;
    bool is_tall = l->names.h >= mv_ui_px(p->ui, OUTLINED);

    find_columns(l);
    paint_area(l);
    if (is_tall)
        mv_curve_paint(p->ui, &l->at, &l->lane->columns, MV_ALLOCATED,
                       (mv_shape){.stroke = (theme->outline & ~0xffu) | 0xa0, .width = unit});
    mv_curve_paint(p->ui, &l->at, &l->lane->columns, MV_RESERVED,
                   (mv_shape){.stroke = theme->reserved, .width = unit, .is_dashed = is_tall});
    paint_hits(l);
    paint_ooms(l);
    paint_peak(l);
    if (events && !mv_alignment_shows(&l->to, 0))
        paint_more(l, true);
    if (events && !mv_alignment_shows(&l->to, events - 1))
        paint_more(l, false);
}

/* Returns the width of the values at the cursor; 0: there is no room for them. */
static float value_width(const ranks_frame *f)
{
    const mv_ui *ui = f->p.ui;

    return f->p.scale.w < mv_ui_px(ui, LEAST_SHORT + PEAK_COLUMN + VALUE_COLUMN)
               ? 0
               : mv_ui_px(ui, VALUE_COLUMN);
}

/* ---- one lane: its labels ---------------------------------------------------------------- */

static const char *value_of(lane_frame *l)
{
    char size[MV_SIZE_TEXT];
    mv_levels levels;
    uint32_t moment;

    if (!mv_alignment_moment(&l->to, l->f->place, &moment))
        return "\xe2\x80\x93";
    levels = mv_pyramid_at(&l->lane->levels, moment);
    return mv_scene_format(&l->f->p.ui->scene, "%s", mv_size_text(size, levels.allocated));
}

static const char *status_of(const mv_device_row *row)
{
    int stage = atomic_load_explicit(&row->document->stage, memory_order_acquire);

    if (stage == MV_DOCUMENT_FAILED)
        return row->document->why;
    if (stage == MV_DOCUMENT_OPENED && row->device == MV_NO_ROW)
        return "it has no GPU memory";
    return "not ready yet";
}

static const char *tip_of(lane_frame *l)
{
    mv_scene *scene = &l->f->p.ui->scene;
    char peak[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT];
    const mv_rank_outlier *outlier;
    const char *text;

    if (!l->row->shown)
        return mv_scene_format(scene, "%s\n%s", l->row->name, status_of(l->row));
    text = mv_scene_format(scene, "%s\npeak %s, most reserved %s", l->row->name,
                           mv_size_text(peak, l->all.most.allocated),
                           mv_size_text(reserved, l->all.most.reserved));
    if (l->hits)
        text = mv_scene_format(scene, "%s\n%u hit%s of the search", text, l->hits->matches,
                               mv_plural(l->hits->matches));
    for (uint32_t i = 0; (outlier = outlier_of(l->f, l->row, i)) != NULL; i++)
        text = mv_scene_format(scene, "%s\n%s", text, outlier->text);
    return mv_scene_format(scene, "%s\nclick: show it", text);
}

/* Returns the second line: whether the lane is pinned, followed by the difference or the reserved
 * bytes. */
static const char *note_of(lane_frame *l, const mv_rank_outlier *outlier)
{
    char reserved[MV_SIZE_TEXT];

    if (!l->row->shown)
        return status_of(l->row);
    if (outlier && !l->choice->is_pinned)
        return outlier->text;
    if (outlier)
        return mv_scene_format(&l->f->p.ui->scene, "pinned \xc2\xb7 %s", outlier->text);
    return mv_scene_format(&l->f->p.ui->scene, "%s%s reserved",
                           l->choice->is_pinned ? "pinned \xc2\xb7 " : "",
                           mv_size_text(reserved, l->all.most.reserved));
}

/* Paints the reason. If it is too long for one line, it takes as many lines as there is room for.
 * If there is room for only one line, the part between a comma and the colon is left out. */
static void paint_note(lane_frame *l, mv_box box, const char *text)
{
    mv_ui *ui = l->f->p.ui;
    mv_ui_lines lines = {.size = MV_UI_SMALL,
                         .line = MV_UI_LINE - 3,
                         .colour = ui->theme->faint_text,
                         .most = (uint32_t)fmaxf(1, box.h / mv_ui_px(ui, MV_UI_LINE - 3)),
                         .gap = " "};
    const char *rest = strstr(text, ": ");

    if (rest && lines.most == 1 && mv_ui_text_width(ui, MV_UI_SMALL, text) > box.w)
        text = mv_scene_format(&ui->scene, "%.*s%s", (int)strcspn(text, ",:"), text, rest);
    mv_ui_paragraph(ui, box, &lines, text);
}

static void paint_names(lane_frame *l)
{
    mv_ui *ui = l->f->p.ui;
    const mv_theme *theme = ui->theme;
    const mv_rank_outlier *outlier = outlier_of(l->f, l->row, 0);
    bool has_two = l->names.h >= mv_ui_px(ui, TWO_LINES);
    mv_box box = l->names, line, value, peak;
    char size[MV_SIZE_TEXT];

    if (outlier)
        mv_ui_fill(ui, (mv_box){box.x, box.y, mv_ui_px(ui, 3), box.h - 1}, theme->alarm);
    mv_ui_zone(ui, box, MV_DO_show_rank, l->index, tip_of(l));
    mv_box_cut_left(&box, mv_ui_px(ui, MV_UI_PAD));
    line = mv_box_cut_top(&box, has_two ? mv_ui_px(ui, MV_UI_LINE) : box.h);
    value = mv_box_cut_right(&line, value_width(l->f));
    peak = mv_box_cut_right(&line, mv_ui_px(ui, PEAK_COLUMN));
    value.w = fmaxf(0, value.w - mv_ui_px(ui, MV_UI_PAD));
    line.w -= mv_ui_px(ui, 4);
    mv_ui_text(ui, line, MV_UI_SMALL, outlier ? theme->alarm : theme->text, MV_ANCHOR_START,
               l->name);
    if (l->row->shown) {
        mv_ui_text(ui, peak, MV_UI_SMALL, theme->text, MV_ANCHOR_END,
                   mv_size_text(size, l->all.most.allocated));
        mv_ui_text(ui, value, MV_UI_SMALL, theme->text, MV_ANCHOR_END, value_of(l));
    }
    if (!has_two)
        return;
    box.w -= mv_ui_px(ui, MV_UI_PAD);
    paint_note(l, box, note_of(l, outlier));
}

/* Paints the buttons of the lane under the pointer, over the left end of its picture. */
static void paint_handles(lane_frame *l)
{
    const struct {
        mv_command_id command;
        const char *text;
    } handles[] = {{MV_DO_lane_pin, l->choice->is_pinned ? "unpin" : "pin"},
                   {MV_DO_lane_fold, l->choice->is_folded ? "unfold" : "fold"},
                   {MV_DO_lane_up, "up"},
                   {MV_DO_lane_down, "down"}};
    mv_ui *ui = l->f->p.ui;
    mv_box row = {l->names.x + l->names.w, l->names.y, 0, fminf(l->names.h, mv_ui_px(ui, 18))};

    for (size_t i = 0; i < sizeof handles / sizeof *handles && !ui->has_no_buttons; i++) {
        row.w = mv_ui_text_width(ui, MV_UI_TEXT, handles[i].text) + mv_ui_px(ui, 2 * MV_UI_PAD);
        mv_ui_fill(ui, row, ui->theme->background);
        mv_ui_frame(ui, row, ui->theme->grid);
        mv_ui_button(ui, row, false, handles[i].command, l->index + 1, handles[i].text);
        row.x += row.w;
    }
}

static float name_width(const ranks_frame *f)
{
    return f->p.scale.w - mv_ui_px(f->p.ui, MV_UI_PAD) - value_width(f) -
           mv_ui_px(f->p.ui, PEAK_COLUMN) - mv_ui_px(f->p.ui, 4);
}

/* Returns the index of a lane among those that may be shown. */
static uint32_t place_of(const ranks_frame *f, uint32_t lane)
{
    return lane < f->pinned ? lane : lane - f->pane->first;
}

static bool fit_names(ranks_frame *f)
{
    uint32_t count = f->count - f->pane->first;

    count = count < MV_RANK_LANES ? count : MV_RANK_LANES;
    f->names =
        mv_push_array(f->p.ui->frame, const char *, (uint64_t)count + 1); /* for a lane that is not
                                                                             placed */
    for (uint32_t i = 0; f->names && i < count; i++) {
        uint32_t lane = i < f->pinned ? i : i + f->pane->first;
        f->names[i] = f->rows[f->pane->order[lane]].name;
    }
    if (f->names)
        mv_names_fit(&f->p.ui->scene, f->names, count, MV_UI_SMALL * f->p.ui->scale, name_width(f));
    return f->names != NULL;
}

static lane_frame open_lane(ranks_frame *f, uint32_t i, float y, float high)
{
    const mv_plot *p = &f->p;
    float gap = mv_ui_px(p->ui, GAP);
    lane_frame l = {
        .f = f,
        .index = i,
        .row = &f->rows[f->pane->order[i]],
        .name = f->names[place_of(f, i)],
        .lane = &f->pane->lanes[i < f->pinned
                                    ? i
                                    : f->pinned + (i - f->pinned) % (MV_RANK_LANES - f->pinned)],
        .choice = &f->choices[f->pane->order[i]],
        .names = {p->scale.x, y, p->scale.w, high},
        .plot = {p->plot.x, y + gap, p->plot.w, high - gap}};
    double top = f->top;

    if (!l.row->shown)
        return l;
    l.all = all_of(l.row->shown);
    l.to = mv_alignment_make(p->device, l.row->shown, l.row->level ? MV_ALIGN_CLOCK : f->by);
    if (p->view->now->has_own_scales)
        top = mv_viewport_top(highest(l.row->shown));
    l.at = p->at;
    l.at.box = l.plot;
    l.at.y = 0;
    l.at.dy = top / (double)l.plot.h;
    return l;
}

/* Paints the next lane at *y. Returns false if there is no room. */
static bool paint_lane(ranks_frame *f, uint32_t i, float *y)
{
    mv_ui *ui = f->p.ui;
    mv_ranks_pane *pane = f->pane;
    float high = f->choices[pane->order[i]].is_folded ? mv_ui_px(ui, MV_RANK_LEAST) : f->high;
    lane_frame l = open_lane(f, i, *y, high);
    mv_box all = {l.names.x, l.names.y, l.names.w + l.plot.w, high};
    bool is_shown = l.row->shown && l.row->shown == f->p.device;

    if (*y + high > f->p.plot.y + f->p.plot.h + 1 || pane->placed == MV_RANK_LANES)
        return false;
    if (is_shown || mv_ui_is_hot(ui, all))
        mv_ui_fill(ui, l.names, ui->theme->grid);
    mv_ui_fill(ui, l.plot, ui->theme->plot);
    if (l.row->shown)
        paint_picture(&l);
    paint_names(&l);
    if (mv_ui_is_hot(ui, all))
        paint_handles(&l);
    pane->placed_lane[pane->placed] = i;
    pane->placed_y[pane->placed] = *y;
    pane->placed_h[pane->placed++] = high;
    *y += high;
    return true;
}

/* ---- around the lanes --------------------------------------------------------------------- */

static void button(ranks_frame *f, mv_box *box, mv_command_id command, bool is_on, const char *text)
{
    mv_ui *ui = f->p.ui;
    float width = ceilf(mv_ui_text_width(ui, MV_UI_TEXT, text)) + 2 * mv_ui_px(ui, MV_UI_PAD);

    if (box->w - width < f->verdict_width)
        return;
    /* In a printed picture, all these labels are painted, because they show how the lanes are
     * aligned. */
    mv_ui_button(ui, mv_box_cut_right(box, width), is_on || ui->has_no_buttons, command, 0, text);
}

static void paint_head(ranks_frame *f)
{
    static const char *const orders[MV_LANES_COUNT] = {"in order of opening", "highest peak first",
                                                       "differing first", "as moved"};
    mv_ui *ui = f->p.ui;
    const mv_view_state *now = f->p.view->now;
    mv_box box = f->p.head;
    char size[MV_SIZE_TEXT];
    const char *text = f->found ? f->found->found.verdict
                       : f->shown < 2
                           ? "one device: Ctrl+O opens another file, and it gets a lane here"
                           : "comparing\xe2\x80\xa6";

    f->verdict_width = mv_ui_px(ui, LEAST_VERDICT);
    if (box.w < mv_ui_px(ui, NARROW) || f->shown < 2)
        f->verdict_width = fmaxf(f->verdict_width,
                                 mv_ui_text_width(ui, MV_UI_TEXT, text) + mv_ui_px(ui, MV_UI_PAD));
    button(f, &box, MV_DO_own_scales, now->has_own_scales,
           now->has_own_scales ? "a scale for each lane"
                               : mv_scene_format(&ui->scene, "one scale: 0 to %s",
                                                 mv_size_text(size, (uint64_t)f->top)));
    button(f, &box, MV_DO_next_align, false,
           mv_scene_format(&ui->scene, "aligned by %s%s", mv_align_name(f->by),
                           now->align == MV_ALIGN_AUTO ? " (auto)" : ""));
    button(f, &box, MV_DO_next_lane_order, false, orders[now->lane_order]);
    if (mv_view_levels(f->p.view)->count > 1)
        button(f, &box, MV_DO_level_lanes, now->has_level_lanes, "all levels");
    mv_box_cut_left(&box, mv_ui_px(ui, MV_UI_PAD));
    mv_ui_text(ui, box, MV_UI_TEXT, ui->theme->text, MV_ANCHOR_START, text);
    mv_ui_zone(ui, box, MV_DO_NOTHING, 0, text); /* the tooltip shows the complete text, which may
                                                  * be cut in the pane */
}

static void paint_titles(ranks_frame *f, bool is_pointer)
{
    mv_ui *ui = f->p.ui;
    mv_box box = f->p.lanes, value, peak;
    uint32_t colour = ui->theme->faint_text;

    value = mv_box_cut_right(&box, value_width(f));
    peak = mv_box_cut_right(&box, mv_ui_px(ui, PEAK_COLUMN));
    value.w = fmaxf(0, value.w - mv_ui_px(ui, MV_UI_PAD));
    mv_box_cut_left(&box, mv_ui_px(ui, MV_UI_PAD));
    mv_ui_text(ui, box, MV_UI_SMALL, colour, MV_ANCHOR_START, "file or device");
    mv_ui_text(ui, peak, MV_UI_SMALL, colour, MV_ANCHOR_END, "peak");
    mv_ui_text(ui, value, MV_UI_SMALL, colour, MV_ANCHOR_END,
               is_pointer ? "at the pointer" : "at the cursor");
}

/* Finds the position of the displayed values. */
static bool find_place(ranks_frame *f)
{
    const mv_plot *p = &f->p;
    uint32_t cursor = p->view->now->cursor;
    bool is_pointer = mv_ui_is_hot(p->ui, p->plot);

    if (is_pointer)
        f->place = mv_viewport_border(&p->at, (uint32_t)(p->ui->pointer_x - p->plot.x));
    else
        f->place = cursor == MV_BEFORE ? 0 : cursor;
    return is_pointer;
}

static void paint_outlier_ticks(ranks_frame *f, mv_box all)
{
    mv_ui *ui = f->p.ui;
    float width = mv_ui_px(ui, MARK), high = mv_ui_px(ui, 2);

    for (uint32_t i = f->pinned; f->count > f->room && i < f->count; i++)
        if (f->outlier[f->pane->order[i]] != MV_NO_ROW)
            mv_ui_fill(ui,
                       (mv_box){all.x + all.w - width,
                                all.y + (all.h - high) * (float)(i - f->pinned) /
                                            (float)(f->count - f->pinned),
                                width, high},
                       ui->theme->alarm);
}

/* Scrolls if the keyboard focus has moved to a hidden lane. Pinned lanes do not scroll. */
static void scroll_to(ranks_frame *f)
{
    uint32_t *first = &f->pane->first, row, room = f->room - f->pinned, all = f->count - f->pinned;

    if (mv_focus_reached(f->p.view, MV_DO_show_rank, &row) && row >= f->pinned) {
        row -= f->pinned;
        if (row >= *first + room)
            *first = row + 1 - room;
        if (row < *first)
            *first = row;
    }
    if (*first + room > all)
        *first = all > room ? all - room : 0;
}

static void paint_lanes(ranks_frame *f)
{
    mv_ui *ui = f->p.ui;
    mv_box all = {f->p.scale.x, f->p.plot.y, f->p.plot.x + f->p.plot.w - f->p.scale.x, f->p.plot.h};
    bool is_pointer = find_place(f);
    float y = f->p.plot.y;
    mv_box bar;

    scroll_to(f);
    if (!fit_names(f)) {
        ui->ran_out_of_memory = true;
        return;
    }
    mv_ui_list(ui, MV_DO_show_rank, f->count, f->room);
    paint_head(f);
    paint_titles(f, is_pointer);
    mv_plot_axes(&f->p);
    mv_scene_clip(&ui->scene, all.x, all.y, all.w, all.h);
    f->pane->placed = 0;
    for (uint32_t i = 0; i < f->pinned && paint_lane(f, i, &y); i++)
        continue;
    if (f->pinned) /* the lanes below this line scroll */
        mv_ui_fill(ui, (mv_box){all.x, y - mv_ui_px(ui, 2), all.w, mv_ui_px(ui, 2)},
                   ui->theme->faint_text);
    for (uint32_t i = f->pinned + f->pane->first; i < f->count && paint_lane(f, i, &y); i++)
        continue;
    mv_plot_veil(&f->p);
    mv_plot_interval(&f->p);
    mv_scene_unclip(&ui->scene);
    mv_plot_cursor(&f->p);
    all.w += mv_ui_px(ui, MV_RANK_BAR);
    bar = all;
    for (uint32_t i = 0; i < f->pinned && i < f->pane->placed; i++)
        mv_box_cut_top(&bar, f->pane->placed_h[i]);
    mv_ui_scroll(ui, bar, f->count - f->pinned, f->room - f->pinned, &f->pane->first);
    paint_outlier_ticks(f, bar);
    if (is_pointer)
        mv_ui_fill(ui, (mv_box){floorf(ui->pointer_x), f->p.plot.y, 1, f->p.plot.h},
                   ui->theme->faint_text);
}

void mv_ranks_paint(mv_view *view, mv_box box)
{
    ranks_frame f = {0};

    if (!mv_plot_begin(&f.p, view, box))
        return;
    if (!open_rows(&f, view)) {
        view->ui.ran_out_of_memory = true;
        return;
    }
    lay_out(&f);
    f.top = common_top(&f);
    f.left = EXACT_COLUMNS;
    f.found = ask_ranks(&f);
    if (find_outliers(&f) && find_order(&f))
        paint_lanes(&f);
    else
        view->ui.ran_out_of_memory = true;
}

/* ---- the pointer -------------------------------------------------------------------------- */

bool mv_rank_at(mv_view *view, mv_box box, float x, float y, mv_device_row *out, double *place)
{
    uint32_t lane = mv_rank_lane_at(view, x, y);
    const mv_device_row *row;
    ranks_frame f = {0};

    if (!mv_plot_open(&f.p, view, box) || !view->timeline->has_viewport || !open_rows(&f, view) ||
        !mv_box_has(f.p.plot, x, y))
        return false;
    mv_plot_look(&f.p);
    row = lane == MV_NO_ROW ? NULL : mv_rank_row(view, lane);
    if (!row || !row->shown)
        return false;
    *out = *row;
    *place = mv_viewport_border(&f.p.at, (uint32_t)(x - f.p.plot.x));
    return true;
}

mv_alignment mv_rank_alignment(mv_view *view, const mv_device_row *row)
{
    ranks_frame f = {.p = {.view = view, .ui = &view->ui}};

    open_rows(&f, view);
    return mv_alignment_make(mv_view_device(view), row->shown, row->level ? MV_ALIGN_CLOCK : f.by);
}
