/* Back and forward: the user's earlier places. Only these functions depend on how places are kept.
 * At most MV_MOST_PAST are kept; the oldest are dropped first. */
#ifndef MV_VIEW_HISTORY_H
#define MV_VIEW_HISTORY_H

#include "view/state/view_state.h"

enum { MV_MOST_PAST = 64 };

/* The effect of a state change on going back. */
typedef enum {
    MV_SETTLES, /* the place changes, but remains the same place */
    MV_GOES,    /* to another place; Back returns to the previous one */
    /* To another place, but a run of these is one step: Back returns to the start of the run. */
    MV_STEPS_EVENTS, /* the cursor */
    MV_STEPS_WINDOW, /* zooming and panning */
    MV_STEPS_LOOKS,  /* colours, clock, options of tables and graphs */
    MV_STEPS_WORDS,  /* typing in a search */
    MV_TRAVELS       /* Back and Forward themselves */
} mv_change_kind;

/* All zeros: an empty history. */
typedef struct {
    uint32_t past_count, future_count;
    mv_view_state past[MV_MOST_PAST], future[MV_MOST_PAST];
    uint8_t run; /* kind of the last change, which the next change of the same kind continues */
} mv_view_history;

/* The state was `before`, and is `now`. Does nothing if they are equal. */
void mv_history_note(mv_view_history *history, mv_change_kind kind, const mv_view_state *before,
                     const mv_view_state *now);

/* The next change begins a new step. */
void mv_history_rest(mv_view_history *history);

/* Replaces *now by the previous or next place. False: there is none. */
bool mv_history_back(mv_view_history *history, mv_view_state *now);
bool mv_history_forward(mv_view_history *history, mv_view_state *now);

#endif
