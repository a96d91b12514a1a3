/* Follows live files (docs/live.md): the view shows newer data of recordings that are being written. The
 * files are read again when records were added, at most so often that a tenth of the time goes into
 * reading; whether there is something new is looked up each second (parse/live/live_progress.h). The
 * following ends when all recordings have ended and everything in them is shown. */
#ifndef MV_FOLLOW_H
#define MV_FOLLOW_H

#include "view/renewal.h"

typedef struct {
    mv_renewal renewal;
    uint64_t shown;   /* mark of the shown data */
    uint64_t reading; /* of the data that is being read */
    bool is_reading;
    double began_ms, look_ms, due_ms;
} mv_follow;

/* Before the first update: the view's files will be followed. */
void mv_follow_begin(mv_follow *f, mv_view *view);

/* The view to show from now on, before each frame. */
mv_view *mv_follow_update(mv_follow *f, mv_view *view, double ms);

/* Milliseconds after which there is something to do, without an event; UINT32_MAX: nothing. */
uint32_t mv_follow_wait(const mv_follow *f, const mv_view *view);

void mv_follow_end(mv_follow *f);

#endif
