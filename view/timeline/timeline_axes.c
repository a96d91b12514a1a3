/* Scales at the edges of the plot, and labels inside it that do not overlap. */
#include <math.h>

#include "base/size.h"
#include "view/document/moment_text.h"
#include "view/timeline/plot.h"

enum {
    TICK_GAP = 110,
    LEAST_TICKS = 5, /* used even in a small picture, where labels that do not fit are left out */
    CLOCK_WIDTH = 78,
    CALLOUT_NEAR = 60,
    CALLOUT_FAR = 220,
    MOST_TICKS = 1000
};

/* ---- bytes -------------------------------------------------------------------------------- */

/* Formats bytes in the largest unit in which each multiple of a step is a multiple of one
 * quarter. */
static const char *byte_label(mv_plot *p, uint64_t bytes)
{
    char exact[MV_TICK_TEXT];
    int unit = 6;

    if (bytes == 0)
        return "0";
    while (unit > 0 &&
           (bytes < (uint64_t)1 << 10 * unit || bytes % ((uint64_t)1 << (10 * unit - 2)) != 0))
        unit--;
    if (bytes % ((uint64_t)1 << 10 * unit) != 0)
        return mv_scene_format(&p->ui->scene, "%.2f %s",
                               (double)bytes / (double)((uint64_t)1 << 10 * unit),
                               mv_size_units[unit]);
    return mv_scene_format(&p->ui->scene, "%s %s", mv_axis_exact(bytes >> 10 * unit, exact),
                           mv_size_units[unit]);
}

/* Returns the number of ticks in a range, by counting them, because beyond 2^53 adding a step may
 * not change a number. */
static uint32_t ticks_between(double first, double last, double step)
{
    return first <= last ? (uint32_t)fmin(floor((last - first) / step) + 1, MOST_TICKS) : 0;
}

static void byte_axis(mv_plot *p)
{
    double top = p->at.y + p->at.dy * (double)p->plot.h, first;
    uint64_t step = mv_axis_byte_step((uint64_t)(top - p->at.y));
    float line = mv_ui_px(p->ui, MV_UI_LINE), pad = mv_ui_px(p->ui, MV_UI_PAD);

    while ((double)step / p->at.dy < (double)line && step < UINT64_MAX / 2)
        step *= 2;
    first = ceil(p->at.y / (double)step) * (double)step;
    for (uint32_t i = 0; i < ticks_between(first, top, (double)step); i++) {
        double at = first + i * (double)step;
        float y = roundf(mv_viewport_y(&p->at, at));
        mv_box row = {p->scale.x, y - line / 2, p->scale.w - pad, line};
        if (y < p->plot.y)
            continue;
        mv_ui_fill(p->ui, (mv_box){p->plot.x, y, p->plot.w, 1},
                   (p->ui->theme->faint_text & ~0xffu) | 0x28);
        if (y >= p->plot.y + line / 2) /* lanes have their titles above this position */
            mv_ui_text(p->ui, row, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_END,
                       byte_label(p, (uint64_t)at));
    }
}

/* ---- events, time, ticks ------------------------------------------------------------------ */

/* Returns the axis label at position 0; on the time clock, this is the time of the device's first
 * event. */
static double axis_begin(const mv_plot *p)
{
    int64_t first = mv_event_since_start(p->trace, &p->device->lives.events, 0);

    return mv_timescale_is_time(&p->rows->scale) && first != MV_NO_TIME ? (double)first : 0;
}

/* Formats seconds, with as many digits as the step needs. */
static const char *time_label(mv_plot *p, double us, double step)
{
    double longest = p->rows->scale.length + axis_begin(p);
    double unit = longest >= 1e6 ? 1e6 : longest >= 1e3 ? 1e3 : 1;
    int digits = step < unit ? (int)ceil(log10(unit / step) - 1e-9) : 0;

    return mv_scene_format(&p->ui->scene, "%.*f %s", digits, us / unit,
                           unit > 1e3 ? "s"
                           : unit > 1 ? "ms"
                                      : "us");
}

static const char *place_label(mv_plot *p, double place, double step)
{
    char text[MV_TICK_TEXT];

    if (place <= 0)
        return "0";
    if (mv_timescale_is_time(&p->rows->scale))
        return time_label(p, place, step);
    return mv_scene_format(&p->ui->scene, "%s", mv_axis_exact((uint64_t)place, text));
}

/* Paints a time below its event, but not below the title on the left. */
static void paint_time(mv_plot *p, float x, const char *text)
{
    float width = mv_ui_text_width(p->ui, MV_UI_SMALL, text) + 2;
    mv_box box = {fmaxf(x - width / 2, p->plot.x - mv_ui_px(p->ui, 4)), p->times.y, width,
                  p->times.h};

    mv_ui_text(p->ui, box, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_MIDDLE, text);
}

