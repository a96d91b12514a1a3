/* The badge in the toolbar: the problems of a whole file, on all levels and devices, and the worst of
 * them. */
#ifndef MV_FILE_BADGE_H
#define MV_FILE_BADGE_H

#include "view/frame/view.h"

typedef struct {
    const char *text; /* "3: leak", "fine"; NULL: not known yet */
    bool is_alarm;
    const char *tip; /* the problems in words */
} mv_file_badge;

bool mv_verdicts_open(mv_view *view);

/* Sets view->verdicts: once a frame. */
void mv_verdicts_update(mv_view *view);

/* Texts are in the frame's arena. */
mv_file_badge mv_file_badge_of(mv_view *view);

/* The text of --level for the shown level. */
const char *mv_view_level_name(const mv_view *view);

#endif
