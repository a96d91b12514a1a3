/* The allocation or segment under the pointer, and the pinned one: their outlines and tooltips. */
#include <math.h>

#include "base/size.h"
#include "view/document/level_calls.h"
#include "view/timeline/plot.h"
#include "viz/scene/axis.h"

enum { MOST_SLIDES = 8192, TIP_LINES = 14, TIP_WIDTH = 460, LABEL = 256, TIP_CALLERS = 5 };

/* ---- under the pointer ------------------------------------------------------------------- */

/* Returns the stack of the shown rows that is used to find the row under the pointer; NULL when out
 * of memory. */
static mv_column_stack *hit_stack(mv_plot *p)
{
    mv_timeline_pane *pane = p->pane;
    mv_err err;

    if (pane->hit_rows == p->rows->ask.id)
        return &pane->stack;
    mv_arena_release(&pane->hit_arena);
    mv_arena_init(&pane->hit_arena, p->view->budget);
    pane->hit_rows = 0;
    if (mv_column_stack_init(&pane->hit_arena, p->index, p->rows->only, &pane->stack, &err) !=
        MV_OK)
        return NULL;
    pane->hit_rows = p->rows->ask.id;
    return &pane->stack;
}

bool mv_plot_hit(mv_plot *p, float x, float y, uint32_t *event, mv_hit *out)
{
    mv_tile_view tiles = mv_plot_tile_view(p);
    mv_tile_point point;
    mv_column_stack *stack;

    *out = (mv_hit){.rank = MV_NO_ROW};
    if (!mv_box_has(p->plot, x, y) || p->index->count == 0)
        return false;
    point = mv_tile_point_at(&tiles, p->levels, (double)floorf(x - p->plot.x),
                             (double)floorf(y - p->plot.y));
    *event = p->of_pools
                 ? mv_viewport_column(&p->at, (uint32_t)fmaxf(0, floorf(x - p->plot.x))).first
                 : point.instant.event;
    stack = p->of_pools ? NULL : hit_stack(p);
    if (stack && point.byte != MV_NO_BYTES)
        *out = mv_hit_find(stack, point.instant, point.byte, point.low, point.high);
    return true;
}

/* ---- outlines ----------------------------------------------------------------------------- */

typedef struct {
    mv_plot *p;
    uint64_t bytes;
    uint32_t count, capacity;
    mv_point *points; /* points of the lower edge, in pixels */
    float *high;      /* y of the upper edge at each point */
} outline;

static void put(outline *o, double place, uint64_t offset)
{
    const mv_viewport *at = &o->p->at;
    float x = at->box.x + (float)fmin(fmax((place - at->x) / at->dx, -1e5), 1e5);

    if (o->count == o->capacity)
        return;
    o->high[o->count] = mv_viewport_y(at, (double)(offset + o->bytes));
    o->points[o->count++] = (mv_point){x, mv_viewport_y(at, (double)offset)};
}

static bool trace_outline(outline *o, uint32_t rank)
{
    const mv_plot *p = o->p;
    const mv_index *x = p->index;
    const mv_timescale *scale = &p->rows->scale;
    const mv_drawn *drawn = &p->rows->drawn;
    uint32_t born = x->birth[rank], end = x->end[rank], first = p->shown.first;
    uint32_t event = born != MV_BEFORE && born > first ? born : first;
    uint32_t stop = end < p->shown.end ? end : p->shown.end;
    uint64_t offset;

    if (p->lives->events.count == 0)
        event = MV_BEFORE;
    if (!mv_drawn_has(drawn, rank) || !mv_index_is_alive(x, rank, event))
        return false;
    offset = mv_drawn_offset(drawn, rank, event);
    put(o, mv_timescale_at(scale, event), offset);
    while (event != MV_BEFORE && o->count + 3 < o->capacity) {
        event = mv_drawn_next_slide(drawn, event + 1, stop, rank);
        if (event >= stop)
            break;
        put(o, mv_timescale_at(scale, event), offset);
        offset -= mv_drawn_slide(drawn, event, rank);
        put(o, mv_timescale_at(scale, event) + scale->slide, offset);
    }
    put(o, end == MV_NEVER ? scale->length : mv_timescale_at(scale, stop), offset);
    return true;
}

