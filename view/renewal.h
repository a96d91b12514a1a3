/* Newer data of a view's files. A second view reads the files on its own threads, while the first
 * stays in use. Once the second is ready, and no button is held and no list open, it replaces the
 * first: same place, selection, tab, notes and history; a window or a cursor at the last event
 * follows the end.
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
    MV_RENEWAL_NONE,    /* nothing has been read yet */
    MV_RENEWAL_READING, /* the second view is getting ready */
    MV_RENEWAL_DONE,    /* the last update returned it */
    MV_RENEWAL_FAILED   /* an open file can no longer be read, or out of memory; the view reports
                         * it */
} mv_renewal_stage;

/* All zeros: nothing is being read. */
typedef struct {
    mv_renewal_stage stage;
    mv_view *next; /* READING */
    mv_view *old;  /* the view shown before, until its threads are idle */
    uint32_t frames;
} mv_renewal;

/* False: already reading, or the view itself is still loading. */
bool mv_renewal_begin(mv_renewal *r, mv_view *view);

/* The view to show from now on; `view` then belongs to `r`. */
mv_view *mv_renewal_update(mv_renewal *r, mv_view *view, double ms);

/* With mv_view_opts.is_cooperative: like mv_view_run_one_task. */
bool mv_renewal_run_one_task(mv_renewal *r);

void mv_renewal_end(mv_renewal *r);

#endif