typedef struct {
    mv_plot *p;
    double begin, step;
    float last; /* right edge of the last label */
} tick_row;

/* Paints the ticks between two numbers on the axis. On time clocks these are times, and cuts remove
 * some of them. */
static void tick_run(tick_row *row, double from, double to)
{
    mv_plot *p = row->p;
    double first = ceil((from + row->begin) / row->step) * row->step - row->begin;

    for (uint32_t i = 0; i < ticks_between(first, to, row->step); i++) {
        double at = first + i * row->step, place = mv_timescale_place_of(&p->rows->scale, at);
        float x = roundf(p->plot.x + (float)((place - p->at.x) / p->at.dx));
        const char *text = place_label(p, at + row->begin, row->step);
        const char *time = p->times.h > 0 ? mv_plot_time(p, (uint32_t)at) : "";
        float half = fmaxf(mv_ui_text_width(p->ui, MV_UI_SMALL, text),
                           mv_ui_text_width(p->ui, MV_UI_SMALL, time)) /
                         2 +
                     4;
        mv_box box = {x - half, p->ruler.y + 5, 2 * half, p->ruler.h - 5};
        mv_ui_fill(p->ui, (mv_box){x, p->ruler.y, 1, 5}, p->ui->theme->faint_text);
        if (box.x < row->last ||
            box.x + box.w > fminf(p->plot.x + p->plot.w + half, p->ui->scene.width))
            continue;
        row->last = box.x + box.w;
        mv_ui_text(p->ui, box, MV_UI_SMALL, p->ui->theme->text, MV_ANCHOR_MIDDLE, text);
        if (*time)
            paint_time(p, x, time);
    }
}

/* Paints the length of a pause, below the band. */
static void cut_label(tick_row *row, const mv_time_cut *cut)
{
    mv_plot *p = row->p;
    char time[MV_TICK_TEXT];
    const char *text =
        mv_scene_format(&p->ui->scene, "idle %s", mv_axis_time(cut->us, cut->us, time));
    double middle = ((cut->from + cut->to) / 2 - p->at.x) / p->at.dx;
    float half = mv_ui_text_width(p->ui, MV_UI_SMALL, text) / 2 + 4;
    mv_box box = {p->plot.x + (float)fmin(fmax(middle, -1e6), 1e6) - half, p->ruler.y + 5, 2 * half,
                  p->ruler.h - 5};

    if (box.x < row->last || box.x < p->plot.x || box.x + box.w > p->plot.x + p->plot.w)
        return;
    row->last = box.x + box.w;
    mv_ui_text(p->ui, box, MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_MIDDLE, text);
}

static void place_axis(mv_plot *p)
{
    const mv_timescale *scale = &p->rows->scale;
    double width = p->at.dx * (double)p->plot.w;
    double from = mv_timescale_us_at(scale, p->at.x),
           to = mv_timescale_us_at(scale, p->at.x + width);
    float gap = mv_ui_px(p->ui, TICK_GAP);
    uint32_t ticks = (uint32_t)fmaxf(LEAST_TICKS, p->plot.w / gap);
    tick_row row = {.p = p,
                    .begin = axis_begin(p),
                    .step = (double)mv_axis_count_step((uint64_t)ceil(width), ticks),
                    .last = p->plot.x - gap};

    for (uint32_t i = 0; i < scale->cut_count; i++) {
        double end = mv_timescale_us_at(scale, scale->cuts[i].from);
        if (end > from)
            tick_run(&row, from, fmin(end, to));
        cut_label(&row, &scale->cuts[i]);
        from = fmax(from, end + (double)scale->cuts[i].us);
    }
    if (to >= from)
        tick_run(&row, from, to);
}

void mv_plot_axes(mv_plot *p)
{

    float width = fminf(p->scale.w, mv_ui_px(p->ui, CLOCK_WIDTH));
    mv_box name = {p->plot.x - width, p->ruler.y, width - mv_ui_px(p->ui, 4), p->ruler.h};

    if (!p->of_ranks && !p->of_pools) /* lanes have separate axes */
        byte_axis(p);
    place_axis(p);
    if (p->times.h > 0)
        mv_ui_text(p->ui,
                   (mv_box){name.x, p->times.y, name.w - mv_ui_px(p->ui, MV_UI_PAD), p->times.h},
                   MV_UI_SMALL, p->ui->theme->faint_text, MV_ANCHOR_END, "time");
    mv_ui_button(p->ui, name, false, MV_DO_next_clock, 0,
                 mv_clock_name((uint8_t)p->rows->scale.clock));
}

/* ---- moments ------------------------------------------------------------------------------ */

const char *mv_plot_time(const mv_plot *p, uint32_t event)
{
    char text[MV_TICK_TEXT];

    return mv_scene_format(&p->ui->scene, "%s",
                           mv_event_time_text(p->trace, &p->device->lives.events, event, text));
}

