#include "viz/scene/stroke.h"

#include "viz/scene/pixel_rect.h"

static const double dash[] = {7, 4}; /* as in SVG */

enum { MOST_MITRE = 4 }; /* as in SVG: length of the tip, divided by the width */

int32_t mv_stroke_unit(double pixels)
{
    int32_t unit;

    pixels = mv_within_far(pixels) * MV_PIXEL_UNITS + 0.5;
    unit = (int32_t)pixels; /* rounds towards 0; floor() would be a call for each corner */
    return unit - (unit > pixels);
}

typedef struct {
    double x, y;
} vec;

static vec along(vec from, vec direction, double distance)
{
    return (vec){from.x + direction.x * distance, from.y + direction.y * distance};
}

static vec across(vec direction)
{
    return (vec){-direction.y, direction.x};
}

/* Adds a part of a stroke. All parts wind in the same direction, so that overlapping parts form one
 * area. */
static void add_part(mv_coverage *out, const vec *corners, uint32_t count)
{
    int32_t x[4], y[4];
    double area = 0;

    for (uint32_t i = 0; i < count; i++) {
        vec a = corners[i], b = corners[(i + 1) % count];
        area += a.x * b.y - b.x * a.y;
        x[i] = mv_stroke_unit(a.x);
        y[i] = mv_stroke_unit(a.y);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = area > 0 ? i : (i + 1) % count, to = area > 0 ? (i + 1) % count : i;
        mv_coverage_edge(out, x[from], y[from], x[to], y[to]);
    }
}

static void add_bar(mv_coverage *out, vec a, vec b, vec direction, double half)
{
    vec side = across(direction);
    vec corners[] = {along(a, side, half), along(b, side, half), along(b, side, -half),
                     along(a, side, -half)};

    add_part(out, corners, 4);
}

/* Fills the gap on the outside of the bend between two bars. */
static void add_corner(mv_coverage *out, vec at, vec before, vec after, double half)
{
    double turn = before.x * after.y - before.y * after.x;
    double cosine = before.x * after.x + before.y * after.y;
    double outside = turn > 0 ? -half : half;
    vec first = along(at, across(before), outside), second = along(at, across(after), outside);
    vec corners[4] = {at, first, second};

    if (turn == 0)
        return;
    /* The distance between the tip and the corner is half / cos(turn / 2). */
    if (2 / (1 + cosine) <= MOST_MITRE * MOST_MITRE) {
        vec middle = {across(before).x + across(after).x, across(before).y + across(after).y};
        corners[2] = along(at, middle, outside / (1 + cosine));
        corners[3] = second;
        add_part(out, corners, 4);
        return;
    }
    add_part(out, corners, 3);
}

typedef struct {
    mv_coverage *out;
    double half;
    bool is_dashed;
    double phase; /* position within the dashes */
} pen;

static void draw_bar(pen *p, vec a, vec b, vec direction, double length)
{
    double period = dash[0] + dash[1], at = 0;

    if (!p->is_dashed) {
        add_bar(p->out, a, b, direction, p->half);
        return;
    }
    while (at < length && !p->out->failed) {
        double left = (p->phase < dash[0] ? dash[0] : period) - p->phase;
        double end = at + left < length ? at + left : length;
        if (p->phase < dash[0])
            add_bar(p->out, along(a, direction, at), along(a, direction, end), direction, p->half);
        p->phase = end < length ? p->phase + left : p->phase + (end - at);
        if (p->phase >= period)
            p->phase = 0;
        at = end;
    }
}

static bool is_near(mv_point point)
{
    return point.x > -MV_FAR_PIXELS && point.x < MV_FAR_PIXELS && point.y > -MV_FAR_PIXELS &&
           point.y < MV_FAR_PIXELS;
}

void mv_stroke_add(mv_coverage *out, const mv_point *points, uint32_t count,
                   const mv_stroke *stroke)
{
    pen p = {.out = out, .half = stroke->width / 2, .is_dashed = stroke->is_dashed};
    vec at, first = {0, 0}, before = {0, 0};
    bool has_before = false;

    for (uint32_t i = 0; i < count; i++)
        if (!is_near(points[i]))
            return;
    if (count == 0)
        return;
    at = (vec){points[0].x, points[0].y};
    for (uint32_t n = 1; n <= count; n++) {
        vec to = {points[n % count].x, points[n % count].y}, direction;
        double dx = to.x - at.x, dy = to.y - at.y, length = sqrt(dx * dx + dy * dy);
        if ((n == count && !stroke->is_closed) || length == 0)
            continue;
        direction = (vec){dx / length, dy / length};
        if (!has_before)
            first = direction;
        else if (p.phase < dash[0])
            add_corner(out, at, before, direction, p.half);
        draw_bar(&p, at, to, direction, length);
        has_before = true;
        before = direction;
        at = to;
    }
    if (has_before && stroke->is_closed)
        add_corner(out, at, before, first, p.half);
}
