/* Words of the heading of a picture: what it shows, and what is missing from it. */
#ifndef MV_HEADING_H
#define MV_HEADING_H

#include "analyze/totals/moment.h"
#include "viz/scene/scene.h"

/* What a filter left of everything. */
typedef struct {
    const char *filter;     /* its words; NULL: nothing was left out */
    uint64_t matches, rows; /* rows left, of how many */
    uint64_t bytes, all;    /* bytes left, of how many */
} mv_heading_part;

/* "only forward: 12 of 540 blocks, 100 MiB (39.0 %) of the allocated 257 MiB": `rows` is "blocks",
 * `of` "the allocated". NULL when nothing was left out. */
const char *mv_heading_part_line(mv_scene *scene, mv_heading_part part, const char *rows,
                                 const char *of);

/* "device 1 of 2 · after event 8,407 of 9,000, 1.204 s". */
const char *mv_heading_moment(mv_scene *scene, const mv_trace *trace, const mv_lives *lives,
                              uint32_t event);

/* What of the past the file lacks: " · recording began late"; "" when nothing. */
const char *mv_heading_history(const mv_lives *lives);

/* Black or white, whichever is easier to read on `fill`: at least 4.5:1 on every colour. */
uint32_t mv_text_on(uint32_t fill);

/* The text, escaped and charged to `budget` with its size in a file; NULL when the budget is spent
 * or there is no text. Labels of a trace may have any length, a picture may not. */
const char *mv_hover_take(uint32_t *budget, const char *text);

#endif
