/* Text for the heading of a picture: its content, and any missing data. */
#ifndef MV_HEADING_H
#define MV_HEADING_H

#include "analyze/totals/moment.h"
#include "viz/scene/scene.h"

/* The part that a filter selects. */
typedef struct {
    const char *filter;     /* the filter as text; NULL: no filter */
    uint64_t matches, rows; /* selected rows, and all rows */
    uint64_t bytes, all;    /* selected bytes, and all bytes */
} mv_heading_part;

/* "only forward: 12 of 540 blocks, 100 MiB (39.0 %) of the allocated 257 MiB": `rows` is "blocks",
 * `of` "the allocated". NULL without a filter. */
const char *mv_heading_part_line(mv_scene *scene, mv_heading_part part, const char *rows,
                                 const char *of);

/* "device 1 of 2 · after event 8,407 of 9,000, 1.204 s". */
const char *mv_heading_moment(mv_scene *scene, const mv_trace *trace, const mv_lives *lives,
                              uint32_t event);

/* Missing history: " · recording began late"; "" when complete. */
const char *mv_heading_history(const mv_lives *lives);

/* Black or white, whichever is easier to read on `fill`: contrast of at least 4.5:1 on every
 * colour. */
uint32_t mv_text_on(uint32_t fill);

/* The text, escaped; its size in the file is charged to `budget`. NULL when the budget is spent or
 * there is no text. Labels of a trace may have any length, a picture may not. */
const char *mv_hover_take(uint32_t *budget, const char *text);

#endif
