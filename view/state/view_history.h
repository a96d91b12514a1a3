/* The places that the user visited, for going back and forward. Only these functions depend on how
 * places are stored. At most MV_MOST_PAST places are kept, and the oldest are dropped first. */
#pragma once

#include "view/state/view_state.h"

enum { MV_MOST_PAST = 64 };

/* How a state change affects going back. */
typedef enum {
    MV_SETTLES, /* the user stays at the same place, whose details change */
    MV_GOES,    /* the user goes to another place, and Back returns to the previous one */
    /* The user goes to another place, but a run of such changes is one step, so Back returns to the
     * start of the run. */
    MV_STEPS_EVENTS, /* the cursor moves */
    MV_STEPS_WINDOW, /* the window zooms or pans */
    MV_STEPS_LOOKS,  /* colours, the clock, or options of tables and graphs change */
    MV_STEPS_WORDS,  /* the user types in a search */
    MV_TRAVELS       /* Back or Forward was used */
} mv_change_kind;

/* All zeros: an empty history. */
typedef struct {
    uint32_t past_count, future_count;
    mv_view_state past[MV_MOST_PAST], future[MV_MOST_PAST];
    uint8_t run; /* kind of the last change; a following change of the same kind belongs to the same
                    step */
} mv_view_history;

/* Records that the state was `before` and is now `now`. Does nothing if the two are equal. */
void mv_history_note(mv_view_history *history, mv_change_kind kind, const mv_view_state *before,
                     const mv_view_state *now);

/* Makes the next change begin a new step. */
void mv_history_rest(mv_view_history *history);

/* Replaces *now with the previous or the next place. Returns false if there is none. */
bool mv_history_go(mv_view_history *history, mv_view_state *now, bool is_forward);