const char *mv_plot_moment(mv_plot *p, uint32_t event)
{
    const char *time = mv_plot_time(p, event);
    char text[MV_TICK_TEXT];

    if (event == MV_BEFORE)
        return p->lives->events.count ? "before the first event" : "when the file was written";
    return mv_scene_format(&p->ui->scene, "event %s%s%s", mv_axis_exact(event, text),
                           *time ? " \xc2\xb7 " : "", time);
}

/* ---- callouts ----------------------------------------------------------------------------- */

/* Whether a step curve, which is the highest value of each column, crosses the box. */
static bool meets(const mv_plot *p, const mv_envelope *e, mv_measure which, mv_box box)
{
    int32_t from = (int32_t)(box.x - p->plot.x) - 1,
            end = (int32_t)ceilf(box.x + box.w - p->plot.x);
    float last = -1;

    from = from < (int32_t)e->from ? (int32_t)e->from : from;
    for (int32_t c = from; c <= end && c < (int32_t)e->end; c++) {
        uint64_t level = mv_measure_of(&e->columns[c].most, which);
        float y = mv_viewport_y(&p->at, (double)level);
        float high = last < 0 ? y : fminf(last, y), low = last < 0 ? y : fmaxf(last, y);
        last = y;
        if (high <= box.y + box.h + 1 && low >= box.y - 1)
            return true;
    }
    return false;
}

static bool is_above_stack(const mv_plot *p, mv_box box)
{
    const mv_envelope *e = &p->pane->envelope;
    int32_t from = (int32_t)(box.x - p->plot.x) - 1,
            end = (int32_t)ceilf(box.x + box.w - p->plot.x);

    for (int32_t c = from < 0 ? 0 : from; c <= end && (uint32_t)c < e->count; c++) {
        const mv_levels *most = &e->columns[c].most;
        uint64_t height = p->of_segments ? most->reserved : most->allocated;
        if (mv_viewport_y(&p->at, (double)height) <= box.y + box.h + 1)
            return false;
    }
    return true;
}

static bool meets_capacity(const mv_plot *p, mv_box box)
{
    uint64_t capacity = mv_plot_capacity(p);
    float y = mv_viewport_y(&p->at, (double)capacity);

    return capacity != MV_NO_BYTES && y >= box.y - 1 && y <= box.y + box.h + 1;
}

/* Whether a label there would hide no part of the stack, no line and no peak. */
static bool is_clear(const void *picture, mv_box box)
{
    const mv_plot *p = picture;
    const mv_envelope *e = &p->pane->envelope;

    if (!is_above_stack(p, box) || meets_capacity(p, box))
        return false;
    if (!p->of_segments && ((p->has_pending && meets(p, e, MV_ACTIVE, box)) ||
                            (!p->rows->only && meets(p, e, MV_RESERVED, box))))
        return false;
    return !p->other || !meets(p, &p->pane->over, p->of_segments ? MV_RESERVED : MV_ALLOCATED, box);
}

/* Paints a line from a point to its label, if the label is not next to the point. */
static void leader(mv_plot *p, mv_point at, mv_box box, uint32_t colour, float gap)
{
    mv_point line[2];

    if (mv_callouts_leader(at, box, gap, line))
        mv_scene_line(&p->ui->scene, line[0].x, line[0].y, line[1].x, line[1].y,
                      (colour & ~0xffu) | 0xb0, p->ui->scale);
}

bool mv_plot_callout(mv_plot *p, float x, float y, uint32_t colour, const char *text,
                     const char *brief)
{
    float pad = mv_ui_px(p->ui, 5);
    float high = mv_ui_px(p->ui, MV_CALLOUT_HEIGHT);
    const char *texts[] = {text, brief};
    mv_callout_size size = {.h = high, .gap = mv_ui_px(p->ui, 10), .rise = high * 0.7f};
    mv_box box;

    for (int i = 0; i < 4; i++) { /* positions near the point are tried first, then positions
                                     farther away */
        const char *words = texts[i % 2];
        size.w = ceilf(mv_ui_text_width(p->ui, MV_UI_SMALL, words) + 2 * pad);
        size.far = mv_ui_px(p->ui, i < 2 ? CALLOUT_NEAR : CALLOUT_FAR);
        if (!mv_callouts_place(&p->callouts, p->plot, (mv_point){x, y}, size, is_clear, p, &box))
            continue;
        leader(p, (mv_point){x, y}, box, colour, size.gap);
        mv_ui_fill(p->ui, box, (p->ui->theme->plot & ~0xffu) | 0xf0);
        box.x += pad;
        box.w -= pad;
        mv_ui_text(p->ui, box, MV_UI_SMALL, colour, MV_ANCHOR_START, words);
        return true;
    }
    return false;
}
