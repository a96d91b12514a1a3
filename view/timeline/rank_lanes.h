/* The lanes of the ranks: devices of all files, optionally on all their memory levels, in the
 * user's order, with lanes that stay at the top (pinned) and thin lanes (folded).
 *
 * now.lanes lists lanes, separated by blanks: FILE:DEVICE of the shown level, FILE:DEVICE:LEVEL of
 * another one; "+" before it means pinned, "-" folded: "+0:1 0:0 +-1:0:cuda". With the order
 * MV_LANES_CHOSEN they are in the order of the list, and the others follow. */
#ifndef MV_RANK_LANES_H
#define MV_RANK_LANES_H

#include "view/frame/device_rows.h"

typedef struct {
    bool is_pinned, is_folded;
    uint32_t place; /* in the list; MV_NO_ROW: not in it */
} mv_lane_choice;

/* mv_device_rows; with now.has_level_lanes also rows of the other levels. In frame memory; NULL
 * when out of memory. */
mv_device_row *mv_lane_rows(mv_view *view, uint32_t *count);

/* The choices of rows; in frame memory, NULL when out of memory. */
mv_lane_choice *mv_lane_choices(mv_view *view, const mv_device_row *rows, uint32_t count);

/* Sorts the rows in the order of their lanes, by now.lane_order; a row with an outlier other than
 * MV_NO_ROW differs. False when out of memory. */
bool mv_lanes_sort(mv_view *view, const mv_device_row *rows, const mv_lane_choice *choices,
                   const uint32_t *outlier, uint32_t count, uint32_t *out);

/* Writes the list: all rows in the given order, or only those with a choice; stops when the list is
 * full. */
void mv_lanes_write(char list[MV_SEARCH_TEXT], const mv_device_row *rows, const uint32_t *order,
                    uint32_t count, const mv_lane_choice *choices, bool all);

#endif