static void stroke(mv_plot *p, const outline *o, uint32_t colour, float width)
{
    mv_scene *scene = &p->ui->scene;

    for (uint32_t i = 0; i < o->count; i++)
        mv_scene_point(scene, o->points[i].x, o->points[i].y);
    for (uint32_t i = o->count; i > 0; i--)
        mv_scene_point(scene, o->points[i - 1].x, o->high[i - 1]);
    mv_scene_point(scene, o->points[0].x, o->points[0].y);
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_LINE, .stroke = colour, .width = width});
}

/* Fills a low shape with its colour, because otherwise the outline would hide it. */
static void fill(mv_plot *p, const outline *o, uint32_t rank)
{
    mv_scene *scene = &p->ui->scene;

    if (p->of_segments)
        return;
    for (uint32_t i = 0; i < o->count; i++) {
        mv_scene_point(scene, o->points[i].x, o->high[i]);
        mv_scene_point(scene, o->points[i].x, o->points[i].y);
    }
    mv_scene_add(scene, (mv_shape){.kind = MV_SHAPE_STRIP, .fill = mv_view_colour(p->view, rank)});
}

static void paint_outline(mv_plot *p, uint32_t rank, bool is_pinned)
{
    outline o = {.p = p, .bytes = p->index->bytes[rank], .capacity = 2 * MOST_SLIDES};
    float unit = p->ui->scale;

    if (!p->rows->has_drawn)
        return;
    o.points = mv_push_array(p->ui->frame, mv_point, o.capacity);
    o.high = mv_push_array(p->ui->frame, float, o.capacity);
    if (!o.points || !o.high || !trace_outline(&o, rank))
        return;
    mv_scene_clip(&p->ui->scene, p->plot.x, p->plot.y, p->plot.w, p->plot.h);
    stroke(p, &o, p->ui->theme->background, (is_pinned ? 4.6f : 3) * unit);
    stroke(p, &o, p->ui->theme->outline, (is_pinned ? 2.4f : 1.4f) * unit);
    if (mv_viewport_y(&p->at, 0) - mv_viewport_y(&p->at, (double)o.bytes) < 6 * unit)
        fill(p, &o, rank);
    mv_scene_unclip(&p->ui->scene);
}

/* ---- the description ---------------------------------------------------------------------- */

typedef struct {
    uint32_t count;
    const char *line[TIP_LINES];
} tip;

static void say(tip *t, const char *line)
{
    if (t->count < TIP_LINES && *line)
        t->line[t->count++] = line;
}

static const char *sized(mv_plot *p, const char *before, uint64_t bytes)
{
    char size[MV_SIZE_TEXT], exact[MV_TICK_TEXT];

    mv_size_text(size, bytes);
    if (bytes < 1024)
        return mv_scene_format(&p->ui->scene, "%s%s", before, size);
    return mv_scene_format(&p->ui->scene, "%s%s (%s bytes)", before, size,
                           mv_axis_exact(bytes, exact));
}

/* Describes the life of a row: "born at event 12 · 1.2 ms, freed at event 20 · 1.3 ms: lives 8
 * events". */
static const char *life(mv_plot *p, uint32_t rank)
{
    uint32_t birth = p->index->birth[rank], end = p->index->end[rank];
    mv_scene *scene = &p->ui->scene;
    const char *from = birth == MV_BEFORE
                           ? "from before the first event (allocation not recorded)"
                           : mv_scene_format(scene, "from %s", mv_plot_moment(p, birth));
    char text[MV_TICK_TEXT];

    if (end == MV_NEVER)
        return mv_scene_format(scene, "%s, never freed", from);
    if (birth == MV_BEFORE)
        return mv_scene_format(scene, "%s to %s", from, mv_plot_moment(p, end));
    return mv_scene_format(scene, "%s to %s: %s events", from, mv_plot_moment(p, end),
                           mv_axis_exact(end - birth, text));
}

static void describe_alloc(mv_plot *p, uint32_t rank, tip *t)
{
    const mv_alloc_lives *a = &p->lives->allocs;
    const uint8_t *kinds = p->document->sites.kinds;
    char label[LABEL], asked[MV_SIZE_TEXT];

    mv_culprit_label(p->trace, kinds, a->stack[rank], label, sizeof label);
    say(t, mv_scene_format(&p->ui->scene, "%s", label));
    if (a->requested[rank] == a->block[rank])
        say(t, sized(p, "", a->block[rank]));
    else
        say(t, mv_scene_format(&p->ui->scene, "%s, %s requested", sized(p, "", a->block[rank]),
                               mv_size_text(asked, a->requested[rank])));
    if (mv_view_is_evaluated(p->view) && p->device->leaks.is_leaked[rank])
        say(t, "part of a leak");
    say(t, life(p, rank));
}

