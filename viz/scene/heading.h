/* Strings for a picture's heading, which describe what the picture shows and what data is
 * missing. */
#pragma once

#include "analyze/totals/moment.h"
#include "viz/scene/scene.h"

/* The part of the rows that a filter selects. */
typedef struct {
    const char *filter;     /* the filter as a string; NULL: there is no filter */
    uint64_t matches, rows; /* number of selected rows, and number of all rows */
    uint64_t bytes, all;    /* number of selected bytes, and number of all bytes */
} mv_heading_part;

/* Returns "only forward: 12 of 540 blocks, 100 MiB (39.0 %) of the allocated 257 MiB", where `rows`
 * is "blocks" and `of` is "the allocated". Returns NULL without a filter. */
const char *mv_heading_part_line(mv_scene *scene, mv_heading_part part, const char *rows,
                                 const char *of);

/* Returns "device 1 of 2 · after event 8,407 of 9,000, 1.204 s". */
const char *mv_heading_moment(mv_scene *scene, const mv_trace *trace, const mv_lives *lives,
                              uint32_t event);

/* Describes missing history, as in " · recording began late"; "" if the history is complete. */
const char *mv_heading_history(const mv_lives *lives);

/* Returns black or white, whichever is easier to read on `fill`. The contrast is at least 4.5:1 on
 * every colour. */
uint32_t mv_text_on(uint32_t fill);

/* Returns the string, escaped, and subtracts its size in the file from `budget`. Returns NULL if
 * the budget is spent or if there is no string. This limits the size of a picture, since labels of
 * a trace may have any length. */
const char *mv_hover_take(uint32_t *budget, const char *text);
