#include "viz/scene/callouts.h"

enum { ROWS = 6, SIDES = 3 };

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

bool mv_callouts_place(mv_callouts *callouts, mv_box plot, mv_point at, mv_callout_size size,
                       mv_callout_test is_above, const void *picture, mv_box *out)
{
    const float sides[SIDES] = {at.x + size.gap, at.x - size.gap - size.w,
                                at.x - 8 * size.gap - size.w};

    for (int pass = 0; pass < 2 && has_room(callouts); pass++)
        for (int row = 0; row < 2 * ROWS; row++)
            for (int side = 0; side < SIDES; side++) {
                int up = row < ROWS ? -row : row - ROWS + 1;
                *out = (mv_box){sides[side], at.y - size.rise + (float)up * size.h, size.w, size.h};
                if (mv_callouts_is_free(callouts, plot, *out) &&
                    (pass > 0 || is_above(picture, *out))) {
                    mv_callouts_take(callouts, *out);
                    return true;
                }
            }
    return false;
}