/* Adds the callers of the allocating line that are in the user's own code, up to TIP_CALLERS. */
static void describe_callers(mv_plot *p, uint32_t rank, tip *t)
{
    const uint8_t *kinds = p->document->sites.kinds;
    mv_stack_id stack = p->lives->allocs.stack[rank];
    mv_frame_id culprit = mv_culprit_frame(p->trace, kinds, stack);
    uint32_t count, said = 0, more = 0, i = 0;
    const mv_frame_id *frames = mv_stack_frames(p->trace, stack, &count);
    char label[LABEL];

    while (i < count && frames[i].row != culprit.row)
        i++;
    for (i++; i < count; i++) {
        if (kinds[frames[i].row] != MV_FRAME_USER)
            continue;
        more += said == TIP_CALLERS;
        if (said == TIP_CALLERS)
            continue;
        said++;
        say(t, mv_scene_format(&p->ui->scene, "  called by %s",
                               mv_frame_label(p->trace, frames[i], label, sizeof label)));
    }
    if (more)
        say(t, mv_scene_format(&p->ui->scene, "  and %u more callers: a click shows all", more));
}

static void say_use(mv_plot *p, uint32_t rank, uint32_t event, tip *t)
{
    uint64_t size = p->index->bytes[rank];
    uint64_t used = mv_segment_used(&p->device->index, p->index, rank, event);
    char text[MV_SIZE_TEXT];

    say(t, mv_scene_format(&p->ui->scene, "%s used: %.0f %%", mv_size_text(text, used),
                           size ? 100.0 * (double)used / (double)size : 0));
}

/* Describes a segment, with the bytes in use at `event` unless `event` is NULL. */
static void describe_segment(mv_plot *p, uint32_t rank, const uint32_t *event, tip *t)
{
    const mv_segment_lives *s = &p->device->lives.segments;
    uint32_t row = p->lives->allocs.segment[rank];
    char pool[MV_GROUP_LABEL], stream[MV_GROUP_LABEL];

    say(t, sized(p, s->is_expandable[row] ? "mapped range of " : "segment of ",
                 p->index->bytes[rank]));
    if (event)
        say_use(p, rank, *event, t);
    say(t, mv_scene_format(&p->ui->scene, "%s blocks, %s, %s",
                           s->kind[row] == MV_SEGMENT_SMALL ? "small" : "large",
                           mv_pool_label(p->trace, s->pool[row], pool),
                           mv_stream_label(p->trace, s->stream[row], stream)));
    say(t, life(p, rank));
}

const char *mv_plot_row_text(mv_plot *p, uint32_t rank)
{
    const char *text;
    tip t = {0};

    if (p->of_segments)
        describe_segment(p, rank, NULL, &t);
    else
        describe_alloc(p, rank, &t);
    text = t.line[0];
    for (uint32_t i = 1; i < t.count; i++)
        text = mv_scene_format(&p->ui->scene, "%s\n%s", text, t.line[i]);
    return text;
}

static void describe_pixel(mv_plot *p, const mv_hit *hit, tip *t)
{
    char size[MV_HIT_LARGEST][MV_SIZE_TEXT] = {"", "", ""};

    if (hit->sharing < 2)
        return;
    for (int i = 0; i < MV_HIT_LARGEST; i++)
        if (hit->largest[i] != MV_NO_ROW)
            mv_size_text(size[i], p->index->bytes[hit->largest[i]]);
    say(t, mv_scene_format(&p->ui->scene, "%s share this pixel: %s%s%s%s%s%s",
                           mv_scene_count(&p->ui->scene, hit->sharing), size[0],
                           *size[1] ? ", " : "", size[1], *size[2] ? ", " : "", size[2],
                           hit->sharing > MV_HIT_LARGEST ? " \xe2\x80\xa6" : ""));
}

static void describe_moment(mv_plot *p, uint32_t event, tip *t)
{
    mv_levels levels = mv_pyramid_at(&p->view->levels, event);
    uint64_t requested = mv_plot_requested_at(p, p->ui->pointer_x);
    char allocated[MV_SIZE_TEXT], reserved[MV_SIZE_TEXT], hits[MV_SIZE_TEXT];

    if (p->rows->only)
        say(t, mv_scene_format(&p->ui->scene, "hits here: %s",
                               mv_size_text(hits, mv_pyramid_at(p->levels, event).allocated)));

    if (!mv_level_reserves(p->trace))
        say(t, mv_scene_format(&p->ui->scene, "here %s %s, %s",
                               mv_size_text(allocated, levels.allocated), mv_level_held(p->trace),
                               mv_plot_moment(p, event)));
    else
        say(t, mv_scene_format(&p->ui->scene, "here %s of %s in use, %s",
                               mv_size_text(allocated, levels.allocated),
                               mv_size_text(reserved, levels.reserved), mv_plot_moment(p, event)));
    if (requested != MV_NO_BYTES)
        say(t, mv_scene_format(&p->ui->scene, "%s requested in this column",
                               mv_size_text(hits, requested)));
}

