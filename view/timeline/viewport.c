#include "view/timeline/viewport.h"

#include "viz/scene/pixel_rect.h"

/* The minimum width of a window, in units of each clock. Narrower windows are useless, and this
 * limit keeps fractions exact. */
static const double narrowest[] = {
    [MV_CLOCK_EVENTS] = 4, [MV_CLOCK_TIME] = 4, [MV_CLOCK_TICKS] = 8, [MV_CLOCK_BUSY] = 4};

/* a position far outside the box, but not so far that mv_stroke_add drops a line with such a
 * corner */
#define FAR (MV_FAR_PIXELS / 2.0)

/* ---- windows ------------------------------------------------------------------------------ */

double mv_stretch_place(const mv_timescale *scale, double event)
{
    uint32_t whole;
    double place;

    if (!(event > 0))
        return 0;
    if (event >= scale->events)
        return scale->length;
    whole = (uint32_t)event;
    place = mv_timescale_at(scale, whole);
    return place + (event - whole) * (mv_timescale_at(scale, whole + 1) - place);
}

double mv_stretch_event(const mv_timescale *scale, double place)
{
    uint32_t whole;
    double begin, width;

    if (!(place > 0))
        return 0;
    if (place >= scale->length)
        return scale->events;
    whole = mv_timescale_moment(scale, place);
    if (whole == MV_BEFORE)
        return 0;
    begin = mv_timescale_at(scale, whole);
    width = mv_timescale_at(scale, whole + 1) - begin;
    return width > 0 ? whole + fmin(fmax((place - begin) / width, 0), 1) : whole;
}

/* Converts the positions [x0, x0 + width) to events, after moving them into the trace and making
 * them wide enough. */
static mv_stretch kept_within(const mv_timescale *scale, double x0, double width)
{
    double least = fmin(narrowest[scale->clock], scale->length);

    if (!(width >= least)) {
        x0 -= width > 0 ? (least - width) / 2 : 0;
        width = least;
    }
    width = fmin(width, scale->length);
    x0 = x0 > 0 ? fmin(x0, scale->length - width) : 0;
    return (mv_stretch){mv_stretch_event(scale, x0), mv_stretch_event(scale, x0 + width)};
}

mv_stretch mv_stretch_valid(const mv_timescale *scale, mv_stretch shown)
{
    double x0 = mv_stretch_place(scale, shown.from), x1 = mv_stretch_place(scale, shown.to);
    double least = fmin(narrowest[scale->clock], scale->length);

    if (x1 - x0 >= least) /* if nothing changes, nothing is rounded */
        return (mv_stretch){fmax(shown.from, 0), fmin(shown.to, scale->events)};
    return kept_within(scale, x0, x1 - x0);
}

mv_stretch mv_stretch_zoom(const mv_timescale *scale, mv_stretch shown, double x, double factor)
{
    double x0 = mv_stretch_place(scale, shown.from), x1 = mv_stretch_place(scale, shown.to);
    double fixed = x0 + x * (x1 - x0);
    double width = fmax((x1 - x0) * factor, fmin(narrowest[scale->clock], scale->length));

    return kept_within(scale, fixed - x * width, width);
}

mv_stretch mv_stretch_pan(const mv_timescale *scale, mv_stretch shown, double by)
{
    double x0 = mv_stretch_place(scale, shown.from), x1 = mv_stretch_place(scale, shown.to);

    return kept_within(scale, x0 + by * (x1 - x0), x1 - x0);
}

mv_stretch mv_stretch_around(const mv_timescale *scale, mv_stretch shown, double margin)
{
    double x0 = mv_stretch_place(scale, shown.from), x1 = mv_stretch_place(scale, shown.to);
    double more = margin * (x1 - x0), left = fmax(0, x0 - more);

    return kept_within(scale, left, fmin(scale->length, x1 + more) - left);
}

mv_stretch mv_stretch_between(const mv_timescale *scale, mv_stretch from, mv_stretch to,
                              double share)
{
    double a = mv_stretch_place(scale, from.from), b = mv_stretch_place(scale, from.to);
    double c = mv_stretch_place(scale, to.from), d = mv_stretch_place(scale, to.to);

    if (share >= 1)
        return to;
    a += share * (c - a);
    b += share * (d - b);
    return kept_within(scale, a, b - a);
}

/* ---- the box ------------------------------------------------------------------------------ */

mv_viewport mv_viewport_make(const mv_timescale *scale, mv_box box, mv_stretch shown, double y_from,
                             double y_to)
{
    double x0 = mv_stretch_place(scale, shown.from), x1 = mv_stretch_place(scale, shown.to);
    double height = fmax(1, y_to - y_from);

    return (mv_viewport){.scale = scale,
                         .box = box,
                         .x = x0,
                         .dx = fmax(x1 - x0, 1e-6) / fmax(1, (double)box.w),
                         .y = fmax(0, y_from),
                         .dy = height / fmax(1, (double)box.h)};
}

float mv_viewport_x(const mv_viewport *v, double event)
{
    double x = (mv_stretch_place(v->scale, event) - v->x) / v->dx;

    return v->box.x + (float)fmin(fmax(x, -FAR), FAR);
}

float mv_viewport_y(const mv_viewport *v, double bytes)
{
    double y = (bytes - v->y) / v->dy;

    return v->box.y + v->box.h - (float)fmin(fmax(y, -FAR), FAR);
}

static double place_at(const mv_viewport *v, float x)
{
    return v->x + (double)(x - v->box.x) * v->dx;
}

double mv_viewport_event(const mv_viewport *v, float x)
{
    return mv_stretch_event(v->scale, place_at(v, x));
}

uint32_t mv_viewport_moment(const mv_viewport *v, float x)
{
    return mv_timescale_moment(v->scale, place_at(v, x));
}

mv_window mv_viewport_column(const mv_viewport *v, uint32_t column)
{
    double x0 = v->x + column * v->dx, x1 = v->x + (column + 1) * v->dx;
    uint32_t first = mv_timescale_from(v->scale, x0), end = mv_timescale_from(v->scale, x1);

    if (first < end)
        return (mv_window){first, end};
    first = mv_timescale_moment(v->scale, x0);
    return (mv_window){first, first + 1};
}

double mv_viewport_border(const mv_viewport *v, uint32_t column)
{
    if (v->scale->events == 0)
        return column / fmax(1, (double)v->box.w);
    return mv_stretch_event(v->scale, v->x + column * v->dx);
}

mv_window mv_viewport_events(const mv_viewport *v)
{
    uint32_t first = mv_timescale_moment(v->scale, v->x);
    uint32_t end = mv_timescale_from(v->scale, v->x + (double)v->box.w * v->dx);

    return (mv_window){first == MV_BEFORE ? 0 : first, end};
}

double mv_viewport_top(uint64_t most)
{
    double need = fmax(1, (double)most) * 1.04, step = exp2(floor(log2(need)) - 4);

    return ceil(need / step) * step;
}
