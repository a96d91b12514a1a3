/* Replaces a view with one that shows newer data from the same files. The new view reads the files
 * on its own threads while the old view stays in use. As soon as the new view is ready, no button
 * is held and no list is open, it replaces the old one. It keeps the same position, selection, tab,
 * notes and history, except that a window or cursor at the last event moves to the new last event.
 *
 *     mv_renewal_begin(&r, view);
 *     for (;;) {
 *         view = mv_renewal_update(&r, view, ms);      before each frame
 *         mv_view_frame(view, ...);
 *     }
 *     mv_renewal_end(&r); */
#pragma once

#include "view/frame/view.h"

typedef enum {
    MV_RENEWAL_NONE,    /* nothing has been read yet */
    MV_RENEWAL_READING, /* the second view is loading */
    MV_RENEWAL_DONE,    /* the last update returned the second view */
    MV_RENEWAL_FAILED   /* an open file can no longer be read, or memory ran out, so the view shows
                         * an error */
} mv_renewal_stage;

/* State of a renewal. All zeros: nothing is being read. */
typedef struct {
    mv_renewal_stage stage;
    mv_view *next; /* the second view, while it loads (MV_RENEWAL_READING) */
    mv_view *old;  /* the view that was shown before; it is kept until its threads are idle */
    uint32_t frames;
} mv_renewal;

/* Begins to read the files again. Returns false if they are already being read, or if the view
 * itself is still loading. */
bool mv_renewal_begin(mv_renewal *r, mv_view *view);

/* Returns the view to show from now on. `r` then owns `view`. */
mv_view *mv_renewal_update(mv_renewal *r, mv_view *view, double ms);

/* Runs one task of the second view, like mv_view_run_one_task, if mv_view_opts.is_cooperative is
 * set. */
bool mv_renewal_run_one_task(mv_renewal *r);

void mv_renewal_end(mv_renewal *r);