static void paint_tip(mv_plot *p, const tip *t)
{
    mv_ui *ui = p->ui;
    float line = mv_ui_px(ui, MV_UI_LINE), pad = mv_ui_px(ui, MV_UI_PAD), w = 0;
    mv_box all = {p->head.x, p->head.y, p->head.w, p->ruler.y + p->ruler.h - p->head.y}, box;

    for (uint32_t i = 0; i < t->count; i++)
        w = fmaxf(w, mv_ui_text_width(ui, MV_UI_TEXT, t->line[i]));
    w = fminf(fminf(w + 1, mv_ui_px(ui, TIP_WIDTH)) + 2 * pad, all.w);
    box =
        (mv_box){ui->pointer_x + pad * 2, ui->pointer_y + pad * 2, w, line * (float)t->count + pad};
    if (box.x + box.w > all.x + all.w)
        box.x = fmaxf(all.x, ui->pointer_x - pad * 2 - box.w);
    if (box.y + box.h > all.y + all.h)
        box.y = fmaxf(all.y, ui->pointer_y - pad * 2 - box.h);
    mv_ui_fill(ui, box, ui->theme->background);
    mv_ui_frame(ui, box, ui->theme->faint_text);
    box.x += pad;
    box.w -= 2 * pad;
    box.y += pad / 2;
    for (uint32_t i = 0; i < t->count; i++)
        mv_ui_text(ui, mv_box_cut_top(&box, line), MV_UI_TEXT,
                   i == 0 ? ui->theme->text : ui->theme->faint_text, MV_ANCHOR_START, t->line[i]);
}

/* ---- the frame ---------------------------------------------------------------------------- */

static bool is_looking(const mv_plot *p)
{
    const mv_view *view = p->view;

    if (p->pane->is_easing || p->pane->is_zooming) /* the picture will soon be at rest */
        return false;
    return view->desk->focus == MV_FOCUS_PANES && !view->desk->has_help &&
           mv_ui_is_hot(p->ui, p->plot) &&
           (p->pane->drag.kind == MV_DRAG_NONE || p->pane->drag.kind == MV_DRAG_PRESSED);
}

static uint32_t pinned_rank(const mv_plot *p)
{
    const mv_alloc_lives *a = &p->lives->allocs;

    if (!p->of_segments)
        return p->view->now->pinned;
    for (uint32_t r = 0; p->view->now->pinned_segment != MV_NO_ROW && r < a->count; r++)
        if (a->segment[r] == p->view->now->pinned_segment)
            return r;
    return MV_NO_ROW;
}

void mv_plot_hover(mv_plot *p)
{
    uint32_t pinned = pinned_rank(p);
    uint32_t event = MV_BEFORE;
    mv_hit hit;
    tip t = {0};
    bool is_hit = !p->of_pools && is_looking(p) &&
                  mv_plot_hit(p, p->ui->pointer_x, p->ui->pointer_y, &event, &hit);

    if (pinned < p->index->count && !p->of_pools)
        paint_outline(p, pinned, true);
    if (!is_hit)
        return;
    if (hit.rank != MV_NO_ROW) {
        if (hit.rank != pinned)
            paint_outline(p, hit.rank, false);
        if (p->of_segments) {
            p->view->hover_segment = p->lives->allocs.segment[hit.rank];
            describe_segment(p, hit.rank, &event, &t);
        } else {
            p->view->hover = hit.rank;
            describe_alloc(p, hit.rank, &t);
            describe_callers(p, hit.rank, &t);
        }
        describe_pixel(p, &hit, &t);
    }
    describe_moment(p, mv_call_last(p->trace, &p->lives->events, event), &t); /* the event that a
                                                                                 click would go
                                                                                 to */
    if (p->other)
        say(&t, mv_plot_other_tip(p, event));
    if (mv_plot_whatif_tip(p, event))
        say(&t, mv_plot_whatif_tip(p, event));
    paint_tip(p, &t);
}
