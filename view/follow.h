/* Follows live files (docs/live.md): while recordings are still being written, the view keeps
 * showing their newest data. Every second, each file is checked for new records
 * (parse/live/live_progress.h), and is read again if there are any. At most a tenth of the time is
 * spent reading. Following ends when all recordings have ended and all their data is shown. */
#pragma once

#include "view/renewal.h"

typedef struct {
    mv_renewal renewal;
    uint64_t shown;    /* hash of the data that is shown (find_mark) */
    uint64_t reading;  /* hash of the data that is being read */
    uint32_t replaced; /* number of replaced files that were reported (mv_live_readers_state) */
    bool is_reading;
    double began_ms, look_ms, due_ms;
} mv_follow;

/* Begins to follow the view's files. Must be called before the first update. */
void mv_follow_begin(mv_follow *f, mv_view *view);

/* Returns the view to show from now on. Must be called before each frame. */
mv_view *mv_follow_update(mv_follow *f, mv_view *view, double ms);

/* Returns the number of milliseconds to wait until the next check, unless an event arrives first.
 * UINT32_MAX: no check is due. */
uint32_t mv_follow_wait(const mv_follow *f, const mv_view *view);

void mv_follow_end(mv_follow *f);
