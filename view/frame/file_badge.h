/* The badge in the toolbar: the number of problems in a whole file, on all levels and devices, and
 * the worst of these problems. */
#pragma once

#include "view/frame/view.h"

typedef struct {
    const char *text; /* label such as "3: leak" or "fine"; NULL: not known yet */
    bool is_alarm;
    const char *tip; /* the problems in words */
} mv_file_badge;

bool mv_verdicts_open(mv_view *view);

/* Sets view->verdicts. Must be called once per frame. */
void mv_verdicts_update(mv_view *view);

/* Returns the badge. Its strings are allocated in the frame's arena. */
mv_file_badge mv_file_badge_of(mv_view *view);

/* Returns the value of --level for the shown level. */
const char *mv_view_level_name(const mv_view *view);
