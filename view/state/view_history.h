/* Back and forward: the places where the user was before. Only these functions know how places are
 * kept. At most MV_MOST_PAST are; the oldest go first. */
#ifndef MV_VIEW_HISTORY_H
#define MV_VIEW_HISTORY_H

#include "view/state/view_state.h"

enum { MV_MOST_PAST = 64 };

/* What a change of the state means for going back. */
typedef enum {
    MV_SETTLES, /* the place changes, and stays the same place */
    MV_GOES,    /* to another place; Back comes back to the one before */
    /* Likewise, but a run of these is one step: Back comes back to where the run began. */
    MV_STEPS_EVENTS, /* the cursor */
    MV_STEPS_WINDOW, /* zooming and panning */
    MV_STEPS_LOOKS,  /* colours, clock, options of tables and graphs */
    MV_STEPS_WORDS,  /* letters of a search */
    MV_TRAVELS       /* Back and Forward themselves */
} mv_change_kind;

/* All zero is an empty history. */
typedef struct {
    uint32_t past_count, future_count;
    mv_view_state past[MV_MOST_PAST], future[MV_MOST_PAST];
    uint8_t run; /* the kind of the last change, when another of it would be the same step */
} mv_view_history;

/* The state was `before`, and is `now`. Equal ones are no change. */
void mv_history_note(mv_view_history *history, mv_change_kind kind, const mv_view_state *before,
                     const mv_view_state *now);

/* The next change begins a step of its own. */
void mv_history_rest(mv_view_history *history);

/* Replaces *now by the place before it, or after it. False: there is none. */
bool mv_history_back(mv_view_history *history, mv_view_state *now);
bool mv_history_forward(mv_view_history *history, mv_view_state *now);

#endif
