/* Texts next to points of a plot: they overlap neither each other nor the plot's border. */
#ifndef MV_CALLOUTS_H
#define MV_CALLOUTS_H

#include "viz/scene/scene.h"

enum { MV_MOST_CALLOUTS = 128 };

/* All zeros: nothing is taken. */
typedef struct {
    mv_box taken[MV_MOST_CALLOUTS];
    uint32_t count;
    uint32_t most; /* boxes that may be taken; 0: MV_MOST_CALLOUTS */
    mv_point leaders[MV_MOST_CALLOUTS]
                    [2]; /* lines from points to texts that are not next to them */
    uint32_t leader_count;
} mv_callouts;

/* The size of a text, in pixels. */
typedef struct {
    float w, h;
    float gap;  /* from the point to the text */
    float rise; /* height of the text's upper edge above the point */
    float far;  /* maximum distance from the point to the text; from 1.6 gaps on, a line connects
                   them */
} mv_callout_size;

/* Whether the box is clear: no drawing that a text would hide. */
typedef bool (*mv_callout_test)(const void *picture, mv_box box);

bool mv_callouts_is_free(const mv_callouts *callouts, mv_box plot, mv_box box);

/* Keeps texts out of the box from now on. Does nothing when the maximum number is taken. */
void mv_callouts_take(mv_callouts *callouts, mv_box box);

/* The point of a box that is nearest to `at`. */
float mv_callouts_distance(mv_box box, mv_point at);

/* The line from a point to a text; false: the text is next to the point and needs no line. */
bool mv_callouts_leader(mv_point at, mv_box box, float gap, mv_point out[2]);

/* The nearest free and clear box to a point. The box is taken, and so is the line to it: no text
 * overlaps such a line. False when there is none: shorten the text or leave it out, so that it
 * never covers the point it names. */
bool mv_callouts_place(mv_callouts *callouts, mv_box plot, mv_point at, mv_callout_size size,
                       mv_callout_test is_clear, const void *picture, mv_box *out);

#endif
