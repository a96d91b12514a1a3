/* Texts beside points of a plot, which keep out of each other's way and inside of the plot. */
#ifndef MV_CALLOUTS_H
#define MV_CALLOUTS_H

#include "viz/scene/scene.h"

enum { MV_MOST_CALLOUTS = 128 };

/* All zero: nothing is taken. */
typedef struct {
    mv_box taken[MV_MOST_CALLOUTS];
    uint32_t count;
    uint32_t most; /* boxes that may be taken; 0: MV_MOST_CALLOUTS */
} mv_callouts;

/* What a text needs, in pixels. */
typedef struct {
    float w, h;
    float gap;  /* from the point to the text */
    float rise; /* of the text's upper edge over the point */
    float far;  /* most pixels from the point to the text: a line then leads there */
} mv_callout_size;

/* Whether nothing is drawn in the box that a text would hide. */
typedef bool (*mv_callout_test)(const void *picture, mv_box box);

bool mv_callouts_is_free(const mv_callouts *callouts, mv_box plot, mv_box box);

/* No text goes there from now on. Nothing happens when the most are taken. */
void mv_callouts_take(mv_callouts *callouts, mv_box box);

/* The point of a box that is nearest to another, and how far it is. */
mv_point mv_callouts_nearest(mv_box box, mv_point at);
float mv_callouts_distance(mv_box box, mv_point at);

/* The nearest free and clear box to a point, which is taken. False when there is none: the text is
 * then shorter, or left out, but never on what it names. */
bool mv_callouts_place(mv_callouts *callouts, mv_box plot, mv_point at, mv_callout_size size,
                       mv_callout_test is_clear, const void *picture, mv_box *out);

#endif
