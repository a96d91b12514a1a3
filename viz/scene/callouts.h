/* Places labels next to points of a plot, where they overlap neither each other nor the plot's
 * border. */
#pragma once

#include "viz/scene/scene.h"

enum { MV_MOST_CALLOUTS = 128 };

/* The boxes that are taken. All zeros: no box is taken. */
typedef struct {
    mv_box taken[MV_MOST_CALLOUTS];
    uint32_t count;
    uint32_t most; /* maximum number of boxes that may be taken; 0: MV_MOST_CALLOUTS */
    mv_point leaders[MV_MOST_CALLOUTS]
                    [2]; /* lines that connect points with labels that are not next to them */
    uint32_t leader_count;
} mv_callouts;

/* The size of a label, in pixels. */
typedef struct {
    float w, h;
    float gap;  /* distance between the point and the label */
    float rise; /* height of the label's upper edge above the point */
    float far;  /* maximum distance between the point and the label. If the distance is 1.6 gaps or
                   more, a line connects the two */
} mv_callout_size;

/* Whether the box is clear, that is, contains no drawing that a label would hide. */
typedef bool (*mv_callout_test)(const void *picture, mv_box box);

bool mv_callouts_is_free(const mv_callouts *callouts, mv_box plot, mv_box box);

/* Keeps later labels out of the box. Does nothing if the maximum number of boxes is taken. */
void mv_callouts_take(mv_callouts *callouts, mv_box box);

/* Returns the distance from `at` to the nearest point of the box. */
float mv_callouts_distance(mv_box box, mv_point at);

/* Finds the line that connects a point with its label. Returns false if the label is next to the
 * point and needs no line. */
bool mv_callouts_leader(mv_point at, mv_box box, float gap, mv_point out[2]);

/* Finds the free and clear box that is nearest to a point. Takes the box, and also the line to it,
 * so that no label overlaps the line. Returns false if there is none. In that case, the caller
 * should shorten the label or leave it out, because a label must never cover the point that it
 * names. */
bool mv_callouts_place(mv_callouts *callouts, mv_box plot, mv_point at, mv_callout_size size,
                       mv_callout_test is_clear, const void *picture, mv_box *out);
