/* The state, to be written: only files of view/intents/ include this, which
 * tests/house/test_house.c checks. All others read view->now. */
#ifndef MV_WRITABLE_H
#define MV_WRITABLE_H

#include "view/intents/view_history.h"

struct mv_intents {
    mv_view_state now; /* view->now points here */
    mv_view_desk desk; /* view->desk */
    mv_view_history history;
    mv_bookmarks bookmarks; /* view->bookmarks points here */
};

static inline mv_view_state *mv_view_write(mv_view *view)
{
    return &view->intents->now;
}

static inline mv_view_desk *mv_view_write_desk(mv_view *view)
{
    return &view->intents->desk;
}

#endif
