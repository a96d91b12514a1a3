/* Texts beside points of a plot, which keep out of each other's way and inside of the plot. */
#ifndef MV_CALLOUTS_H
#define MV_CALLOUTS_H

#include "viz/scene/scene.h"

enum { MV_MOST_CALLOUTS = 128 };

/* All zero: nothing is taken. */
typedef struct {
    mv_box taken[MV_MOST_CALLOUTS];
    uint32_t count;
    uint32_t most;                         /* boxes that may be taken; 0: MV_MOST_CALLOUTS */
    mv_point leaders[MV_MOST_CALLOUTS][2]; /* lines from points to texts that are not beside them */
    uint32_t leader_count;
} mv_callouts;

/* What a text needs, in pixels. */
typedef struct {
    float w, h;
    float gap;  /* from the point to the text */
    float rise; /* of the text's upper edge over the point */
    float far;  /* most pixels from the point to the text; a line leads there from 1.6 gaps on */
} mv_callout_size;

/* Whether nothing is drawn in the box that a text would hide. */
typedef bool (*mv_callout_test)(const void *picture, mv_box box);

bool mv_callouts_is_free(const mv_callouts *callouts, mv_box plot, mv_box box);

/* No text goes there from now on. Nothing happens when the most are taken. */
void mv_callouts_take(mv_callouts *callouts, mv_box box);

/* The point of a box that is nearest to another, and how far it is. */
mv_point mv_callouts_nearest(mv_box box, mv_point at);
float mv_callouts_distance(mv_box box, mv_point at);

/* The line from a point to a text; false: the text is beside it, and needs none. */
bool mv_callouts_leader(mv_point at, mv_box box, float gap, mv_point out[2]);

/* The nearest free and clear box to a point, which is taken, as is the line that leads there: no
 * text lies on such a line. False when there is none: the text is then shorter, or left out, but
 * never on what it names. */
bool mv_callouts_place(mv_callouts *callouts, mv_box plot, mv_point at, mv_callout_size size,
                       mv_callout_test is_clear, const void *picture, mv_box *out);

#endif
