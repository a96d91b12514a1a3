/* The lanes of the ranks: the devices of all files, optionally on all their memory levels, in the
 * order that the user chose. Pinned lanes stay at the top, and folded lanes are thin.
 *
 * now.lanes is a list of lanes separated by blanks. A lane is FILE:DEVICE on the shown level, or
 * FILE:DEVICE:LEVEL on another level. A "+" before the lane means pinned, and "-" means folded:
 * "+0:1 0:0 +-1:0:cuda". With MV_LANES_CHOSEN, the lanes are shown in the order of the list,
 * followed by all lanes that are not in it. */
#pragma once

#include "view/frame/device_rows.h"

typedef struct {
    bool is_pinned, is_folded;
    uint32_t place; /* index in the list; MV_NO_ROW: the lane is not in the list */
} mv_lane_choice;

/* Returns mv_device_rows, with rows of the other levels if now.has_level_lanes is set, in frame
 * memory. Returns NULL when out of memory. */
mv_device_row *mv_lane_rows(mv_view *view, uint32_t *count);

/* Returns what the user chose for each row, in frame memory. Returns NULL when out of memory. */
mv_lane_choice *mv_lane_choices(mv_view *view, const mv_device_row *rows, uint32_t count);

/* Sorts the rows in the order of their lanes, by now.lane_order. A row counts as different if its
 * outlier is not MV_NO_ROW. Returns false when out of memory. */
bool mv_lanes_sort(mv_view *view, const mv_device_row *rows, const mv_lane_choice *choices,
                   const uint32_t *outlier, uint32_t count, uint32_t *out);

/* Writes the list of lanes, which contains either all rows in the given order, or only the rows for
 * which the user chose something. Stops when the list is full. */
void mv_lanes_write(char list[MV_SEARCH_TEXT], const mv_device_row *rows, const uint32_t *order,
                    uint32_t count, const mv_lane_choice *choices, bool all);
