/* Newer data of the files that a view shows. A second view reads the files, on threads of its own, while
 * the first stays in use. Once all of it is ready, and no button is held and no list open, the second
 * is shown instead: same place, selection, tab, notes and history; a window or a cursor at the last
 * event follows the end.
 *
 *     mv_renewal_begin(&r, view);
 *     for (;;) {
 *         view = mv_renewal_update(&r, view, ms);      before each frame
 *         mv_view_frame(view, ...);
 *     }
 *     mv_renewal_end(&r); */
#ifndef MV_RENEWAL_H
#define MV_RENEWAL_H

#include "view/frame/view.h"

typedef enum {
    MV_RENEWAL_NONE,    /* no reading was begun yet */
    MV_RENEWAL_READING, /* the second view is getting ready */
    MV_RENEWAL_DONE,    /* the last update has returned it */
    MV_RENEWAL_FAILED   /* a file that is open cannot be read any longer, or memory is out; the view
                         * says so */
} mv_renewal_stage;

/* All zeros: nothing is being read. */
typedef struct {
    mv_renewal_stage stage;
    mv_view *next; /* READING */
    mv_view *old;  /* was shown before, until its threads are idle */
    uint32_t frames;
} mv_renewal;

/* False: a reading is under way, or the view is still reading itself. */
bool mv_renewal_begin(mv_renewal *r, mv_view *view);

/* The view to show from now on; `view` then belongs to `r`. */
mv_view *mv_renewal_update(mv_renewal *r, mv_view *view, double ms);

/* With mv_view_opts.is_cooperative, as mv_view_run_one_task. */
bool mv_renewal_run_one_task(mv_renewal *r);

void mv_renewal_end(mv_renewal *r);

#endif
