/* The position of the keyboard focus, which is a part of the window and one of the clickable zones
 * in that part.
 *
 *     Tab, F6       the next place: toolbar, main, tabs, lower (Shift: the one before)
 *     arrows        the next zone; a pane whose items are not all zones handles keys itself
 *                   (view/panes/panes.h)
 *     Enter         runs the command of the zone, like a click */
#pragma once

#include "view/state/command.h"

typedef enum {
    MV_PART_TOOLBAR,
    MV_PART_MAIN, /* includes the minimap */
    MV_PART_TABS,
    MV_PART_LOWER,
    MV_PART_COUNT
} mv_window_part;

typedef struct {
    uint8_t place;         /* mv_window_part */
    bool is_shown;         /* the position is marked, because a key moved it and no button was
                              pressed since */
    bool has_moved;        /* the position moved since the last frame, so a list scrolls to its
                              row */
    bool is_inside;        /* the pane handles the keys, and shows the position itself */
    mv_command_id command; /* command of the zone; MV_DO_NOTHING: the position is the whole part, or
                              inside the pane */
    uint64_t arg;
    uint32_t copy; /* index among zones with the same command and number, in painting order */
} mv_spot;
