/* The writable state. Only files of view/intents/ include this header, which scripts/lint checks.
 * All other code reads view->now. */
#pragma once

#include "view/frame/view.h"
#include "view/state/view_history.h"

/* A change in progress. */
typedef struct {
    uint32_t depth; /* number of changes that have begun but not ended; 0: no change is in
                     * progress */
    uint8_t kind;   /* mv_change_kind */
    mv_view_state before;
} mv_change;

struct mv_intents {
    mv_view_state now; /* view->now points here */
    mv_view_desk desk; /* view->desk points here */
    mv_view_history history;
    mv_bookmarks bookmarks; /* view->bookmarks points here */
    mv_change change;
};

static inline mv_view_state *mv_view_write(mv_view *view)
{
    return &view->intents->now;
}

static inline mv_view_desk *mv_view_write_desk(mv_view *view)
{
    return &view->intents->desk;
}

/* Every change to the state is made between a begin and an end, either in mv_view_do and
 * mv_pane_give or in the caller. Pairs may be nested. Everything within the outermost pair is one
 * step for Back. It counts as going to another place, unless mv_change_is sets a different kind. */
void mv_change_begin(mv_view *view);
void mv_change_is(mv_view *view, mv_change_kind kind);
void mv_change_end(mv_view *view);

/* Begins the change for an input. A key that is pressed while a button is down is a separate
 * change. */
void mv_change_input(mv_view *view, const mv_input *input);

/* Handles an input (input_routing.c). */
void mv_view_route(mv_view *view, const mv_input *input);

/* Keeps the state within the shown device, so that its events and rows exist and its clock is
 * available. */
void mv_view_fit(mv_view *view);

/* Apply a session. The setup of the window and the bookmarks are applied at once, and the place is
 * applied when its device is shown. */
void mv_session_set_desk(mv_view *view, const mv_session *session);
void mv_session_set_place(mv_view *view, const mv_session *session);

/* Opens the documents of the level that the state names. Returns false when out of memory. In that
 * case, the state names the level that is still shown. */
bool mv_level_settle(mv_view *view);
void mv_level_write(mv_view *view, const char *level);

/* Called before each frame. Opens the documents of all levels if they have lanes. */
void mv_level_open_lanes(mv_view *view);

/* Shows another level at the same time of the recording. */
void mv_level_go(mv_view *view, const char *level);

/* Moves to the time that was shown on the previous level, as soon as the device is ready. */
void mv_level_keep_time(mv_view *view, const mv_document_device *device);

/* Replaces the state with an earlier or later state of this view, which may belong to any
 * device. */
void mv_view_put(mv_view *view, const mv_view_state *state);
