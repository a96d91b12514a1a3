#include "viz/scene/callouts.h"

#include <math.h>

enum { PLACES = 8 };

static mv_point nearest_point(mv_box box, mv_point at)
{
    return (mv_point){fminf(fmaxf(at.x, box.x), box.x + box.w),
                      fminf(fmaxf(at.y, box.y), box.y + box.h)};
}

float mv_callouts_distance(mv_box box, mv_point at)
{
    mv_point nearest = nearest_point(box, at);

    return hypotf(nearest.x - at.x, nearest.y - at.y);
}

/* Finds the part of a line inside the range of an axis, as fractions of its length. Returns false
 * if there is none. */
static bool clip(float from, float to, float low, float high, float *begin, float *end)
{
    float a = (low - from) / (to - from), b = (high - from) / (to - from);

    if (from == to)
        return from >= low && from <= high;
    *begin = fmaxf(*begin, fminf(a, b));
    *end = fminf(*end, fmaxf(a, b));
    return *begin <= *end;
}

static bool meets(const mv_point line[2], mv_box box)
{
    float begin = 0, end = 1;

    return clip(line[0].x, line[1].x, box.x, box.x + box.w, &begin, &end) &&
           clip(line[0].y, line[1].y, box.y, box.y + box.h, &begin, &end);
}

bool mv_callouts_is_free(const mv_callouts *callouts, mv_box plot, mv_box box)
{
    if (box.x < plot.x || box.x + box.w > plot.x + plot.w || box.y < plot.y ||
        box.y + box.h > plot.y + plot.h)
        return false;
    for (uint32_t i = 0; i < callouts->count; i++) {
        const mv_box *other = &callouts->taken[i];
        if (box.x < other->x + other->w && other->x < box.x + box.w &&
            box.y < other->y + other->h && other->y < box.y + box.h)
            return false;
    }
    for (uint32_t i = 0; i < callouts->leader_count; i++)
        if (meets(callouts->leaders[i], box))
            return false;
    return true;
}

bool mv_callouts_leader(mv_point at, mv_box box, float gap, mv_point out[2])
{
    out[0] = at;
    out[1] = nearest_point(box, at);
    return mv_callouts_distance(box, at) > 1.6f * gap;
}

/* Whether a line to the box crosses no label. A mark at the beginning of the line belongs to the
 * line. */
static bool is_leader_free(const mv_callouts *callouts, const mv_point line[2])
{
    for (uint32_t i = 0; i < callouts->count; i++) {
        const mv_box *box = &callouts->taken[i];
        bool is_own = line[0].x > box->x && line[0].x < box->x + box->w && line[0].y > box->y &&
                      line[0].y < box->y + box->h;
        if (!is_own && meets(line, *box))
            return false;
    }
    return true;
}

static bool has_room(const mv_callouts *callouts)
{
    return callouts->count < (callouts->most ? callouts->most : MV_MOST_CALLOUTS);
}

void mv_callouts_take(mv_callouts *callouts, mv_box box)
{
    if (has_room(callouts))
        callouts->taken[callouts->count++] = box;
}

/* Returns a candidate box for a label. Candidates are ordered row by row, nearest first: first next
 * to the point, then above and below. */
static mv_box candidate(mv_point at, mv_callout_size size, uint32_t row, uint32_t place)
{
    uint32_t rows = (row + 1) / 2, slides = place / 2;
    float up = row % 2 ? (float)rows : -(float)rows;
    float slide = (float)slides * size.w / 4;
    float x = place % 2 ? at.x - size.gap - size.w - slide : at.x + size.gap + slide;

    if (place >= 2 * PLACES) /* above it */
        x = at.x - size.w / 2;
    return (mv_box){x, at.y - size.rise - up * size.h / 2, size.w, size.h};
}

bool mv_callouts_place(mv_callouts *callouts, mv_box plot, mv_point at, mv_callout_size size,
                       mv_callout_test is_clear, const void *picture, mv_box *out)
{
    uint32_t rows = (uint32_t)(2 * 2 * size.far / size.h);
    mv_point line[2];

    for (uint32_t row = 0; row <= rows && has_room(callouts); row++)
        for (uint32_t place = 0; place <= 2 * PLACES; place++) {
            bool has_leader;
            *out = candidate(at, size, row, place);
            has_leader = mv_callouts_leader(at, *out, size.gap, line);
            if (mv_callouts_distance(*out, at) > size.far ||
                !mv_callouts_is_free(callouts, plot, *out) ||
                (has_leader && !is_leader_free(callouts, line)) || !is_clear(picture, *out))
                continue;
            mv_callouts_take(callouts, *out);
            if (has_leader && callouts->leader_count < MV_MOST_CALLOUTS)
                memcpy(callouts->leaders[callouts->leader_count++], line, sizeof line);
            return true;
        }
    return false;
}
