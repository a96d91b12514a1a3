/* The keyboard's position in the window: a place, and in it one of the clickable zones.
 *
 *     Tab, F6       the next place: toolbar, main, tabs, lower (Shift: the one before)
 *     arrows        the next zone; a pane whose items are not all zones handles keys itself
 *                   (view/panes/panes.h)
 *     Enter         runs the command of the zone, like a click */
#ifndef MV_SPOT_H
#define MV_SPOT_H

#include "view/state/command.h"

typedef enum {
    MV_PART_TOOLBAR,
    MV_PART_MAIN, /* with the minimap */
    MV_PART_TABS,
    MV_PART_LOWER,
    MV_PART_COUNT
} mv_window_part;

typedef struct {
    uint8_t place;         /* mv_window_part */
    bool is_shown;         /* marked: a key moved it, and no button was pressed since */
    bool has_moved;        /* it moved since the last frame: a list scrolls to its row */
    bool is_inside;        /* the pane handles the keys, and shows its position itself */
    mv_command_id command; /* of the zone; MV_DO_NOTHING: the place, or inside the pane */
    uint64_t arg;
    uint32_t copy; /* index among zones with the same command and number, in painting order */
} mv_spot;

#endif
