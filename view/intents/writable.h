/* The writable state: only files of view/intents/ include this, which scripts/lint
 * checks. All others read view->now. */
#ifndef MV_WRITABLE_H
#define MV_WRITABLE_H

#include "view/frame/view.h"
#include "view/state/view_history.h"

/* A change in progress. */
typedef struct {
    uint32_t depth; /* unfinished begins; 0: no change */
    uint8_t kind;   /* mv_change_kind */
    mv_view_state before;
} mv_change;

struct mv_intents {
    mv_view_state now; /* view->now points here */
    mv_view_desk desk; /* view->desk */
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

/* Every change of the state is between a begin and an end: in mv_view_do and mv_pane_give, or in
 * the caller. Pairs nest, and the outermost counts: everything in it is one step back. It counts as
 * going to another place unless a change in it has another kind. */
void mv_change_begin(mv_view *view);
void mv_change_is(mv_view *view, mv_change_kind kind);
void mv_change_end(mv_view *view);

/* An input; a key pressed while a button is down is a separate change. */
void mv_change_input(mv_view *view, const mv_input *input);

/* Handles an input (input_routing.c). */
void mv_view_route(mv_view *view, const mv_input *input);

/* Keeps the state within the shown device: events, rows, an available clock. */
void mv_view_fit(mv_view *view);

/* Applies a session: the setup of the window and the bookmarks; the place, once its device is
 * shown. */
void mv_session_set_desk(mv_view *view, const mv_session *session);
void mv_session_set_place(mv_view *view, const mv_session *session);

/* Opens the documents of the state's level; false: out of memory, and the state names the level
 * that is still shown. */
bool mv_level_settle(mv_view *view);
void mv_level_write(mv_view *view, const char *level);

/* Before a frame: opens the documents of all levels if they have lanes. */
void mv_level_open_lanes(mv_view *view);

/* Shows another level at the same time. */
void mv_level_go(mv_view *view, const char *level);

/* Before a frame: moves a moment that is in the middle of a call (view/document/level_calls.h). */
void mv_level_settle_cursor(mv_view *view);

/* Moves to the time shown on the previous level, once the device is ready. */
void mv_level_keep_time(mv_view *view, const mv_document_device *device);

/* Shows a state of this view, for any device. */
void mv_view_put(mv_view *view, const mv_view_state *state);

#endif
