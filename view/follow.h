/* Follows live files (docs/live.md): the view shows newer data of recordings that are being
 * written. Files are checked for new records each second (parse/live/live_progress.h), and read
 * again if there are any, but reading takes at most a tenth of the time. Following ends when all
 * recordings have ended and all their data is shown. */
#ifndef MV_FOLLOW_H
#define MV_FOLLOW_H

#include "view/renewal.h"

typedef struct {
    mv_renewal renewal;
    uint64_t shown;   /* hash of the shown data (find_mark) */
    uint64_t reading; /* of the data that is being read */
    bool is_reading;
    double began_ms, look_ms, due_ms;
} mv_follow;

/* Before the first update: begins to follow the view's files. */
void mv_follow_begin(mv_follow *f, mv_view *view);

/* The view to show from now on, before each frame. */
mv_view *mv_follow_update(mv_follow *f, mv_view *view, double ms);

/* Milliseconds until the next check, unless an event comes first; UINT32_MAX: none. */
uint32_t mv_follow_wait(const mv_follow *f, const mv_view *view);

void mv_follow_end(mv_follow *f);

#endif
