/* Back and forward: the views that were shown before this one.
 *
 *     mv_view_history_begin(view);
 *     mv_view_move_cursor(view, event);     each of these is a place of its own,
 *     mv_view_pin(view, alloc);             together they are one
 *     mv_view_history_end(view);
 *
 * Only these functions know how places are kept. At most MV_MOST_PAST are; the oldest go first. */
#ifndef MV_VIEW_HISTORY_H
#define MV_VIEW_HISTORY_H

#include "view/frame/view.h"

enum { MV_MOST_PAST = 64 };

/* All zero is an empty history. */
typedef struct {
    uint32_t past_count, future_count;
    mv_view_state past[MV_MOST_PAST], future[MV_MOST_PAST];
    uint32_t paused; /* how many begins and pauses have not ended */
} mv_view_history;

/* The view as it is now is a place to come back to, and what follows up to the end belongs to one
 * change. Pairs may be nested: the outermost counts. */
void mv_view_history_begin(mv_view *view);
void mv_view_history_end(mv_view *view);

/* Changes up to the end are no place at all: where a view begins, and what going back does itself.
 */
void mv_view_history_pause(mv_view *view);

#endif
